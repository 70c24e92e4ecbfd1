"""Histories of keys and priorities of an operator, made of the samples that the store has.

Samples of a week take a good part of a second to read. So a history is remembered for as long as a chart of it shows no
difference, and readers who ask at the same time share it.
"""

from collections.abc import Callable
from typing import Final

from advisor.model.keyhistory import KeyHistory
from advisor.model.priorityhistory import PriorityHistory
from advisor.model.raw import SeriesStore
from advisor.model.signal import Window
from advisor.signals.keyhistory import key_history
from advisor.signals.names import SELECTION
from advisor.signals.priorityhistory import priority_history
from advisor.signals.sidecarnames import KEY_NAMES, PRIORITY_NAMES
from advisor.store.store import Store
from advisor.web.remembered import Remembered

__all__ = ["SPANS", "USUAL_SPAN", "Loads"]

SPANS: Final = {"1h": 3600.0, "6h": 6 * 3600.0, "24h": 86_400.0, "7d": 7 * 86_400.0}
"""How far back a page looks, by the name that its address has."""
USUAL_SPAN: Final = "1h"
_INTERVALS: Final = 240
_LEAST_SECONDS: Final = 1.0
_MOST_SECONDS: Final = 60.0
_OWN_NAMES: Final = frozenset(
    name
    for name in SELECTION.names
    if name.startswith(("workqueue_", "controller_runtime_active", "controller_runtime_max"))
)
"""What priorities are made of where the operator itself is scraped."""


class Loads:
    """Histories out of one store.

    Args:
        store: where the samples are.
        clock: Unix seconds.
    """

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._keys: Remembered[tuple[str, float], tuple[KeyHistory | None]] = Remembered(clock)
        self._priorities: Remembered[tuple[str, float], tuple[PriorityHistory | None]] = Remembered(clock)

    def keys(self, operator: str, seconds: float) -> KeyHistory | None:
        """Keys over the last so many seconds; None where nothing of them was kept in that time."""

        def make() -> tuple[tuple[KeyHistory | None], float]:
            history = key_history(SeriesStore(self._store.series(operator, self._window(seconds), KEY_NAMES)))
            return (history,), _good_for(None if history is None else history.window)

        return self._keys.get((operator, seconds), make)[0]

    def priorities(self, operator: str, seconds: float) -> PriorityHistory | None:
        """Priorities over the last so many seconds; None where nothing of them was kept in that time."""

        def make() -> tuple[tuple[PriorityHistory | None], float]:
            window, names = self._window(seconds), PRIORITY_NAMES | _OWN_NAMES
            found, largest = (read(operator, window, names) for read in (self._store.series, self._store.peaks))
            history = priority_history(SeriesStore(found), SeriesStore(largest))
            return (history,), _good_for(None if history is None else history.window)

        return self._priorities.get((operator, seconds), make)[0]

    def _window(self, seconds: float) -> Window:
        now = self._clock()
        return Window(now - seconds, now)


def _good_for(window: Window | None) -> float:
    """An interval of a chart of it; a moment where there is nothing yet, as something may come soon."""
    return _LEAST_SECONDS if window is None else min(_MOST_SECONDS, max(_LEAST_SECONDS, window.seconds / _INTERVALS))
