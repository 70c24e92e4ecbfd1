"""What a real operator did, against what is said about it."""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from advisor.analysis import Options, analyse, override
from advisor.model.report import Report
from advisor.report.jsonreport import render_json
from advisor.sources.recording import RecordingSource
from tests.verdicts import Answer

ENOUGH = 0.95
SOME = 6
UNSIMULATED = override(Options(), ("policy.most_simulated_pods=0",))
"""Directions of the advice are those of the rules; simulating its effect takes most of the time."""
ANSWER_FILES = ("expected.json",)
OPERATORS_OWN = ("version", "args", "start", "end")
"""Of setup.json, what an operator knows about itself; everything else may be part of the answer key."""


def recordings_with_verdict(shared: Path) -> Iterator[tuple[Path, Answer]]:
    """Each recording that has a verdict, with it."""
    for folder in sorted(path for path in (shared / "recordings").iterdir() if path.is_dir()):
        key: dict[str, Any] = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
        if "primary" in key:
            yield folder, Answer.of(key)


def table(rows: list[tuple[str, Report, list[str]]]) -> str:
    """One line a recording: what was said, what was advised, what is wrong about it."""
    lines = ["", f"{'recording':30} {'finding':22} {'concurrency':12} {'qps':10} {'burst':10} verdict"]
    for name, report, faults in rows:
        advice = report.advice
        lines.append(
            f"{name:30} {report.findings[0].code.value:22} {advice.concurrency.direction.value:12} "
            f"{advice.qps.direction.value:10} {advice.burst.direction.value:10} {'; '.join(faults) or 'right'}"
        )
    return "\n".join(lines)


@pytest.mark.timeout(400)
def test_verdicts_are_right(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of the recordings with a verdict nearly all get it: finding, nothing that must not be said, no wrong advice."""
    rows = [
        (folder.name, report, answer.faults(report))
        for folder, answer in recordings_with_verdict(shared)
        for report in [analyse(RecordingSource(folder), Options())]
    ]
    right = sum(1 for *_, faults in rows if not faults)
    with capsys.disabled():
        sys.stdout.write(f"{table(rows)}\n{right} of {len(rows)} right\n")
    assert right >= ENOUGH * len(rows), table(rows)


@pytest.mark.parametrize("left_out", ["operator.log.gz", "objects.jsonl.gz"])
@pytest.mark.timeout(400)
def test_verdicts_hold_with_less_input(shared: Path, tmp_path: Path, left_out: str) -> None:
    """Without the log, or without the object timeline, the verdicts still hold."""
    rows = []
    for folder, answer in recordings_with_verdict(shared):
        lean = tmp_path / folder.name
        shutil.copytree(folder, lean, ignore=shutil.ignore_patterns(left_out, "operator.stdout.log.gz"))
        report = analyse(RecordingSource(lean), UNSIMULATED)
        rows.append((folder.name, report, answer.faults(report)))
    right = sum(1 for *_, faults in rows if not faults)
    assert right >= ENOUGH * len(rows), table(rows)


@pytest.mark.timeout(400)
def test_the_answer_key_is_never_read(shared: Path, tmp_path: Path) -> None:
    """With the answer key stripped and the folder renamed, every byte of the report stays the same."""
    for number, (folder, _) in enumerate(recordings_with_verdict(shared)):
        stripped = tmp_path / f"r{number}"
        shutil.copytree(folder, stripped, ignore=shutil.ignore_patterns(*ANSWER_FILES))
        setup = json.loads((folder / "setup.json").read_text(encoding="utf-8"))
        kept = {key: setup[key] for key in OPERATORS_OWN}
        (stripped / "setup.json").write_text(json.dumps(kept), encoding="utf-8")
        options = Options() if number % SOME == 0 else UNSIMULATED
        original, renamed = (render_json(analyse(RecordingSource(path), options)) for path in (folder, stripped))
        assert renamed == original, folder.name


@pytest.mark.parametrize(
    ("name", "finding", "directions"),
    [
        ("throttled-one-worker", "client-throttled", ("keep", "raise", "raise")),
        ("standby-replica", "not-leader", ("no-number", "no-number", "no-number")),
        ("hot-key-big-scale-up", "hot-key", ("keep", "keep", "keep")),
    ],
)
def test_verdicts_of_the_shipped_recordings(
    data: Path, name: str, finding: str, directions: tuple[str, str, str]
) -> None:
    """The recordings among the tests' own data get their verdict and advice."""
    report = analyse(RecordingSource(data / "recordings" / name), Options())
    advice = report.advice
    assert report.findings[0].code.value == finding
    assert (advice.concurrency.direction, advice.qps.direction, advice.burst.direction) == directions
