"""Which kinds are watched, and what is asked for and kept of each.

KubeRay names its Pods by the label ``ray.io/cluster``, which users cannot override, and its Jobs by
``app.kubernetes.io/created-by``, which its own cache selects them by. Its Services have no label in common, so all are
read, as metadata only, and those without a Ray owner are dropped at once. Secrets are never read.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

__all__ = ["CREATED_BY_KUBERAY", "KINDS", "PODS", "RAY_GROUP", "Kind", "Selection"]

RAY_GROUP: Final = "ray.io"
CREATED_BY_KUBERAY: Final = "app.kubernetes.io/created-by=kuberay-operator"
_KEPT_LABELS: Final = frozenset({"ray.io/cluster", "ray.io/group", "ray.io/node-type"})

_JSON: Final = "application/json"
_AS: Final = "application/json;as={};g=meta.k8s.io;v=v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of object.

    Attributes:
        name: the kind, such as RayCluster.
        group: its API group; "" is the core one.
        version: its version.
        plural: its name in paths.
        selector: the label selector of those that KubeRay owns; "" takes all.
        is_metadata_only: whether the server is asked to leave out spec and status.
        is_ray: whether labels, annotations and writers are kept, since events are filtered by them; of others only
            the labels that tell their place in a cluster are kept.
        needs_ray_owner: whether objects without an owner of a Ray kind are dropped.
    """

    name: str
    group: str
    version: str = "v1"
    plural: str
    selector: str = ""
    is_metadata_only: bool = False
    is_ray: bool = False
    needs_ray_owner: bool = False

    @property
    def kept_labels(self) -> frozenset[str] | None:
        """Labels that are kept; None keeps all."""
        return None if self.is_ray else _KEPT_LABELS

    def path(self, namespace: str = "", name: str = "") -> str:
        """The path of all of them, of those of one namespace, or of one object."""
        group = f"apis/{self.group}" if self.group else "api"
        scope = f"/namespaces/{namespace}" if namespace else ""
        return f"/{group}/{self.version}{scope}/{self.plural}{f'/{name}' if name else ''}"

    def accept(self, *, is_list: bool) -> str:
        """The header Accept of a list or a watch."""
        if not self.is_metadata_only:
            return _JSON
        return _AS.format("PartialObjectMetadataList" if is_list else "PartialObjectMetadata")


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects of a kind.

    Attributes:
        kind: the kind.
        namespace: their namespace; "" for all.
        selector: a label selector; None takes the kind's own.
    """

    kind: Kind
    namespace: str = ""
    selector: str | None = None

    @property
    def labels(self) -> str:
        """The label selector that is asked for."""
        return self.kind.selector if self.selector is None else self.selector


PODS: Final = Kind(name="Pod", group="", plural="pods", selector="ray.io/cluster")

KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            Kind(name="RayCluster", group=RAY_GROUP, plural="rayclusters", is_ray=True),
            Kind(name="RayJob", group=RAY_GROUP, plural="rayjobs", is_ray=True),
            Kind(name="RayService", group=RAY_GROUP, plural="rayservices", is_ray=True),
            PODS,
            Kind(name="Service", group="", plural="services", is_metadata_only=True, needs_ray_owner=True),
            Kind(name="Job", group="batch", plural="jobs", selector=CREATED_BY_KUBERAY, is_metadata_only=True),
        )
    }
)
"""All watched kinds by name."""
