"""The committed dashboards are what their sources say."""

import os
import subprocess
import tomllib

import pytest

from advisor.diagnosis.thresholds import Thresholds
from tests.dashboards.scripted import script
from tests.support import ROOT

BUILDER = ROOT / ".venv-dashboards" / "bin" / "python"


def test_the_dashboards_are_not_stale() -> None:
    """Where the builder is installed, which `make test` sees to, it makes the files as they are."""
    if not BUILDER.exists():
        reason = f"no {BUILDER}; make dashboards-check installs the builder"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
    # The builder's interpreter has to see the source tree, which the tests' own must not.
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    command = [str(BUILDER), "-m", "scripts.dashboards", "--check"]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_thresholds_are_read_as_they_are() -> None:
    """What the builder is told is what the product uses."""
    assert script("settings").threshold_defaults() == {
        name: getattr(Thresholds(), name) for name in Thresholds.__struct_fields__
    }


def test_the_lock_holds_the_builder_without_its_client() -> None:
    """Two distributions with hashes, and no address of an index."""
    lock = (ROOT / "requirements" / "dashboards.txt").read_text(encoding="utf-8")
    pins = [line.split("==")[0] for line in lock.splitlines() if "==" in line]
    assert pins == ["grafana-dashboard-builder", "pyyaml"]
    assert lock.count("--hash=sha256:") >= len(pins)
    assert "://" not in lock


def test_the_builder_is_not_shipped() -> None:
    """Nothing of it is a dependency of the product."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "grafana" not in str(project["dependencies"]) + str(project["optional-dependencies"])


def panel(span: int, height: int, finding: str | None = None) -> dict[str, object]:
    """A panel as a component makes it."""
    made: dict[str, object] = {"type": "text", "title": "", "span": span, "height": height}
    if finding is None:
        return made
    return {**made, "finding": finding, "targets": [{"expr": "a\n  b"}, {"expr": "c", "instant": True}]}


def built(*panels: dict[str, object]) -> dict[str, object]:
    """A dashboard as the builder makes it."""
    variables = [{"name": "cluster", "hide": 2}, {"name": "job", "hide": 0}]
    rows = [{"title": "one", "panels": list(panels)}, {"title": "two", "panels": [panel(12, 2)]}]
    return {"title": "T", "refresh": "1m", "time": {}, "rows": rows, "templating": {"list": variables}}


def test_panels_are_placed_below_each_other() -> None:
    """A panel that does not fit beside the others begins a line, below the tallest of the one before."""
    found = script("postprocess").finished(built(panel(6, 4), panel(6, 8), panel(4, 5)), "name")["panels"]
    places = [(one["gridPos"]["x"], one["gridPos"]["y"], one["gridPos"]["w"], one["gridPos"]["h"]) for one in found]
    assert places == [(0, 0, 24, 1), (0, 1, 12, 4), (12, 1, 12, 8), (0, 9, 8, 5), (0, 14, 24, 1), (0, 15, 24, 2)]
    assert [one["id"] for one in found] == [1, 2, 3, 4, 5, 6]


def test_queries_get_letters_and_one_line() -> None:
    """And the panel its data source and the link to its finding."""
    found = script("postprocess").finished(built(panel(6, 4, "hot-key")), "name")["panels"][1]
    assert [(one["refId"], one["expr"], one["instant"], one["range"]) for one in found["targets"]] == [
        ("A", "a b", False, True),
        ("B", "c", True, False),
    ]
    assert found["links"][0]["url"] == "${advisor}/findings/hot-key"
    assert found["datasource"]["uid"] == "${datasource}"


def test_the_cluster_is_hidden_unless_asked_for() -> None:
    """A variant for stores of several clusters shows the choice."""
    for shows, hide in ((False, 2), (True, 0)):
        variables = script("postprocess").finished(built(), "name", shows_cluster=shows)["templating"]["list"]
        assert [one["hide"] for one in variables] == [hide, 0]


def test_the_file_for_the_outside_linter_has_reasons() -> None:
    """Queries with a series of another target are left out by their place, and no others."""
    targets = [{"expr": 'up{job="a"}'}, {"expr": "container_memory_working_set_bytes{}"}]
    exclusions = script("exclusions")
    text = exclusions.lint_file([{"title": "T", "panels": [{"title": "P", "targets": targets}, {"title": "row"}]}])
    assert text.count("targetIdx: 1") == 2
    assert "targetIdx: 0" not in text
    assert all(reason in text for reason in exclusions.FOREIGN.values())
