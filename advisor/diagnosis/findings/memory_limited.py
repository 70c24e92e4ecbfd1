"""The operator runs into its memory limit."""

from advisor.diagnosis.case import Case
from advisor.diagnosis.rule import Page, Rule, check, evidence, finding
from advisor.model.finding import Confidence, Finding, FindingCode, Severity

_PAGE = Page(
    meaning=(
        "The operator's working set is close to its memory limit, or the kernel has killed it for memory already. Each "
        "kill restarts it and puts every object into the queue. KubeRay caches every Pod of the watched namespaces "
        "before 1.7, and every Secret from 1.6 on; each busy worker holds what it works on."
    ),
    condition="Out-of-memory kills, or a working set close to the limit.",
    refuted_by="A working set well below the limit and restarts for other reasons (lease lost, probes).",
    what_to_do=(
        "Raise the memory limit, or narrow what is cached with `watchNamespace`; upgrade to 1.7, which caches only "
        "Pods of Ray clusters. Where many workers are busy, fewer of them hold less at once."
    ),
    what_not_to_do="Do not raise concurrency: each worker holds memory of its own.",
    rests_on="Research kuberay 5, 7.2 and cases 13 to 15.",
    thresholds=("memory_used_ratio",),
)


def _examine(case: Case) -> Finding | None:
    process = case.whole.process
    killed = process.oom_kills.at_least(1.0)
    limit, used = process.memory_limit_bytes.value, process.memory_bytes.value
    close = bool(limit) and used is not None and used >= case.thresholds.memory_used_ratio * (limit or 0.0)
    if not killed and not close:
        return None
    return finding(
        case,
        FindingCode.MEMORY_LIMITED,
        RULE.title,
        severity=Severity.CRITICAL if killed else Severity.WARNING,
        confidence=Confidence.HIGH,
        summary=(
            "The kernel kills the operator for memory; each restart puts every object into the queue again."
            if killed
            else "The operator's working set is close to its memory limit; a burst may get it killed."
        ),
        shown=(
            evidence("memory used", process.memory_bytes),
            evidence("memory limit", process.memory_limit_bytes),
            evidence("out-of-memory kills", process.oom_kills),
            evidence("restarts", process.restarts),
        ),
        checks=(
            check(
                "Do the restarts have another reason?",
                evidence("lease errors an hour", process.lease_errors_per_hour).text,
                refuted=False if killed else None,
            ),
        ),
        next_steps=("raise the memory limit as advised; see what the caches hold (objects, namespaces watched)",),
        lost_seconds=case.lost_seconds if killed else 0.0,
    )


RULE = Rule(
    code=FindingCode.MEMORY_LIMITED,
    title="The operator runs into its memory limit",
    page=_PAGE,
    examine=_examine,
)
