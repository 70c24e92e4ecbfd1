"""The history of priorities: of a sidecar's shadow queues, else of what the operator itself tells."""

from advisor.model.priorityhistory import PriorityHistory
from advisor.model.raw import SeriesStore
from advisor.signals import sidecarnames as names
from advisor.signals.instances import Instances
from advisor.signals.intervals import Intervals
from advisor.signals.overtime import OverTime
from advisor.signals.ownpriorities import own_priorities
from advisor.signals.shadowpriorities import shadow_priorities

__all__ = ["priority_history"]

_FEWEST_SCRAPES = 2


def priority_history(store: SeriesStore, peaks: SeriesStore | None = None) -> PriorityHistory | None:
    """What the samples of a time tell of priorities; None with fewer than two scrapes, or where none has any queue.

    Args:
        store: samples of an operator or of its sidecar.
        peaks: of gauges, at times of samples, the largest value since the sample before; None takes the samples.
    """
    instances = Instances(store)
    scrapes = instances.scrape_times()
    if len(scrapes) < _FEWEST_SCRAPES:
        return None
    over = OverTime(store, store if peaks is None else peaks, instances, Intervals.cut(scrapes), scrapes)
    is_shadow = store.get(names.ACTIVE) or store.get(names.DEPTH)
    made = shadow_priorities(over) if is_shadow else own_priorities(over)
    if not made:
        return None
    bounds = tuple(round(time, 3) for time in over.intervals.bounds)
    return PriorityHistory(window=over.window, scrapes=len(scrapes), bounds=bounds, controllers=tuple(made))
