"""Signals that only the operator's log gives."""

import re

from advisor.knowledge.defaults import EXPECTATION_CREATE_TIMEOUT_SECONDS
from advisor.model.signal import Quality, Signal, Unit, Window
from advisor.model.signals import ExternalSignals, KeyLoad, LogSignals, NamespaceLoad
from advisor.signals.logdigest import Key, KeyTotals, LogDigest
from advisor.signals.making import Maker

__all__ = ["key_loads", "log_signals", "namespace_loads", "untold_external"]

_ORIGIN = "operator log"
_NO_LOG = "no operator log in the input"
_LATER = "the operator log begins after this window"
_URL_KIND = re.compile(r"/(?:api/v1|apis/[^/]+/[^/]+)/(?:namespaces/[^/]+/)?([a-z]+)")


def key_loads(totals: dict[Key, KeyTotals], most: int) -> tuple[KeyLoad, ...]:
    """The keys that took most busy time, at most ``most`` of them."""
    busy = sum(one.busy_seconds for one in totals.values())
    ranked = sorted(
        totals.items(), key=lambda item: (-item[1].busy_seconds, -item[1].reconciles, item[0].namespace, item[0].name)
    )
    return tuple(
        KeyLoad(
            controller=key.controller,
            namespace=key.namespace,
            name=key.name,
            reconciles=one.reconciles,
            busy_seconds=one.busy_seconds,
            busy_share=one.busy_seconds / busy if busy else 0.0,
            errors=one.errors,
            conflicts=one.conflicts,
            pods_created=one.pods_created,
        )
        for key, one in ranked[:most]
    )


def namespace_loads(totals: dict[Key, KeyTotals]) -> tuple[NamespaceLoad, ...]:
    """What each namespace takes of the operator, most first."""
    busy = sum(one.busy_seconds for one in totals.values())
    sums: dict[str, KeyTotals] = {}
    for key, one in totals.items():
        total = sums.setdefault(key.namespace, KeyTotals())
        total.reconciles += one.reconciles
        total.busy_seconds += one.busy_seconds
        total.errors += one.errors
        total.pods_created += one.pods_created
    return tuple(
        NamespaceLoad(
            namespace=namespace,
            reconciles=one.reconciles,
            busy_share=one.busy_seconds / busy if busy else 0.0,
            errors=one.errors,
            pods_created=one.pods_created,
        )
        for namespace, one in sorted(sums.items(), key=lambda item: (-item[1].busy_seconds, item[0]))
    )


def untold_external(window: Window) -> ExternalSignals:
    """Calls to dashboards and the like are in no series; only a person can tell how long they take."""
    make = Maker(window, _ORIGIN)
    return ExternalSignals(
        call_seconds_mean=make.untold(Unit.SECONDS), timeouts_per_second=make.untold(Unit.PER_SECOND)
    )


def log_signals(digest: LogDigest, window: Window) -> LogSignals:
    """Signals of one window from the condensed log; all missing where there is no log."""
    make = Maker(window, _ORIGIN)
    known = digest.reaches(window)
    unknown = _LATER if digest.records else _NO_LOG

    def count(value: float, text: str, quality: Quality = Quality.EXACT) -> Signal:
        return make.of(value if known else None, Unit.COUNT, text, quality=quality, reason=unknown)

    throttles = [(delay, detail) for time, delay, detail in digest.throttles if time in window]
    blocked = digest.unmet_groups(window)
    return LogSignals(
        throttle_lines=count(float(len(throttles)), "client-side throttling lines", Quality.LOWER_BOUND),
        throttle_wait_seconds_peak=make.of(
            max(delay for delay, _ in throttles) if throttles else None,
            Unit.SECONDS,
            "longest client-side throttling wait in the log",
            quality=Quality.LOWER_BOUND,
            reason="no throttling line; waits under 1 s are not logged" if known else unknown,
        ),
        throttled_kind=_throttled_kind([detail for _, detail in throttles]),
        blocked_groups=count(
            float(sum(1 for seconds in blocked.values() if seconds >= EXPECTATION_CREATE_TIMEOUT_SECONDS)),
            "worker groups whose scale expectation stayed unmet for longer than a create's time-out",
        ),
        blocked_seconds_peak=make.of(
            max(blocked.values()) if blocked else None,
            Unit.SECONDS,
            "longest time in the window for which a group's scale expectation stayed unmet",
            quality=Quality.ESTIMATED,
            reason="no group was skipped" if known else unknown,
        ),
        control_flow_errors=count(float(digest.control_flow_errors(window)), "reconcile errors that are control flow"),
        conflicts=count(
            float(sum(one.conflicts for one in digest.totals(window).values())), "reconciles that ended in a conflict"
        ),
        commonest_error=digest.commonest_error(window),
        lease_losses=count(
            float(sum(1 for time in digest.leader_losses if time in window)), "lease lost or not renewed"
        ),
    )


def _throttled_kind(details: list[str]) -> str:
    """The kind of object whose requests were throttled most, from the URLs; "" where none says."""
    kinds: dict[str, int] = {}
    for detail in details:
        match = _URL_KIND.search(detail)
        if match is not None:
            kinds[match[1]] = kinds.get(match[1], 0) + 1
    return max(kinds, key=lambda kind: (kinds[kind], kind)) if kinds else ""
