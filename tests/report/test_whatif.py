"""How a what-if result is shown: the same in every form, with nothing in it taken for markup."""

import json
import re
from io import StringIO
from xml.etree import ElementTree as ET

import jsonschema
import msgspec
import pytest
from rich.console import Console

from advisor.model.whatif import BestSettings, Interval, LoadSummary, WhatIf
from advisor.report.heatmap import heat_maps
from advisor.report.whatifhtml import render_whatif_html
from advisor.report.whatifjson import render_whatif_json, whatif_schema
from advisor.report.whatiftext import plain_whatif, print_whatif, render_whatif_markdown
from advisor.report.whatifwording import answer, load_line, rows, spread
from tests.report.whatifmade import cell, example
from tests.support import ROOT, Golden


def changed(**parts: object) -> WhatIf:
    """The example with some parts changed."""
    return msgspec.structs.replace(example(), **parts)


def test_text(golden: Golden) -> None:
    """Plain lines for a pipe, each below 120 columns, with the parameters on demand."""
    text = plain_whatif(example(), width=120, verbose=True)
    golden.check("whatif/example-verbose.txt", text)
    assert plain_whatif(example(), width=120) in text


def test_markdown(golden: Golden) -> None:
    """What a pull request takes."""
    golden.check("whatif/example.md", render_whatif_markdown(example()))


def test_html(golden: Golden) -> None:
    """One page with a picture, a table and no script."""
    page = render_whatif_html(example())
    golden.check("whatif/example.html", page)
    assert "<script" not in page
    assert not re.search(r"(?:src|href)=\"(?!#)", page)


def test_json(golden: Golden) -> None:
    """The published schema describes it, and it reads back as it was."""
    text = render_whatif_json(example())
    golden.check("whatif/example.json", text)
    published = json.loads((ROOT / "advisor" / "schemas" / "whatif-v1.schema.json").read_text(encoding="utf-8"))
    assert published == whatif_schema()
    jsonschema.validate(json.loads(text), published)
    assert msgspec.json.decode(text, type=WhatIf) == example()


def test_a_terminal_gets_colour() -> None:
    """The settings to choose stand out."""
    console = Console(file=StringIO(), force_terminal=True, color_system="standard", width=140)
    with console.capture() as capture:
        print_whatif(example(), console)
    assert "\x1b[1;32m" in capture.get()


def test_the_answer_is_one_sentence() -> None:
    """What to set, what it is now, and how sure that is."""
    assert answer(example()) == (
        "The smallest settings that keep the mean queue wait within 5 s are 4 workers, QPS 100 with burst 200: "
        "2 s (1.6-2.6), now 9 s (7.2-12)."
    )
    assert answer(changed(smallest=1)).startswith("The settings in force keep the mean queue wait within 5 s: 9 s")
    assert answer(changed(smallest=7)).endswith(", as far as a guess beyond the calibrated range can tell.")
    assert answer(changed(smallest=None)) == (
        "None of the settings is sure to keep the mean queue wait within 5 s, now 9 s (7.2-12); "
        "the least is 300 ms (240-390) with 4 workers, no limiter."
    )
    assert (
        answer(changed(smallest=None, best=(), cells=()))
        == "None of the settings is sure to keep the mean queue wait within 5 s."
    )


def test_an_interrupted_run_says_how_far_it_got() -> None:
    """Every form says it above all else."""
    part = changed(cells=example().cells[:3], smallest=None, best=(), cells_wanted=9)
    line = "Interrupted: 3 of 9 combinations are finished."
    for text in (plain_whatif(part, width=120), render_whatif_markdown(part), render_whatif_html(part)):
        assert line in text
    assert line not in plain_whatif(example(), width=120)


@pytest.mark.parametrize(
    ("value", "low", "high", "unit", "text"),
    [
        (9.871, 8.12, 11.83, "seconds", "9.87 s (8.1-12)"),
        (0.869, 0.684, 1.284, "seconds", "869 ms (680-1300)"),
        (150.0, 119.0, 181.0, "seconds", "2.5 min (2-3)"),
        (0.00012, 0.000096, 0.00016, "seconds", "120 us (96-160)"),
        (0.0, 0.0, 0.0, "seconds", "0 s"),
        (0.0, 0.0, 0.0011, "seconds", "0 s (up to 1.1 ms)"),
        (1.0, None, None, "seconds", "1 s"),
        (0.5, 0.25, 0.75, "ratio", "50% (25%-75%)"),
    ],
)
def test_intervals_are_short(value: float, low: float | None, high: float | None, unit: str, text: str) -> None:
    """In the unit of the value, with two digits; none where there is no width."""
    assert spread(Interval(quantity="some", unit=unit, value=value, low=low, high=high)) == text


def test_the_load_is_one_line() -> None:
    """Only what there is."""
    empty = dict.fromkeys(("existing", "created", "pods", "scalings", "deletions", "restarts"), 0)
    nothing = LoadSummary(name="a", arrival_seconds=0.0, duration_seconds=None, **empty)
    assert load_line(changed(load=nothing)) == "load of a: nothing"
    some = msgspec.structs.replace(nothing, created=3, pods=6, deletions=2, duration_seconds=60.0)
    assert load_line(changed(load=some)) == "load of a: 3 created at once with 6 Pods, 2 deleted, 60 s long"


def test_limits_have_their_column_where_there_are_any() -> None:
    """A CPU limit is shown once one cell has one, and named in the answer."""
    limited = changed(
        cells=(cell(1, 20.0, 9.0, is_now=True, limit=None), cell(1, 20.0, 4.0, limit=0.5)), smallest=1, best=()
    )
    assert [row.cells[3] for row in rows(limited)][::2] == ["-", "0.5"]
    assert "and 0.5 cores" in answer(limited)
    assert "limit" not in plain_whatif(example(), width=120).split("Forecast")[1].splitlines()[1].split("limiter")[0]


def pictures(result: WhatIf) -> list[ET.Element]:
    """The pictures of a result, read as XML."""
    return [ET.fromstring(str(one)) for one in heat_maps(result)]  # noqa: S314 - made here


def test_a_heat_map_says_in_words_what_it_shows() -> None:
    """Every cell is in the description, with what is special about it; darker is longer."""
    (figure,) = pictures(example())
    svg = figure.find("svg")
    assert svg is not None
    described = svg.findtext("desc") or ""
    assert "1 worker, QPS 100: 9 s (now)." in described
    assert "4 workers, QPS 100: 2 s (enough)." in described
    assert "64 workers, QPS 20: 5.9 s (guess, unfinished)." in described
    assert described.count("worker") == 9
    assert (svg.get("aria-labelledby") or "").split() == ["heat-0-title", "heat-0-desc"]
    levels = [(one.get("class") or "").split()[1] for one in svg.findall("rect")]
    assert (levels[0], levels[-1]) == ("level-5", "level-0")


def test_each_burst_and_limit_has_its_picture() -> None:
    """Where a burst is tried with every QPS it is a picture of its own; cells without limiter are in each."""
    cells = tuple(
        cell(1, qps, wait, burst=burst, limit=1.0)
        for qps, wait in ((20.0, 4.0), (50.0, 3.0), (-1.0, 1.0))
        for burst in ((50, 200) if qps > 0 else (200,))
    )
    figures = pictures(changed(cells=cells, smallest=None, best=()))
    captions = ["".join(one.find("figcaption").itertext()) for one in figures]  # type: ignore[union-attr]
    assert captions == [
        "Mean queue wait by workers and QPS, burst 50, 1 cores",
        "Mean queue wait by workers and QPS, burst 200, 1 cores",
    ]
    assert [len(one.findall("svg/rect")) for one in figures] == [3, 3]


def test_no_waits_no_picture() -> None:
    """Where nothing waited there is nothing to colour, and the page stands without it."""
    bare = tuple(msgspec.structs.replace(one, estimates=()) for one in example().cells)
    result = changed(cells=bare, best=(BestSettings(quantity="makespan_seconds", cell=0),))
    assert list(heat_maps(result)) == []
    assert 'id="wait"' not in render_whatif_html(result)
    one_wait = changed(cells=(cell(1, 20.0, 2.0), cell(2, 20.0, 2.0)), smallest=None, best=())
    assert len(pictures(one_wait)) == 1


def test_names_are_not_markup() -> None:
    """A recording may be called anything."""
    name = "<script>|*x*"
    load = msgspec.structs.replace(example().load, name=name)
    result = changed(load=load, notes=(name,))
    assert "<script>" not in render_whatif_html(result)
    assert "\\<script>\\|\\*x\\*" in render_whatif_markdown(result)
    assert f"load of {name}" in plain_whatif(result, width=120)
