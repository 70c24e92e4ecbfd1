"""Flux: each of its controllers is a Deployment of its own, with its own flags (research: field cases; peers 1.1)."""

from typing import Final

from advisor.knowledge.profile import Default, Knob, Profile, Recognition

__all__ = ["FLUX"]

_RULES: Final = "field cases, section 4: flux pkg#242, kustomize-controller#233"

FLUX: Final = Profile(
    name="flux",
    title="Flux",
    summary="A controller of Flux, such as the kustomize-controller.",
    recognised_by=Recognition(
        operators=("flux", "kustomize-controller"),
        controllers=("kustomization",),
        labels={"job": ("kustomize-controller*",), "container": ("kustomize-controller",)},
    ),
    concurrency=Knob(
        flag="--concurrent",
        words="its documentation goes to 10 with 2 CPUs and 2 GiB, and to 20 with a temporary folder in memory",
    ),
    qps=Knob(
        words="the QPS of its Kubernetes client, which is an argument of the controller",
        defaults=(Default(value=50.0, source=_RULES),),
    ),
    burst=Knob(
        words="the Burst of its Kubernetes client, which is an argument of the controller",
        defaults=(Default(value=100.0, source=_RULES),),
    ),
    docs=("Flux documentation, vertical scaling",),
    notes=(
        (
            "More workers share the node's disk, on which builds are made: of one push over 200 Kustomizations 4 "
            "workers took 10 to 15 s each, 8 took 25 to 45 s, 20 took 3 to 4 min (kustomize-controller#816)."
        ),
        (
            "Each build holds memory of its own, about 0.4 GB in one report: 20 workers were killed at 8 GiB where 5 "
            "ran stably (kustomize-controller#1111)."
        ),
        "A CPU limit of one core is the default of its installation; raise it before the workers (flux2#685).",
        "Throttling lines about GET of whole API groups are discovery and not writes (kustomize-controller#757).",
    ),
)
