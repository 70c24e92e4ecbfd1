"""Which processes were scraped, when, when they started, and which of them led.

Only the leader reconciles: a standby has no controller series, and after a change of leader the counters begin again
under another instance (research: controller-runtime 3.6).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from advisor.model.raw import Series, SeriesStore
from advisor.model.signal import Window
from advisor.signals.curves import Curve, Gauge, all_times, sum_gauges, together, usual_pause

__all__ = ["LEASE", "Instances", "instance_of", "is_foreign"]

LEASE = "leader_election_master_status"
_START = "process_start_time_seconds"
_FOREIGN_PREFIXES = ("apiserver_", "container_", "kube_")


def is_foreign(name: str) -> bool:
    """Whether a series is scraped from something else than the operator: the kubelet, say."""
    return name.startswith(_FOREIGN_PREFIXES)


def instance_of(labels: Mapping[str, str]) -> str:
    """What tells one scraped process from another; "" where nothing does."""
    return labels.get("instance") or labels.get("pod") or ""


@dataclass(slots=True)
class _Instance:
    scrapes: Sequence[float] = ()
    counts_from: list[float] = field(default_factory=list)
    """Scrapes, and before them the process start where it lies in the observation: nothing was counted before it."""
    restarts: list[float] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)


class Instances:
    """Scrape times and process starts by instance, leadership over time."""

    def __init__(self, store: SeriesStore) -> None:
        times: dict[str, list[Sequence[float]]] = {}
        for series in store:
            if series.name != "up" and not is_foreign(series.name):
                times.setdefault(instance_of(series.labels), []).append(series.times)
        self._by_name = {name: _Instance(scrapes=all_times(found)) for name, found in times.items()}
        for series in store.get(_START):
            self._note_starts(series)
        begin = min((one.scrapes[0] for one in self._by_name.values() if one.scrapes), default=0.0)
        for one in self._by_name.values():
            born = one.starts[:1] if one.starts and begin <= one.starts[0] < one.scrapes[0] else []
            one.counts_from = [*born, *one.scrapes]
        self._leadership = self.gauge(store.get(LEASE))

    def _note_starts(self, series: Series) -> None:
        instance = self._by_name[instance_of(series.labels)]
        previous = None
        for time, value in zip(series.times, series.values, strict=True):
            if previous is None or value != previous:
                instance.starts.append(value)
                if previous is not None:
                    instance.restarts.append(time)
            previous = value

    def curve(self, series: Series) -> Curve:
        """The curve of a counter, knowing its process; one that others expose about it is on its own."""
        if is_foreign(series.name):
            return Curve(series)
        instance = self._by_name.get(instance_of(series.labels), _Instance())
        return Curve(series, scrapes=instance.counts_from, restarts=instance.restarts)

    def gauge(self, series: Iterable[Series]) -> Gauge:
        """The sum of a gauge's series, each process scraped at times of its own."""
        return together(self.gauges(series))

    def gauges(self, series: Iterable[Series]) -> list[Gauge]:
        """A gauge for each process that has any of the series, summed over the process's series."""
        by_process: dict[str, list[Series]] = {}
        for one in series:
            by_process.setdefault(instance_of(one.labels), []).append(one)
        return [sum_gauges(group) for group in by_process.values()]

    def scrape_times(self) -> Sequence[float]:
        """Times of all scrapes, of any instance, in order."""
        return all_times(one.scrapes for one in self._by_name.values())

    def usual_pause(self) -> float:
        """Seconds between scrapes of one process, the median of the longest-spaced; 0 with no two scrapes of any."""
        return max((usual_pause(one.scrapes) for one in self._by_name.values()), default=0.0)

    def starts(self) -> list[float]:
        """Unix times at which the processes started, in order."""
        return sorted({start for one in self._by_name.values() for start in one.starts})

    def restarts(self, window: Window) -> int:
        """How many process starts were seen in the window."""
        return sum(1 for one in self._by_name.values() for time in one.restarts if time in window)

    def leader(self, window: Window) -> float | None:
        """Share of the scraped time for which a scraped instance led; None where no instance tells."""
        mean = self._leadership.mean(window)
        return None if mean is None else min(1.0, mean)
