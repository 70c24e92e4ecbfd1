"""Draw the dashboards for the docs from recordings of real operators, as a real Prometheus answers their queries.

``python -m scripts.dashboards.pictures [FOLDER]`` from the root of the repository, where FOLDER holds the recordings;
needs prometheus and promtool.
"""

import json
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import httpx

from advisor.analysis import Options, analyse
from advisor.sources.recording import RecordingSource
from scripts.dashboards.drawing import Cell, Curve, draw_dashboard
from tests.dashboards.advisorseries import write_history
from tests.dashboards.panels import DASHBOARDS, filled
from tests.dashboards.ranges import LOOKBACK, ranged
from tests.prometheusserver.server import served
from tests.prometheusserver.tools import system_tool

Json = dict[str, Any]
_ROOT: Final = Path(__file__).resolve().parents[2]
_PICTURES: Final = _ROOT / "docs" / "pictures"
_RECORDED: Final = {
    "operator-overview": ("saturated-one-worker", "100 RayClusters at once, one worker"),
    "queue-and-priorities": ("restart-resync", "an operator that starts with 300 objects, one worker"),
    "client-and-api": ("throttled-client", "QPS 20 and 16 workers"),
    "keys": ("hot-key-annotation-writer", "somebody writes an annotation of one RayCluster all the time"),
}
"""What each dashboard is shown with."""
_STEP: Final = 2.0
_INTERVAL: Final = "8s"
_COLOURS: Final = {"green": "fourth", "blue": "first", "red": "second", "orange": "second"}
_LABEL: Final = re.compile(r"\{\{(\w+)\}\}")


class Asked:
    """Answers of a store over one recording."""

    def __init__(self, client: httpx.Client, start: float, end: float) -> None:
        self._client = client
        self._start, self._end = start, end
        self.times = [start + _STEP * step for step in range(int((end - start) / _STEP) + 1)]

    @property
    def bounds(self) -> list[float]:
        """Of the intervals that end at the times."""
        return [self.times[0] - _STEP, *self.times]

    def curves(self, target: Json) -> Iterator[Curve]:
        """All series of a query."""
        span = f"{max(1, int(self._end - self._start))}s"
        found, complaint = ranged(self._client, filled(target["expr"], _INTERVAL, span), self._start, self._end)
        if complaint:
            raise ValueError(f"{target['expr']}: {complaint}")
        for one in found:
            at = {round((time - self._start) / _STEP): value for time, value in one["values"]}
            yield Curve(
                _named(target.get("legendFormat", ""), one["metric"]), [at.get(step) for step in range(len(self.times))]
            )

    def rows(self, target: Json) -> Iterator[tuple[Mapping[str, str], float]]:
        """Labels and value of each series at the end."""
        span = f"{max(1, int(self._end - self._start))}s"
        asked = {"query": filled(target["expr"], _INTERVAL, span), "time": f"{self._end}"}
        for one in self._client.post("/api/v1/query", data=asked).json()["data"]["result"]:
            yield one["metric"], float(one["value"][1])


def _named(legend: str, labels: Mapping[str, str]) -> str:
    return _LABEL.sub(lambda label: labels.get(label[1], ""), legend)


def _cell(panel: Json, asked: Asked) -> Cell:
    kind, title = panel["type"], panel["title"]
    if kind == "row":
        return Cell(kind=kind, title=title)
    if kind == "text":
        return Cell(kind=kind, title=title, text=panel["options"]["content"])
    defaults = panel["fieldConfig"]["defaults"]
    common: Json = {"kind": kind, "title": title, "unit": defaults["unit"], "text": defaults["noValue"]}
    if kind == "table":
        return Cell(**common, table=_table(panel, asked))
    # What ranks first among equals is the store's choice.
    curves = [curve for target in panel["targets"] for curve in sorted(asked.curves(target), key=lambda one: one.name)]
    steps = defaults["thresholds"]["steps"][1:] if kind == "timeseries" else ()
    return Cell(
        **common,
        bounds=asked.bounds,
        curves=curves,
        lines=[("critical" if one["color"] == "red" else "warn", one["value"]) for one in steps],
        stacked=defaults["custom"].get("stacking", {}).get("mode") == "normal",
        states={
            float(value): (one["text"], _COLOURS[one["color"]])
            for mapping in defaults.get("mappings", ())
            for value, one in mapping["options"].items()
        },
    )


def _table(panel: Json, asked: Asked) -> tuple[Sequence[str], list[list[str]]]:
    """Series of all queries joined by their labels, as the panel's transformations do."""
    organised = panel["transformations"][1]["options"]
    places: dict[str, int] = organised["indexByName"]
    columns = {name: organised["renameByName"][name] for name in sorted(places, key=places.__getitem__)}
    joined: dict[frozenset[tuple[str, str]], dict[str, float]] = {}
    for target in panel["targets"]:
        value = "Value" if len(panel["targets"]) == 1 else f"Value #{target['refId']}"
        for labels, found in asked.rows(target):
            joined.setdefault(frozenset(labels.items()), {})[value] = found
    sort = next(name for name, head in columns.items() if head == panel["options"]["sortBy"][0]["displayName"])
    rows: list[dict[str, str | float]] = [{**dict(labels), **values} for labels, values in joined.items()]
    rows.sort(key=lambda row: (-_number(row.get(sort)), str(sorted(row.items()))))
    told = [[_text(row.get(name, ""), _states(panel, head)) for name, head in columns.items()] for row in rows]
    return list(columns.values()), told


def _states(panel: Json, head: str) -> dict[str, str]:
    """Texts that stand for values of a column."""
    return {
        value: text["text"]
        for one in panel["fieldConfig"]["overrides"]
        if one["matcher"]["options"] == head
        for each in one["properties"]
        if each["id"] == "mappings"
        for mapping in each["value"]
        for value, text in mapping["options"].items()
    }


def _number(value: str | float | None) -> float:
    return value if isinstance(value, float) else 0.0


def _text(value: str | float, states: Mapping[str, str]) -> str:
    if isinstance(value, str):
        return value
    return states.get(f"{value:g}", f"{value:,.4g}")


def draw(name: str, recordings: Path, folder: Path) -> str:
    """One dashboard over its recording; ``folder`` is for files of passing use."""
    recording, told = _RECORDED[name]
    setup = json.loads((recordings / recording / "setup.json").read_text(encoding="utf-8"))
    history = folder / f"{name}.om"
    source = RecordingSource(recordings / recording)
    write_history(recordings / recording, history, analyse(source, Options()))
    with (
        served(system_tool(), history, flags=LOOKBACK) as address,
        httpx.Client(base_url=address, trust_env=False) as client,
    ):
        asked = Asked(client, setup["start"] + _STEP, setup["end"])
        cells = [_cell(panel, asked) for panel in DASHBOARDS[name]["panels"]]
    caption = f"Recorded from a real KubeRay {setup['version']}: {told}. Times are UTC."
    return draw_dashboard(DASHBOARDS[name]["title"], caption, cells)


def main(arguments: Sequence[str]) -> None:
    """Write a picture of each dashboard."""
    recordings = Path(arguments[0]) if arguments else _ROOT.parent / "shared" / "recordings"
    _PICTURES.mkdir(parents=True, exist_ok=True)
    for name in DASHBOARDS:
        with tempfile.TemporaryDirectory() as folder:
            text = draw(name, recordings, Path(folder))
        (_PICTURES / f"dashboard-{name}.svg").write_text(f"{text}\n", encoding="utf-8")
        sys.stderr.write(f"docs/pictures/dashboard-{name}.svg: written\n")


if __name__ == "__main__":
    main(sys.argv[1:])
