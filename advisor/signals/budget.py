"""Where a busy worker's second goes: API server, client limiter, CPU, external calls, and what is left unexplained.

Nothing measures this directly: the client series cover all callers (also event writes and the lease, which hold no
worker) and calls to dashboards are in no series. But each part has an upper bound, and together they make up all busy
time, so each has a lower bound too: what the upper bounds of the others leave over. Controllers that make no external
calls narrow it further (research: kuberay 4). Where all upper bounds together fall short of the busy time, the rest
stays unexplained.
"""

from dataclasses import dataclass

from advisor.model.signal import Quality, Signal, Unit, Window, measured, missing
from advisor.model.signals import ClientSignals, ControllerSignals, ProcessSignals, TimeBudget

__all__ = ["inferred_write_seconds", "time_budget"]

_PARTS = ("api_server", "client_limiter", "cpu", "external")
_NO_BUSY_TIME = "no worker was busy in the window"


@dataclass(frozen=True, slots=True)
class _Upper:
    """Upper bound of one part in worker seconds, and whether a figure stands behind it."""

    seconds: float
    known: bool
    origin: str


def time_budget(
    controllers: tuple[ControllerSignals, ...],
    client: ClientSignals,
    process: ProcessSignals,
    window: Window,
    external_callers: frozenset[str],
) -> TimeBudget:
    """Shares of all busy worker time of one window.

    Args:
        controllers: all controllers of the operator.
        client: its client; durations may be missing.
        process: its process; CPU may be missing.
        window: the window of all of these.
        external_callers: labels of the controllers that may call something else than the API server.
    """
    busy = sum(one.busy_worker_seconds.or_else(0.0) for one in controllers)
    if busy <= 0.0:
        shares = {part: missing(Unit.RATIO, _NO_BUSY_TIME, window=window) for part in (*_PARTS, "rest")}
        return TimeBudget(busy_worker_seconds=missing(Unit.WORKER_SECONDS, _NO_BUSY_TIME, window=window), **shares)
    outside = sum(one.busy_worker_seconds.or_else(0.0) for one in controllers if one.controller in external_callers)
    uppers = {
        "api_server": _measured_bound(client.api_seconds, busy),
        "client_limiter": _measured_bound(client.limiter_wait_seconds, busy),
        "cpu": _cpu_bound(process, busy, window),
        "external": _Upper(outside, outside == 0.0, "busy time of controllers that make external calls"),
    }
    estimates = _estimate(busy, uppers)
    shares = {part: _share(part, busy, uppers, estimates, window) for part in _PARTS}
    total = measured(busy, Unit.WORKER_SECONDS, origin="busy worker seconds of all controllers", window=window)
    return TimeBudget(busy_worker_seconds=total, **shares, rest=_rest(busy, uppers, window))


def _rest(busy: float, uppers: dict[str, _Upper], window: Window) -> Signal:
    """The share that no upper bound covers; the true rest is at least this."""
    return measured(
        max(0.0, busy - sum(upper.seconds for upper in uppers.values())) / busy,
        Unit.RATIO,
        origin="busy worker seconds less the upper bounds of all parts, over busy worker seconds",
        window=window,
        quality=Quality.LOWER_BOUND,
    )


def inferred_write_seconds(
    controllers: tuple[ControllerSignals, ...],
    client: ClientSignals,
    process: ProcessSignals,
    window: Window,
    external_callers: frozenset[str],
) -> Signal:
    """Seconds of API server and limiter that a write costs a worker, where no duration is exposed.

    Controllers that make no external calls spend their time on these two and on CPU. The writes of all callers are
    divided by, event writes included, so the true figure is at least this.
    """
    writes = client.write_requests_per_second.or_else(0.0) * window.seconds
    inside = [one.busy_worker_seconds for one in controllers if one.controller not in external_callers]
    busy = sum(one.or_else(0.0) for one in inside)
    if not writes or not busy:
        return missing(Unit.SECONDS, "no write and busy worker of a controller without external calls", window=window)
    return measured(
        max(0.0, busy - process.cpu_seconds.or_else(0.0)) / writes,
        Unit.SECONDS,
        origin="(busy worker seconds of controllers without external calls - CPU seconds) / write requests",
        window=window,
        quality=Quality.LOWER_BOUND,
    )


def _measured_bound(signal: Signal, busy: float) -> _Upper:
    if signal.value is None:
        return _Upper(busy, known=False, origin=signal.missing or "")
    return _Upper(min(busy, signal.value), known=True, origin=signal.origin)


def _cpu_bound(process: ProcessSignals, busy: float, window: Window) -> _Upper:
    """CPU that workers can have used, and the time for which a CPU quota held all of them up."""
    if process.cpu_seconds.value is None:
        return _Upper(busy, known=False, origin=process.cpu_seconds.missing or "")
    held = min(process.cpu_throttled_seconds.or_else(0.0), window.seconds) * busy / window.seconds
    origin = f"{process.cpu_seconds.origin} and busy workers x throttled time"
    return _Upper(min(busy, process.cpu_seconds.value + held), known=True, origin=origin)


def _estimate(busy: float, uppers: dict[str, _Upper]) -> dict[str, float]:
    """Worker seconds of each part: external calls get what the rest cannot explain, the rest shares what remains."""
    inner = {part: upper.seconds for part, upper in uppers.items() if part != "external"}
    external = min(uppers["external"].seconds, max(0.0, busy - sum(inner.values())))
    explained = sum(inner.values())
    scale = min(1.0, (busy - external) / explained) if explained else 0.0
    return {"external": external, **{part: seconds * scale for part, seconds in inner.items()}}


def _share(part: str, busy: float, uppers: dict[str, _Upper], estimates: dict[str, float], window: Window) -> Signal:
    high = uppers[part].seconds / busy
    others = sum(upper.seconds for name, upper in uppers.items() if name != part)
    low = min(high, max(0.0, busy - others) / busy)
    unknown = [name for name, upper in uppers.items() if not upper.known and name != "external"]
    if not uppers[part].known and part != "external":
        return missing(Unit.RATIO, f"not measurable here: {uppers[part].origin}", window=window)
    if unknown and part == "external" and high > 0.0:
        return missing(Unit.RATIO, f"not separable from {' and '.join(unknown)}, not exposed here", window=window)
    value = min(high, max(low, estimates[part] / busy))
    return measured(
        value,
        Unit.RATIO,
        origin=f"{uppers[part].origin}, over busy worker seconds",
        window=window,
        quality=Quality.ESTIMATED,
        low=low,
        high=high,
    )
