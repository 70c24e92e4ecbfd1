"""The scraped replica is a standby."""

from advisor.diagnosis.case import Case
from advisor.diagnosis.rule import Page, Rule, check, evidence, finding
from advisor.model.finding import Confidence, Finding, FindingCode, Severity

_PAGE = Page(
    meaning=(
        "Only the replica that holds the lease reconciles. A standby has no controller and queue series at all, so its "
        "metrics look perfectly quiet. A leader that keeps losing its lease starts anew each time."
    ),
    condition=(
        "`leader_election_master_status` is 0 on every scraped instance and no controller has done any work; or the "
        "lease is lost again and again."
    ),
    refuted_by="Reconciles counted by the scraped instance.",
    what_to_do="Analyse the leader: `kubectl get lease ray-operator-leader -o yaml` names it.",
    what_not_to_do="Do not add replicas for throughput: they only stand by.",
    rests_on="Research controller-runtime 3.6, 8.2.10; kuberay 2.5 and cases 11, 12, 31.",
    thresholds=("lease_errors_per_hour",),
)

_HOUR_SECONDS = 3600.0


def _examine(case: Case) -> Finding | None:
    leader = case.signals.process.leader
    if leader.below(0.5) and case.reconciles <= 0:
        return _standby(case)
    losses = case.signals.process.lease_errors_per_hour
    fewest = case.thresholds.lease_errors_per_hour
    lost_in_log = case.signals.log.lease_losses
    often = max(1.0, fewest * case.signals.window.seconds / _HOUR_SECONDS)
    if losses.at_least(fewest) or lost_in_log.at_least(often):
        return _losing_the_lease(case)
    return None


def _standby(case: Case) -> Finding:
    return finding(
        case,
        FindingCode.NOT_LEADER,
        RULE.title,
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        summary="The scraped replica does not lead, so nothing it shows is about the work; no advice can rest on it.",
        shown=(
            evidence("share of the time as leader", case.signals.process.leader),
            evidence("API requests", case.signals.client.requests_per_second),
        ),
        checks=(check("Did this instance reconcile anything?", f"{case.reconciles:.0f} reconciles", refuted=False),),
        next_steps=("scrape every replica, or the one that kubectl get lease ray-operator-leader names",),
        refuses=True,
    )


def _losing_the_lease(case: Case) -> Finding:
    process = case.signals.process
    return finding(
        case,
        FindingCode.NOT_LEADER,
        "The operator keeps losing its lease",
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        summary=(
            "The operator does not renew its lease in time and starts anew: each time its counters begin again and "
            "every object enters the queue. Stabilise it before anything is tuned."
        ),
        shown=(
            evidence("lease errors an hour", process.lease_errors_per_hour),
            evidence("lease losses in the log", case.signals.log.lease_losses),
            evidence("restarts", process.restarts),
            evidence("out-of-memory kills", process.oom_kills),
        ),
        checks=(
            check(
                "Does memory kill it instead?",
                evidence("out-of-memory kills", process.oom_kills).text,
                refuted=process.oom_kills.at_least(1.0) if process.oom_kills.known else None,
            ),
        ),
        next_steps=(
            "look at API server latency and CPU throttling at the times of the restarts",
            "with one replica, leader election can be switched off (leaderElectionEnabled)",
        ),
        lost_seconds=case.lost_seconds,
    )


RULE = Rule(
    code=FindingCode.NOT_LEADER,
    title="The scraped replica is a standby",
    page=_PAGE,
    examine=_examine,
)
