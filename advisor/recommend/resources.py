"""CPU and memory where they bind, or would bind once concurrency is raised."""

import math

from advisor.diagnosis import causes
from advisor.diagnosis.engine import Diagnosis
from advisor.model.advice import Direction, KnobAdvice
from advisor.model.finding import FindingCode
from advisor.recommend.policy import Policy

__all__ = ["cpu_advice", "memory_advice"]

_CPU_STEP_CORES = 0.1
_MEBIBYTE = 1024.0**2
_MEMORY_STEP_BYTES = 64.0 * _MEBIBYTE


def _refused(verdict: Diagnosis, current: float | None) -> KnobAdvice | None:
    if verdict.refuses or verdict.primary.code is FindingCode.INSUFFICIENT_DATA:
        return KnobAdvice(direction=Direction.NO_NUMBER, current=current, value=None, reason=verdict.primary.summary)
    return None


def cpu_advice(verdict: Diagnosis, concurrency: KnobAdvice, policy: Policy) -> KnobAdvice:
    """Advice on the CPU limit in cores.

    A throttled process: as much more as it was held up, at most the largest step. Otherwise what the advised workers
    need, since CPU grows with the work done.
    """
    process = verdict.case.signals.process
    current = process.cpu_limit_cores.value
    refused = _refused(verdict, current)
    if refused is not None:
        return refused
    used = process.cpu_cores.value
    if not current or used is None:
        reason = "no CPU limit is known" if not current else "CPU use is not known"
        return KnobAdvice(direction=Direction.KEEP, current=current, value=current, reason=reason)
    if causes.cpu_bound(verdict.case):
        held_up = process.cpu_throttled_ratio.or_else(0.5)
        factor = min(policy.largest_step, 1.0 / max(1.0 - held_up, 1.0 / policy.largest_step))
        reason = f"{held_up:.0%} of the CPU periods are throttled"
        return _raise_to(current, current * max(factor, 2.0), reason)
    if concurrency.direction is Direction.RAISE and concurrency.value and concurrency.current:
        wanted = used * concurrency.value / concurrency.current / policy.cpu_headroom
        if wanted > current:
            return _raise_to(current, wanted, f"{concurrency.value:.0f} workers need more CPU than the limit allows")
    reason = "CPU does not bind"
    return KnobAdvice(direction=Direction.KEEP, current=current, value=current, reason=reason)


def _raise_to(current: float, wanted: float, reason: str) -> KnobAdvice:
    value = round(max(1, math.ceil(wanted / _CPU_STEP_CORES - 1e-9)) * _CPU_STEP_CORES, 1)
    return KnobAdvice(direction=Direction.RAISE, current=current, value=value, reason=reason)


def memory_advice(verdict: Diagnosis, policy: Policy) -> KnobAdvice:
    """Advice on the memory limit in bytes."""
    process = verdict.case.whole.process
    current = process.memory_limit_bytes.value
    refused = _refused(verdict, current)
    if refused is not None:
        return refused
    used, killed = process.memory_bytes.value, process.oom_kills.at_least(1.0)
    if current and killed:  # what is in use after a kill says nothing about what was asked for
        reason = f"killed for memory {process.oom_kills.or_else(0.0):.0f} x at this limit"
        return _more_memory(current, max(current, used or 0.0), policy, reason)
    if not current or used is None:
        reason = "no memory limit is known" if not current else "memory use is not known"
        return KnobAdvice(direction=Direction.KEEP, current=current, value=current, reason=reason)
    reason = f"{used / current:.0%} of the limit is in use"
    if used >= policy.memory_used_ratio * current:
        return _more_memory(current, used, policy, reason)
    return KnobAdvice(direction=Direction.KEEP, current=current, value=current, reason=reason)


def _more_memory(current: float, needed: float, policy: Policy, reason: str) -> KnobAdvice:
    value = math.ceil(needed * policy.memory_factor / _MEMORY_STEP_BYTES) * _MEMORY_STEP_BYTES
    return KnobAdvice(direction=Direction.RAISE, current=current, value=value, reason=reason)
