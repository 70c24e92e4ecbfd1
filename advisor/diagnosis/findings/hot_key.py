"""One key takes the time; a key is never reconciled by two workers at once."""

from advisor.diagnosis import causes
from advisor.diagnosis.case import Case
from advisor.diagnosis.rule import Page, Rule, check, evidence, finding
from advisor.model.finding import Confidence, Evidence, Finding, FindingCode, Severity
from advisor.model.signals import KeyLoad
from advisor.model.text import format_value

_PAGE = Page(
    meaning=(
        "One object causes most of the work: a very large cluster that is scaled, or an object that somebody writes to "
        "all the time. Its reconciles run one after another whatever the number of workers. If it waits, it waits for "
        "itself."
    ),
    condition=(
        "One key has most of the busy time that the log shows while no other key waits for a worker; or, without a "
        "log, keys stay in the queue although workers are idle and one reconcile runs long."
    ),
    refuted_by="Other keys waiting for a worker so long that it is noticed, or many keys with like shares.",
    what_to_do=(
        "Find who writes to the object (managedFields name the writer) and make it write less often, split a very "
        "large worker group, or let it pass: others are not held up while workers are idle."
    ),
    what_not_to_do="Do not raise concurrency: it cannot speed up one key.",
    rests_on="Research controller-runtime 1.5 (locked keys), 8.1; kuberay 4.1 and case 21. The article's second row.",
    thresholds=(
        "hot_key_share",
        "hot_key_loop_per_second",
        "hot_key_per_second",
        "fewest_reconciles",
        "idle_workers",
        "wait_warning_seconds",
        "wait_target_seconds",
    ),
)


def _severity(case: Case, key: KeyLoad | None) -> Severity | None:
    """Warning where the key waits for itself or comes far more often than any timer; None where it is nothing."""
    limits = case.thresholds
    if case.waiting.blocked_key_seconds > 0 and case.harm is not Severity.INFO:
        return case.harm
    if key is None:
        return Severity.WARNING
    rate = key.reconciles / case.signals.window.seconds
    if rate >= limits.hot_key_per_second and key.reconciles >= limits.fewest_reconciles:
        return Severity.WARNING
    busy = key.busy_share * case.busy_workers
    return Severity.INFO if busy >= limits.idle_workers else None


def _examine(case: Case) -> Finding | None:
    if not case.signals.controllers or not causes.one_key_decides(case):
        return None
    key = case.hottest
    severity = _severity(case, key)
    if severity is None:
        return None
    worst = case.waiting.worst or case.signals.controllers[0]
    shown: list[Evidence] = []
    name = ""
    if key is not None:
        name = _name(key)
        shown.append(
            Evidence(
                text=f"{key.controller} {name}: {key.busy_share:.0%} of the busy time, {key.reconciles} "
                f"reconciles, {key.pods_created} Pods created",
                value=key.busy_share,
                unit="ratio",
                origin="operator log" if key.name else "facts file",
            )
        )
    shown += [
        evidence("keys waiting for a worker, peak", worst.backlog_peak),
        evidence("scrapes with keys waiting beside idle workers", worst.blocked_ratio),
        evidence("longest reconcile", worst.longest_running_seconds),
        evidence("queue wait, mean", worst.queue_wait_seconds_mean),
    ]
    return finding(
        case,
        FindingCode.HOT_KEY,
        RULE.title,
        severity=severity,
        confidence=Confidence.HIGH if key is not None else Confidence.MEDIUM,
        summary=_summary(case, key, name),
        shown=tuple(shown),
        checks=(
            check(
                "Do other keys wait for a worker?",
                evidence("true backlog, peak", worst.backlog_peak).text,
                refuted=causes.others_wait(case) if worst.backlog_peak.known else None,
            ),
        ),
        next_steps=(_next_step(key),),
        subject=name,
        lost_seconds=case.waiting.blocked_key_seconds
        + (key.busy_share if key is not None else 1.0) * case.busy_seconds,
    )


def _name(key: KeyLoad) -> str:
    """Namespace and name; a key that was told of without a name is the controller's hottest."""
    return f"{key.namespace}/{key.name}" if key.name else f"the hottest key of {key.controller}"


def _next_step(key: KeyLoad | None) -> str:
    if key is None or not key.name:
        return "give the operator's log, which names the key"
    name = f"-n {key.namespace} {key.name}"
    if key.pods_created > key.reconciles:
        return (
            f"{key.namespace}/{key.name} creates its Pods one after another ({key.pods_created} here): wait, split the "
            "group over several clusters, or make the API server faster"
        )
    return f"who writes to it? kubectl get {key.controller} {name} -oyaml --show-managed-fields"


def _summary(case: Case, key: KeyLoad | None, name: str) -> str:
    if key is None:
        return "Keys wait although workers are idle, so they wait for their own running reconcile."
    rate = key.reconciles / case.signals.window.seconds
    if rate >= case.thresholds.hot_key_per_second:
        return f"{name} is reconciled {format_value(rate, 'per_second')}, far more often than any timer asks for."
    return f"{name} takes most of the time by itself, and a key is never reconciled by two workers at once."


RULE = Rule(
    code=FindingCode.HOT_KEY,
    title="One key takes the time",
    page=_PAGE,
    examine=_examine,
)
