"""Reports that have little to say, in every form."""

import json

import msgspec
import pytest

from advisor.analysis import Options, analyse
from advisor.model.report import Report
from advisor.report.renderers import render
from advisor.report.textreport import plain_report
from advisor.sources.recording import RecordingSource
from tests.support import ROOT


def _rendered(report: Report, form: str) -> str:
    """The report in any form that ``--output`` takes."""
    return plain_report(report, width=120, verbose=True) if form == "text" else render(report, form)


@pytest.fixture(scope="module")
def bare() -> Report:
    """A report on facts alone, without anything that may be absent."""
    report = analyse(RecordingSource(ROOT / "advisor" / "examples" / "saturated-one-worker"), Options())
    advice = msgspec.structs.replace(
        report.advice,
        patches=(),
        actions=(),
        memory_bytes=msgspec.structs.replace(report.advice.memory_bytes, current=2.0**30, value=None),
        burst=msgspec.structs.replace(report.advice.burst, current=None),
    )
    return msgspec.structs.replace(
        report,
        source=msgspec.structs.replace(report.source, kind="facts", samples=0, log_lines=0, object_changes=0),
        findings=(msgspec.structs.replace(report.findings[0], evidence=(), checks=(), lost_ratio=0.0),),
        advice=advice,
        predictions=(),
        figures={},
        missing=(),
        episodes=report.episodes[:1],
        keys=(),
        namespaces=(),
        timeline=None,
    )


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_what_is_absent_has_no_heading(form: str, bare: Report) -> None:
    """Without keys, effects, episodes, patches or gaps nothing is said about them, and facts have no time."""
    text = _rendered(bare, form)
    for title in ("Who takes", "Expected effect", "Episodes", "Patch", "not known", "Over time", "busy worker", "1970"):
        assert title not in text
    assert "kuberay operator 1.7.0: facts" in text
    assert "high confidence" in text
    assert "1 GiB" in text


def test_without_a_timeline_json_has_null(bare: Report) -> None:
    """The key is there, and null says that nothing is known over time."""
    assert json.loads(render(bare, "json"))["timeline"] is None
