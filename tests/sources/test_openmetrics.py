import gzip
import math
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from advisor.errors import InputFormatError
from advisor.model.raw import Selection, SeriesStore
from advisor.sources import openmetrics
from advisor.sources.openmetrics import parse_series_key, read_openmetrics
from advisor.sources.textstream import LineReader

SELECTION: Final = Selection(names=frozenset({"up", "depth", "wait_bucket"}), aggregated={"info": ("kind",)})
END_IS_MISSING: Final = "the end marker # EOF is missing, so the file may be cut off; everything in it was kept"
Labels = frozenset[tuple[str, str]]


def read(folder: Path, content: bytes | str, selection: Selection = SELECTION) -> tuple[SeriesStore, list[str]]:
    """The series in a file that holds the content, and the messages of the notes."""
    path = folder / "metrics.om"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    store, notes = read_openmetrics(path, selection)
    assert {note.where for note in notes} <= {"metrics.om"}
    return store, [note.message for note in notes]


def samples(store: SeriesStore, name: str) -> dict[Labels, list[tuple[float, float]]]:
    """Times and values by labels."""
    found = {
        frozenset(series.labels.items()): list(zip(series.times, series.values, strict=True))
        for series in store.get(name)
    }
    assert len(found) == len(store.get(name))
    return found


def values_of(store: SeriesStore, name: str) -> list[tuple[float, float]]:
    """Times and values of the only series of the name."""
    (found,) = samples(store, name).values()
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose files the examples of a property write over."""
    return tmp_path_factory.mktemp("openmetrics")


def escaped(value: str) -> str:
    """A label's value as OpenMetrics writes it."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


label_names = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_]{0,8}", fullmatch=True)
# Line feeds are escaped; a carriage return before one is a line end of some systems, so it stands nowhere else.
label_values = st.text(st.characters(codec="utf-8")) | st.text(st.sampled_from('\\"n{},= #\n'))
label_sets = st.dictionaries(label_names, label_values, max_size=4)


class TestSeriesKey:
    @given(name=st.from_regex(r"[a-zA-Z_:][a-zA-Z0-9_:]{0,20}", fullmatch=True), labels=label_sets)
    def test_any_label_values_come_back(self, name: str, labels: dict[str, str]) -> None:
        """Whatever a label's value holds, reading what was written gives it again."""
        text = ",".join(f'{label}="{escaped(value)}"' for label, value in labels.items())
        assert parse_series_key(f"{name}{{{text}}}") == (name, labels)

    @pytest.mark.parametrize(
        ("key", "labels"),
        [
            ("up", {}),
            ("up{}", {}),
            ("up{ }", {}),
            ('up {a="1"}', {"a": "1"}),
            ('up{a="1",}', {"a": "1"}),
            ('up{ a = "1" , b="2" , }', {"a": "1", "b": "2"}),
            (r'up{a="\x"}', {"a": r"\x"}),
        ],
    )
    def test_forms_that_are_accepted(self, key: str, labels: dict[str, str]) -> None:
        """Blanks and a comma at the end are allowed; an unknown escape stays as it is."""
        assert parse_series_key(key) == ("up", labels)

    @pytest.mark.parametrize(
        "key",
        [
            "",
            "0up",
            "up{",
            'up{a="1"',
            'up{a="1}',
            "up{a=1}",
            'up{="1"}',
            'up{a="1"b="2"}',
            'up{a="1",,b="2"}',
            'up{a="1",a="2"}',
            'up{a-b="1"}',
            'up{a="1"} {b="2"}',
        ],
    )
    def test_forms_that_are_malformed(self, key: str) -> None:
        """Nothing is guessed from a key that is not whole."""
        assert parse_series_key(key) is None


class TestWhatIsKept:
    def test_selected_series_with_all_labels(self, tmp_path: Path) -> None:
        """Series are told apart by their labels, in whatever order those stand; others are not kept."""
        store, notes = read(
            tmp_path,
            "# TYPE depth gauge\n"
            'depth{a="1",b="2"} 3 10.5\n'
            'depth{b="2",a="1"} 4 12.5\n'
            'depth{a="1"} 5 10.5\n'
            'go_threads{a="1"} 7 10.5\n'
            'go_threads{a="1"} 7 12.5\n'
            "up 1 10.5\n"
            "# EOF\n",
        )
        assert samples(store, "depth") == {
            frozenset({("a", "1"), ("b", "2")}): [(10.5, 3.0), (12.5, 4.0)],
            frozenset({("a", "1")}): [(10.5, 5.0)],
        }
        assert samples(store, "up") == {frozenset(): [(10.5, 1.0)]}
        assert store.names() == {"depth", "up"}
        assert store.origin == "metrics.om"
        assert notes == []

    def test_series_of_objects_become_one(self, tmp_path: Path) -> None:
        """Values of one time are summed over all labels but those to keep; a label that is absent counts as empty."""
        store, _ = read(
            tmp_path,
            'info{kind="job",name="a"} 1 20\ninfo{kind="job",name="a"} 1 10\n'
            'info{kind="job",name="b"} 1 10\ninfo{kind="job",name="c"} NaN 10\ninfo{name="d"} 1 10\n# EOF\n',
        )
        assert samples(store, "info") == {
            frozenset({("kind", "job")}): [(10.0, 2.0), (20.0, 1.0)],
            frozenset({("kind", "")}): [(10.0, 1.0)],
        }

    def test_values_that_are_no_numbers_are_left_out(self, tmp_path: Path) -> None:
        """NaN is how a series that ended is marked, infinity is no measurement; a series of nothing else is absent."""
        store, notes = read(tmp_path, "up NaN 10\nup 1 20\nup +Inf 30\nup -Inf 40\nup 2 50\ndepth NaN 10\n# EOF\n")
        assert values_of(store, "up") == [(20.0, 1.0), (50.0, 2.0)]
        assert store.names() == {"up"}
        assert notes == []

    def test_times_in_any_order(self, tmp_path: Path) -> None:
        """Series come in order of time; of several samples of one time the last counts."""
        store, notes = read(tmp_path, "up 3 30\nup 1 10\nup 2 20\nup 4 10\n# EOF\n")
        assert values_of(store, "up") == [(10.0, 4.0), (20.0, 2.0), (30.0, 3.0)]
        assert notes == []

    def test_a_repeated_part_does_not_count_twice_in_a_sum(self, tmp_path: Path) -> None:
        """Two exports that overlap may be joined: each object counts once a time."""
        part = 'info{kind="job",name="a"} 1 10\ninfo{kind="job",name="a"} 1 20\ninfo{kind="job",name="b"} 1 20\n'
        store, notes = read(tmp_path, part + part + "# EOF\n")
        assert values_of(store, "info") == [(10.0, 1.0), (20.0, 2.0)]
        assert notes == []

    def test_exemplars_are_no_part_of_a_sample(self, tmp_path: Path) -> None:
        """With or without a time of their own, on series with and without labels."""
        store, notes = read(
            tmp_path,
            'wait_bucket{le="1"} 1 10 # {trace_id="a b"} 0.5 9.5\n'
            'wait_bucket{le="1"} 2 20\n'
            'wait_bucket{le="1"} 3 30 # {trace_id="} 1 2"} 0.5\n'
            'wait_bucket{le="1"} 4 40 # {} 0.5 39.5\n'
            'up 1 10 # {trace_id="a"} 0.5 9.5\n'
            'go_total 1 10 # {trace_id="a"} 0.5 9.5\n'
            "# EOF\n",
        )
        assert values_of(store, "wait_bucket") == [(10.0, 1.0), (20.0, 2.0), (30.0, 3.0), (40.0, 4.0)]
        assert values_of(store, "up") == [(10.0, 1.0)]
        assert notes == []

    def test_labels_that_look_like_something_else(self, tmp_path: Path) -> None:
        """Blanks, commas, braces, numbers and hash signs may stand in a label's value."""
        values = ["a b", "a,b", "}", "{", '"', "\n", "\\", " # ", "} 5 6", " 1 2", "a # {b} 1 2"]
        lines = [f'up{{v="{escaped(value)}"}} {number} 10\n' for number, value in enumerate(values)]
        store, notes = read(tmp_path, "".join(lines) + "# EOF\n")
        assert samples(store, "up") == {
            frozenset({("v", value)}): [(10.0, float(number))] for number, value in enumerate(values)
        }
        assert notes == []

    @given(label_sets, st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 10**12).map(lambda n: n / 1e3))
    def test_any_sample_is_read_as_it_was_written(
        self, folder: Path, labels: dict[str, str], value: float, time: float
    ) -> None:
        """Labels, value and time of one line come back, by the long way at first and by the short way later."""
        text = ",".join(f'{label}="{escaped(content)}"' for label, content in labels.items())
        lines = f"up{{{text}}} {value!r} {time!r}\nup{{{text}}} {value!r} {time + 1!r}\n# EOF\n"
        store, notes = read(folder, lines)
        assert samples(store, "up") == {frozenset(labels.items()): [(time, value), (time + 1, value)]}
        assert notes == []

    def test_the_older_text_format(self, tmp_path: Path) -> None:
        """Times in milliseconds, blanks of any number, line ends of two bytes and no end marker are all in order."""
        store, notes = read(
            tmp_path, '# HELP up x\r\n\r\n  up{a="1"}\t1   1795980721545\r\nup{a="1"}  0\t1795980723545  \r\n'
        )
        assert values_of(store, "up") == [(1795980721.545, 1.0), (1795980723.545, 0.0)]
        assert notes == []

    def test_more_times_than_are_remembered(self, tmp_path: Path) -> None:
        """A long recording has more timestamps than the reader keeps in mind."""
        count = 100_000
        store, notes = read(tmp_path, "".join(f"up 1 {number}\n" for number in range(count)) + "# EOF\n")
        assert values_of(store, "up") == [(float(number), 1.0) for number in range(count)]
        assert notes == []


class TestWhatIsNoted:
    def test_malformed_lines_by_their_number_in_the_file(self, tmp_path: Path) -> None:
        """The number counts comments and blank lines too; every malformed line counts, all others are kept."""
        store, notes = read(
            tmp_path,
            "# TYPE up gauge\n\nup 1 10\n"
            'up{a="1" 2 10\n'  # line 4
            'up{a="1" 2 20\n'
            'up{a="1",a="2"} 2 10\n'
            "up x 10\nup 1 x\nup 1 NaN\nup 1 +Inf\nup\nup 1 20 30\n\0\xff\n"
            "up 3 20\n# EOF\n",
        )
        assert values_of(store, "up") == [(10.0, 1.0), (20.0, 3.0)]
        assert notes == ["malformed lines skipped: 10, the first is line 4"]

    def test_some_samples_without_a_timestamp(self, tmp_path: Path) -> None:
        """They cannot be placed, so they are skipped and told of, with the first one's line."""
        store, notes = read(tmp_path, 'up 1 10\nup 1\nup{a="b c"} 1\nup{a="b 7"} 1\nup 2 20\n# EOF\n')
        assert values_of(store, "up") == [(10.0, 1.0), (20.0, 2.0)]
        assert notes == ["samples without a timestamp skipped: 3, the first is line 2"]

    def test_a_missing_end_marker(self, tmp_path: Path) -> None:
        """Without it the file may not be whole; comments and blank lines may follow it, samples may not."""
        assert read(tmp_path, "up 1 10\n")[1] == [END_IS_MISSING]
        assert read(tmp_path, "up 1 10\n# EOF\nup 1 20\n")[1] == [END_IS_MISSING]
        for ending in ("# EOF\n", "# EOF", "# EOF\n\n# by hand\n", "# EOF\r\n"):
            assert read(tmp_path, "up 1 10\n" + ending)[1] == []

    def test_the_end_marker_is_the_least_worry(self, tmp_path: Path) -> None:
        """Where something else is wrong with a file, its missing end is not told as well."""
        assert read(tmp_path, "up 1 10\nup 1\n")[1] == ["samples without a timestamp skipped: 1, the first is line 2"]

    def test_files_that_were_joined(self, tmp_path: Path) -> None:
        """Samples behind an end marker are read too, as in two compressed files written into one."""
        content = gzip.compress(b"up 1 10\n# EOF\n") + gzip.compress(b"up 2 20\n# EOF\n")
        store, notes = read(tmp_path, content)
        assert values_of(store, "up") == [(10.0, 1.0), (20.0, 2.0)]
        assert notes == []

    @pytest.mark.parametrize("rest", ["up 2 17959", "up", "# E", '# TYPE "'])
    def test_cut_off_within_a_line(self, tmp_path: Path, rest: str) -> None:
        """A number may have lost its last digits, so the unfinished line is dropped."""
        store, notes = read(tmp_path, f"up 1 10\n\n{rest}")
        assert values_of(store, "up") == [(10.0, 1.0)]
        assert notes == ["cut off within line 3; everything before was kept"]

    def test_damaged_in_the_middle(self, tmp_path: Path) -> None:
        """What was compressed before the damage is kept."""
        content = gzip.compress(b"".join(b"up %d %d\n" % (number, number) for number in range(1, 1000)))
        store, (note,) = read(tmp_path, content + content[:15] + b"\xff" * 100)
        assert len(values_of(store, "up")) == 999
        assert note.startswith("damaged after line 999: ")
        assert note.endswith("; everything before was kept")

    @given(data=st.data())
    def test_cut_off_anywhere(self, folder: Path, data: st.DataObject) -> None:
        """Wherever a compressed file is cut off, the samples are the first ones of it, and there is one note."""
        times = range(1, 300)
        content = gzip.compress(b"".join(b"up %d %d\n" % (time, time) for time in times) + b"# EOF\n")
        cut = content[: data.draw(st.integers(2, len(content) - 1))]
        if b"\n" not in zlib.decompressobj(31).decompress(cut):
            with pytest.raises(InputFormatError, match="holds no sample with a timestamp; cut off after line 0"):
                read(folder, cut)
            return
        store, (note,) = read(folder, cut)
        found = values_of(store, "up")
        assert found == [(float(time), float(time)) for time in times[: len(found)]]
        assert note.startswith("cut off after line ")


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("", "holds no sample with a timestamp"),
            ("\n\n# EOF\n", "holds no sample with a timestamp"),
            ('up 1\ngo_threads{a="b c"} 7\n', "samples without a timestamp skipped: 2, the first is line 1"),
            ("<html>\n<body>\n</html>\n", "malformed lines skipped: 3, the first is line 1"),
            ("up 1 179598", r"holds no sample with a timestamp; cut off within line 1 \(expected"),
        ],
    )
    def test_no_sample_with_a_timestamp(self, tmp_path: Path, content: str, message: str) -> None:
        """The error says what the file holds instead, and what was expected."""
        with pytest.raises(InputFormatError, match=message) as caught:
            read(tmp_path, content)
        assert caught.value.where == "metrics.om"
        assert "Unix timestamp" in caught.value.hint

    def test_samples_of_nothing_that_is_needed(self, tmp_path: Path) -> None:
        """A well-formed file of something else gives no series; that is for the analysis to judge."""
        store, notes = read(tmp_path, "go_threads 1 10\ngo_threads 1 20\n# EOF\n")
        assert store.names() == frozenset()
        assert notes == []


def with_prometheus_client(lines: Iterable[bytes]) -> dict[str, dict[Labels, list[tuple[float, float]]]]:
    """What prometheus_client reads of the lines, by name and labels.

    Without the comments, since it wants the samples of a histogram in order of time and not of series.
    """
    text = "".join(f"{line.decode()}\n" for line in lines if not line.startswith(b"#"))
    found: dict[str, dict[Labels, list[tuple[float, float]]]] = {}
    for family in text_string_to_metric_families(text + "# EOF\n"):  # type: ignore[no-untyped-call]
        for sample in family.samples:
            assert sample.timestamp is not None
            if math.isfinite(sample.value):
                by_labels = found.setdefault(sample.name, {})
                by_labels.setdefault(frozenset(sample.labels.items()), []).append(
                    (float(sample.timestamp), float(sample.value))
                )
    return found


@pytest.mark.parametrize("recording", ["saturated-one-worker", "standby-replica"])
def test_a_real_recording_is_read_as_prometheus_client_reads_it(shared: Path, recording: str) -> None:
    """Every series of a recording has the same samples as with a parser that is not ours."""
    path = shared / "recordings" / recording / "metrics.om.gz"
    wanted = with_prometheus_client(LineReader(path))
    store, notes = read_openmetrics(path, Selection(names=frozenset(wanted), aggregated={}))
    assert notes == ()
    assert len(wanted) > 30
    assert {name: samples(store, name) for name in store.names()} == wanted


def test_series_without_end_are_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a number of series that no operator has, samples are skipped and counted, so that memory stays bounded."""
    monkeypatch.setattr(openmetrics, "MOST_SERIES", 3)
    lines = [f'depth{{name="n{number}"}} 1 {time}' for number in range(5) for time in (1, 2)]
    path = tmp_path / "many.om"
    path.write_text("\n".join([*lines, "# EOF", ""]), encoding="utf-8")
    store, notes = read_openmetrics(path, SELECTION)
    assert len(store.get("depth")) == 3
    assert [note.message for note in notes] == ["samples of series beyond the first 3 skipped: 4, the first is line 7"]
