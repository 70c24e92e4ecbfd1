"""Kueue: workers by kind, one client for all controllers (research: field cases c042 and c077; peers 1.1)."""

from typing import Final

from advisor.knowledge.profile import Default, Knob, Profile, Recognition

__all__ = ["KUEUE"]

_RAISED: Final = "peers 1.1 and field cases, section 4 (kueue#12411)"

KUEUE: Final = Profile(
    name="kueue",
    title="Kueue",
    summary="Kueue's controller manager, which admits workloads and keeps the state of queues.",
    recognised_by=Recognition(
        operators=("kueue",),
        controllers=("workload", "clusterqueue", "localqueue"),
    ),
    concurrency=Knob(
        words="workers are set for each kind by itself, in its configuration",
        defaults=(
            Default(value=10.0, controller="workload", source=_RAISED),
            Default(value=5.0, controller="clusterqueue", source=_RAISED),
            Default(value=5.0, controller="localqueue", source=_RAISED),
        ),
    ),
    qps=Knob(
        words="the QPS of its Kubernetes client, in its configuration",
        defaults=(
            Default(value=50.0, source="field case c042, before the change that kueue#12411 proposes"),
            Default(value=300.0, since="kueue#12411", source=_RAISED),
        ),
    ),
    burst=Knob(
        words="the Burst of its Kubernetes client, in its configuration",
        defaults=(
            Default(value=100.0, source="field case c042, before the change that kueue#12411 proposes"),
            Default(value=500.0, since="kueue#12411", source=_RAISED),
        ),
    ),
    docs=("the discussions kueue#12411 and kueue#528",),
    notes=(
        (
            "Its maintainers prefer a client without limiter, together with the API server's priority and fairness, "
            "where that is there (kueue#12411)."
        ),
        (
            "On small clusters keep the controllers of queues at one worker: their status writes use up what the "
            "others need (kueue#528)."
        ),
        "One request ungates one Pod, so QPS is the most Pods that start in a second (kueue#12411).",
    ),
)
