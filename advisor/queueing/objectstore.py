"""The API server's view of objects: versions, optimistic concurrency, generations, deletion and owners.

A write is answered by a value, an error included: what an API server refuses is no fault of this program. Nothing here
takes time or waits; latency, throttling and watches are up to the caller, who passes each answer's event on.

Rules are those of the API server for kinds with a status subresource: the version check comes before anything else, a
write that changes nothing keeps the version and makes no event, and a generation grows with the spec and when deletion
is asked for, never with labels or status (research: controller-runtime 3.5, kuberay 4).
"""

import enum
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Generic, NamedTuple, Protocol, TypeVar

__all__ = [
    "Answer",
    "ApiOutcome",
    "EventType",
    "KubeObject",
    "ObjectMeta",
    "ObjectStore",
    "OwnerReference",
    "WatchEvent",
]

_NOTHING: Mapping[str, str] = MappingProxyType({})


class ApiOutcome(enum.StrEnum):
    """How the API server answers a write.

    Attributes:
        OK: done, or there was nothing to change.
        CONFLICT: the version or uid is not that of the stored object; read again and retry.
        NOT_FOUND: no such object.
        ALREADY_EXISTS: a create of a name that is taken.
        INVALID: a finalizer was added to an object that is being deleted.
    """

    OK = "ok"
    CONFLICT = "conflict"
    NOT_FOUND = "not found"
    ALREADY_EXISTS = "already exists"
    INVALID = "invalid"


class EventType(enum.StrEnum):
    """What a watch reports."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class OwnerReference:
    """One owner of an object, in the namespace of that object.

    Attributes:
        kind: kind of the owner; one name stands for one API group here.
        name: its name.
        uid: its uid; an owner that was recreated has another.
        controller: the owner that manages the object; at most one has it.
    """

    kind: str
    name: str
    uid: str
    controller: bool = True


class ObjectMeta(Protocol):
    """What informers and event handlers read of an object."""

    @property
    def namespace(self) -> str:
        """Namespace of the object."""
        ...

    @property
    def key(self) -> str:
        """``namespace/name``."""
        ...

    @property
    def resource_version(self) -> int:
        """Grows with each write of the object."""
        ...

    @property
    def generation(self) -> int:
        """Grows with its spec, and when its deletion is asked for."""
        ...

    @property
    def labels(self) -> Mapping[str, str]:
        """Its labels."""
        ...

    @property
    def annotations(self) -> Mapping[str, str]:
        """Its annotations."""
        ...

    @property
    def owners(self) -> tuple[OwnerReference, ...]:
        """Its owner references."""
        ...


@dataclass(frozen=True, slots=True)
class KubeObject:
    """An object as it was at one version, or, before it is created, as it is wanted.

    Attributes:
        kind: its kind.
        namespace: its namespace.
        name: its name.
        spec: any immutable value; the generation grows when it changes.
        status: any immutable value; dropped by a create and by an update, written by a status update only.
        labels: read only; the store keeps a copy.
        annotations: as labels.
        owners: its owners.
        finalizers: what has to be done before it is gone. A Pod's grace period is one too: its caller takes the name
            off when the Pod has ended.
        uid: set by the store, like everything below.
        resource_version: the store's version at the last write of it; a write from an older one is a conflict.
        generation: 1 at first.
        created_ns: when it was created.
        deleted_ns: when its deletion was first asked for; None if it was not.
    """

    kind: str
    namespace: str
    name: str
    spec: object = field(default=None, hash=False)
    status: object = field(default=None, hash=False)
    labels: Mapping[str, str] = field(default_factory=lambda: _NOTHING, hash=False)
    annotations: Mapping[str, str] = field(default_factory=lambda: _NOTHING, hash=False)
    owners: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    uid: str = ""
    resource_version: int = 0
    generation: int = 0
    created_ns: int = 0
    deleted_ns: int | None = None

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"


_T_co = TypeVar("_T_co", bound=ObjectMeta, covariant=True)


class WatchEvent(NamedTuple, Generic[_T_co]):
    """One change as a watch reports it.

    Attributes:
        type: added, modified or deleted.
        old: the object before; None when added. When deleted, its last state at the version of the delete.
        new: the object after; None when deleted.
    """

    type: EventType
    old: _T_co | None
    new: _T_co | None


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a write.

    Attributes:
        outcome: whether it was done.
        object: the object after the write, its last state when it is gone, or None when the write was refused.
        event: what watches report; None when nothing has changed.
        orphans: objects that have owners, none of which exists after this write: what a garbage collector deletes.
    """

    outcome: ApiOutcome
    object: KubeObject | None = None
    event: WatchEvent[KubeObject] | None = None
    orphans: tuple[KubeObject, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the write was accepted."""
        return self.outcome is ApiOutcome.OK


class ObjectStore:
    """All objects of one API server.

    Attributes:
        version: the version of the latest change; 0 while there was none.
    """

    __slots__ = ("_by_kind", "_by_owner", "_created", "_uids", "version")

    def __init__(self) -> None:
        self.version = 0
        self._created = 0
        self._by_kind: dict[str, dict[str, KubeObject]] = {}
        self._by_owner: dict[str, dict[tuple[str, str], None]] = {}
        self._uids: set[str] = set()

    def get(self, kind: str, key: str) -> KubeObject | None:
        """The object of that kind and ``namespace/name``, or None."""
        return self._by_kind.get(kind, {}).get(key)

    def objects(self, kind: str, namespaces: Collection[str] | None = None) -> tuple[KubeObject, ...]:
        """All objects of a kind, in order of creation; only those of these namespaces where given."""
        found = self._by_kind.get(kind, {}).values()
        return tuple(one for one in found if namespaces is None or one.namespace in namespaces)

    def owned_by(self, uid: str) -> tuple[KubeObject, ...]:
        """All objects that name this uid as an owner, whether that still exists or not."""
        return tuple(self._by_kind[kind][key] for kind, key in self._by_owner.get(uid, ()))

    def create(self, now_ns: int, draft: KubeObject) -> Answer:
        """Create an object; uid, version, generation and times of the draft do not count, its status is dropped."""
        if self.get(draft.kind, draft.key) is not None:
            return Answer(ApiOutcome.ALREADY_EXISTS)
        self._created += 1
        created = replace(
            draft,
            status=None,
            labels=MappingProxyType(dict(draft.labels)),
            annotations=MappingProxyType(dict(draft.annotations)),
            uid=f"uid-{self._created}",
            resource_version=self._next_version(),
            generation=1,
            created_ns=now_ns,
            deleted_ns=None,
        )
        self._uids.add(created.uid)
        self._keep(created)
        return self._done(EventType.ADDED, None, created)

    def update(self, wanted: KubeObject) -> Answer:
        """Write spec, labels, annotations, owners and finalizers, if the stored object still has this version."""
        stored = self.get(wanted.kind, wanted.key)
        if stored is None:
            return Answer(ApiOutcome.NOT_FOUND)
        if wanted.resource_version != stored.resource_version:
            return Answer(ApiOutcome.CONFLICT)
        return self._apply(stored, wanted)

    def update_status(self, wanted: KubeObject) -> Answer:
        """Write the status and nothing else, if the stored object still has this version."""
        stored = self.get(wanted.kind, wanted.key)
        if stored is None:
            return Answer(ApiOutcome.NOT_FOUND)
        if wanted.resource_version != stored.resource_version:
            return Answer(ApiOutcome.CONFLICT)
        return self._store(stored, replace(stored, status=wanted.status))

    def patch(self, kind: str, key: str, change: Callable[[KubeObject], KubeObject]) -> Answer:
        """Apply a change to the newest object, without a version check; it can write what an update can."""
        stored = self.get(kind, key)
        return Answer(ApiOutcome.NOT_FOUND) if stored is None else self._apply(stored, change(stored))

    def patch_status(self, kind: str, key: str, status: object) -> Answer:
        """Write the status without a version check."""
        stored = self.get(kind, key)
        return Answer(ApiOutcome.NOT_FOUND) if stored is None else self._store(stored, replace(stored, status=status))

    def delete(
        self, now_ns: int, kind: str, key: str, *, uid: str | None = None, resource_version: int | None = None
    ) -> Answer:
        """Delete an object, or, while it has finalizers, mark it as being deleted.

        Args:
            now_ns: becomes its deletion timestamp, unless it has one already.
            kind: its kind.
            key: its ``namespace/name``.
            uid: a conflict unless it is this one; None does not care.
            resource_version: a conflict unless it has this version; None does not care.
        """
        stored = self.get(kind, key)
        if stored is None:
            return Answer(ApiOutcome.NOT_FOUND)
        if uid not in {None, stored.uid} or resource_version not in {None, stored.resource_version}:
            return Answer(ApiOutcome.CONFLICT)
        if not stored.finalizers:
            return self._remove(stored)
        if stored.deleted_ns is not None:
            return Answer(ApiOutcome.OK, stored)
        return self._store(stored, replace(stored, deleted_ns=now_ns, generation=stored.generation + 1))

    def _apply(self, stored: KubeObject, wanted: KubeObject) -> Answer:
        is_deleting = stored.deleted_ns is not None
        if is_deleting and not set(wanted.finalizers) <= set(stored.finalizers):
            return Answer(ApiOutcome.INVALID)
        changed = replace(
            stored,
            spec=wanted.spec,
            labels=_frozen(stored.labels, wanted.labels),
            annotations=_frozen(stored.annotations, wanted.annotations),
            owners=wanted.owners,
            finalizers=wanted.finalizers,
            generation=stored.generation + (wanted.spec != stored.spec),
        )
        if is_deleting and not changed.finalizers:
            return self._remove(changed)
        return self._store(stored, changed)

    def _store(self, stored: KubeObject, changed: KubeObject) -> Answer:
        if changed == stored:
            return Answer(ApiOutcome.OK, stored)
        changed = replace(changed, resource_version=self._next_version())
        if changed.owners != stored.owners:
            self._drop_owners(stored)
        self._keep(changed)
        return self._done(EventType.MODIFIED, stored, changed)

    def _remove(self, stored: KubeObject) -> Answer:
        gone = replace(stored, resource_version=self._next_version())
        self._drop_owners(self._by_kind[gone.kind].pop(gone.key))
        self._uids.discard(gone.uid)
        event = WatchEvent(EventType.DELETED, gone, None)
        orphans = tuple(one for one in self.owned_by(gone.uid) if self._is_orphan(one))
        return Answer(ApiOutcome.OK, gone, event, orphans)

    def _done(self, event: EventType, old: KubeObject | None, new: KubeObject) -> Answer:
        orphans = (new,) if self._is_orphan(new) else ()
        return Answer(ApiOutcome.OK, new, WatchEvent(event, old, new), orphans)

    def _keep(self, one: KubeObject) -> None:
        self._by_kind.setdefault(one.kind, {})[one.key] = one
        for owner in one.owners:
            self._by_owner.setdefault(owner.uid, {})[one.kind, one.key] = None

    def _drop_owners(self, one: KubeObject) -> None:
        for uid in {owner.uid for owner in one.owners}:
            owned = self._by_owner[uid]
            del owned[one.kind, one.key]
            if not owned:
                del self._by_owner[uid]

    def _is_orphan(self, one: KubeObject) -> bool:
        return bool(one.owners) and all(owner.uid not in self._uids for owner in one.owners)

    def _next_version(self) -> int:
        self.version += 1
        return self.version


def _frozen(stored: Mapping[str, str], wanted: Mapping[str, str]) -> Mapping[str, str]:
    """The wanted mapping, safe from later changes; the stored one where they are equal."""
    return stored if wanted == stored else MappingProxyType(dict(wanted))
