"""An informer: what the operator's cache shows of one kind, some time after the API server changed it.

Events wait until they are due and keep their order, as on the one connection of a watch. What handlers are told
compares the cache before with the cache after, as client-go does: an added object that the cache has already is an
update, and a deleted one that it does not have is nothing (research: controller-runtime 3.4 and 3.5, kuberay 4).
"""

import enum
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

from advisor.queueing.objectstore import ObjectMeta, WatchEvent
from advisor.queueing.types import NANOSECONDS_PER_SECOND

__all__ = ["RESYNC_PERIOD_NS", "Change", "ChangeType", "InformerCache", "jittered_resync_ns"]

RESYNC_PERIOD_NS = 10 * 3600 * NANOSECONDS_PER_SECOND
_JITTER = 0.1

_T = TypeVar("_T", bound=ObjectMeta)
_T_co = TypeVar("_T_co", bound=ObjectMeta, covariant=True)


class ChangeType(enum.StrEnum):
    """What a handler is told; generic is what did not come from an informer."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"
    GENERIC = "generic"


class Change(NamedTuple, Generic[_T_co]):
    """One change of a cache, or a generic event.

    Attributes:
        type: create, update, delete or generic.
        old: the object that the cache had; None for create and generic. With delete, the last state known.
        new: the object that it has now; None for delete. Equal versions of both are a resync or a relist.
        is_initial_list: a create that is part of the first list.
    """

    type: ChangeType
    old: _T_co | None
    new: _T_co | None
    is_initial_list: bool = False


def jittered_resync_ns(fraction: float, period_ns: int = RESYNC_PERIOD_NS) -> int:
    """The resync period of one informer: 10 h +- 10 %, drawn once when it is made (research: controller-runtime 3.4).

    Args:
        fraction: evenly distributed between 0 and 1; 0.5 gives the period itself.
        period_ns: the middle.
    """
    return round(period_ns * (1.0 - _JITTER + 2.0 * _JITTER * fraction))


class _Listing(NamedTuple, Generic[_T_co]):
    """The answer to a list that is still under way."""

    objects: tuple[_T_co, ...]


class InformerCache(Generic[_T]):
    """The lagging view of one kind.

    First `receive_list`, then `receive` each event that follows. Whoever has the clock calls `tick` at
    `next_deadline_ns` and passes what it returns to the handlers; a late tick loses nothing.

    Args:
        namespaces: the namespaces watched; None watches all.
        resync_period_ns: time between resyncs, see `jittered_resync_ns`; None for none.

    Attributes:
        has_synced: whether the first list is in the cache.
    """

    __slots__ = (
        "_is_watching",
        "_namespaces",
        "_objects",
        "_pending",
        "_resync_at_ns",
        "_resync_period_ns",
        "has_synced",
    )

    def __init__(self, *, namespaces: Collection[str] | None = None, resync_period_ns: int | None = None) -> None:
        self.has_synced = False
        self._namespaces = None if namespaces is None else frozenset(namespaces)
        self._resync_period_ns = resync_period_ns
        self._resync_at_ns: int | None = None
        self._objects: dict[str, _T] = {}
        self._pending: deque[tuple[int, WatchEvent[_T] | _Listing[_T]]] = deque()
        self._is_watching = False

    def __len__(self) -> int:
        """Objects in the cache."""
        return len(self._objects)

    def __contains__(self, key: object) -> bool:
        """Whether the cache has an object of that ``namespace/name``."""
        return key in self._objects

    def get(self, key: str) -> _T | None:
        """The object as the cache shows it, or None."""
        return self._objects.get(key)

    def objects(self, namespace: str | None = None) -> tuple[_T, ...]:
        """All objects that the cache shows, or those of one namespace."""
        return tuple(one for one in self._objects.values() if namespace is None or one.namespace == namespace)

    @property
    def is_watching(self) -> bool:
        """Whether events are received; not before the first list and not between a lost watch and the next one."""
        return self._is_watching

    @property
    def events_under_way(self) -> int:
        """Events and lists that have been received and are not in the cache yet."""
        return len(self._pending)

    def receive_list(self, now_ns: int, objects: Iterable[_T], lag_ns: int = 0) -> None:
        """Take all objects as they are now, to start with or after the watch was lost.

        The first list makes creates of the initial list. A later one makes creates without that mark, an update for
        each object that the cache has, also at equal versions, and then deletes. An object that was deleted and
        recreated unseen is an update to another uid.

        Args:
            now_ns: when the list was read; events after it are received from now on.
            objects: all objects of the kind; those of other namespaces are left out.
            lag_ns: time until they are in the cache.
        """
        self._is_watching = True
        in_scope = tuple(one for one in objects if self._is_in_scope(one))
        self._pending.append((now_ns + lag_ns, _Listing(in_scope)))

    def receive(self, now_ns: int, event: WatchEvent[_T], lag_ns: int = 0) -> None:
        """Take one event, which is in the cache `lag_ns` later, but not before those that came first.

        Without a watch it is lost, and a later list makes up for it.
        """
        one = event.new if event.new is not None else event.old
        if self._is_watching and one is not None and self._is_in_scope(one):
            self._pending.append((now_ns + lag_ns, event))

    def lose_watch(self) -> None:
        """Drop what is under way and all events until the next list. The cache stays as it is."""
        self._is_watching = False
        self._pending.clear()
        self._resync_at_ns = None

    def next_deadline_ns(self) -> int | None:
        """When the next event, list or resync is due; None when nothing is to come."""
        resync_at_ns = self._resync_at_ns
        if not self._pending:
            return resync_at_ns
        due_ns = self._pending[0][0]
        return due_ns if resync_at_ns is None else min(due_ns, resync_at_ns)

    def tick(self, now_ns: int) -> list[Change[_T]]:
        """Apply what is due and return the changes, in order."""
        changes: list[Change[_T]] = []
        while (due_ns := self.next_deadline_ns()) is not None and due_ns <= now_ns:
            if not self._pending or self._pending[0][0] > due_ns:
                changes.extend(Change(ChangeType.UPDATE, one, one) for one in self._objects.values())
                self._restart_resync(due_ns)
                continue
            _, item = self._pending.popleft()
            if isinstance(item, _Listing):
                changes.extend(self._replace_all(item.objects))
                self._restart_resync(due_ns)
            elif item.new is not None:
                changes.append(self._put(item.new))
            elif item.old is not None and item.old.key in self._objects:
                changes.append(self._take_out(item.old))
        return changes

    def _is_in_scope(self, one: _T) -> bool:
        return self._namespaces is None or one.namespace in self._namespaces

    def _restart_resync(self, now_ns: int) -> None:
        if self._resync_period_ns is not None:
            self._resync_at_ns = now_ns + self._resync_period_ns

    def _put(self, one: _T, *, is_initial_list: bool = False) -> Change[_T]:
        key = one.key
        old = self._objects.get(key)
        self._objects[key] = one
        if old is None:
            return Change(ChangeType.CREATE, None, one, is_initial_list)
        return Change(ChangeType.UPDATE, old, one)

    def _take_out(self, last: _T) -> Change[_T]:
        del self._objects[last.key]
        return Change(ChangeType.DELETE, last, None)

    def _replace_all(self, objects: tuple[_T, ...]) -> Iterator[Change[_T]]:
        listed = {one.key for one in objects}
        is_initial_list = not self.has_synced
        self.has_synced = True
        for one in objects:
            yield self._put(one, is_initial_list=is_initial_list)
        for one in [one for key, one in self._objects.items() if key not in listed]:
            yield self._take_out(one)
