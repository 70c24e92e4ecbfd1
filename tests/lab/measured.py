"""What happened in a run, from what was recorded, without the product's own arithmetic: the truth to hold it against.

Figures are of the load and what follows it: from the load's start to the recording's end.
"""

import gzip
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

__all__ = ["measure"]

_SAMPLE: Final = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+) (\S+)$")
_LABEL: Final = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_CONTROLLERS: Final = ("raycluster", "rayjob", "rayservice")
_LIMITER: Final = "rest_client_rate_limiter_duration_seconds"
_REQUESTS: Final = "rest_client_request_duration_seconds"

_Series = dict[tuple[str, str], list[tuple[float, float]]]


def measure(folder: Path, load_start: float, end: float) -> dict[str, Any]:
    """The measured part of an ``expected.json``; times in Unix seconds."""
    found: dict[str, Any] = {"load_start": round(load_start, 3), **_ready_times(_objects(folder), load_start)}
    counters = _Counters(_samples(folder), load_start, end)
    for controller in _CONTROLLERS:
        reconciles = counters.delta("workqueue_work_duration_seconds_count", name=controller)
        if reconciles:
            found[controller] = {
                "reconciles": reconciles,
                "queue_wait_seconds_mean": counters.mean("workqueue_queue_duration_seconds", name=controller),
                "work_seconds_mean": counters.mean("workqueue_work_duration_seconds", name=controller),
                "errors": counters.delta("controller_runtime_reconcile_errors_total", controller=controller),
            }
    requests = counters.delta(f"{_LIMITER}_count")
    if requests:
        found["client"] = {
            "requests": requests,
            "limiter_wait_seconds_mean": counters.mean(_LIMITER),
            "request_seconds_mean": counters.mean(_REQUESTS),
        }
    found["cpu_seconds"] = round(counters.delta("process_cpu_seconds_total"), 2)
    return found


class _Counters:
    """Increases of counters over the load."""

    def __init__(self, series: _Series, start: float, end: float) -> None:
        self._series, self._start, self._end = series, start, end

    def delta(self, name: str, /, **labels: str) -> float:
        """The sum over all series of this name with these labels, each from its last sample before the load."""
        return sum(
            self._one(points)
            for (found, text), points in self._series.items()
            if found == name and labels.items() <= dict(_LABEL.findall(text)).items()
        )

    def mean(self, name: str, /, **labels: str) -> float | None:
        """A histogram's or summary's mean."""
        count = self.delta(f"{name}_count", **labels)
        return round(self.delta(f"{name}_sum", **labels) / count, 6) if count else None

    def _one(self, points: list[tuple[float, float]]) -> float:
        inside = [value for time, value in points if self._start <= time <= self._end]
        before = [value for time, value in points if time < self._start]
        if not inside:
            return 0.0
        # A series that begins in the load had counted nothing before it, and one that falls begins anew.
        values = [before[-1] if before else 0.0, *inside]
        restarts = (earlier for earlier, later in itertools.pairwise(values) if later < earlier)
        return values[-1] - values[0] + sum(restarts)


def _ready_times(changes: Iterable[Mapping[str, Any]], load_start: float) -> dict[str, Any]:
    """From a RayCluster's creation to its ready state with all workers, of those created in the load."""
    created: dict[str, float] = {}
    ready: dict[str, float] = {}
    for one in changes:
        if one["kind"] != "RayCluster" or one["t"] < load_start - 0.5:
            continue
        name = f"{one['namespace']}/{one['name']}"
        if one["event"] == "ADDED":
            created.setdefault(name, one["t"])
        if name in created and one["state"] == "ready" and (one["ready_workers"] or 0) >= (one["desired"] or 0) > 0:
            ready.setdefault(name, one["t"])
    times = sorted(ready[name] - created[name] for name in ready)
    found: dict[str, Any] = {"clusters_created": len(created), "clusters_ready": len(ready)}
    if times:
        found["ready_seconds_mean"] = round(sum(times) / len(times), 3)
        for percent in (50, 90, 95, 100):
            found[f"ready_seconds_p{percent}"] = round(times[min(len(times) - 1, percent * len(times) // 100)], 3)
    if created and len(ready) == len(created):
        found["makespan_seconds"] = round(max(ready.values()) - min(created.values()), 3)
    return found


def _lines(path: Path) -> Iterator[str]:
    if path.is_file():
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            yield from lines


def _objects(folder: Path) -> Iterator[Mapping[str, Any]]:
    return map(json.loads, _lines(folder / "objects.jsonl.gz"))


def _samples(folder: Path) -> _Series:
    series: _Series = {}
    for line in _lines(folder / "metrics.om.gz"):
        match = _SAMPLE.match(line.rstrip())
        if match:
            name, labels, value, time = match.groups()
            series.setdefault((name, labels or ""), []).append((float(time), float(value)))
    return series
