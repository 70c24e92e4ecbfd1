"""Inputs that are broken in the ways inputs break: a clear error or a stated partial result, in bounded memory."""

import gzip
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import ROOT

EXAMPLE = ROOT / "advisor" / "examples" / "saturated-one-worker" / "metrics.om.gz"
MEMORY_BYTES = 512 << 20
"""Less than half of what the largest of these inputs unpacks to."""


def analysed(*args: str) -> tuple[int, str, str]:
    """Exit code, output and errors of one run in a process with little memory."""
    done = subprocess.run(
        [sys.executable, "-c", "from advisor.cli import main; main()", "analyze", *args],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES)),
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


def report(path: Path) -> dict[str, object]:
    """The report on a file that is analysed as far as it can be read."""
    code, printed, errors = analysed("--recording", str(path), "--output", "json")
    assert (code, errors) == (0, "")
    document: dict[str, object] = json.loads(printed)
    return document


def notes_of(document: dict[str, object]) -> list[str]:
    """What the report says was skipped."""
    source = document["source"]
    assert isinstance(source, dict)
    return [note["message"] for note in source["notes"]]


def findings_of(document: dict[str, object]) -> list[str]:
    """Codes of the verdict's findings."""
    findings = document["findings"]
    assert isinstance(findings, list)
    return [one["code"] for one in findings]


@pytest.fixture(scope="module")
def lines() -> list[bytes]:
    """The shipped example's lines, without the end marker."""
    return [line for line in gzip.decompress(EXAMPLE.read_bytes()).splitlines() if line != b"# EOF"]


def cut_in_half(lines: list[bytes]) -> bytes:
    """A transfer that broke off, of samples in the order of time."""
    comments = [line for line in lines if line.startswith(b"#")]
    samples = sorted((line for line in lines if not line.startswith(b"#")), key=lambda line: float(line.split()[-1]))
    whole = gzip.compress(b"\n".join([*comments, *samples]))
    return whole[: len(whole) // 2]


def other_encodings(lines: list[bytes]) -> bytes:
    """Parts of Latin-1 and UTF-16 text between good lines."""
    strange = ['workqueue_depth{name="h\u00e9"} 1 5'.encode("latin-1"), "workqueue_depth 1 5".encode("utf-16")]
    return b"\n".join([*lines[:50], *strange, *lines[50:], b"# EOF", b""])


def wrong_types(lines: list[bytes]) -> bytes:
    """Words, structures and dates where numbers belong."""
    strange = [b"workqueue_depth one 5", b'workqueue_depth{name="a"} {} 5', b"workqueue_depth 1 2026-01-01"]
    return b"\n".join([*lines[:50], *strange, *lines[50:], b"# EOF", b""])


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (cut_in_half, "cut off"),
        (other_encodings, "lines skipped"),
        (wrong_types, "lines skipped"),
    ],
)
def test_what_can_be_read_is_analysed(
    broken: Callable[[list[bytes]], bytes], said: str, lines: list[bytes], tmp_path: Path
) -> None:
    """The good part is enough for the same finding, and the report says what was skipped."""
    path = tmp_path / "metrics.om"
    path.write_bytes(broken(lines))
    document = report(path)
    assert findings_of(document)[0] == "workers-saturated"
    assert any(said in note for note in notes_of(document)), notes_of(document)


def not_a_number(lines: list[bytes]) -> bytes:
    """Each third queue depth is NaN."""
    broken = [
        line.rsplit(b" ", 2)[0] + b" NaN " + line.rsplit(b" ", 1)[1]
        if line.startswith(b"workqueue_depth{") and index % 3 == 0
        else line
        for index, line in enumerate(lines)
    ]
    return b"\n".join([*broken, b"# EOF", b""])


def repeated(lines: list[bytes]) -> bytes:
    """Everything twice, as where two files were joined."""
    return b"\n".join([*lines, *lines, b"# EOF", b""])


def clock_set_back(lines: list[bytes]) -> bytes:
    """Samples in the reverse order of time, as where a clock jumps."""
    return b"\n".join([*reversed(lines), b"# EOF", b""])


@pytest.mark.parametrize("broken", [not_a_number, repeated, clock_set_back])
def test_what_does_no_harm_changes_nothing(
    broken: Callable[[list[bytes]], bytes], lines: list[bytes], tmp_path: Path
) -> None:
    """The finding is that of the untouched file."""
    path = tmp_path / "metrics.om"
    path.write_bytes(broken(lines))
    assert findings_of(report(path)) == findings_of(report(EXAMPLE))


@pytest.mark.parametrize("value", ["-0.5", ".nan", ".inf", "soon", "[1]", "2026-01-01"])
def test_impossible_facts_name_their_place(value: str, tmp_path: Path) -> None:
    """Negative durations, no numbers and wrong types are refused with the path in the file."""
    path = tmp_path / "a.facts.yaml"
    path.write_text(f"controllers:\n  raycluster:\n    reconcile_seconds_mean: {value}\n", encoding="utf-8")
    code, printed, errors = analysed("--facts", str(path))
    assert (code, printed) == (3, "")
    assert "controllers.raycluster.reconcile_seconds_mean" in errors
    assert "hint:" in errors


def test_negative_durations_in_the_log_are_skipped(tmp_path: Path) -> None:
    """A log whose clock went back gives no span, and the metrics still give the finding."""
    folder = tmp_path / "recording"
    folder.mkdir()
    (folder / "metrics.om.gz").write_bytes(EXAMPLE.read_bytes())
    entry = {"level": "info", "msg": "Reconciling", "controller": "raycluster", "namespace": "a", "name": "b"}
    records = [entry | {"ts": f"2026-01-01T00:00:{59 - second:02}.000Z", "reconcileID": "1"} for second in range(60)]
    (folder / "operator.log").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    assert findings_of(report(folder))[0] == "workers-saturated"


@pytest.mark.timeout(400)
def test_a_million_label_values_are_cut_off_and_said(lines: list[bytes], tmp_path: Path) -> None:
    """An exporter that invents labels neither fills the memory nor hides what was there before."""
    path = tmp_path / "metrics.om.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(b"\n".join([*lines, b""]))
        for begin in range(0, 1_000_000, 10_000):
            file.write(b"".join(b'workqueue_depth{name="k%d"} 1 5\n' % index for index in range(begin, begin + 10_000)))
        file.write(b"# EOF\n")
    document = report(path)
    notes = notes_of(document)
    assert findings_of(document)[0] == "workers-saturated"
    for said in ("samples of series beyond the first", "controllers left out"):
        assert any(note.startswith(said) for note in notes), notes


@pytest.mark.timeout(400)
def test_a_line_of_a_gigabyte_is_skipped(lines: list[bytes], tmp_path: Path) -> None:
    """It is unpacked piece by piece, never kept, and the lines around it count."""
    path = tmp_path / "metrics.om.gz"
    piece = gzip.compress(b"x" * (1 << 24), compresslevel=1)
    with path.open("wb") as file:
        file.write(gzip.compress(b"\n".join([*lines[: len(lines) // 2], b""])))
        for _ in range(64):
            file.write(piece)
        file.write(gzip.compress(b"\n".join([b"", *lines[len(lines) // 2 :], b"# EOF", b""])))
    document = report(path)
    assert findings_of(document)[0] == "workers-saturated"
    assert any("skipped" in note for note in notes_of(document)), notes_of(document)
