"""How to get a figure that is missing, by the reason why it is."""

from typing import Final

__all__ = ["how_to_get"]

_REMEDIES: Final = (
    ("operator log", "give the operator's log: run the sidecar beside it, or put operator.log.gz into the recording"),
    ("object timeline", "let objects be watched: run the sidecar, or put objects.jsonl.gz into the recording"),
    ("kube_pod_container_resource_limits", "let the store scrape kube-state-metrics, or state the limits as facts"),
    ("container_cpu_cfs", "let the store scrape the kubelet's cAdvisor"),
    ("container_", "let the store scrape the kubelet's cAdvisor"),
    ("arguments are not known", "state the operator's arguments with --args, or in the recording's setup.json"),
    ("no series tells it", "no series can: state it in a facts file, where somebody knows it"),
    ("rest_client_", "scrape all of the operator's port 8080; KubeRay exposes times of requests from 1.7 on"),
    ("not exposed here", "scrape all of the operator's port 8080; KubeRay exposes times of requests from 1.7 on"),
)
"""A part of the reason, and what to do; the first that fits counts."""
_NO_SAMPLE: Final = "no sample in the window for"
_SCRAPE: Final = "scrape all of the operator's port 8080, unless this controller has nothing to do"


def how_to_get(reason: str) -> str:
    """What to do to get a figure that is missing for a reason; "" where there is nothing to have: it did not happen."""
    found = next((remedy for part, remedy in _REMEDIES if part in reason), "")
    return found or (_SCRAPE if reason.startswith(_NO_SAMPLE) else "")
