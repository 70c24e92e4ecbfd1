"""Lines of each operator's queue wait, drawn once for each report."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from advisor.report.markup import Markup
from advisor.store.records import OperatorStatus
from advisor.store.store import Store
from advisor.web.spark import draw_spark

__all__ = ["Trend", "Trends"]

_REPORTS: Final = 24
"""Reports that a line is drawn from."""
_MOST: Final = 10_000


@dataclass(frozen=True, slots=True)
class Trend:
    """Mean queue waits up to a report, in seconds, the oldest first, and the line that they make."""

    report_id: int
    waits: Sequence[float | None]
    line: Markup


class Trends:
    """Trends of the operators of one store; for any number of threads.

    A trend changes with its operator's newest report alone, so only of those that have another one by now it is read.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: Mapping[str, Trend] = {}

    def of(self, statuses: Iterable[OperatorStatus]) -> Mapping[str, Trend]:
        """The trends of these, by name; of one without a report there is none."""
        known = self._known
        newest = {one.operator: one.report.id for one in statuses if one.report is not None}
        missing = [name for name, report in newest.items() if name not in known or known[name].report_id != report]
        if missing:
            found = self._store.queue_waits(missing, limit=_REPORTS)
            drawn = {name: Trend(newest[name], waits, _line(waits)) for name, waits in found.items()}
            # One who draws at the same time may take this one's place, and then some are drawn again.
            known = {**known, **drawn}
            self._known = known if len(known) <= _MOST else drawn
        return {name: known[name] for name in newest}


def _line(waits: Sequence[float | None]) -> Markup:
    return draw_spark(waits, f"mean queue wait of the last {len(waits)} reports")
