"""The classic queue's own retry bucket: ten a second for a whole controller."""

from advisor.diagnosis.case import Case
from advisor.diagnosis.rule import Page, Rule, check, evidence, finding
from advisor.knowledge.defaults import RETRY_BUCKET_PER_SECOND
from advisor.knowledge.profile import Profile
from advisor.model.finding import Confidence, Finding, FindingCode, Severity
from advisor.model.signals import ControllerSignals

_PAGE = Page(
    meaning=(
        "Up to KubeRay 1.6 rate-limited adds of a controller (retries after errors, plain requeues) pass one bucket of "
        "10 a second with a burst of 100, beside the growing delay of each key. When many keys fail or requeue "
        "together they are let through ten a second, whatever the workers do; those that wait are in no gauge."
    ),
    condition=(
        "On a queue that is not the priority queue, adds stay at ten a second while workers are idle, and at least "
        "that many rate-limited adds are asked for."
    ),
    refuted_by=(
        "The priority queue (KubeRay 1.7), which has no such bucket; delayed adds that are timers (RequeueAfter), "
        "which do not pass it; busy workers."
    ),
    what_to_do="Mend why keys are requeued or fail; from 1.7 on the bucket is gone.",
    what_not_to_do="Do not raise concurrency, QPS or Burst: none of them is this bucket.",
    rests_on="Research controller-runtime 1.8, 6 (row 19); kuberay 1.6.",
    thresholds=("retry_bucket_tolerance", "idle_workers"),
)


def _limited_adds(controller: ControllerSignals, profile: Profile) -> float | None:
    """Adds a second that pass the bucket: delayed adds less timers, but at least the failures.

    KubeRay's controllers poll by timers: where their part is not known, only the failures count.
    """
    delayed = controller.delayed_adds_per_second.value
    errors = controller.errors_per_second.or_else(0.0)
    ratio, rate = controller.requeue_after_ratio.value, controller.reconciles_per_second.value
    polls = profile.program(controller.controller) is not None and (ratio is None or rate is None)
    if delayed is None or polls:
        return errors or None
    timers = (ratio or 0.0) * (rate or 0.0)
    return max(errors, delayed - timers)


def _at_ten(controller: ControllerSignals, profile: Profile, tolerance: float) -> bool:
    adds, limited = controller.adds_per_second.value, _limited_adds(controller, profile)
    if adds is None or limited is None:
        return False
    low = (1.0 - tolerance) * RETRY_BUCKET_PER_SECOND
    idle = not controller.backlog_mean.at_least(1.0) and controller.utilisation.or_else(0.0) < 0.5  # noqa: PLR2004
    return low <= adds <= (1.0 + tolerance) * RETRY_BUCKET_PER_SECOND and limited >= low and idle


def _examine(case: Case) -> Finding | None:
    if case.signals.queue == "priority":
        return None
    tolerance, profile = case.thresholds.retry_bucket_tolerance, case.signals.profile
    found = [one for one in case.signals.controllers if _at_ten(one, profile, tolerance)]
    if not found:
        return None
    controller = found[0]
    classic = case.signals.queue == "classic"
    newer = "KubeRay 1.7" if profile.is_kuberay else "a release with controller-runtime's priority queue"
    return finding(
        case,
        FindingCode.QUEUE_LIMITER_BOUND,
        RULE.title,
        severity=Severity.WARNING,
        confidence=Confidence.HIGH if classic else Confidence.MEDIUM,
        summary=(
            f"Adds of {controller.controller} come at ten a second, which is all that the queue's retry bucket "
            f"lets pass."
        ),
        shown=(
            evidence("adds", controller.adds_per_second),
            evidence("delayed adds", controller.delayed_adds_per_second),
            evidence("errors", controller.error_ratio),
            evidence("workers busy", controller.utilisation),
        ),
        checks=(
            check(
                "Is it the priority queue, which has no bucket?", f"the queue is {case.signals.queue}", refuted=False
            ),
            check(
                "Are the delayed adds timers?",
                evidence("results that ask for a timer", controller.requeue_after_ratio).text,
                refuted=False if controller.requeue_after_ratio.known else None,
            ),
        ),
        next_steps=(f"mend the failures that fill the bucket, or upgrade to {newer}",),
        subject=controller.controller,
        lost_seconds=case.lost_seconds,
    )


RULE = Rule(
    code=FindingCode.QUEUE_LIMITER_BOUND,
    title="The queue's retry bucket is full",
    page=_PAGE,
    examine=_examine,
)
