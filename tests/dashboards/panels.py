"""The dashboards as they are committed: their panels and queries, with Grafana's variables filled in."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.support import ROOT

__all__ = ["DASHBOARDS", "FOLDER", "Panel", "Query", "filled", "panels", "queries"]

FOLDER: Final = ROOT / "dashboards"
DASHBOARDS: Final[Mapping[str, dict[str, Any]]] = {
    path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))
}
_VARIABLE: Final = re.compile(r"\$\{?([a-z]+)\}?")


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel and where it is."""

    dashboard: str
    json: dict[str, Any]

    @property
    def title(self) -> str:
        """What stands above it."""
        return str(self.json["title"])

    @property
    def type(self) -> str:
        """Its kind."""
        return str(self.json["type"])

    def __str__(self) -> str:
        return f"{self.dashboard}: {self.title}"


@dataclass(frozen=True, slots=True)
class Query:
    """One query of a panel, by its place there."""

    panel: Panel
    index: int
    expr: str

    def __str__(self) -> str:
        return f"{self.panel} [{self.index}]"


def panels(*, with_rows: bool = False) -> Iterator[Panel]:
    """All panels of all dashboards; titles of rows are panels too for Grafana."""
    for name, dashboard in DASHBOARDS.items():
        for one in dashboard["panels"]:
            if with_rows or one["type"] != "row":
                yield Panel(name, one)


def queries() -> Iterator[Query]:
    """All queries."""
    for panel in panels():
        for index, target in enumerate(panel.json.get("targets", ())):
            yield Query(panel, index, target["expr"])


def filled(expr: str, interval: str = "1m", span: str = "1h") -> str:
    """A query as Grafana sends it with All chosen everywhere."""
    expr = expr.replace("$__rate_interval", interval).replace("$__range", span)
    all_values = {
        one["name"]: one["allValue"]
        for dashboard in DASHBOARDS.values()
        for one in dashboard["templating"]["list"]
        if one["type"] == "query"
    }
    return _VARIABLE.sub(lambda found: all_values[found[1]], expr)
