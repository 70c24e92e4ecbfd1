"""How much reconcile time the log does not show: the operator's own total less what its lines span.

At info level a span ends with the last line, and some reconciles write none, so any one key may have had more time than
its spans: but never more than all that is missing of its controller.
"""

from advisor.sidecar.gauges import Gauges
from advisor.sidecar.reconciles import Ended

__all__ = ["Accounting"]


class Accounting:
    """One controller's reconcile time, by its own counter and by the log, from the same moment on."""

    def __init__(self) -> None:
        self._spanned = 0.0
        self._own: float | None = None
        self._own_total: float | None = None

    def ended(self, event: Ended) -> None:
        """A reconcile ended; what lies before the first scrape is in neither sum."""
        if self._own is not None and not event.late:
            self._spanned += max(0.0, event.time - event.began.time)

    def scraped(self, gauges: Gauges) -> None:
        """Take in the operator's own sum; a fall is a new process, which counts from zero."""
        total = gauges.reconcile_seconds
        if total is None:
            return
        if self._own is not None:
            self._own_total = (self._own_total or 0.0) + (total - self._own if total >= self._own else total)
        self._own = total

    @property
    def unattributed_seconds(self) -> float | None:
        """Time that no span shows; None before a second scrape. What was under way at a scrape can make it less."""
        return None if self._own_total is None else max(0.0, self._own_total - self._spanned)
