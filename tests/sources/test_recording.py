import gzip
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import pytest

from advisor.analysis import Options, analyse
from advisor.errors import InputNotFoundError
from advisor.model.raw import ObjectChange, Selection, Setup, Subject
from advisor.sources.recording import RecordingSource

SELECTION: Final = Selection(names=frozenset({"up"}), aggregated={})
METRICS: Final = b"up 1 10\nup 1 20\n# EOF\n"
LINE: Final = (
    b'{"level":"info","ts":"2026-08-21T09:14:02.117Z","logger":"controllers.RayCluster","msg":"x",'
    b'"RayCluster":{"name":"a","namespace":"n"},"reconcileID":"1"}\n'
)
VERBOSE: Final = LINE.replace(b"info", b"Level(-5)").replace(b'"x"', b'"Reconciling"')
CHANGE: Final = b'{"t":10.5,"event":"ADDED","kind":"RayCluster","namespace":"n","name":"a"}\n'
KNOWN: Final = {"version": "1.7.0", "args": ["ray-operator", "--qps=5"], "start": 10.5, "end": 20.5}


def recording(folder: Path, **files: bytes) -> RecordingSource:
    """A recording of these files, two underscores in a name being a dot."""
    for name, content in ({"metrics__om": METRICS} | files).items():
        (folder / name.replace("__", ".")).write_bytes(content)
    return RecordingSource(folder)


@pytest.fixture
def _unprivileged() -> Iterator[None]:
    """Run without the right of root to read everything."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    yield
    os.seteuid(user)


def messages(source: RecordingSource) -> list[tuple[str, str]]:
    """File and text of the notes."""
    return [(note.where, note.message) for note in source.notes]


class TestFiles:
    def test_every_file_but_the_metrics_may_be_absent(self, tmp_path: Path) -> None:
        """A recording that a user makes may be metrics alone."""
        source = recording(tmp_path)
        assert source.series(SELECTION).sample_count() == 2
        assert list(source.log()) == []
        assert list(source.changes()) == []
        assert source.setup() == Setup()
        assert (source.notes, source.log_lines, source.object_changes) == ([], 0, 0)

    def test_a_metrics_file_alone(self, tmp_path: Path) -> None:
        """Instead of a folder a file may be given, of any name; nothing beside it is read."""
        recording(tmp_path, operator__log=LINE, objects__jsonl=CHANGE, setup__json=b"{}")
        shutil.copy(tmp_path / "metrics.om", tmp_path / "saved.txt")
        source = RecordingSource(tmp_path / "saved.txt")
        assert source.series(SELECTION).origin == "saved.txt"
        assert [*source.log(), *source.changes()] == []
        assert source.setup() == Setup()

    def test_all_files(self, tmp_path: Path) -> None:
        """Records, changes and settings come with their counts."""
        source = recording(
            tmp_path, operator__log=LINE * 2, objects__jsonl=CHANGE * 3, setup__json=json.dumps(KNOWN).encode()
        )
        assert [record.name for record in source.log()] == ["a", "a"]
        assert set(source.changes()) == {
            ObjectChange(t=10.5, event="ADDED", kind="RayCluster", namespace="n", name="a")
        }
        assert source.setup() == Setup(version="1.7.0", args=("ray-operator", "--qps=5"), start=10.5, end=20.5)
        assert (source.kind, source.log_lines, source.object_changes) == ("recording", 2, 3)
        assert source.notes == []

    def test_compressed_files_come_first(self, tmp_path: Path) -> None:
        """Where a file is there both ways, the compressed one is read."""
        source = recording(
            tmp_path,
            metrics__om__gz=gzip.compress(b"up 1 30\n# EOF\n"),
            objects__jsonl__gz=gzip.compress(CHANGE * 2),
            objects__jsonl=CHANGE,
        )
        assert source.series(SELECTION).origin == "metrics.om.gz"
        assert source.series(SELECTION).sample_count() == 1
        assert len(list(source.changes())) == 2

    def test_the_verbose_stream_is_preferred_to_the_log_file(self, tmp_path: Path) -> None:
        """It holds all that the file holds, and the exact markers."""
        source = recording(tmp_path, operator__log=LINE, operator__stdout__log=VERBOSE)
        (record,) = source.log()
        assert (record.subject, record.exact) == (Subject.START, True)

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("gone", "no such file or folder"),
            ("empty", "the folder holds no metrics.om.gz or metrics.om"),
            ("n" * 5000, "cannot be looked at: File name too long"),
        ],
    )
    def test_paths_without_metrics(self, tmp_path: Path, name: str, message: str) -> None:
        """The error names the path and says what is wrong with it."""
        (tmp_path / "empty").mkdir()
        (tmp_path / "empty" / "metrics.om").mkdir()
        with pytest.raises(InputNotFoundError, match=message) as caught:
            RecordingSource(tmp_path / name)
        assert caught.value.where == str(tmp_path / name)
        assert caught.value.hint


class TestDamage:
    def test_broken_lines_of_objects(self, tmp_path: Path) -> None:
        """Lines of other types or without a time are counted and skipped; blank ones and further members do no harm."""
        bad = [
            CHANGE.replace(b"10.5", b'"10.5"'),
            CHANGE.replace(b"10.5", b"null"),
            CHANGE.replace(b'"t":10.5,', b""),
            CHANGE.replace(b'"a"', b"1"),
            CHANGE.replace(b"}", b',"desired":"3"}'),
            CHANGE.replace(b'"a"', b'"\xff"'),
            b"7\n",
            b"not JSON\n",
            b'{"more":' + b"[" * 100_000 + b"\n",
        ]
        good = CHANGE.replace(b"}", b',"rv":"7","more":[{}]}')
        source = recording(tmp_path, objects__jsonl=CHANGE + b"".join(bad) + b"\r\n\n" + good)
        assert [change.t for change in source.changes()] == [10.5, 10.5]
        assert messages(source) == [("objects.jsonl", "9 of 11 lines skipped: not JSON of the expected form")]
        assert source.object_changes == 2

    def test_broken_lines_of_the_log(self, tmp_path: Path) -> None:
        """Lines that are not the operator's are counted and skipped."""
        source = recording(tmp_path, operator__log=LINE + b"\n\0\xff\npanic: x\n" + LINE)
        assert len(list(source.log())) == 2
        assert messages(source) == [("operator.log", "2 of 4 lines skipped: not JSON of the expected form")]
        assert source.log_lines == 4

    def test_a_last_line_that_is_cut_off(self, tmp_path: Path) -> None:
        """An unfinished last line is told as what it is; one that only lacks its line end is whole."""
        source = recording(tmp_path, operator__log=LINE + LINE[:50], objects__jsonl=CHANGE + b"\n" + CHANGE[:20])
        assert (len(list(source.log())), len(list(source.changes()))) == (1, 1)
        assert messages(source) == [
            ("operator.log", "cut off within line 2; everything before was kept"),
            ("objects.jsonl", "cut off within line 3; everything before was kept"),
        ]
        source = recording(tmp_path, operator__log=(LINE * 2)[:-1], objects__jsonl=(CHANGE * 2)[:-1])
        assert (len(list(source.log())), len(list(source.changes()))) == (2, 2)
        assert source.notes == []

    def test_truncated_compressed_files(self, tmp_path: Path) -> None:
        """All that can still be unpacked is read, from each file."""
        content = gzip.compress(CHANGE * 50)[:-8]
        source = recording(tmp_path, objects__jsonl__gz=content)
        assert len(list(source.changes())) == 50
        assert messages(source) == [
            (
                "objects.jsonl.gz",
                "cut off after line 50: the compressed data has no end; everything before was kept",
            )
        ]

    def test_what_is_wrong_with_the_metrics_is_noted(self, tmp_path: Path) -> None:
        """Notes of all files are in one place."""
        source = recording(tmp_path, metrics__om=METRICS + b"up\n")
        assert source.series(SELECTION).sample_count() == 2
        assert messages(source) == [("metrics.om", "malformed lines skipped: 1, the first is line 4")]

    @pytest.mark.usefixtures("_unprivileged")
    def test_files_that_may_not_be_read(self) -> None:
        """Without its log, objects or settings a recording is analysed all the same; without its metrics it is not."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            source = recording(folder, operator__log=LINE, objects__jsonl=CHANGE, setup__json=b"{}")
            for path in folder.iterdir():
                path.chmod(0)
            assert [*source.log(), *source.changes()] == []
            assert source.setup() == Setup()
            denied = "cannot be opened: Permission denied"
            assert messages(source)[:2] == [("operator.log", denied), ("objects.jsonl", denied)]
            ((where, message),) = messages(source)[2:]
            assert where == "setup.json"
            assert "Permission denied" in message
            with pytest.raises(InputNotFoundError, match=denied):
                source.series(SELECTION)


class TestSetup:
    def test_nothing_else_is_used(self, tmp_path: Path) -> None:
        """Members that only a test knows give an equal setup, whatever they hold."""
        more = {
            "description": "x",
            "injected": "y",
            "phases": [{"name": "load"}],
            "qps": 5,
            "concurrency": {},
            "": None,
        }
        source = recording(tmp_path, setup__json=json.dumps(more | KNOWN | {"operator": 3}).encode())
        assert source.setup() == msgspec.convert(KNOWN, Setup)
        assert source.notes == []
        assert set(Setup.__struct_fields__) == {"version", "args", "start", "end", "profile"}

    @pytest.mark.parametrize(
        ("member", "value"), [("version", 7), ("args", "--qps=5"), ("args", ["x", 5]), ("start", "10"), ("end", [])]
    )
    def test_a_member_of_a_wrong_type(self, tmp_path: Path, member: str, value: object) -> None:
        """It is noted and skipped, the others are kept."""
        source = recording(tmp_path, setup__json=json.dumps(KNOWN | {member: value}).encode())
        kept = {name: content for name, content in KNOWN.items() if name != member}
        assert source.setup() == msgspec.convert(kept, Setup)
        ((where, message),) = messages(source)
        assert where == "setup.json"
        assert message.startswith(f"{member} skipped: Expected ")

    @pytest.mark.parametrize(
        "content",
        [b"", b"{", b"[]", b"7", b"\xff", b'{"start":NaN}', b'{"more":' + b"[" * 100_000, b'{"version":"1.7.0"'],
    )
    def test_what_is_no_object_at_all(self, tmp_path: Path, content: bytes) -> None:
        """Nothing is known then, and the note says why."""
        source = recording(tmp_path, setup__json=content)
        assert source.setup() == Setup()
        ((where, message),) = messages(source)
        assert where == "setup.json"
        assert message.startswith("skipped: ")

    def test_numbers_out_of_range(self, tmp_path: Path) -> None:
        """A time that is no finite number is none."""
        source = recording(tmp_path, setup__json=b'{"start":1e999,"end":20.5}')
        assert source.setup() == Setup(end=20.5)


@pytest.mark.parametrize("content", [b"", b"{", b'{"primary":"HEALTHY"}', None])
def test_the_expected_verdict_is_never_looked_at(data: Path, tmp_path: Path, content: bytes | None) -> None:
    """Whatever ``expected.json`` holds, or where it cannot be opened at all, the report is the same byte by byte."""
    original = data / "recordings" / "throttled-one-worker"
    copy = tmp_path / "another name"
    copy.mkdir()
    for path in original.iterdir():
        if path.name != "expected.json":
            shutil.copy(path, copy / path.name)
    wanted = msgspec.json.encode(analyse(RecordingSource(copy), Options()))
    if content is None:
        (copy / "expected.json").symlink_to("expected.json")
    else:
        (copy / "expected.json").write_bytes(content)
    assert msgspec.json.encode(analyse(RecordingSource(copy), Options())) == wanted
