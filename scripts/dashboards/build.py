"""From the sources to files: the dashboards, and what an outside linter has to leave out and why.

Needs the builder, which is in ``.venv-dashboards`` alone.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from grafana_dashboards.parser import DefinitionParser

from scripts.dashboards import components  # noqa: F401 - the builder finds components among the classes that exist
from scripts.dashboards.exclusions import lint_file
from scripts.dashboards.postprocess import finished
from scripts.dashboards.settings import threshold_defaults

__all__ = ["FOLDER", "files"]

FOLDER: Final = Path(__file__).resolve().parents[2] / "dashboards"


def files(sources: Path = FOLDER / "sources", *, shows_cluster: bool = False) -> Iterator[tuple[str, str]]:
    """Name and text of each file; keys are sorted, since the builder takes some of them out of sets."""
    made: dict[str, dict[str, Any]] = {}
    for project in DefinitionParser().load_projects(sorted(sources.glob("*.yaml"))):
        for context in project.get_contexts(dict(threshold_defaults())):
            for dashboard in project.get_dashboards():
                built = dashboard.gen_json(context)
                made[dashboard.name] = finished(built, dashboard.name, shows_cluster=shows_cluster)
    for name, one in sorted(made.items()):
        yield f"{name}.json", json.dumps(one, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
    yield ".lint", lint_file(list(made.values()))
