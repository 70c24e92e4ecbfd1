"""Lists and watch events, decoded to what is kept of an object: metadata and status, never its spec."""

import hashlib
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeVar

import msgspec

from advisor.queueing.objectstore import EventType, OwnerReference, WatchEvent
from advisor.sidecar.kube.kinds import Kind
from advisor.sidecar.kube.reading import KubeError
from advisor.sidecar.observed import Observed, Writer

__all__ = ["Bookmark", "ObjectDecoder", "Page"]

_RAY_KINDS = frozenset({"RayCluster", "RayJob", "RayService"})
_DIGEST_BYTES = 8
_NOTHING: Mapping[str, str] = MappingProxyType({})
_TYPES = {"ADDED": EventType.ADDED, "MODIFIED": EventType.MODIFIED, "DELETED": EventType.DELETED}


class _Owner(msgspec.Struct):
    kind: str
    name: str
    uid: str = ""
    controller: bool = False


class _ManagedFields(msgspec.Struct):
    """Without fieldsV1, which is most of it."""

    manager: str = ""
    time: datetime | None = None


class _Metadata(msgspec.Struct, rename="camel"):
    name: str
    resource_version: str
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    owner_references: list[_Owner] | None = None
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int = 0
    managed_fields: list[_ManagedFields] | None = None


class _OwnedMetadata(msgspec.Struct, rename="camel"):
    """The same of kinds whose annotations and writers nobody asks for."""

    name: str
    resource_version: str
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    labels: dict[str, str] | None = None
    owner_references: list[_Owner] | None = None
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int = 0


class _Condition(msgspec.Struct):
    type: str = ""
    status: str = ""


class _RayStatus(msgspec.Struct, rename="camel"):
    state: str | None = None
    job_deployment_status: str | None = None
    service_status: str | None = None
    desired_worker_replicas: int | None = None
    ready_worker_replicas: int | None = None
    observed_generation: int | None = None


class _PodStatus(msgspec.Struct):
    phase: str | None = None
    conditions: list[_Condition] | None = None


class _RayObject(msgspec.Struct):
    metadata: _Metadata
    status: _RayStatus | None = None


class _Pod(msgspec.Struct):
    metadata: _OwnedMetadata
    status: _PodStatus | None = None


class _Other(msgspec.Struct):
    metadata: _OwnedMetadata


class _ListMetadata(msgspec.Struct):
    resource_version: str = msgspec.field(default="", name="resourceVersion")
    next: str = msgspec.field(default="", name="continue")


_T = TypeVar("_T")


class _List(msgspec.Struct, Generic[_T]):
    metadata: _ListMetadata
    items: list[_T] | None = None


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw = msgspec.Raw()


class _VersionMetadata(msgspec.Struct, rename="camel"):
    resource_version: str


class _Versioned(msgspec.Struct):
    metadata: _VersionMetadata


class _Status(msgspec.Struct):
    code: int = 0
    message: str = ""
    reason: str = ""


class Page(NamedTuple):
    """One page of a list: what is kept of its objects, the list's version, and where it goes on ("" at its end)."""

    objects: list[Observed]
    version: str
    continue_token: str


class Bookmark(NamedTuple):
    """Everything up to this version has been told; also what a skipped object leaves."""

    version: str


class ObjectDecoder:
    """Decodes objects of one kind.

    Args:
        kind: the kind.

    Attributes:
        skipped: objects and events that could not be understood.
    """

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        item = _RayObject if kind.is_ray else _Other if kind.is_metadata_only else _Pod
        self._item: msgspec.json.Decoder[_RayObject | _Pod | _Other] = msgspec.json.Decoder(item)
        self._list: msgspec.json.Decoder[_List[_RayObject | _Pod | _Other]] = msgspec.json.Decoder(
            _List[item]  # type: ignore[valid-type] # chosen above
        )
        self._raw_list = msgspec.json.Decoder(_List[msgspec.Raw])
        self._event = msgspec.json.Decoder(_Event)
        self._versioned = msgspec.json.Decoder(_Versioned)
        self.skipped = 0

    def page(self, body: bytes) -> Page:
        """What is kept of one page; objects that cannot be understood are skipped.

        Raises:
            KubeError: it is no list.
        """
        try:
            listed = self._list.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return self._page_by_object(body)
        objects = [one for item in listed.items or () if (one := self._observed(item)) is not None]
        return Page(objects, listed.metadata.resource_version, listed.metadata.next)

    def object(self, body: bytes | msgspec.Raw) -> Observed | None:
        """What is kept of one object; None where it cannot be understood, or is none of KubeRay's."""
        try:
            item = self._item.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError):
            self.skipped += 1
            return None
        return self._observed(item)

    def event(self, line: bytes) -> WatchEvent[Observed] | Bookmark | None:
        """What one line of a watch tells; None where it cannot be understood.

        Raises:
            KubeError: the server tells an error, such as 410 for a version that it no longer has.
        """
        try:
            event = self._event.decode(line)
            if event.type == "ERROR":
                raise _error(event.object)
            kind = _TYPES.get(event.type)
            one = None if kind is None else self.object(event.object)
            if kind is None or one is None:
                return Bookmark(self._versioned.decode(event.object).metadata.resource_version)
        except (msgspec.DecodeError, UnicodeDecodeError):
            self.skipped += 1
            return None
        return WatchEvent(kind, one, None) if kind is EventType.DELETED else WatchEvent(kind, None, one)

    def _page_by_object(self, body: bytes) -> Page:
        try:
            listed = self._raw_list.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise KubeError(f"the answer is no list of {self._kind.plural}: {error}") from error
        objects = [one for item in listed.items or () if (one := self.object(item)) is not None]
        return Page(objects, listed.metadata.resource_version, listed.metadata.next)

    def _observed(self, item: _RayObject | _Pod | _Other) -> Observed | None:
        metadata = item.metadata
        owners = tuple(_owner(one.kind, one.name, one.uid, one.controller) for one in metadata.owner_references or ())
        if self._kind.needs_ray_owner and not any(owner.kind in _RAY_KINDS for owner in owners):
            return None
        try:
            version = int(metadata.resource_version)
        except ValueError:
            self.skipped += 1
            return None
        ray = metadata if isinstance(metadata, _Metadata) else None
        deleted = _seconds(metadata.deletion_timestamp)
        status = _of_status(item)
        return Observed(
            kind=self._kind.name,
            namespace=_shared(metadata.namespace),
            name=metadata.name,
            uid=metadata.uid,
            resource_version=version,
            generation=metadata.generation,
            labels=_labels(metadata.labels, self._kind.kept_labels),
            annotations=_NOTHING if ray is None else _digests(ray.annotations),
            owners=owners,
            created=_seconds(metadata.creation_timestamp),
            # The server's field is when the grace period is over.
            deleting_since=None if deleted is None else deleted - metadata.deletion_grace_period_seconds,
            writers=() if ray is None else _writers(ray.managed_fields),
            phase=status.phase,
            ready=status.ready,
            state=status.state,
            desired_workers=status.desired_workers,
            ready_workers=status.ready_workers,
            observed_generation=status.observed_generation,
        )


class _Told(NamedTuple):
    """What is kept of a status."""

    phase: str | None = None
    ready: bool | None = None
    state: str | None = None
    desired_workers: int | None = None
    ready_workers: int | None = None
    observed_generation: int | None = None


_NO_STATUS = _Told()


def _of_status(item: _RayObject | _Pod | _Other) -> _Told:
    match item:
        case _Pod(status=_PodStatus() as pod):
            ready = any(one.type == "Ready" and one.status == "True" for one in pod.conditions or ())
            return _Told(phase=None if pod.phase is None else _shared(pod.phase), ready=ready)
        case _RayObject(status=_RayStatus() as ray):
            return _Told(
                state=ray.state or ray.job_deployment_status or ray.service_status,
                desired_workers=ray.desired_worker_replicas,
                ready_workers=ray.ready_worker_replicas,
                observed_generation=ray.observed_generation,
            )
        case _:
            return _NO_STATUS


@lru_cache(maxsize=4096)
def _shared(text: str) -> str:
    """One string for all that are equal; not interned, as Python 3.12 never lets go of those."""
    return text


@lru_cache(maxsize=4096)
def _owner(kind: str, name: str, uid: str, controller: bool) -> OwnerReference:  # noqa: FBT001 - a cache is by position
    """One object for the many Pods of a cluster."""
    return OwnerReference(_shared(kind), name, uid, controller)


def _labels(labels: dict[str, str] | None, kept: frozenset[str] | None) -> Mapping[str, str]:
    if not labels:
        return _NOTHING
    if kept is None:
        return labels
    return {name: _shared(value) for name, value in labels.items() if name in kept}


def _digests(annotations: dict[str, str] | None) -> Mapping[str, str]:
    if not annotations:
        return _NOTHING
    return {
        name: hashlib.blake2b(value.encode("utf-8", "replace"), digest_size=_DIGEST_BYTES).hexdigest()
        for name, value in annotations.items()
    }


def _writers(managed: list[_ManagedFields] | None) -> tuple[Writer, ...]:
    """Each manager once, with its last write; one whose time is not told cannot be the last."""
    last: dict[str, float] = {}
    for one in managed or ():
        time = _seconds(one.time)
        if time is not None:
            last[one.manager] = max(time, last.get(one.manager, time))
    return tuple(Writer(_shared(manager), time) for manager, time in last.items())


def _seconds(time: datetime | None) -> float | None:
    return None if time is None else time.timestamp()


def _error(body: msgspec.Raw) -> KubeError:
    try:
        status = msgspec.json.decode(body, type=_Status)
    except (msgspec.DecodeError, UnicodeDecodeError):
        status = _Status(message="an error that cannot be understood")
    return KubeError(f"the watch is ended: {status.message or status.reason}", status=status.code)
