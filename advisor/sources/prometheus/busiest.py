"""The stretches of a range in which the operator had most to do, from a coarse reading of it."""

from advisor.model.raw import SeriesStore, Setup
from advisor.model.signal import Window
from advisor.model.signals import EpisodeKind
from advisor.signals.controllers import ControllerSeries
from advisor.signals.episodes import CutRules
from advisor.signals.logdigest import LogDigest
from advisor.signals.objecttimeline import ObjectTimeline
from advisor.signals.observations import Observations
from advisor.sources.prometheus.plan import Span

__all__ = ["busiest"]


def busiest(store: SeriesStore) -> tuple[Span, ...]:
    """Loads and start-ups, those first in which workers and waiting keys spent most time; the end of the range last.

    The end is what somebody who is called at night asks about, even where nothing happens.
    """
    observed = Observations(store, LogDigest(), ObjectTimeline(), Setup())
    whole = observed.whole()
    if whole is None:
        return ()
    spent = {
        episode.window: sum(_key_seconds(one, episode.window) for one in observed.controllers)
        for episode in observed.episodes(CutRules())
        if episode.kind is not EpisodeKind.QUIET
    }
    ranked = sorted(spent, key=lambda window: (-spent[window], window.start))
    return tuple(Span(window.start, window.end) for window in ranked)


def _key_seconds(controller: ControllerSeries, window: Window) -> float:
    """Seconds that keys spent with a worker or waiting for one."""
    waiting = controller.backlog.mean(window) or 0.0
    return (controller.busy_seconds(window) or 0.0) + waiting * window.seconds
