"""A CPU quota stops the operator."""

from advisor.diagnosis import causes
from advisor.diagnosis.case import Case
from advisor.diagnosis.rule import Page, Rule, check, evidence, finding
from advisor.model.finding import Confidence, Finding, FindingCode, Severity

_PAGE = Page(
    meaning=(
        "The container uses its whole CPU limit and the kernel stops it for part of each period. All workers stand "
        "still at once, so reconciles and even requests look slow from inside. KubeRay's chart limits the operator to "
        "0.1 cores."
    ),
    condition="CPU used is close to the limit and CFS throttled the container in many periods.",
    refuted_by="CPU well below the limit, or few throttled periods.",
    what_to_do="Raise or remove the CPU limit first; measure again before anything else is changed.",
    what_not_to_do=(
        "Do not raise concurrency: more workers share the same CPU. Do not blame the API server's latency yet."
    ),
    rests_on="Research kuberay 5 (chart), 2.5, 9.5, 9.6.",
    thresholds=("cpu_used_ratio", "cpu_throttled_ratio", "idle_workers"),
)


def _examine(case: Case) -> Finding | None:
    if not causes.cpu_bound(case):
        return None
    process = case.signals.process
    working = case.busy_workers >= case.thresholds.idle_workers
    return finding(
        case,
        FindingCode.CPU_LIMITED,
        RULE.title,
        severity=(Severity.CRITICAL if case.harm is Severity.CRITICAL else Severity.WARNING)
        if working
        else Severity.INFO,
        confidence=Confidence.HIGH if process.cpu_throttled_ratio.known else Confidence.MEDIUM,
        summary=(
            "The operator uses its whole CPU limit and is stopped by the kernel, which stretches everything it does."
        ),
        shown=(
            evidence("CPU used", process.cpu_cores),
            evidence("CPU limit", process.cpu_limit_cores),
            evidence("CFS periods throttled", process.cpu_throttled_ratio),
            evidence("time throttled", process.cpu_throttled_seconds),
            evidence("queue wait, mean", (case.waiting.worst or case.signals.controllers[0]).queue_wait_seconds_mean),
        )
        if case.signals.controllers
        else (evidence("CPU used", process.cpu_cores), evidence("CPU limit", process.cpu_limit_cores)),
        checks=(
            check(
                "Is the process stopped in most periods?",
                evidence("CFS periods throttled", process.cpu_throttled_ratio).text,
                refuted=False if process.cpu_throttled_ratio.known else None,
            ),
        ),
        next_steps=("raise the CPU limit as advised, then measure again",),
        lost_seconds=case.waiting.backlog_key_seconds + case.busy_seconds,
    )


RULE = Rule(
    code=FindingCode.CPU_LIMITED,
    title="A CPU quota stops the operator",
    page=_PAGE,
    examine=_examine,
)
