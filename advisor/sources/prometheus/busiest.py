"""The stretches of a range in which the operator had most to do, from a coarse reading of it."""

from advisor.model.raw import SeriesStore
from advisor.model.signal import Window
from advisor.model.signals import EpisodeKind
from advisor.signals.controllers import ControllerSeries, controller_series
from advisor.signals.episodes import CutRules, cut
from advisor.signals.instances import Instances

__all__ = ["busiest"]


def busiest(store: SeriesStore) -> tuple[Window, ...]:
    """Loads and start-ups, those first in which workers and keys spent most time; none where nothing was."""
    instances = Instances(store)
    controllers, _ = controller_series(store, instances)
    episodes = cut(controllers, instances.scrape_times(), instances.starts(), CutRules())
    spent = {
        episode.window: sum(_key_seconds(one, episode.window) for one in controllers)
        for episode in episodes
        if episode.kind is not EpisodeKind.QUIET
    }
    ranked = sorted(spent, key=lambda window: (-spent[window], window.start))
    return tuple(Window(window.start, window.end) for window in ranked)


def _key_seconds(controller: ControllerSeries, window: Window) -> float:
    """Seconds that keys spent with a worker or waiting for one."""
    waiting = controller.backlog.mean(window) or 0.0
    return (controller.busy_seconds(window) or 0.0) + waiting * window.seconds
