from typing import Any

from advisor.knowledge import METRICS, Metric
from advisor.knowledge.render import render_markdown
from tests.support import ROOT

PAGE = ROOT / "docs" / "metrics.md"


def series(name: str, **changes: object) -> Metric:
    """A series with as little as a row needs."""
    fields: dict[str, Any] = {
        "name": name,
        "kind": "gauge",
        "labels": (),
        "unit": "keys",
        "family": "queue",
        "exposed_by": "kuberay",
        "meaning": "Means.",
        "not_meaning": "Means not.",
    }
    return Metric(**(fields | changes))


def test_the_page_is_not_stale() -> None:
    """docs/metrics.md is what the catalogue renders to."""
    assert PAGE.read_text(encoding="utf-8") == render_markdown(METRICS)


def test_every_series_has_one_row() -> None:
    """Each catalogued series is on the page, in one table row of seven cells."""
    rows = [line for line in render_markdown(METRICS).splitlines() if line.startswith("| `")]
    assert sorted(row.split("`")[1] for row in rows) == sorted(metric.name for metric in METRICS)
    assert {row.replace(r"\|", "").count("|") for row in rows} == {8}


def test_a_row_says_since_when_and_until_when() -> None:
    """Releases are named, "any" stands for series that no KubeRay release decides on."""
    page = render_markdown(
        [series("a", since=None), series("b", since="1.4"), series("c", until="1.4", labels=("x", "y"), note="Note.")]
    )
    assert "| `a` | gauge | - | keys | any | Means. | Means not. |" in page
    assert "| `b` | gauge | - | keys | 1.4 | Means. | Means not. |" in page
    assert "| `c` | gauge | x, y | keys | 1.0, gone in 1.4 | Means. Note. | Means not. |" in page


def test_cells_cannot_break_the_table() -> None:
    """A bar inside a text is escaped."""
    assert r"| A \| B. |" in render_markdown([series("a", meaning="A | B.")])


def test_bounds_follow_the_table_of_their_family() -> None:
    """Only families with histograms list bucket bounds, and empty families are left out."""
    page = render_markdown([series("a", kind="histogram", buckets=(1e-8, 0.5, 1000.0))])
    assert "- `a`: 1e-08, 0.5, 1000\n" in page
    assert "Kubernetes client" not in page
    assert "Bucket bounds" not in render_markdown([series("a")])
