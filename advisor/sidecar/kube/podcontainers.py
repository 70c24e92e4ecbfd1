"""Which container of an operator's Pod writes its log: others may stand beside it, such as a mesh's proxy."""

import msgspec

from advisor.knowledge.defaults import CONTAINER_NAME

__all__ = ["container_in_list", "container_of"]

_DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
"""The annotation by which a Pod says which container it is about."""


class _Container(msgspec.Struct):
    name: str = ""


class _Spec(msgspec.Struct):
    containers: list[_Container] = []


class _Metadata(msgspec.Struct):
    uid: str = ""
    annotations: dict[str, str] | None = None


class _Pod(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)
    spec: _Spec = msgspec.field(default_factory=_Spec)


class _List(msgspec.Struct):
    items: list[_Pod] = []


def container_of(pod: bytes) -> str:
    """The container to ask for, from a Pod as the API server tells it.

    "" where there is one alone, which the server then takes. Of several the one that the Pod's annotation names, else
    the one that has the name in KubeRay's chart, else the first, as kubectl does.
    """
    return _chosen(msgspec.json.decode(pod, type=_Pod))


def container_in_list(pods: bytes, uid: str) -> str:
    """The same of the Pod with this UID in a list."""
    return next((_chosen(pod) for pod in msgspec.json.decode(pods, type=_List).items if pod.metadata.uid == uid), "")


def _chosen(pod: _Pod) -> str:
    names = [one.name for one in pod.spec.containers]
    wanted = ((pod.metadata.annotations or {}).get(_DEFAULT_CONTAINER), CONTAINER_NAME)
    return next((name for name in wanted if name in names), names[0]) if len(names) > 1 else ""
