"""Writes are refused because somebody else wrote first."""

from advisor.diagnosis import causes
from advisor.diagnosis.case import Case
from advisor.diagnosis.rule import Page, Rule, check, evidence, finding
from advisor.model.finding import Confidence, Evidence, Finding, FindingCode, Severity

_PAGE = Page(
    meaning=(
        "Status writes are refused with 409 because the object has changed since it was read: another client writes to "
        "the same objects, or the operator read its own stale cache. Each refusal costs the whole pass and a retry. "
        "The other client may be a second operator whose watched namespaces overlap with this one's: the workers of "
        "one operator never take the same key twice at a time, but two operators know nothing of each other."
    ),
    condition=(
        "A material part of PUT and PATCH requests is answered 409. 409 on POST means something else and is left out. "
        "It is a warning when another writer is at work (the operator is called far more often than it writes), or "
        "when no load explains it."
    ),
    refuted_by="Few conflicts, or 409 on POST only (the object exists already).",
    what_to_do=(
        "Find the other writer (managedFields, audit log) and make it write less or use server-side apply on its own "
        "fields; of two operators, give each its own namespaces (`watchNamespace`). If there is none, the operator "
        "conflicts with itself under load: cure what makes it slow."
    ),
    what_not_to_do="Do not raise concurrency: it neither causes nor cures conflicts of one key.",
    rests_on="Research kuberay 2.3, 3.4, case 20; recordings: an operator reads its own stale cache.",
    thresholds=("conflict_ratio", "fewest_errors", "passive_reconciles_per_write"),
)


def _examine(case: Case) -> Finding | None:
    client, limits = case.signals.client, case.thresholds
    conflicts = case.conflicts
    counted = case.signals.log.conflicts.known or client.conflicts_per_second.known
    if counted and conflicts < limits.fewest_errors:
        return None
    if not client.conflict_ratio.at_least(limits.conflict_ratio):
        return None
    keys = sorted(case.signals.keys, key=lambda key: -key.conflicts)[:3]
    named = ", ".join(f"{key.namespace}/{key.name} ({key.conflicts})" for key in keys if key.conflicts)
    shown = [
        evidence("PUT and PATCH refused with 409", client.conflict_ratio),
        evidence("conflicts", client.conflicts_per_second),
        evidence("reconciles that ended in a conflict", case.signals.log.conflicts),
    ]
    if named:
        shown.append(Evidence(text=f"most conflicts: {named}", origin="operator log"))
    writes = client.write_requests_per_second.or_else(0.0) * case.signals.window.seconds
    foreign = causes.foreign_writer(case)
    mean_work = case.busy_seconds / case.reconciles if case.reconciles else 0.0
    return finding(
        case,
        FindingCode.WRITE_CONFLICTS,
        RULE.title,
        severity=Severity.WARNING if foreign or not case.backlogged else Severity.INFO,
        confidence=Confidence.HIGH if foreign else Confidence.MEDIUM,
        summary=(
            "A material part of the operator's updates is refused because somebody else writes to the same objects, "
            "and the work is done again."
            if foreign
            else "A material part of the operator's updates is refused: under load its next pass reads the cache "
            "before its own last write has come back."
        ),
        shown=tuple(shown),
        checks=(
            check(
                "Are these objects that exist already (409 on POST)?",
                "409 on POST is counted apart and left out",
                refuted=False,
            ),
            check(
                "Does the operator conflict with itself?",
                f"{case.reconciles:.0f} reconciles for {writes:.0f} writes of its own",
                refuted=not foreign,
            ),
        ),
        next_steps=(
            "look at managedFields of the named objects for a second writer",
            *(("kubectl get deploy -A: do two operators watch the same namespaces?",) if foreign else ()),
        ),
        lost_seconds=conflicts * mean_work,
    )


RULE = Rule(
    code=FindingCode.WRITE_CONFLICTS,
    title="Updates are refused because the object changed",
    page=_PAGE,
    examine=_examine,
)
