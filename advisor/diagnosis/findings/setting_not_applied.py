"""A setting that says one thing and an operator that does another."""

from advisor.diagnosis.case import Case
from advisor.diagnosis.rule import Page, Rule, check, evidence, finding
from advisor.knowledge.versions import lookup
from advisor.model.finding import Confidence, Finding, FindingCode, Severity

_PAGE = Page(
    meaning=(
        "The flag or values file asks for a number of workers that the controller does not have. Up to KubeRay 1.1 the "
        "flag reached RayClusters only; in configuration mode flags are ignored; an argument behind an empty word is "
        "never read; a Pod that was not restarted has the old value."
    ),
    condition="The configured concurrency differs from `controller_runtime_max_concurrent_reconciles` of a controller.",
    refuted_by="The metric agrees with the flag; a controller whose workers are fixed by design.",
    what_to_do=(
        "Find why it did not take effect: the release, `--config`, the place in the argument list, a rollout that did "
        "not happen. Judge the setting only after that."
    ),
    what_not_to_do="Do not raise the flag further: it has no effect as it is.",
    rests_on="Research kuberay 1.1, 1.3 and cases 3 and 6.",
)


def _examine(case: Case) -> Finding | None:
    differing = [
        one
        for one in case.signals.controllers
        if one.configured_concurrency.value is not None
        and one.max_concurrent_reconciles.value is not None
        and one.configured_concurrency.value != one.max_concurrent_reconciles.value
        and one.controller not in case.signals.profile.fixed_workers
    ]
    if not differing:
        return None
    worst = max(differing, key=lambda one: one.waiting_key_seconds.or_else(0.0))
    version = lookup(case.signals.settings.version) if case.signals.settings.version else None
    unreached = version is not None and worst.controller not in version.concurrency_reaches
    return finding(
        case,
        FindingCode.SETTING_NOT_APPLIED,
        RULE.title,
        severity=Severity.CRITICAL if case.harm_of(worst) is Severity.CRITICAL else Severity.WARNING,
        confidence=Confidence.HIGH,
        summary=(
            f"{worst.controller} has another number of workers than the flag says"
            + ("; in this release the flag does not reach it." if unreached else ".")
        ),
        shown=(
            evidence("workers configured", worst.configured_concurrency),
            evidence(f"workers of {worst.controller}", worst.max_concurrent_reconciles),
            evidence("queue wait, mean", worst.queue_wait_seconds_mean),
        ),
        checks=(check("Does the metric agree with the flag?", "it does not", refuted=False),),
        next_steps=(
            "upgrade: from KubeRay 1.2 on the flag reaches RayJobs and RayServices"
            if unreached
            else "look at the Deployment's arguments, --config and the time of the last rollout",
        ),
        subject=worst.controller,
        lost_seconds=worst.waiting_key_seconds.or_else(0.0),
    )


RULE = Rule(
    code=FindingCode.SETTING_NOT_APPLIED,
    title="A setting did not take effect",
    page=_PAGE,
    examine=_examine,
)
