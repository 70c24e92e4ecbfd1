"""Signals of the operator's Kubernetes client.

The exported request duration contains the client's own wait, so the API server's time is duration less limiter wait.
The limiter histogram counts every limited request, also those that did not wait; with the limiter off it has no
samples. 409 on POST is "already exists", on PUT and PATCH a conflict (research: controller-runtime 5.2, kuberay 2.3).
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from itertools import pairwise

from advisor.model.raw import Series, SeriesStore
from advisor.model.signal import Quality, Signal, Unit, Window
from advisor.model.signals import ClientSignals, VerbSignals
from advisor.signals.curves import Curve, increase
from advisor.signals.histograms import Histogram
from advisor.signals.instances import Instances
from advisor.signals.making import Maker

__all__ = ["ClientSeries"]

_DURATION = "rest_client_request_duration_seconds"
_LIMITER = "rest_client_rate_limiter_duration_seconds"
_REQUESTS = "rest_client_requests_total"
_WRITES = ("POST", "PUT", "PATCH", "DELETE")
_UPDATES = ("PUT", "PATCH")
_UNNOTICED_WAIT_SECONDS = 0.005
"""The lowest bucket bound of the limiter histogram: a request that waited longer was limited."""
_NOT_EXPOSED = "not exposed: KubeRay has it from 1.7, other operators only where they register it"
_NOT_REGISTERED = "not exposed: an operator has it only where it registers it"


class ClientSeries:
    """Curves of all client series, made once."""

    def __init__(self, store: SeriesStore, instances: Instances, *, is_kuberay: bool = True) -> None:
        self._origin = store.origin
        self._not_exposed = _NOT_EXPOSED if is_kuberay else _NOT_REGISTERED
        self._requests = [(series.labels, instances.curve(series)) for series in store.get(_REQUESTS)]

        def by_verb(name: str) -> dict[str, list[Series]]:
            found: dict[str, list[Series]] = {}
            for series in store.get(name):
                found.setdefault(series.labels.get("verb", ""), []).append(series)
            return found

        def curves(name: str) -> dict[str, list[Curve]]:
            return {verb: [instances.curve(one) for one in series] for verb, series in sorted(by_verb(name).items())}

        self._duration_sum = curves(f"{_DURATION}_sum")
        self._duration_count = curves(f"{_DURATION}_count")
        self._limiter_sum = curves(f"{_LIMITER}_sum")
        self._limiter_count = curves(f"{_LIMITER}_count")
        self._limiter = Histogram.read(
            store.get(f"{_LIMITER}_bucket"), store.get(f"{_LIMITER}_sum"), store.get(f"{_LIMITER}_count"), instances
        )
        self._posted: Curve | None = None

    @property
    def exposes_durations(self) -> bool:
        """Whether the request duration histogram is there."""
        return bool(self._duration_sum)

    @property
    def exposes_limiter(self) -> bool:
        """Whether the limiter histogram has samples; it has none while the limiter is off."""
        return bool(self._limiter_sum)

    def requests(self, window: Window, accept: Callable[[str, str], bool]) -> float | None:
        """Requests of the window whose code and method are accepted; None where no request series has samples in it."""
        seen = False
        total = 0.0
        for labels, curve in self._requests:
            counted = curve.increase(window)
            if counted is not None:
                seen = True
                total += counted if accept(labels.get("code", ""), labels.get("method", "")) else 0.0
        return total if seen else None

    def signals(self, window: Window, *, limiter_off: bool) -> ClientSignals:
        """Every client signal of one window; a limiter that is off waits for nothing."""
        make = Maker(window, self._origin)
        return ClientSignals(
            **self._rates(make),
            requests_per_second_by_code=self._by_code(make),
            **self._codes(make),
            **self._durations(make, limiter_off=limiter_off),
            inferred_write_seconds_mean=make.of(None, Unit.SECONDS, "", reason="inferred from the controllers' time"),
            verbs=tuple(self._verb(verb, make, limiter_off=limiter_off) for verb in self._duration_sum),
        )

    def mean_seconds(self, window: Window, *, limiter_off: bool) -> dict[str, float | None]:
        """Mean seconds of a request in the window: in all, in the client limiter, at the API server."""
        total = self._sum(self._duration_sum, window, None)
        count = self._sum(self._duration_count, window, None)
        waited = self._limiter_wait(window, None, limiter_off=limiter_off)
        limited = self._sum(self._limiter_count, window, None) or count
        net = None if total is None or waited is None else max(0.0, total - waited)
        return {
            "request_seconds_mean": total / count if total is not None and count else None,
            "limiter_wait_seconds_mean": waited / limited if waited is not None and limited else None,
            "api_seconds_mean": net / count if net is not None and count else None,
        }

    def _rates(self, make: Maker) -> dict[str, Signal]:
        window = make.window
        return {
            "requests_per_second": make.rate(self.requests(window, lambda *_: True), f"rate of {_REQUESTS}"),
            "write_requests_per_second": make.rate(
                self.requests(window, lambda _, method: method in _WRITES), f"rate of {_REQUESTS} of write methods"
            ),
            "post_requests_per_second": make.rate(
                self.requests(window, lambda _, method: method == "POST"), f'rate of {_REQUESTS}{{method="POST"}}'
            ),
            "peak_post_per_second": make.of(
                self._peak_post(window), Unit.PER_SECOND, f'largest rate of {_REQUESTS}{{method="POST"}} over a scrape'
            ),
        }

    def _peak_post(self, window: Window) -> float | None:
        """The fastest that requests to create were counted between two scrapes; None where no request was counted."""
        curve = self._posts()
        low, high = bisect_left(curve.times, window.start), bisect_right(curve.times, window.end)
        times, totals = curve.times[low:high], curve.totals[low:high]
        rates = [
            (later - earlier) / (end - start)
            for (start, end), (earlier, later) in zip(pairwise(times), pairwise(totals), strict=True)
        ]
        if rates or len(curve.times):
            return max(rates, default=None)
        # An operator that was seen and never created anything.
        return None if self.requests(window, lambda *_: True) is None else 0.0

    def _posts(self) -> Curve:
        """All requests to create, of any code, as one curve; made when it is first asked for."""
        if self._posted is None:
            self._posted = Curve.merged([curve for labels, curve in self._requests if labels.get("method") == "POST"])
        return self._posted

    def _by_code(self, make: Maker) -> dict[str, Signal]:
        codes = sorted({labels.get("code", "") for labels, _ in self._requests})
        return {
            code: make.rate(
                self.requests(make.window, lambda found, _, code=code: found == code),  # type: ignore[misc]
                f'rate of {_REQUESTS}{{code="{code}"}}',
            )
            for code in codes
        }

    def _codes(self, make: Maker) -> dict[str, Signal]:
        window = make.window
        every = self.requests(window, lambda *_: True)
        writes = self.requests(window, lambda _, method: method in _WRITES)
        updates = self.requests(window, lambda _, method: method in _UPDATES)
        conflicts = self.requests(window, lambda code, method: code == "409" and method in _UPDATES)
        refused = self.requests(window, lambda code, method: code in ("403", "422") and method in _WRITES)
        return {
            "conflict_ratio": make.ratio(
                conflicts, updates, f'{_REQUESTS}{{code="409"}} of PUT and PATCH / all PUT and PATCH'
            ),
            "conflicts_per_second": make.rate(conflicts, f'rate of {_REQUESTS}{{code="409"}} of PUT and PATCH'),
            "too_many_requests_ratio": make.ratio(
                self.requests(window, lambda code, _: code == "429"), every, f'{_REQUESTS}{{code="429"}} / all'
            ),
            "server_error_ratio": make.ratio(
                self.requests(window, lambda code, _: code.startswith("5")), every, f'{_REQUESTS}{{code="5.."}} / all'
            ),
            "refused_ratio": make.ratio(refused, writes, f'{_REQUESTS}{{code="403" or "422"}} of writes / all writes'),
        }

    def _durations(self, make: Maker, *, limiter_off: bool) -> dict[str, Signal]:
        window = make.window
        total = self._sum(self._duration_sum, window, None)
        count = self._sum(self._duration_count, window, None)
        waited = self._limiter_wait(window, None, limiter_off=limiter_off)
        limited = self._sum(self._limiter_count, window, None)
        net = None if total is None or waited is None else max(0.0, total - waited)
        write_net, write_count = self._writes(window, limiter_off=limiter_off)
        reason = "" if self.exposes_durations else f"{_DURATION} is {self._not_exposed}"
        limiter_reason = "" if self.exposes_limiter or limiter_off else f"{_LIMITER} is {self._not_exposed}"
        net_reason = reason or limiter_reason
        share = 0.0 if limiter_off else self._limiter.share_above(_UNNOTICED_WAIT_SECONDS, window)
        origin = f"(delta {_DURATION}_sum - delta {_LIMITER}_sum)"
        return {
            "request_seconds_mean": make.mean(
                total,
                count,
                f"delta {_DURATION}_sum / delta its _count, with the client's own wait in it",
                reason=reason,
            ),
            "limiter_wait_seconds_mean": make.mean(
                waited, limited or count, f"delta {_LIMITER}_sum / delta its _count", reason=limiter_reason
            ),
            "limiter_wait_seconds": make.of(waited, Unit.SECONDS, f"delta {_LIMITER}_sum", reason=limiter_reason),
            "api_seconds_mean": make.mean(net, count, f"{origin} / delta {_DURATION}_count", reason=net_reason),
            "write_api_seconds_mean": make.mean(
                write_net,
                write_count,
                f"{origin} / delta {_DURATION}_count of {', '.join(_WRITES)}",
                reason=net_reason,
            ),
            "api_seconds": make.of(net, Unit.SECONDS, origin, reason=net_reason),
            "limited_share": make.of(
                share,
                Unit.RATIO,
                f'1 - delta {_LIMITER}_bucket{{le="{_UNNOTICED_WAIT_SECONDS}"}} / delta its _count',
                reason=limiter_reason or "no limited request in the window",
            ),
            "in_flight": make.of(
                None if total is None else total / window.seconds,
                Unit.COUNT,
                f"rate of {_DURATION}_sum (Little's law)",
                quality=Quality.ESTIMATED,
                reason=reason,
            ),
        }

    def _verb(self, verb: str, make: Maker, *, limiter_off: bool) -> VerbSignals:
        window = make.window
        total = self._sum(self._duration_sum, window, verb)
        count = self._sum(self._duration_count, window, verb)
        return VerbSignals(
            verb=verb,
            requests_per_second=make.rate(count, f"rate of {_DURATION}_count of {verb}"),
            request_seconds_mean=make.mean(total, count, f"delta {_DURATION}_sum / delta its _count of {verb}"),
            limiter_wait_seconds_mean=make.mean(
                self._limiter_wait(window, verb, limiter_off=limiter_off),
                count,
                f"delta {_LIMITER}_sum of {verb} / count",
            ),
            api_seconds_mean=make.mean(
                self._net(verb, window, limiter_off=limiter_off),
                count,
                f"(delta {_DURATION}_sum - delta {_LIMITER}_sum) / delta {_DURATION}_count of {verb}",
            ),
        )

    def _net(self, verb: str, window: Window, *, limiter_off: bool) -> float | None:
        total = self._sum(self._duration_sum, window, verb)
        waited = self._limiter_wait(window, verb, limiter_off=limiter_off)
        return None if total is None or waited is None else max(0.0, total - waited)

    def _writes(self, window: Window, *, limiter_off: bool) -> tuple[float | None, float | None]:
        """Seconds at the API server and number of all writes; None where no write verb has both."""
        found = [
            (net, count)
            for verb in self._duration_sum
            if verb in _WRITES
            and (net := self._net(verb, window, limiter_off=limiter_off)) is not None
            and (count := self._sum(self._duration_count, window, verb)) is not None
        ]
        return (sum(net for net, _ in found), sum(count for _, count in found)) if found else (None, None)

    def _limiter_wait(self, window: Window, verb: str | None, *, limiter_off: bool) -> float | None:
        """Seconds of limiter wait; a verb that the limiter never counted did not wait, where it counted others."""
        if limiter_off:
            return 0.0
        waited = self._sum(self._limiter_sum, window, verb)
        if waited is None and verb not in self._limiter_sum:
            waited = None if self._sum(self._limiter_sum, window, None) is None else 0.0
        return waited

    @staticmethod
    def _sum(curves: dict[str, list[Curve]], window: Window, verb: str | None) -> float | None:
        chosen = [one for key, group in curves.items() if verb in (None, key) for one in group]
        return increase(chosen, window)
