"""How to get a figure that is missing, by the reason why it is."""

from typing import Final

__all__ = ["how_to_get"]

_TIMES: Final = "scrape all of the operator's port 8080; KubeRay exposes times of requests from 1.7 on"
_REMEDIES: Final = (
    ("operator log", "give the operator's log: run the sidecar beside it, or put operator.log.gz into the recording"),
    ("object timeline", "let objects be watched: run the sidecar, or put objects.jsonl.gz into the recording"),
    ("kube_pod_container_resource_limits", "let the store scrape kube-state-metrics, or state the limits as facts"),
    ("container_cpu_cfs", "let the store scrape the kubelet's cAdvisor"),
    ("container_", "let the store scrape the kubelet's cAdvisor"),
    ("arguments are not known", "state the operator's arguments with --args, or in the recording's setup.json"),
    ("no series tells it", "no series can: state it in a facts file, where somebody knows it"),
    ("rest_client_", _TIMES),
    ("not exposed here", _TIMES),
)
"""A part of the reason, and what to do; the first that fits counts."""
_NO_SAMPLE: Final = "no sample in the window for"
_SCRAPE: Final = "scrape all of the operator's port 8080, unless this controller has nothing to do"

_OF_OTHERS: Final = {
    _TIMES: "scrape all of the operator's /metrics; times of requests are there only where it registers them",
    _SCRAPE: "scrape all of the operator's /metrics, unless this controller has nothing to do",
}
"""The same for an operator that is not KubeRay's, where it differs."""


def how_to_get(reason: str, *, is_kuberay: bool = True) -> str:
    """What to do to get a figure that is missing for a reason; "" where there is nothing to have: it did not happen."""
    found = next((remedy for part, remedy in _REMEDIES if part in reason), "")
    found = found or (_SCRAPE if reason.startswith(_NO_SAMPLE) else "")
    return found if is_kuberay else _OF_OTHERS.get(found, found)
