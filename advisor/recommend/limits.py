"""QPS and Burst: one bucket a kind, so what counts is the largest demand on one kind, not the total.

With c workers that send one request after the other, each taking s seconds at the API server, no bucket can be asked
for more than c / s requests a second (closed loop, research: controller-runtime 5.3).
"""

import math

from advisor.diagnosis.causes import requests_refused
from advisor.diagnosis.engine import Diagnosis
from advisor.knowledge.versions import lookup
from advisor.model.advice import Direction, KnobAdvice
from advisor.model.finding import FindingCode, Severity
from advisor.model.signals import OperatorSignals
from advisor.recommend.policy import Policy

__all__ = ["bucket_demand_per_second", "burst_advice", "qps_advice"]

_TESTED_QPS = 100.0
"""KubeRay's own default since 1.5; going up to it is never a leap into the unknown."""


def bucket_demand_per_second(signals: OperatorSignals) -> float | None:
    """The most that the present workers can ask of one bucket without a limiter; None where s is not known."""
    seconds = signals.client.write_api_seconds_mean.value
    workers = signals.settings.concurrency.value
    if not seconds or workers is None:
        return None
    return workers / seconds


def qps_advice(verdict: Diagnosis, concurrency: KnobAdvice, policy: Policy) -> KnobAdvice:
    """Advice on QPS; raised along with the workers where the bucket has no room for them."""
    signals = verdict.case.signals
    current = signals.settings.qps.value
    if (refused := _refused(verdict, current, policy)) is not None:
        return refused
    together = _with_workers(signals, concurrency, policy)
    if together is not None:
        return together
    settled = _settled(verdict, "QPS", current)
    if settled is not None:
        return settled
    if current is None:
        tell = "give the operator's arguments (--args)" if signals.profile.qps.flag else "tell it as a fact"
        reason = f"the client limiter takes the time, but QPS is in no metric; {tell}"
        return KnobAdvice(direction=Direction.RAISE, current=None, value=None, reason=reason)
    if not _can_be_set(signals):
        reason = (
            f"the client limiter takes the time, and QPS {current:g} is fixed in KubeRay {signals.settings.version}; "
            f"it can be set from 1.5"
        )
        return KnobAdvice(direction=Direction.RAISE, current=current, value=None, reason=reason)
    ceiling = _ceiling(signals, current, policy)
    demand = bucket_demand_per_second(signals)
    wanted = ceiling if demand is None else min(ceiling, demand * policy.qps_headroom)
    value = min(ceiling, max(_round_up(wanted), _round_up(current + 1.0)))
    reason = (
        f"the present workers can ask one kind's bucket for {demand:.0f}/s; with headroom {policy.qps_headroom:g}"
        if demand is not None and demand * policy.qps_headroom <= ceiling
        else f"the demand is above it; at most {_step_in_words(signals, policy)} in one step"
    )
    return KnobAdvice(direction=Direction.RAISE, current=current, value=value, reason=reason)


def _refused(verdict: Diagnosis, current: float | None, policy: Policy) -> KnobAdvice | None:
    """Advice to keep where the API server refuses requests already and the limiter binds; else None."""
    if not _limiter_binds(verdict) or not requests_refused(verdict.case, policy.refused_ratio):
        return None
    ratio = verdict.case.signals.client.too_many_requests_ratio.or_else(0.0)
    reason = f"the API server answers {ratio:.1%} of the requests with 429 already: more of them would be refused"
    return KnobAdvice(direction=Direction.KEEP, current=current, value=current, reason=reason)


def _limiter_binds(verdict: Diagnosis) -> bool:
    return any(
        one.code is FindingCode.CLIENT_THROTTLED and one.severity is not Severity.INFO for one in verdict.findings
    )


def _ceiling(signals: OperatorSignals, current: float, policy: Policy) -> float:
    """The most that one step may go to: a multiple of the present value, or KubeRay's own default."""
    known_good = min(_TESTED_QPS, _default_qps(signals)) if signals.settings.is_kuberay else 0.0
    return max(current * policy.largest_step, known_good)


def _step_in_words(signals: OperatorSignals, policy: Policy) -> str:
    default = ", or up to KubeRay's default," if signals.settings.is_kuberay else ""
    return f"{policy.largest_step:g} x{default}"


def _with_workers(signals: OperatorSignals, concurrency: KnobAdvice, policy: Policy) -> KnobAdvice | None:
    """A raise that the advised workers need, where Pods are created at the bucket's rate already; else None."""
    current = signals.settings.qps.value
    rate = signals.demand.sustained_pods_per_second.value
    if concurrency.direction is not Direction.RAISE or not concurrency.value or not concurrency.current:
        return None
    if current is None or current <= 0 or rate is None or rate < policy.bucket_full_ratio * current:
        return None
    if not _can_be_set(signals):
        return None
    wanted = rate * concurrency.value / concurrency.current * policy.qps_headroom
    value = min(_round_up(wanted), _ceiling(signals, current, policy))
    if value <= current:
        return None
    reason = f"Pods are created at {rate:.3g}/s, all that QPS {current:g} allows: more workers need more of it"
    return KnobAdvice(direction=Direction.RAISE, current=current, value=value, reason=reason)


def burst_advice(verdict: Diagnosis, qps: KnobAdvice, policy: Policy) -> KnobAdvice:
    """Advice on Burst: the largest fan-out at once, or twice QPS, whichever is more."""
    signals = verdict.case.signals
    current = signals.settings.burst.value
    if (refused := _refused(verdict, current, policy)) is not None:
        return refused
    settled = _settled(verdict, "Burst", current)
    if settled is not None and qps.direction is not Direction.RAISE:
        return settled
    if qps.value is None or current is None:
        reason = "goes with QPS: twice its value, or the largest number of Pods created at once"
        return KnobAdvice(direction=Direction.RAISE, current=current, value=None, reason=reason)
    fanout = signals.demand.largest_fanout_pods.or_else(0.0)
    value = min(max(policy.burst_of_qps * qps.value, fanout), policy.largest_burst_of_qps * qps.value)
    if value <= current:
        reason = "already covers the largest fan-out and twice the advised QPS"
        return KnobAdvice(direction=Direction.KEEP, current=current, value=current, reason=reason)
    reason = (
        f"{policy.burst_of_qps:g} x the advised QPS" if fanout <= policy.burst_of_qps * qps.value else "largest fan-out"
    )
    return KnobAdvice(direction=Direction.RAISE, current=current, value=float(math.ceil(value)), reason=reason)


def _settled(verdict: Diagnosis, name: str, current: float | None) -> KnobAdvice | None:
    """Advice for every case but a limiter that binds; None for that one."""
    primary = verdict.primary
    if verdict.refuses or primary.code is FindingCode.INSUFFICIENT_DATA:
        return KnobAdvice(direction=Direction.NO_NUMBER, current=current, value=None, reason=primary.summary)
    if _limiter_binds(verdict):
        return None
    signals = verdict.case.signals
    if signals.settings.limiter_off:
        reason = "the client limiter is off; the API server's own priority and fairness is the limit"
    elif signals.client.limiter_wait_seconds_mean.known:
        reason = "requests do not wait in the client limiter"
    else:
        reason = (
            f"nothing shows that the client limiter binds; this release does not expose its wait, so {name} is inferred"
        )
    return KnobAdvice(direction=Direction.KEEP, current=current, value=current, reason=reason)


def _can_be_set(signals: OperatorSignals) -> bool:
    """Whether this release has the flags; an operator that is given a flag it does not know ends at once."""
    version = lookup(signals.settings.version) if signals.settings.version else None
    return version is None or version.has_qps_flags


def _default_qps(signals: OperatorSignals) -> float:
    version = lookup(signals.settings.version) if signals.settings.version else None
    default = version.default_qps if version is not None else _TESTED_QPS
    return default if default > 0 else _TESTED_QPS


def _round_up(value: float) -> float:
    """Upwards to a number that people can read: steps of 5 below 100, then of a tenth of the magnitude."""
    step = max(5.0, 10.0 ** (math.floor(math.log10(value)) - 1))
    return math.ceil(value / step - 1e-9) * step
