"""How the result of a fleet is shown: the same in every form, with nothing in it taken for markup."""

import json
from io import StringIO

import jsonschema
import msgspec
import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from advisor.model.finding import FindingCode, Severity
from advisor.model.fleet import Fleet
from advisor.report.fleetjson import fleet_schema, render_fleet_json
from advisor.report.fleettext import plain_fleet, print_fleet, render_fleet_markdown
from advisor.report.fleetwording import HEADS, age_text, cells, head_line
from tests.report.fleetmade import BEGAN, DOWN, analysed, example, failed, verdict
from tests.support import ROOT, Golden


def test_text(golden: Golden) -> None:
    """Plain lines for a pipe, each below 120 columns; failures of one reason in one line, at the end."""
    text = plain_fleet(example(), width=120)
    golden.check("fleet/example.txt", text)
    assert max(map(len, text.splitlines())) <= 120


def test_markdown(golden: Golden) -> None:
    """What a ticket takes."""
    golden.check("fleet/example.md", render_fleet_markdown(example()))


def test_json(golden: Golden) -> None:
    """The published schema describes it, it reads back as it was, and each operator is one line."""
    text = render_fleet_json(example())
    golden.check("fleet/example.json", text)
    published = json.loads((ROOT / "advisor" / "schemas" / "fleet-v1.schema.json").read_text(encoding="utf-8"))
    assert published == json.loads(json.dumps(fleet_schema()))
    jsonschema.validate(json.loads(text), published)
    assert msgspec.json.decode(text, type=Fleet) == example()
    assert sum('"name":' in line for line in text.splitlines()) == 13


def test_an_interrupted_run_says_how_far_it_got() -> None:
    """Every form says it above all else, and how to go on."""
    part = msgspec.structs.replace(example(), operators=example().operators[:2], left=("a", "b", "c"))
    line = "Interrupted: 2 of 5 operators are finished; the same command goes on from there."
    for text in (plain_fleet(part, width=120), render_fleet_markdown(part)):
        assert line in text.split("prod/eu")[0]
        assert "5 operators at 2026-11-29 20:05:00 UTC: 2 critical, 3 left" in text
    assert line not in plain_fleet(example(), width=120)


@pytest.mark.parametrize("fleet", [Fleet(began=BEGAN, made=BEGAN, operators=(), left=()), None])
def test_without_a_verdict_there_is_no_table(fleet: Fleet | None) -> None:
    """Where nothing was analysed the reasons stand alone."""
    shown = fleet or Fleet(began=BEGAN, made=BEGAN, operators=(failed("a"),), left=())
    for text in (plain_fleet(shown, width=120), render_fleet_markdown(shown)):
        assert "queue wait" not in text
        assert ("Connection refused" in text) == (fleet is None)
    assert render_fleet_json(shown).endswith("}\n")


def on_a_terminal(fleet: Fleet, width: int) -> str:
    """What a terminal of this width gets."""
    console = Console(file=StringIO(), force_terminal=True, color_system="standard", width=width)
    with console.capture() as capture:
        print_fleet(fleet, console)
    return capture.get()


def test_a_terminal_gets_colour() -> None:
    """What is critical stands out; the lines are those of a pipe."""
    shown = on_a_terminal(example(), 140)
    assert "\x1b[1;31mcritical" in shown
    lines = [line.rstrip() for line in Text.from_ansi(shown).plain.splitlines()]
    assert lines == plain_fleet(example(), width=140).splitlines()


@pytest.mark.parametrize(
    ("width", "missing"),
    [(120, []), (110, ["age of data"]), (90, ["age of data", "burst"]), (80, ["age of data", "burst", "lost"])],
)
def test_a_narrow_terminal_gets_what_matters_most(width: int, missing: list[str]) -> None:
    """Cells are whole, no line is broken, and what is left out is said."""
    lines = Text.from_ansi(on_a_terminal(example(), width)).plain.splitlines()
    assert max(map(cell_len, lines)) <= width
    (head,) = (line for line in lines if line.startswith("operator "))
    assert [name for name in HEADS if name not in head] == sorted(missing, key=HEADS.index)
    assert any(line.startswith("prod/eu        critical  workers-saturated") for line in lines)
    said = [line.rstrip() for line in lines if line.startswith("A wider terminal shows")]
    assert said == ([f"A wider terminal shows {', '.join(missing)} as well."] if missing else [])


def test_names_are_shown_whole() -> None:
    """A name can be searched for however long it is: lines get longer in a pipe, and fold on a terminal."""
    healthy = verdict(FindingCode.HEALTHY, Severity.INFO)
    name = "cluster-0001/" + "long" * 30
    fleet = Fleet(
        began=BEGAN, made=BEGAN, operators=(analysed(name, healthy), analysed("\u6771\u4eac", healthy)), left=()
    )
    first, second = plain_fleet(fleet, width=120).splitlines()[3:5]
    assert first.startswith(f"{name}  info      healthy")
    assert cell_len(second[: second.index("info")]) == len(name) + 2
    folded = Text.from_ansi(on_a_terminal(fleet, 100)).plain
    assert name in "".join(line.split("  ")[0].strip() for line in folded.splitlines())
    assert "concurrency" in folded


def test_the_head_counts() -> None:
    """Severities that occur, failures, and one operator as one."""
    one = Fleet(
        began=BEGAN, made=BEGAN, operators=(analysed("a", verdict(FindingCode.HEALTHY, Severity.INFO)),), left=()
    )
    assert head_line(one) == "1 operator at 2026-11-29 20:05:00 UTC: 1 info"
    assert head_line(example()).endswith(": 2 critical, 1 warning, 2 info, 8 could not be analysed")
    assert (
        head_line(Fleet(began=BEGAN, made=BEGAN, operators=(), left=()))
        == "0 operators at 2026-11-29 20:05:00 UTC: none"
    )


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5.0, "0 s"), (0.0, "0 s"), (119.0, "119 s"), (121.0, "2 min"), (7300.0, "2 h"), (200000.0, "2 d")],
)
def test_ages(seconds: float, text: str) -> None:
    """Each in its own unit; a clock that is ahead makes no age below zero."""
    assert age_text(seconds) == text


def test_names_are_not_markup() -> None:
    """An operator may be called anything, and a store may answer anything."""
    name = "[bold]<script>|*x*\x1b[31m"
    healthy = verdict(FindingCode.HEALTHY, Severity.INFO)
    answer = msgspec.structs.replace(DOWN, error="<b>\x1b[2J</b>")
    fleet = Fleet(began=BEGAN, made=BEGAN, operators=(analysed(name, healthy), failed(f"{name}2", answer)), left=())
    text = plain_fleet(fleet, width=120)
    assert "[bold]<script>|*x*\ufffd[31m" in text
    assert "\x1b" not in text
    markdown = render_fleet_markdown(fleet)
    assert "\\[bold\\]\\<script>\\|\\*x\\*" in markdown
    assert "\x1b" not in markdown
    assert cells(fleet.operators[0], healthy, BEGAN)[3] == "-"
