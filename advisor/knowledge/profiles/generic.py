"""Any operator on controller-runtime: nothing is known of it but what the library does by itself."""

from typing import Final

from advisor.knowledge.profile import Default, Knob, Profile

__all__ = ["GENERIC"]

_OLDER: Final = "research: controller-runtime 0; field cases, section 4"

GENERIC: Final = Profile(
    name="generic",
    title="controller-runtime",
    summary="Any operator that is built on controller-runtime: nothing is assumed but the library's own defaults.",
    concurrency=Knob(
        words="MaxConcurrentReconciles of the controller; its documentation says how it is set, if it can be",
        defaults=(Default(value=1.0, source="research: controller-runtime 2.4, CF-12 to CF-20"),),
    ),
    qps=Knob(
        words="QPS of the operator's Kubernetes client; its documentation says how it is set, if it can be",
        defaults=(
            Default(value=20.0, source=_OLDER),
            Default(value=-1.0, since="controller-runtime 0.21", source=_OLDER),
        ),
    ),
    burst=Knob(
        words="Burst of the operator's Kubernetes client; its documentation says how it is set, if it can be",
        defaults=(
            Default(value=30.0, source=_OLDER),
            Default(value=0.0, since="controller-runtime 0.21", source=_OLDER),
        ),
    ),
    docs=("the operator's own documentation",),
    notes=(
        (
            "From controller-runtime 0.21 on the client does not limit itself unless the operator sets a QPS; which "
            "release an operator is built with is in no series, so no default of QPS and Burst is assumed."
        ),
        "Whether a reconcile waits for something outside the API server is not known.",
        "The client's durations and limiter waits are exposed only where the operator registers them.",
    ),
)
