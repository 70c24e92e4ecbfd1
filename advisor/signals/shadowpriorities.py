"""Priorities of an operator's queues as a sidecar's shadow of them tells.

A sidecar's series change their label ``quality`` while they go on counting, so those that differ in nothing else are
one series here.
"""

from collections.abc import Mapping, Sequence

from advisor.model.priorityhistory import ControllerPriorities, PriorityPast
from advisor.model.raw import Series, SeriesStore
from advisor.model.signal import Quality, Window
from advisor.signals import sidecarnames as names
from advisor.signals.curves import Gauge, increase, sum_gauges
from advisor.signals.overtime import OverTime
from advisor.signals.priorityorder import ordered
from advisor.signals.starving import STARVED_SECONDS, by_age, starved

__all__ = ["shadow_priorities"]


def shadow_priorities(over: OverTime) -> list[ControllerPriorities]:
    """Each controller that has had a key, by name."""
    found: dict[str, set[str]] = {}
    for metric in (names.DEPTH, names.ACTIVE):
        for series in over.store.get(metric):
            controller, priority = _place(series)
            found.setdefault(controller, set()).add(priority)
    made = []
    for controller in sorted(found):
        order = ordered(found[controller])
        shadows = [_Shadow(over, (controller, priority)) for priority in order]
        served = [curve for one in shadows for curve in one.served]
        waited = [curve for one in shadows for curve in one.waited]
        whole = increase(served, over.window)
        rows = enumerate(zip(order, shadows, strict=True))
        made.append(
            ControllerPriorities(
                controller=controller,
                origin="sidecar",
                wait_seconds_mean=over.mean(waited, served),
                served=whole,
                waits=over.means(waited, served),
                priorities=tuple(one.past(priority, shadows[:at], whole) for at, (priority, one) in rows),
            )
        )
    return made


class _Shadow:
    """The series of one priority of one controller, of a sidecar."""

    def __init__(self, over: OverTime, labels: tuple[str, str]) -> None:
        self._over = over

        def of(metric: str, source: SeriesStore) -> list[Series]:
            return [one for one in source.get(metric) if _place(one) == labels]

        def gauge(metric: str, source: SeriesStore) -> Gauge | None:
            found = of(metric, source)
            return over.instances.gauge(found) if found else None

        self.depth, self.depth_peaks = gauge(names.DEPTH, over.store), gauge(names.DEPTH, over.peaks)
        self.oldest, self.oldest_peaks = gauge(names.OLDEST_AGE, over.store), gauge(names.OLDEST_AGE, over.peaks)
        self.blocked, self.active = gauge(names.BLOCKED, over.store), gauge(names.ACTIVE, over.store)
        self.error = gauge(names.DEPTH_ERROR, over.store)
        self.waited = [over.instances.curve(one) for one in _whole(of(names.WAIT_SUM, over.store))]
        self.served = [over.instances.curve(one) for one in _whole(of(names.WAIT_COUNT, over.store))]
        told = of(names.DEPTH, over.store) or of(names.ACTIVE, over.store)
        newest = max(told, key=lambda one: one.times[-1] if len(one) else 0.0)
        self.quality = _quality(newest.labels.get("quality", ""))

    def past(self, priority: str, above: Sequence["_Shadow"], whole: float | None) -> PriorityPast:
        """What is told of it."""
        over = self._over
        served = increase(self.served, over.window)
        oldest = over.largest(self.oldest_peaks)
        own, higher = over.counted(self.served), over.counted([one for upper in above for one in upper.served])
        marks = [by_age(*row) for row in zip(oldest, own, higher, strict=True)]
        seconds, _ = starved(marks, over.intervals.windows, 0.0)
        return PriorityPast(
            priority=priority,
            quality=self.quality,
            depth_now=over.last(self.depth),
            depth_peak=over.peak(self.depth_peaks),
            blocked_now=over.last(self.blocked),
            active_now=over.last(self.active),
            wait_seconds_mean=over.mean(self.waited, self.served),
            oldest_now_seconds=over.last(self.oldest),
            oldest_peak_seconds=over.peak(self.oldest_peaks),
            served=served,
            served_share=served / whole if served is not None and whole else None,
            starved_seconds=seconds,
            is_starving=self._starves_now(above),
            depth_error=over.last(self.error),
            depths=over.largest(self.depth_peaks),
            waits=over.means(self.waited, self.served),
            oldest=oldest,
        )

    def _starves_now(self, above: Sequence["_Shadow"]) -> bool:
        """By what was handed out in the last half minute that its oldest key waited, or since the scrape before."""
        age = self._over.last(self.oldest)
        last, before = self._over.scrapes[-1], self._over.scrapes[-2]
        recent = Window(min(before, last - STARVED_SECONDS), last)
        return by_age(age, increase(self.served, recent), increase([c for one in above for c in one.served], recent))


def _place(series: Series) -> tuple[str, str]:
    return series.labels.get("controller", ""), series.labels.get("priority", "")


def _whole(found: Sequence[Series]) -> list[Series]:
    """Series that differ in their quality only, as one."""
    groups: dict[tuple[tuple[str, str], ...], list[Series]] = {}
    for series in found:
        groups.setdefault(_without_quality(series.labels), []).append(series)
    return [_joined(labels, group) for labels, group in groups.items()]


def _joined(labels: tuple[tuple[str, str], ...], group: Sequence[Series]) -> Series:
    if len(group) == 1:
        return group[0]
    gauge = sum_gauges(group)
    return Series(group[0].name, dict(labels), gauge.times, gauge.values)


def _without_quality(labels: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, value) for name, value in labels.items() if name != "quality"))


def _quality(text: str) -> Quality:
    try:
        return Quality(text)
    except ValueError:
        return Quality.ESTIMATED
