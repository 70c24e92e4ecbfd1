"""The page of the dashboards, and their pictures."""

import re
from types import ModuleType
from xml.etree import ElementTree as ET

import pytest

from tests.dashboards.panels import DASHBOARDS, panels, queries
from tests.dashboards.scripted import script
from tests.support import ROOT

PAGE = (ROOT / "docs" / "dashboards.md").read_text(encoding="utf-8")
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def drawing() -> ModuleType:
    """The module that draws."""
    return script("drawing")


def test_the_page_has_every_panel_and_query() -> None:
    """Each panel with what it means, and each query as it is committed."""
    for panel in panels():
        if panel.type != "text":
            assert f"#### {panel.title}\n" in PAGE
    for query in queries():
        assert f"\n{query.expr}\n" in PAGE


def test_the_page_names_every_choice() -> None:
    """Each variable by its label."""
    for dashboard in DASHBOARDS.values():
        for one in dashboard["templating"]["list"]:
            assert f"| {one['label']} |" in PAGE


def test_the_data_page_has_every_query() -> None:
    """The table of a full run is of these panels."""
    text = (ROOT / "docs" / "dashboards-data.md").read_text(encoding="utf-8")
    for query in queries():
        assert f"| {query.panel.dashboard} | {query.panel.title} ({chr(ord('A') + query.index)}) |" in text


@pytest.mark.parametrize("name", sorted(DASHBOARDS))
def test_each_picture_shows_every_panel(name: str) -> None:
    """A picture is well-formed, follows the reader's theme, runs nothing, and has each panel's title."""
    text = (ROOT / "docs" / "pictures" / f"dashboard-{name}.svg").read_text(encoding="utf-8")
    assert f"pictures/dashboard-{name}.svg" in PAGE
    assert "prefers-color-scheme: dark" in text
    assert "<script" not in text
    titles = {one.text for one in ET.fromstring(text).iter(f"{SVG}text") if one.get("class") == "title"}  # noqa: S314 - ours
    for panel in panels():
        if panel.dashboard == name:
            assert any(str(title).startswith(panel.title) for title in titles), panel.title


class TestDrawing:
    """What the pictures are made of."""

    @staticmethod
    def drawn(drawing: ModuleType, **what: object) -> str:
        """A dashboard of one panel."""
        cells = [
            drawing.Cell(kind="row", title="row"),
            drawing.Cell(**{"title": "panel", "bounds": (0.0, 2.0, 4.0), **what}),
        ]
        text: str = drawing.draw_dashboard("name", "caption", cells)
        ET.fromstring(text)  # noqa: S314 - ours
        return text

    def test_a_stack_adds_up(self, drawing: ModuleType) -> None:
        """The upper curve is the sum, and unknown values add nothing."""
        curves = [drawing.Curve("a", (1.0, None)), drawing.Curve("b", (1.0, 2.0))]
        text = self.drawn(drawing, kind="timeseries", curves=curves, stacked=True)
        assert re.findall(r'line (?:first|second)" d="([^"]*)"', text) == ["M56 30H450", "M56 101H253"]

    def test_buckets_are_told_apart(self, drawing: ModuleType) -> None:
        """What is exposed is cumulative; only buckets with a count are drawn, by their bound."""
        curves = [drawing.Curve("+Inf", (3.0, 0.0)), drawing.Curve("1", (2.0, 0.0))]
        text = self.drawn(drawing, kind="heatmap", curves=curves)
        assert text.count('class="heat"') == 2
        assert "fill-opacity:1.00" in text
        assert "fill-opacity:0.71" in text

    def test_states_have_their_colour(self, drawing: ModuleType) -> None:
        """A value without a state is drawn still; an unknown one is not."""
        text = self.drawn(
            drawing,
            kind="state-timeline",
            curves=[drawing.Curve("a", (1.0, None))],
            states={0.0: ("down", "second"), 1.0: ("up", "fourth")},
        )
        assert text.count('class="state fill fourth"') == 2
        assert text.count('class="state fill second"') == 1

    def test_values_have_units(self, drawing: ModuleType) -> None:
        """Seconds in words; bytes in the size that fits."""
        assert "1.5 s" in self.drawn(drawing, kind="stat", unit="s", curves=[drawing.Curve("a", (None, 1.5))])
        for size, name in ((3.0 * 2**20, "MiB"), (3000.0, "KiB")):
            curves = [drawing.Curve("a", (size, size))]
            assert f"panel ({name})" in self.drawn(drawing, kind="timeseries", unit="bytes", curves=curves)

    def test_a_panel_without_data_says_why(self, drawing: ModuleType) -> None:
        """Its text stands in place of curves and rows."""
        for kind in ("timeseries", "heatmap", "stat", "table", "state-timeline"):
            assert "needs more" in self.drawn(drawing, kind=kind, text="needs more")

    def test_names_are_text(self, drawing: ModuleType) -> None:
        """Whatever a series or an object is called."""
        table = (("head",), (("<script>alert(1)</script>",),))
        assert "<script" not in self.drawn(drawing, kind="table", table=table)
        assert "<b>" not in self.drawn(drawing, kind="stat", curves=[drawing.Curve("<b>", (1.0, 1.0))])
