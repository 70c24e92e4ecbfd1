"""Event handlers: which keys a change adds to a queue, and at which priority.

Creates of the initial list and updates with equal versions go in at -100, unless the handler set a priority itself;
everything else goes in without one. Deletes and generic events are never lowered, and a queue without priorities is
just added to (research: controller-runtime 2.5 and 3.5). Predicates run before the handler.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Protocol, TypeAlias

from advisor.queueing.informer import Change, ChangeType
from advisor.queueing.objectstore import ObjectMeta
from advisor.queueing.types import IMMEDIATE, AddOptions

__all__ = [
    "KUBERAY_PREDICATES",
    "LOW_PRIORITY",
    "AnyChange",
    "EventHandler",
    "FunctionHandler",
    "HandlerQueue",
    "MapHandler",
    "ObjectHandler",
    "OwnerHandler",
    "Predicate",
    "Watch",
    "all_of",
    "annotations_changed",
    "any_of",
    "generation_changed",
    "is_unchanged",
    "labels_changed",
    "with_low_priority_when_unchanged",
]

LOW_PRIORITY = -100
_LOW = AddOptions(priority=LOW_PRIORITY)

AnyChange: TypeAlias = Change[ObjectMeta]
Predicate: TypeAlias = Callable[[AnyChange], bool]
"""Whether a change goes to the handler."""


class HandlerQueue(Protocol):
    """What a handler needs of a queue."""

    @property
    def has_priorities(self) -> bool:
        """Whether it is a priority queue; changes are only lowered for one."""
        ...

    def add(self, now_ns: int, options: AddOptions, *keys: str) -> None:
        """Add keys."""
        ...


class EventHandler(Protocol):
    """Turns changes into keys."""

    def handle(self, now_ns: int, change: AnyChange, queue: HandlerQueue) -> None:
        """Add to the queue what the change calls for."""
        ...


def is_unchanged(change: AnyChange) -> bool:
    """Whether a change tells nothing new: part of the initial list, or an update with equal versions."""
    if change.type is ChangeType.UPDATE:
        old, new = change.old, change.new
        return old is not None and new is not None and old.resource_version == new.resource_version
    return change.type is ChangeType.CREATE and change.is_initial_list and change.new is not None


def _options(change: AnyChange, queue: HandlerQueue) -> AddOptions:
    return _LOW if queue.has_priorities and is_unchanged(change) else IMMEDIATE


class ObjectHandler:
    """Adds the key of the object itself: what a controller's own kind is watched with."""

    __slots__ = ()

    def handle(self, now_ns: int, change: AnyChange, queue: HandlerQueue) -> None:
        """Add the object's key, once also for an update."""
        one = change.new if change.new is not None else change.old
        if one is not None:
            queue.add(now_ns, _options(change, queue), one.key)


@dataclass(frozen=True, slots=True)
class OwnerHandler:
    """Adds the keys of an object's owners of one kind: what owned kinds are watched with.

    Attributes:
        kind: kind of the owners.
        controller_only: look at the controlling owner only, as KubeRay does for all that it owns.
    """

    kind: str
    controller_only: bool = True

    def handle(self, now_ns: int, change: AnyChange, queue: HandlerQueue) -> None:
        """Add each owner once; an update counts those of both objects."""
        options = _options(change, queue)
        for key in _distinct(change, self._owner_keys):
            queue.add(now_ns, options, key)

    def _owner_keys(self, one: ObjectMeta) -> list[str]:
        keys: list[str] = []
        for owner in one.owners:
            if self.controller_only and not owner.controller:
                continue
            if owner.kind == self.kind:
                keys.append(f"{one.namespace}/{owner.name}")
            if self.controller_only:
                break
        return keys


@dataclass(frozen=True, slots=True)
class MapHandler:
    """Adds the keys that a function names.

    Attributes:
        keys: from an object to ``namespace/name`` keys; an update asks it about both objects.
    """

    keys: Callable[[ObjectMeta], Iterable[str]]

    def handle(self, now_ns: int, change: AnyChange, queue: HandlerQueue) -> None:
        """Add each key once."""
        options = _options(change, queue)
        for key in _distinct(change, self.keys):
            queue.add(now_ns, options, key)


def _distinct(change: AnyChange, keys: Callable[[ObjectMeta], Iterable[str]]) -> dict[str, None]:
    """The keys of the old and the new object, each once and in that order."""
    return {key: None for one in (change.old, change.new) if one is not None for key in keys(one)}


class _LoweredQueue:
    """Gives adds without a priority the low one; delay and rate limit stay as they are."""

    __slots__ = ("_queue",)

    def __init__(self, queue: HandlerQueue) -> None:
        self._queue = queue

    @property
    def has_priorities(self) -> bool:
        return self._queue.has_priorities

    def add(self, now_ns: int, options: AddOptions, *keys: str) -> None:
        if options.priority is None:
            options = replace(options, priority=LOW_PRIORITY)
        self._queue.add(now_ns, options, *keys)


_Function: TypeAlias = Callable[[int, AnyChange, HandlerQueue], None]


@dataclass(frozen=True, slots=True)
class FunctionHandler:
    """A function for each type of change; what has none is ignored.

    Creates and updates that tell nothing new are lowered, whatever way the function adds them.

    Attributes:
        create: called with time, change and queue.
        update: as create.
        delete: as create, never lowered.
        generic: as delete.
    """

    create: _Function | None = None
    update: _Function | None = None
    delete: _Function | None = None
    generic: _Function | None = None

    def handle(self, now_ns: int, change: AnyChange, queue: HandlerQueue) -> None:
        """Call the function for this type of change."""
        function = self._function(change.type)
        if function is None:
            return
        if queue.has_priorities and is_unchanged(change):
            queue = _LoweredQueue(queue)
        function(now_ns, change, queue)

    def _function(self, kind: ChangeType) -> _Function | None:
        match kind:
            case ChangeType.CREATE:
                return self.create
            case ChangeType.UPDATE:
                return self.update
            case ChangeType.DELETE:
                return self.delete
            case _:
                return self.generic


def with_low_priority_when_unchanged(handler: EventHandler) -> FunctionHandler:
    """A handler that lowers what a hand-written one adds; for the others here it changes nothing."""
    return FunctionHandler(handler.handle, handler.handle, handler.handle, handler.handle)


def generation_changed(change: AnyChange) -> bool:
    """False for an update without a change of the spec (or a request to delete); True for all but updates."""
    return _changed(change, lambda one: one.generation)


def labels_changed(change: AnyChange) -> bool:
    """False for an update without a change of labels; True for all but updates."""
    return _changed(change, lambda one: one.labels)


def annotations_changed(change: AnyChange) -> bool:
    """False for an update without a change of annotations; True for all but updates."""
    return _changed(change, lambda one: one.annotations)


def _changed(change: AnyChange, part: Callable[[ObjectMeta], object]) -> bool:
    if change.type is not ChangeType.UPDATE:
        return True
    return change.old is not None and change.new is not None and part(change.old) != part(change.new)


def any_of(*predicates: Predicate) -> Predicate:
    """A predicate that lets through what one of these does."""
    return lambda change: any(predicate(change) for predicate in predicates)


def all_of(*predicates: Predicate) -> Predicate:
    """A predicate that lets through what all of these do."""
    return lambda change: all(predicate(change) for predicate in predicates)


_WRITTEN_BY_USERS = (any_of(generation_changed, labels_changed, annotations_changed),)

KUBERAY_PREDICATES: Mapping[str, tuple[Predicate, ...]] = MappingProxyType(
    {"RayCluster": _WRITTEN_BY_USERS, "RayJob": (), "RayService": _WRITTEN_BY_USERS}
)
"""What each KubeRay controller filters the changes of its own kind by; owned kinds come unfiltered (research: kuberay
4.1 to 4.3). RayJob has none, so its own status writes and resyncs arrive."""


@dataclass(frozen=True, slots=True)
class Watch:
    """A handler behind predicates: one kind that a controller watches.

    Attributes:
        handler: gets what the predicates let through.
        predicates: all of them have to.
    """

    handler: EventHandler
    predicates: tuple[Predicate, ...] = ()

    def handle(self, now_ns: int, change: AnyChange, queue: HandlerQueue) -> None:
        """Pass the change on, unless a predicate holds it back."""
        if all(predicate(change) for predicate in self.predicates):
            self.handler.handle(now_ns, change, queue)
