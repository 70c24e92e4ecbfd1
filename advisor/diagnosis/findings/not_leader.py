"""The scraped replica is a standby."""

from advisor.diagnosis.case import Case
from advisor.diagnosis.rule import Page, Rule, check, evidence, finding
from advisor.model.finding import Confidence, Finding, FindingCode, Severity

_PAGE = Page(
    meaning=(
        "Only the replica that holds the lease reconciles. A standby has no controller and queue series at all, so its "
        "metrics look perfectly quiet."
    ),
    condition="`leader_election_master_status` is 0 on every scraped instance and no controller has done any work.",
    refuted_by="Reconciles counted by the scraped instance.",
    what_to_do="Analyse the leader: `kubectl get lease ray-operator-leader -o yaml` names it.",
    what_not_to_do="Do not add replicas for throughput: they only stand by.",
    rests_on="Research controller-runtime 3.6, 8.2.10; kuberay 2.5 and case 31.",
)


def _examine(case: Case) -> Finding | None:
    leader = case.signals.process.leader
    if not leader.below(0.5) or case.reconciles > 0:
        return None
    return finding(
        case,
        FindingCode.NOT_LEADER,
        RULE.title,
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        summary="The scraped replica does not lead, so nothing it shows is about the work; no advice can rest on it.",
        shown=(
            evidence("share of the time as leader", leader),
            evidence("API requests", case.signals.client.requests_per_second),
        ),
        checks=(check("Did this instance reconcile anything?", f"{case.reconciles:.0f} reconciles", refuted=False),),
        next_steps=("scrape every replica, or the one that kubectl get lease ray-operator-leader names",),
    )


RULE = Rule(
    code=FindingCode.NOT_LEADER,
    title="The scraped replica is a standby",
    page=_PAGE,
    examine=_examine,
)
