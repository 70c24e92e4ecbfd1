"""Signals of what the cluster asked of the operator."""

from array import array
from collections.abc import Iterable

from advisor.model.raw import Series, SeriesStore
from advisor.model.signal import Quality, Signal, Unit, Window
from advisor.model.signals import DemandSignals
from advisor.signals.curves import Gauge, together
from advisor.signals.instances import Instances
from advisor.signals.making import Maker
from advisor.signals.objecttimeline import ObjectTimeline

__all__ = ["DemandSeries"]

_TIMELINE = "object timeline"
_INFO = {
    "raycluster": "kuberay_cluster_info",
    "rayjob": "kuberay_job_info",
    "rayservice": "kuberay_service_info",
}
_PROVISIONED = "kuberay_cluster_condition_provisioned"
_NO_TIMELINE = "no object timeline in the input"
_RATE_SECONDS = 1.0
_SUSTAINED_FEWEST = 20
_SUSTAINED_SECONDS = 5.0
_SUSTAINED_FROM, _SUSTAINED_TO = 0.2, 0.9


class DemandSeries:
    """Object timeline and ``kuberay_*`` counts, made once."""

    def __init__(self, store: SeriesStore, timeline: ObjectTimeline, instances: Instances) -> None:
        self._origin = store.origin
        self._timeline = timeline

        def counted(series: Iterable[Series]) -> Gauge:
            """Every replica counts the same objects, so the count of one is the count."""
            return together(instances.gauges(series), max)

        self._info = {kind: counted(store.get(name)) for kind, name in _INFO.items()}
        self._unprovisioned = counted(map(_unprovisioned, store.get(_PROVISIONED)))

    @property
    def has_timeline(self) -> bool:
        """Whether any object change was read."""
        return self._timeline.changes > 0

    def signals(self, window: Window) -> DemandSignals:
        """Every demand signal of one window."""
        counts = Maker(window, self._origin)
        if self.has_timeline:
            return self._from_timeline(Maker(window, _TIMELINE), counts)
        none = {
            name: counts.of(None, unit, "", reason=_NO_TIMELINE)
            for name, unit in (
                ("clusters_created", Unit.COUNT),
                ("ready_seconds_mean", Unit.SECONDS),
                ("ready_seconds_p95", Unit.SECONDS),
                ("pods_created", Unit.COUNT),
                ("peak_pods_created_per_second", Unit.PER_SECOND),
                ("sustained_pods_per_second", Unit.PER_SECOND),
                ("largest_fanout_pods", Unit.COUNT),
                ("pending_pod_seconds", Unit.SECONDS),
                ("missing_pod_cluster_seconds", Unit.SECONDS),
            )
        }
        return DemandSignals(
            objects=self._objects(counts),
            unready_cluster_seconds=self._unready_area(counts),
            unready_clusters_peak=self._gauge_peak(counts, self._unprovisioned),
            **none,
            **_untold(counts),
        )

    def _objects(self, make: Maker) -> dict[str, Signal]:
        found = {}
        for kind, gauge in self._info.items():
            last = gauge.last(make.window)
            if last is not None:
                found[kind] = make.of(last, Unit.COUNT, f"number of {_INFO[kind]} series")
        if self.has_timeline:
            from_timeline = Maker(make.window, _TIMELINE)
            for kind in self._timeline.kinds():
                count = float(self._timeline.count(kind))
                found.setdefault(kind.lower(), from_timeline.of(count, Unit.COUNT, f"{kind} objects at the end"))
        return found

    def _unready_area(self, make: Maker) -> Signal:
        mean = self._unprovisioned.mean(make.window)
        return make.of(
            None if mean is None else mean * make.window.seconds,
            Unit.SECONDS,
            f'integral of {_PROVISIONED}{{condition="false"}}',
            quality=Quality.ESTIMATED,
        )

    @staticmethod
    def _gauge_peak(make: Maker, gauge: Gauge) -> Signal:
        return make.of(gauge.peak(make.window), Unit.COUNT, f'max of {_PROVISIONED}{{condition="false"}}')

    def _from_timeline(self, make: Maker, counts: Maker) -> DemandSignals:
        timeline, window = self._timeline, make.window
        ready = timeline.ready_seconds(window)
        pods = timeline.pods_created(window)
        times = sorted(time for group in pods.values() for time in group)
        unready = timeline.unready_spans(window)
        unready_seconds = sum(end - start for _, start, end in unready)
        pending_seconds = sum(timeline.waiting_for_pods(window).values())
        no_ready = "no RayCluster became ready in the window"
        return DemandSignals(
            objects=self._objects(counts),
            clusters_created=make.of(float(timeline.created(window)), Unit.COUNT, "RayClusters created"),
            ready_seconds_mean=make.mean(
                sum(ready),
                float(len(ready)),
                "creation to ready of RayClusters, mean",
                reason="" if ready else no_ready,
            ),
            ready_seconds_p95=make.of(
                ready[min(len(ready) - 1, int(0.95 * len(ready)))] if ready else None,
                Unit.SECONDS,
                "creation to ready of RayClusters, 0.95 quantile",
                reason=no_ready,
            ),
            unready_cluster_seconds=make.of(unready_seconds, Unit.SECONDS, "time of RayClusters not as asked for"),
            unready_clusters_peak=make.of(
                float(timeline.unready_peak(window)), Unit.COUNT, "most RayClusters not ready at once"
            ),
            pods_created=make.of(float(len(times)), Unit.COUNT, "Pods created"),
            peak_pods_created_per_second=make.of(
                _peak_rate(times) if times else 0.0, Unit.PER_SECOND, "most Pods created within a second"
            ),
            sustained_pods_per_second=make.of(
                _sustained_rate(times),
                Unit.PER_SECOND,
                "rate of Pod creations from the first fifth to the last tenth of them",
                quality=Quality.ESTIMATED,
                reason=f"fewer than {_SUSTAINED_FEWEST} Pods, or all within {_SUSTAINED_SECONDS:.0f} s",
            ),
            largest_fanout_pods=make.of(
                float(max((len(group) for group in pods.values()), default=0)),
                Unit.COUNT,
                "most Pods created for one RayCluster",
            ),
            pending_pod_seconds=make.of(
                timeline.pending_pod_seconds(window), Unit.SECONDS, "time of Pods that existed and were not ready"
            ),
            missing_pod_cluster_seconds=make.of(
                max(0.0, unready_seconds - pending_seconds),
                Unit.SECONDS,
                "time of RayClusters not as asked for without a Pod that was pending",
            ),
            **_untold(make),
        )


def _untold(make: Maker) -> dict[str, Signal]:
    """What only a person can tell about the load."""
    return {
        "resync_seconds": make.untold(Unit.SECONDS),
        "items_in_burst": make.untold(Unit.COUNT),
        "drain_seconds": make.untold(Unit.SECONDS),
        "api_calls_per_item": make.untold(Unit.COUNT),
    }


def _unprovisioned(series: Series) -> Series:
    """A condition's series as the number of objects for which it does not hold: nothing, where it is about others."""
    if series.labels.get("condition") == "false":
        return series
    return Series(series.name, series.labels, series.times, array("d", bytes(8 * len(series))))


def _peak_rate(times: list[float]) -> float:
    """The largest number of events within one second."""
    best = first = 0
    for last, time in enumerate(times):
        while time - times[first] > _RATE_SECONDS:
            first += 1
        best = max(best, last - first + 1)
    return best / _RATE_SECONDS


def _sustained_rate(times: list[float]) -> float | None:
    """The rate in the middle of a long run of events: behind any initial burst and before the tail."""
    if len(times) < _SUSTAINED_FEWEST or times[-1] - times[0] < _SUSTAINED_SECONDS:
        return None
    first, last = int(_SUSTAINED_FROM * len(times)), int(_SUSTAINED_TO * len(times))
    seconds = times[last] - times[first]
    return (last - first) / seconds if seconds > 0 else None
