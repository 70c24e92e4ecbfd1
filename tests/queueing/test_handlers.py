import dataclasses
from collections.abc import Iterator
from typing import Final

import pytest

from advisor.queueing.handlers import (
    KUBERAY_PREDICATES,
    LOW_PRIORITY,
    AnyChange,
    EventHandler,
    FunctionHandler,
    HandlerQueue,
    MapHandler,
    ObjectHandler,
    OwnerHandler,
    Predicate,
    Watch,
    all_of,
    annotations_changed,
    any_of,
    generation_changed,
    labels_changed,
    with_low_priority_when_unchanged,
)
from advisor.queueing.informer import Change, ChangeType
from advisor.queueing.objectstore import KubeObject, ObjectMeta, OwnerReference
from advisor.queueing.types import IMMEDIATE, AddOptions

SECOND: Final = 1_000_000_000
NOW: Final = 7 * SECOND
LOW: Final = AddOptions(priority=LOW_PRIORITY)


class Recorder:
    """A queue that only notes what is added."""

    def __init__(self, *, has_priorities: bool = True) -> None:
        self.has_priorities = has_priorities
        self.added: list[tuple[int, AddOptions, tuple[str, ...]]] = []

    def add(self, now_ns: int, options: AddOptions, *keys: str) -> None:
        """Note one call."""
        self.added.append((now_ns, options, keys))

    @property
    def keys(self) -> list[str]:
        """All keys added, in order."""
        return [key for _, _, keys in self.added for key in keys]


@dataclasses.dataclass(frozen=True)
class Adds:
    """A hand-written handler that adds the object's key with these options, without a thought for priorities."""

    options: AddOptions = IMMEDIATE

    def handle(self, now_ns: int, change: AnyChange, queue: HandlerQueue) -> None:
        """Add the key; a queue without priorities is not given one."""
        one = change.new if change.new is not None else change.old
        assert one is not None
        options = self.options if queue.has_priorities else dataclasses.replace(self.options, priority=None)
        queue.add(now_ns, options, one.key)


AFTER: Final = AddOptions(after_ns=SECOND)
RATE_LIMITED: Final = AddOptions(rate_limited=True)
EXPLICIT: Final = AddOptions(priority=100)
KINDS: Final[list[tuple[str, EventHandler, AddOptions]]] = [
    ("wrapper around a custom handler", with_low_priority_when_unchanged(Adds()), IMMEDIATE),
    ("object", ObjectHandler(), IMMEDIATE),
    # Typed and untyped differ in Go's types only; what is left to vary is which owners count.
    ("owner", OwnerHandler("Pod", controller_only=False), IMMEDIATE),
    ("controlling owner", OwnerHandler("Pod"), IMMEDIATE),
    ("function set", FunctionHandler(create=Adds().handle, update=Adds().handle), IMMEDIATE),
    ("map function", MapHandler(lambda one: [one.key]), IMMEDIATE),
    (
        "wrapper around a function set",
        with_low_priority_when_unchanged(FunctionHandler(create=Adds().handle, update=Adds().handle)),
        IMMEDIATE,
    ),
    ("wrapper, add after a delay", with_low_priority_when_unchanged(Adds(AFTER)), AFTER),
    ("wrapper, rate-limited add", with_low_priority_when_unchanged(Adds(RATE_LIMITED)), RATE_LIMITED),
    ("wrapper, explicit priority", with_low_priority_when_unchanged(Adds(EXPLICIT)), EXPLICIT),
]
each_handler = pytest.mark.parametrize(
    ("handler", "given"), [(handler, given) for _, handler, given in KINDS], ids=[name for name, _, _ in KINDS]
)

KEY: Final = "ns/p"
POD: Final = KubeObject(
    "Pod", "ns", "p", owners=(OwnerReference("Pod", "p", "uid-1"),), uid="uid-2", resource_version=3
)
NEWER: Final = dataclasses.replace(POD, resource_version=4)


def create(one: KubeObject = POD, *, is_initial_list: bool = False) -> AnyChange:
    """A create."""
    return Change(ChangeType.CREATE, None, one, is_initial_list)


def update(new: KubeObject, old: KubeObject = POD) -> AnyChange:
    """An update."""
    return Change(ChangeType.UPDATE, old, new)


def delete(one: KubeObject = POD) -> AnyChange:
    """A delete."""
    return Change(ChangeType.DELETE, one, None)


def generic(one: KubeObject = POD) -> AnyChange:
    """A generic event."""
    return Change(ChangeType.GENERIC, None, one)


def added(handler: EventHandler, change: AnyChange, *, has_priorities: bool = True) -> AddOptions:
    """With which options the handler adds the one key that it has to add."""
    queue = Recorder(has_priorities=has_priorities)
    handler.handle(NOW, change, queue)
    ((now_ns, options, keys),) = queue.added
    assert (now_ns, keys) == (NOW, (KEY,))
    return options


def lowered(given: AddOptions) -> AddOptions:
    """The options with the low priority, unless they have one."""
    return given if given.priority is not None else dataclasses.replace(given, priority=LOW_PRIORITY)


class TestPriorities:
    @each_handler
    def test_hd_01_create_of_the_initial_list_is_lowered(self, handler: EventHandler, given: AddOptions) -> None:
        """A create of the initial list goes in at -100; an explicit priority, a delay and a rate limit are kept."""
        assert added(handler, create(is_initial_list=True)) == lowered(given)

    @each_handler
    def test_hd_02_other_creates_have_no_priority(self, handler: EventHandler, given: AddOptions) -> None:
        """A create that is not part of the initial list goes in as the handler adds it."""
        assert added(handler, create()) == given

    @each_handler
    def test_hd_03_update_with_equal_versions_is_lowered(self, handler: EventHandler, given: AddOptions) -> None:
        """An update with equal resource versions goes in at -100; an explicit priority is kept."""
        assert added(handler, update(POD)) == lowered(given)

    @each_handler
    def test_hd_04_update_with_different_versions_has_no_priority(
        self, handler: EventHandler, given: AddOptions
    ) -> None:
        """An update with different resource versions goes in as the handler adds it."""
        assert added(handler, update(NEWER)) == given

    @each_handler
    def test_hd_05_create_without_priorities_just_adds(self, handler: EventHandler, given: AddOptions) -> None:
        """A queue without priorities is never given one by a create, the initial list included."""
        plain = dataclasses.replace(given, priority=None)
        for is_initial_list in (False, True):
            assert added(handler, create(is_initial_list=is_initial_list), has_priorities=False) == plain

    @each_handler
    def test_hd_06_update_without_priorities_just_adds(self, handler: EventHandler, given: AddOptions) -> None:
        """A queue without priorities is never given one by an update, equal versions included."""
        plain = dataclasses.replace(given, priority=None)
        for new in (POD, NEWER):
            assert added(handler, update(new), has_priorities=False) == plain

    @pytest.mark.parametrize("change", [delete(), generic()], ids=["delete", "generic"])
    @pytest.mark.parametrize(
        "handler",
        [
            ObjectHandler(),
            OwnerHandler("Pod"),
            MapHandler(lambda one: [one.key]),
            with_low_priority_when_unchanged(Adds()),
        ],
        ids=["object", "owner", "map function", "wrapper"],
    )
    def test_deletes_and_generic_events_are_never_lowered(self, handler: EventHandler, change: AnyChange) -> None:
        """Only creates and updates can tell nothing new."""
        assert added(handler, change) == IMMEDIATE

    def test_a_custom_handler_without_the_wrapper_is_never_lowered(self) -> None:
        """A hand-written handler lowers only what it lowers itself."""
        assert added(Adds(), create(is_initial_list=True)) == IMMEDIATE

    def test_an_explicit_zero_is_kept(self) -> None:
        """Priority 0 on purpose is not the same as none."""
        zero = AddOptions(priority=0)
        assert added(with_low_priority_when_unchanged(Adds(zero)), create(is_initial_list=True)) == zero

    def test_the_wrapper_shows_that_the_queue_has_priorities(self) -> None:
        """Handlers inside each other agree on the kind of queue."""
        inner = with_low_priority_when_unchanged(Adds(EXPLICIT))
        assert added(with_low_priority_when_unchanged(inner), update(POD)) == EXPLICIT


class TestObjects:
    @pytest.mark.parametrize("change", [create(), update(NEWER), delete(), generic()], ids=lambda one: one.type)
    def test_each_change_adds_the_object_once(self, change: AnyChange) -> None:
        """Create, update, delete and generic events add the key of their object."""
        assert added(ObjectHandler(), change) == IMMEDIATE

    @pytest.mark.parametrize("kind", ChangeType)
    @pytest.mark.parametrize(
        "handler",
        [ObjectHandler(), OwnerHandler("Pod"), MapHandler(lambda one: [one.key])],
        ids=["object", "owner", "map function"],
    )
    def test_an_event_without_an_object_adds_nothing(self, handler: EventHandler, kind: ChangeType) -> None:
        """What has no object has no key."""
        queue = Recorder()
        handler.handle(NOW, Change(kind, None, None), queue)
        assert queue.added == []

    def test_an_update_that_lost_one_object_is_not_lowered(self) -> None:
        """Versions are only compared where there are two."""
        assert added(ObjectHandler(), Change(ChangeType.UPDATE, POD, None)) == IMMEDIATE
        assert added(ObjectHandler(), Change(ChangeType.UPDATE, None, POD)) == IMMEDIATE


def with_owners(*owners: tuple[str, str, bool]) -> KubeObject:
    """A Pod of these owners: kind, name, whether it is the controller."""
    references = tuple(OwnerReference(kind, name, f"uid-{name}", controller) for kind, name, controller in owners)
    return dataclasses.replace(NEWER, owners=references)


def keys_of(handler: EventHandler, change: AnyChange) -> list[str]:
    """The keys that a handler adds."""
    queue = Recorder()
    handler.handle(NOW, change, queue)
    return queue.keys


class TestOwners:
    MANY: Final = with_owners(("RayJob", "j", False), ("RayCluster", "a", False), ("RayCluster", "b", True))

    def test_controller_only(self) -> None:
        """Only the controlling owner counts, and only if it is of the kind."""
        assert keys_of(OwnerHandler("RayCluster"), create(self.MANY)) == ["ns/b"]
        assert keys_of(OwnerHandler("RayJob"), create(self.MANY)) == []

    def test_of_two_controllers_the_first_counts(self) -> None:
        """An API server allows one controller; should there be two, the first is taken."""
        one = with_owners(("RayCluster", "a", True), ("RayCluster", "b", True))
        assert keys_of(OwnerHandler("RayCluster"), create(one)) == ["ns/a"]

    def test_every_owner(self) -> None:
        """All owners of the kind count."""
        assert keys_of(OwnerHandler("RayCluster", controller_only=False), create(self.MANY)) == ["ns/a", "ns/b"]

    @pytest.mark.parametrize("controller_only", [True, False])
    def test_no_owner(self, *, controller_only: bool) -> None:
        """An object without owners adds nothing."""
        assert keys_of(OwnerHandler("RayCluster", controller_only=controller_only), create(with_owners())) == []

    def test_an_update_adds_old_and_new_owners_once(self) -> None:
        """An object that changes hands wakes both owners, and one that does not wakes its owner once."""
        old, new = with_owners(("RayCluster", "a", True)), with_owners(("RayCluster", "b", True))
        assert keys_of(OwnerHandler("RayCluster"), update(new, old)) == ["ns/a", "ns/b"]
        assert keys_of(OwnerHandler("RayCluster"), update(new, new)) == ["ns/b"]

    def test_deletes_and_generic_events_add_the_owner(self) -> None:
        """A deleted Pod wakes its cluster."""
        assert keys_of(OwnerHandler("RayCluster"), delete(self.MANY)) == ["ns/b"]
        assert keys_of(OwnerHandler("RayCluster"), generic(self.MANY)) == ["ns/b"]


class TestMapFunctions:
    @staticmethod
    def keys(one: ObjectMeta) -> Iterator[str]:
        """One fixed key twice, and one by version."""
        yield from ("ns/fixed", "ns/fixed", f"ns/{one.resource_version}")

    def test_each_key_is_added_once(self) -> None:
        """Keys of one object, or of both objects of an update, are not repeated."""
        assert keys_of(MapHandler(self.keys), create()) == ["ns/fixed", "ns/3"]
        assert keys_of(MapHandler(self.keys), update(NEWER)) == ["ns/fixed", "ns/3", "ns/4"]

    def test_deletes_and_generic_events_are_mapped(self) -> None:
        """The function is asked about every object."""
        assert keys_of(MapHandler(self.keys), delete()) == ["ns/fixed", "ns/3"]
        assert keys_of(MapHandler(self.keys), generic(NEWER)) == ["ns/fixed", "ns/4"]


class TestFunctionSets:
    @pytest.mark.parametrize("change", [create(), update(NEWER), delete(), generic()], ids=lambda one: one.type)
    def test_calls_the_function_of_the_type_and_no_other(self, change: AnyChange) -> None:
        """Each type of change has a function of its own; without it nothing happens."""
        mine = FunctionHandler(**{change.type.value: Adds().handle})
        others = FunctionHandler(**{kind.value: Adds().handle for kind in ChangeType if kind is not change.type})
        assert keys_of(mine, change) == [KEY]
        assert keys_of(others, change) == []


RESPECCED: Final = dataclasses.replace(NEWER, generation=1)
RELABELLED: Final = dataclasses.replace(NEWER, labels={"a": "b"})
ANNOTATED: Final = dataclasses.replace(NEWER, annotations={"a": "b"})
STATUS_ONLY: Final = dataclasses.replace(NEWER, status="ready")
CHANGED: Final = {"generation": RESPECCED, "labels": RELABELLED, "annotations": ANNOTATED, "status": STATUS_ONLY}


class TestPredicates:
    @pytest.mark.parametrize(
        ("predicate", "passed"),
        [(generation_changed, "generation"), (labels_changed, "labels"), (annotations_changed, "annotations")],
        ids=["generation", "labels", "annotations"],
    )
    def test_each_lets_through_its_own_change(self, predicate: Predicate, passed: str) -> None:
        """Of updates a predicate passes those that change what it looks at, of all others everything."""
        assert [name for name, new in CHANGED.items() if predicate(update(new))] == [passed]
        assert all(predicate(change) for change in (create(), create(is_initial_list=True), delete(), generic()))

    def test_an_update_that_lost_one_object_is_held_back(self) -> None:
        """What cannot be compared has not changed."""
        assert not generation_changed(Change(ChangeType.UPDATE, POD, None))
        assert not generation_changed(Change(ChangeType.UPDATE, None, POD))

    def test_any_and_all(self) -> None:
        """Predicates combine as their names say."""
        both = dataclasses.replace(RELABELLED, generation=1)
        some, every = any_of(generation_changed, labels_changed), all_of(generation_changed, labels_changed)
        assert [some(update(new)) for new in (both, RELABELLED, ANNOTATED)] == [True, True, False]
        assert [every(update(new)) for new in (both, RELABELLED, ANNOTATED)] == [True, False, False]

    @pytest.mark.parametrize("kind", ["RayCluster", "RayService"])
    def test_rayclusters_and_rayservices_ignore_status_and_resync(self, kind: str) -> None:
        """Their own status writes and resyncs do not wake them; spec, labels and annotations do."""
        watch = Watch(ObjectHandler(), KUBERAY_PREDICATES[kind])
        woken = [name for name, new in CHANGED.items() if keys_of(watch, update(new)) == [KEY]]
        assert woken == ["generation", "labels", "annotations"]
        assert keys_of(watch, update(POD)) == []
        assert keys_of(watch, create(is_initial_list=True)) == keys_of(watch, delete()) == [KEY]

    def test_rayjobs_see_everything(self) -> None:
        """A RayJob is woken by its own status writes, and by resyncs at -100."""
        watch = Watch(ObjectHandler(), KUBERAY_PREDICATES["RayJob"])
        assert added(watch, update(STATUS_ONLY)) == IMMEDIATE
        assert added(watch, update(POD)) == LOW
