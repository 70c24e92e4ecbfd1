import json
from io import StringIO
from pathlib import Path

import jsonschema
import msgspec
import pytest
from rich.console import Console

from advisor.analysis import Options, analyse
from advisor.diagnosis.findings import RULES
from advisor.diagnosis.rule import Rule
from advisor.model.advice import Direction, KnobAdvice
from advisor.model.raw import ReadNote
from advisor.model.report import Report
from advisor.report.jsonreport import render_json, report_schema
from advisor.report.pages import render_page
from advisor.report.textreport import plain_report, print_report
from advisor.sources.recording import RecordingSource
from tests.support import ROOT, Golden

WIDTH = 120
SHIPPED = ("throttled-one-worker", "standby-replica", "hot-key-big-scale-up")


@pytest.fixture(scope="module")
def example() -> Report:
    """The report on the example that the package ships."""
    return analyse(RecordingSource(ROOT / "advisor" / "examples" / "saturated-one-worker"), Options())


def test_text_report(example: Report, golden: Golden) -> None:
    """The plain report on the example, whole."""
    golden.check("report/saturated-one-worker.txt", plain_report(example, width=WIDTH))


def test_verbose_text_report(example: Report, golden: Golden) -> None:
    """With origins of all figures and what is not known, whole."""
    golden.check("report/saturated-one-worker-verbose.txt", plain_report(example, width=WIDTH, verbose=True))


@pytest.mark.parametrize("name", SHIPPED)
def test_text_report_of_other_cases(name: str, data: Path, golden: Golden) -> None:
    """Reports with a throttled client, a refusal, and a hot key, whole."""
    report = analyse(RecordingSource(data / "recordings" / name), Options())
    golden.check(f"report/{name}.txt", plain_report(report, width=WIDTH))


def test_narrow_terminals_lose_nothing(example: Report) -> None:
    """On 60 columns no line is longer, and the advice is still there."""
    text = plain_report(example, width=60)
    assert max(len(line) for line in text.splitlines()) <= 60
    assert "reconcileConcurrency: 4" in text


def test_a_terminal_gets_colour_and_a_pipe_none(example: Report) -> None:
    """Colour goes with a terminal only; the words are the same."""
    coloured = StringIO()
    print_report(example, Console(file=coloured, width=WIDTH, force_terminal=True, color_system="standard"))
    assert "\x1b[" in coloured.getvalue()
    assert "\x1b[" not in plain_report(example, width=WIDTH)


def test_notes_on_the_input_are_shown(example: Report) -> None:
    """What was skipped while reading stands in the report."""
    source = msgspec.structs.replace(example.source, notes=(ReadNote(where="a.om", message="3 lines skipped"),))
    text = plain_report(msgspec.structs.replace(example, source=source), width=WIDTH)
    assert "Skipped while reading\n  - a.om: 3 lines skipped\n" in text


@pytest.mark.parametrize("name", SHIPPED)
def test_json_fits_its_schema(name: str, data: Path) -> None:
    """Every report is valid against the published schema."""
    report = analyse(RecordingSource(data / "recordings" / name), Options())
    schema = json.loads((ROOT / "advisor" / "schemas" / "report-v1.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads(render_json(report)), schema)


def test_json_can_be_read_back(example: Report) -> None:
    """The JSON form holds everything: decoding it gives an equal report."""
    assert msgspec.json.decode(render_json(example), type=Report) == example


def test_json_contract(example: Report) -> None:
    """The keys that others rely on are where they are promised to be."""
    document = json.loads(render_json(example))
    assert set(document) >= {"findings", "advice", "predictions", "figures", "missing", "episodes"}
    assert set(document["findings"][0]) >= {"code", "severity", "confidence", "evidence"}
    for name in ("concurrency", "qps", "burst", "cpu_cores", "memory_bytes"):
        assert set(document["advice"][name]) == {"direction", "current", "value", "reason"}
    assert set(document["missing"][0]) == {"name", "reason"}


def test_the_published_schema_is_the_one_of_the_code() -> None:
    """The file in the package has not drifted from the types."""
    published = json.loads((ROOT / "advisor" / "schemas" / "report-v1.schema.json").read_text(encoding="utf-8"))
    assert published == json.loads(json.dumps(report_schema()))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code.value)
def test_pages_name_their_thresholds(rule: Rule) -> None:
    """Each finding's page has its parts, and each threshold with its default."""
    page = render_page(rule)
    for part in ("When it is found", "What would refute it", "What to do", "What not to do", "What it rests on"):
        assert f"\n## {part}\n" in page
    for name in rule.page.thresholds:
        assert f"- `thresholds.{name}` = " in page


def test_an_inferred_version_is_marked(example: Report) -> None:
    """A version that was not stated is shown as what it is."""
    settings = msgspec.structs.replace(example.settings, version="1.7", version_inferred=True)
    first = plain_report(msgspec.structs.replace(example, settings=settings), width=WIDTH).splitlines()[0]
    assert first.startswith("kuberay operator 1.7 (by what it exposes): recording from")


@pytest.mark.parametrize(
    ("name", "current", "value", "line"),
    [
        ("qps", -1.0, 50.0, "Set qps off -> 50; keep the rest."),
        ("memory_bytes", 2.0**29, 2.0**30, "Set memory 512 MiB -> 1 GiB; keep the rest."),
        ("cpu_cores", 0.1, 0.4, "Set cpu 0.1 cores -> 0.4 cores; keep the rest."),
    ],
)
def test_the_advice_in_one_line(name: str, current: float, value: float, line: str, example: Report) -> None:
    """Settings are named as people call them, with units."""
    unchanged = msgspec.structs.replace(
        example.advice.concurrency, direction=Direction.KEEP, value=example.advice.concurrency.current
    )
    knob = KnobAdvice(direction=Direction.RAISE, current=current, value=value, reason="because")
    advice = msgspec.structs.replace(example.advice, concurrency=unchanged, **{name: knob})
    assert line in plain_report(msgspec.structs.replace(example, advice=advice), width=WIDTH).splitlines()


def test_the_timeline_is_compact_in_json(example: Report) -> None:
    """Each series has one line of the document, so that it stays readable and small."""
    assert example.timeline is not None
    lines = [line for line in render_json(example).splitlines() if '"values":' in line]
    assert len(lines) == len(example.timeline.series)
