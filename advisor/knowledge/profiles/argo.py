"""Argo CD and Argo Workflows: controllers with queues of their own (research: field cases, section 4; peers 1.1)."""

from typing import Final

from advisor.knowledge.profile import ControllerProfile, Default, Knob, Profile, Recognition

__all__ = ["ARGO_CD", "ARGO_WORKFLOWS"]

_HA: Final = "field cases, section 4: Argo CD's page on high availability"
_SCALING: Final = "field cases, section 4: Argo Workflows' page on scaling; argo-workflows#8576"
_OWN_QUEUE: Final = (
    "It is not built on controller-runtime but has queues of its own: what is read of work queues and of the client "
    "means the same where it is exposed, workers and reconciles under controller-runtime's names are not there. A "
    "store of metrics is searched by the latter, so give facts, or scrape it directly."
)

ARGO_CD: Final = Profile(
    name="argo-cd",
    title="Argo CD",
    summary="Argo CD's application controller; its workers are called processors.",
    recognised_by=Recognition(operators=("argocd", "argo-cd")),
    concurrency=Knob(
        words="status and operation processors, which are set apart; its page has 50 and 25 for 1000 applications",
        defaults=(
            Default(value=20.0, controller="status processors", source=_HA),
            Default(value=10.0, controller="operation processors", source=_HA),
        ),
    ),
    controllers=(
        ControllerProfile(name="app", external_calls=True, source="field case c029, argo-cd#5795: it waits for Git"),
    ),
    docs=("Argo CD operator manual, high availability",),
    notes=(
        _OWN_QUEUE,
        (
            "One more status processor multiplied the calls to Git in one report: raise a little and watch the Git "
            "host (argo-cd#5795)."
        ),
        "A series that vanished with an upgrade is not zero (argo-cd#16315).",
    ),
)

ARGO_WORKFLOWS: Final = Profile(
    name="argo-workflows",
    title="Argo Workflows",
    summary="The workflow controller of Argo Workflows.",
    recognised_by=Recognition(operators=("argo-workflows",)),
    concurrency=Knob(words="workers of workflows and of Pods are set apart; more of them only with free CPU cores"),
    qps=Knob(flag="--qps", defaults=(Default(value=20.0, source=_SCALING),)),
    burst=Knob(flag="--burst", defaults=(Default(value=30.0, source=_SCALING),)),
    docs=("Argo Workflows documentation, scaling",),
    notes=(
        _OWN_QUEUE,
        (
            "A second limiter, the resource rate limit of its configuration, lets one Pod after the other through: a "
            "constant rate below QPS is that one, and Burst changes nothing (argo-workflows#8576)."
        ),
        "Its health check ends a controller whose workflows wait for 5 minutes (argo-workflows#14526).",
        "More replicas do not share the work.",
    ),
)
