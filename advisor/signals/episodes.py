"""Cutting a recording where the operator's behaviour changes.

Start-up: from a process start until the initial list has drained (all keys enter at once, research: controller-runtime
3.1 and 8.2.14). Load: keys wait or workers work. Quiet: the rest. Short pauses do not end a load, and a load shorter
than ``shortest_seconds`` is part of the quiet around it.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from advisor.model.signal import Window
from advisor.model.signals import Episode, EpisodeKind
from advisor.signals.controllers import ControllerSeries

__all__ = ["CutRules", "cut"]

_INITIAL_LIST = "-100"


class CutRules(msgspec.Struct, frozen=True, kw_only=True):
    """Where behaviour counts as changed."""

    busy_workers: float = 0.05
    """Mean busy workers from which an interval is load; below it the operator hardly works."""
    unfinished_seconds: float = 1.0
    """Reconciles that have run this long together are load, whatever the sampled gauges say."""
    merge_seconds: float = 10.0
    """A pause up to this long belongs to the load around it: polling comes in bursts. A pause of one scrape interval
    always does."""
    shortest_seconds: float = 3.0
    """A load must last this long to be an episode of its own."""
    startup_seconds: float = 60.0
    """How long after a process start its initial list may begin to drain."""
    startup_keys: float = 10.0
    """Depth from which the initial list is worth an episode."""


def cut(
    controllers: Sequence[ControllerSeries],
    scrapes: Sequence[float],
    starts: Sequence[float],
    rules: CutRules,
) -> tuple[Episode, ...]:
    """Episodes that cover all scraped time, in order; none where there are fewer than two scrapes."""
    if len(scrapes) < 2:  # noqa: PLR2004 - an interval has two ends
        return ()
    whole = Window(scrapes[0], scrapes[-1])
    episodes: list[Episode] = []
    at = whole.start
    for start in starts:
        startup = _startup(controllers, scrapes, start, rules)
        if startup is not None and startup.window.start >= at:
            episodes.extend(_loads_and_quiet(controllers, _within(scrapes, at, startup.window.start), rules))
            episodes.append(startup)
            at = startup.window.end
    episodes.extend(_loads_and_quiet(controllers, _within(scrapes, at, whole.end), rules))
    return tuple(episodes)


def _within(scrapes: Sequence[float], start: float, end: float) -> Sequence[float]:
    return scrapes[bisect_left(scrapes, start) : bisect_right(scrapes, end)]


def _startup(
    controllers: Sequence[ControllerSeries], scrapes: Sequence[float], started: float, rules: CutRules
) -> Episode | None:
    """The start-up that a process start led to, from the last scrape before it; None where it is in no sample."""
    if not scrapes[0] - rules.startup_seconds <= started < scrapes[-1]:
        return None
    begin = scrapes[max(0, bisect_right(scrapes, started) - 1)]
    reach = Window(max(begin, started), max(begin, started) + rules.startup_seconds)
    drained = []
    for controller in controllers:
        initial = controller.depths.get(_INITIAL_LIST)
        if initial is None or (initial.peak(reach) or 0.0) < rules.startup_keys:
            continue
        times, values = initial.slice(Window(reach.start, scrapes[-1]))
        entered = max(range(len(initial.slice(reach)[1])), key=values.__getitem__)
        drained.append(next((times[i] for i in range(entered, len(values)) if values[i] <= 0), scrapes[-1]))
    if not drained:
        return None
    reason = "the process had just started: every key entered at once at priority -100, until that list was drained"
    return Episode(EpisodeKind.STARTUP, Window(begin, max(drained)), reason)


def _loads_and_quiet(
    controllers: Sequence[ControllerSeries], times: Sequence[float], rules: CutRules
) -> Iterator[Episode]:
    if len(times) < 2:  # noqa: PLR2004 - an interval has two ends
        return
    interval_seconds = (times[-1] - times[0]) / (len(times) - 1)
    loads = _merged(_active_intervals(controllers, times, rules), max(rules.merge_seconds, 1.5 * interval_seconds))
    at = times[0]
    for load in loads:
        if load.seconds < rules.shortest_seconds:
            continue
        if load.start > at:
            yield Episode(EpisodeKind.QUIET, Window(at, load.start), "no key waited and hardly a worker was busy")
        yield Episode(EpisodeKind.LOAD, load, "keys waited or workers were busy")
        at = load.end
    if at < times[-1]:
        yield Episode(EpisodeKind.QUIET, Window(at, times[-1]), "no key waited and hardly a worker was busy")


def _active_intervals(
    controllers: Sequence[ControllerSeries], times: Sequence[float], rules: CutRules
) -> Iterator[Window]:
    busy, waiting, unfinished = [0.0] * (len(times) - 1), [0.0] * len(times), [0.0] * len(times)
    for controller in controllers:
        busy = _sums(busy, controller.busy_seconds_each(times))
        waiting = _sums(waiting, controller.backlog.at_each(times))
        unfinished = _sums(unfinished, controller.unfinished.at_each(times))
    for at, (start, end) in enumerate(pairwise(times)):
        working = busy[at] >= rules.busy_workers * (end - start)
        if working or waiting[at + 1] > 0 or max(unfinished[at : at + 2]) >= rules.unfinished_seconds:
            yield Window(start, end)


def _sums(values: Sequence[float], others: Sequence[float | None]) -> list[float]:
    return [value + (other or 0.0) for value, other in zip(values, others, strict=True)]


def _merged(intervals: Iterator[Window], pause_seconds: float) -> list[Window]:
    """Intervals joined where the pause between them is no longer than ``pause_seconds``."""
    merged: list[Window] = []
    for interval in intervals:
        if merged and interval.start - merged[-1].end <= pause_seconds:
            merged[-1] = Window(merged[-1].start, interval.end)
        else:
            merged.append(interval)
    return merged
