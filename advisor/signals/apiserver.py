"""What the API server says of itself, where its own series are in the input: a second witness, from the other side.

Its durations hold neither the client's limiter nor the network, so they tell a slow server from a slow way there.
"""

from advisor.model.raw import SeriesStore
from advisor.model.signal import Window
from advisor.model.signals import ApiServerSignals
from advisor.signals.curves import Curve, increase
from advisor.signals.making import Maker

__all__ = ["API_SERVER_SERIES", "ApiServerSeries"]

_DURATION = "apiserver_request_duration_seconds"
_REQUESTS = "apiserver_request_total"
_WRITES = ("POST", "PUT", "PATCH", "APPLY")

API_SERVER_SERIES = {
    f"{_DURATION}_sum": ("verb", "instance"),
    f"{_DURATION}_count": ("verb", "instance"),
    _REQUESTS: ("code", "instance"),
}
"""Names and the labels that are kept; the instance is, since the counters of one begin again together."""


class ApiServerSeries:
    """Curves of the API server's own series, made once."""

    def __init__(self, store: SeriesStore) -> None:
        self._origin = store.origin
        self._sums, self._counts = (
            [Curve(one) for one in store.get(f"{_DURATION}_{part}") if one.labels.get("verb") in _WRITES]
            for part in ("sum", "count")
        )
        self._rejected = [Curve(one) for one in store.get(_REQUESTS) if one.labels.get("code") == "429"]

    def signals(self, window: Window) -> ApiServerSignals | None:
        """The signals of one window; None where the input holds none of the series."""
        if not self._counts:
            return None
        make = Maker(window, self._origin)
        return ApiServerSignals(
            write_seconds_mean=make.mean(
                increase(self._sums, window), increase(self._counts, window), f"mean {_DURATION} of writes"
            ),
            # A code that never came has no series.
            rejected_per_second=make.rate(
                increase(self._rejected, window) or 0.0, f'rate of {_REQUESTS}{{code="429"}}'
            ),
        )
