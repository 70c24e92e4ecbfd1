"""Which kinds feed which controller of KubeRay, and through which handlers: one table for whoever shadows its queues.

The rules are those of the operator's own controllers (research: kuberay 4.1 to 4.3). Secrets and volume claims that a
RayCluster owns are left out, as nothing here may read Secrets: they change about once in a cluster's life.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from advisor.queueing.handlers import KUBERAY_PREDICATES, ObjectHandler, OwnerHandler, Watch

__all__ = ["RULES", "ControllerRules"]


@dataclass(frozen=True, slots=True)
class ControllerRules:
    """What one controller watches.

    Attributes:
        kind: the kind whose keys its queue holds.
        watches: watched kinds, each with its handler; the controller's own kind comes first, as it does in KubeRay.
    """

    kind: str
    watches: tuple[tuple[str, Watch], ...]


def _rules(kind: str, *owned: str) -> ControllerRules:
    own = (kind, Watch(ObjectHandler(), KUBERAY_PREDICATES[kind]))
    return ControllerRules(kind, (own, *((one, Watch(OwnerHandler(kind))) for one in owned)))


RULES: Mapping[str, ControllerRules] = MappingProxyType(
    {
        "raycluster": _rules("RayCluster", "Pod", "Service"),
        "rayjob": _rules("RayJob", "RayCluster", "Service", "Job"),
        "rayservice": _rules("RayService", "RayCluster", "Service"),
    }
)
"""By the label of the KubeRay controller."""
