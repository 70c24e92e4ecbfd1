"""Puts the advice together: one for each setting, the actions beside them, the patches."""

from collections.abc import Sequence

import msgspec

from advisor.diagnosis.engine import Diagnosis
from advisor.model.advice import Advice
from advisor.model.finding import FindingCode, Severity
from advisor.model.signals import EpisodeKind
from advisor.recommend.concurrency import concurrency_advice
from advisor.recommend.limits import burst_advice, qps_advice
from advisor.recommend.patches import render_patches
from advisor.recommend.policy import Policy
from advisor.recommend.profilepatches import profile_patches
from advisor.recommend.resources import cpu_advice, memory_advice

__all__ = ["advise", "with_patches"]

_MOST_ACTIONS = 6
_SETTLES_NOTHING = frozenset(
    {
        FindingCode.HEALTHY,
        FindingCode.OVER_PROVISIONED,
        FindingCode.BOTTLENECK_ELSEWHERE,
        FindingCode.CACHE_LAG,
        FindingCode.RESYNC_LOAD,
        FindingCode.HOT_KEY,
    }
)
"""Findings after which the settings stay as they are, unless another episode asks for a change."""
_ASKS_FOR_CHANGE = frozenset(
    {
        FindingCode.WORKERS_SATURATED,
        FindingCode.EXTERNAL_CALL_SLOW,
        FindingCode.CLIENT_THROTTLED,
        FindingCode.CPU_LIMITED,
    }
)


def advise(
    diagnoses: Sequence[Diagnosis], verdict: Diagnosis, policy: Policy, args: tuple[str, ...]
) -> tuple[Advice, Diagnosis]:
    """Advice that covers all episodes, and the diagnosis that it rests on.

    It rests on the verdict's episode, unless that one asks for no change of settings and another does.

    Args:
        diagnoses: those of all episodes.
        verdict: the one that the verdict is for.
        policy: what to aim at and how far to go.
        args: the operator's command line, so that patches replace what is there.
    """
    basis = _basis(diagnoses, verdict)
    return _advise(basis, verdict, policy, args), basis


def _basis(diagnoses: Sequence[Diagnosis], verdict: Diagnosis) -> Diagnosis:
    if verdict.refuses or verdict.primary.code not in _SETTLES_NOTHING:
        return verdict
    asking = [
        one
        for one in diagnoses
        if one.primary.code in _ASKS_FOR_CHANGE
        and one.primary.severity is not Severity.INFO
        and one.case.episode.kind is EpisodeKind.LOAD
    ]
    return max(asking, key=lambda one: one.case.lost_seconds, default=verdict)


def _advise(verdict: Diagnosis, shown: Diagnosis, policy: Policy, args: tuple[str, ...]) -> Advice:
    concurrency = concurrency_advice(verdict, policy)
    qps = qps_advice(verdict, concurrency, policy)
    actions = [step for one in shown.findings for step in one.next_steps]
    advice = Advice(
        concurrency=concurrency,
        qps=qps,
        burst=burst_advice(verdict, qps, policy),
        cpu_cores=cpu_advice(verdict, concurrency, policy),
        memory_bytes=memory_advice(verdict, policy),
        actions=tuple(dict.fromkeys(actions))[:_MOST_ACTIONS],
    )
    return with_patches(advice, verdict, args)


def with_patches(advice: Advice, verdict: Diagnosis, args: tuple[str, ...]) -> Advice:
    """The advice with the patches that carry it out, in place of any that it had."""
    signals = verdict.case.signals
    if signals.profile.is_kuberay:
        patches = render_patches(advice, signals.settings.version, args)
    else:
        subject = verdict.primary.subject
        patches = profile_patches(advice, signals.profile, args, subject if signals.controller(subject) else "")
    return msgspec.structs.replace(advice, patches=patches)
