import dataclasses
from collections.abc import Callable
from typing import Final

import pytest

from advisor.queueing.objectstore import (
    Answer,
    ApiOutcome,
    EventType,
    KubeObject,
    ObjectStore,
    OwnerReference,
    WatchEvent,
)

SECOND: Final = 1_000_000_000


def made(answer: Answer) -> KubeObject:
    """The object of a write that must have been accepted."""
    assert answer.outcome is ApiOutcome.OK
    assert answer.object is not None
    return answer.object


def cluster(store: ObjectStore, name: str = "a", *, finalizers: tuple[str, ...] = ()) -> KubeObject:
    """A RayCluster that was just created."""
    return made(store.create(0, KubeObject("RayCluster", "ns", name, spec=1, finalizers=finalizers)))


def owned(store: ObjectStore, name: str, *owners: KubeObject) -> Answer:
    """The answer to the create of a Pod of these owners."""
    references = tuple(OwnerReference(one.kind, one.name, one.uid) for one in owners)
    return store.create(0, KubeObject("Pod", "ns", name, owners=references))


class TestCreate:
    def test_sets_what_the_server_sets(self) -> None:
        """A new object gets uid, version, first generation and time, and loses what a client says of these."""
        store = ObjectStore()
        draft = KubeObject(
            "RayCluster",
            "ns",
            "a",
            spec=1,
            status="made up",
            uid="mine",
            resource_version=7,
            generation=9,
            deleted_ns=3,
        )
        answer = store.create(5 * SECOND, draft)
        created = made(answer)
        assert created == KubeObject(
            "RayCluster", "ns", "a", spec=1, uid="uid-1", resource_version=1, generation=1, created_ns=5 * SECOND
        )
        assert answer.event == WatchEvent(EventType.ADDED, None, created)
        assert store.get("RayCluster", "ns/a") is created

    def test_a_taken_name_is_refused(self) -> None:
        """A second object of the same kind and key is refused and changes nothing."""
        store = ObjectStore()
        first = cluster(store)
        answer = store.create(0, KubeObject("RayCluster", "ns", "a", spec=2))
        assert answer == Answer(ApiOutcome.ALREADY_EXISTS)
        assert not answer.ok
        assert (store.get("RayCluster", "ns/a"), store.version) == (first, 1)

    def test_kinds_and_namespaces_do_not_share_names(self) -> None:
        """The same name in another kind or namespace is another object; all draw from one counter."""
        store = ObjectStore()
        found = [
            made(store.create(0, KubeObject(kind, namespace, "a")))
            for kind, namespace in [("RayCluster", "x"), ("RayCluster", "y"), ("RayJob", "x")]
        ]
        assert [one.resource_version for one in found] == [1, 2, 3]
        assert len({one.uid for one in found}) == 3
        assert store.objects("RayCluster") == tuple(found[:2])
        assert store.objects("RayCluster", {"y"}) == (found[1],)
        assert store.objects("Pod") == ()

    def test_a_recreated_object_has_another_uid(self) -> None:
        """The same name after a delete is another object."""
        store = ObjectStore()
        first = cluster(store)
        store.delete(0, "RayCluster", "ns/a")
        assert cluster(store).uid != first.uid

    def test_later_changes_of_the_callers_labels_do_not_reach_the_store(self) -> None:
        """The store keeps its own labels."""
        store = ObjectStore()
        labels = {"a": "1"}
        created = made(store.create(0, KubeObject("Pod", "ns", "p", labels=labels)))
        labels["a"] = "2"
        assert created.labels == {"a": "1"}


class TestGeneration:
    def test_grows_with_the_spec(self) -> None:
        """A change of the spec is a new generation."""
        store = ObjectStore()
        changed = made(store.update(dataclasses.replace(cluster(store), spec=2)))
        assert (changed.spec, changed.generation, changed.resource_version) == (2, 2, 2)

    @pytest.mark.parametrize("field", ["labels", "annotations"])
    def test_does_not_grow_with_metadata(self, field: str) -> None:
        """A change of labels or annotations is a new version only."""
        store = ObjectStore()
        changed = made(store.patch("RayCluster", cluster(store).key, lambda one: relabelled(one, field)))
        assert getattr(changed, field) == {"a": "b"}
        assert (changed.generation, changed.resource_version) == (1, 2)

    def test_does_not_grow_with_the_status(self) -> None:
        """A status write is a new version only."""
        store = ObjectStore()
        changed = made(store.update_status(dataclasses.replace(cluster(store), status="ready")))
        assert (changed.status, changed.generation, changed.resource_version) == ("ready", 1, 2)

    def test_grows_when_deletion_is_asked_for(self) -> None:
        """The deletion timestamp is a new generation, so that who watches generations learns of it."""
        store = ObjectStore()
        one = cluster(store, finalizers=("f",))
        assert made(store.delete(0, "RayCluster", one.key)).generation == 2


def relabelled(one: KubeObject, field: str) -> KubeObject:
    """The object with one label or annotation."""
    if field == "labels":
        return dataclasses.replace(one, labels={"a": "b"})
    return dataclasses.replace(one, annotations={"a": "b"})


class TestWrites:
    def test_an_update_leaves_the_status_and_a_status_update_the_rest(self) -> None:
        """Each of the two writes only its own part."""
        store = ObjectStore()
        wanted = dataclasses.replace(cluster(store), spec=2, status="made up", labels={"a": "b"})
        updated = made(store.update(wanted))
        assert (updated.spec, updated.status, updated.labels) == (2, None, {"a": "b"})
        wanted = dataclasses.replace(updated, spec=3, status="ready", labels={})
        updated = made(store.update_status(wanted))
        assert (updated.spec, updated.status, updated.labels) == (2, "ready", {"a": "b"})

    @pytest.mark.parametrize("write", [ObjectStore.update, ObjectStore.update_status])
    def test_an_old_version_is_a_conflict(self, write: Callable[[ObjectStore, KubeObject], Answer]) -> None:
        """A write from an old version is refused, even if it would change nothing."""
        store = ObjectStore()
        old = cluster(store)
        store.update_status(dataclasses.replace(old, status="ready"))
        current = store.get("RayCluster", old.key)
        assert current is not None
        assert write(store, old) == Answer(ApiOutcome.CONFLICT)
        assert write(store, dataclasses.replace(current, resource_version=1)) == Answer(ApiOutcome.CONFLICT)
        assert (store.get("RayCluster", old.key), store.version) == (current, 2)

    def test_an_update_of_a_recreated_object_is_a_conflict(self) -> None:
        """What was read before the object was recreated cannot be written to its successor."""
        store = ObjectStore()
        old = cluster(store)
        store.delete(0, "RayCluster", old.key)
        cluster(store)
        assert store.update(dataclasses.replace(old, spec=2)).outcome is ApiOutcome.CONFLICT

    @pytest.mark.parametrize(
        "write",
        [
            lambda store, gone: store.update(gone),
            lambda store, gone: store.update_status(gone),
            lambda store, gone: store.patch(gone.kind, gone.key, lambda one: one),
            lambda store, gone: store.patch_status(gone.kind, gone.key, "ready"),
            lambda store, gone: store.delete(0, gone.kind, gone.key),
        ],
        ids=["update", "update_status", "patch", "patch_status", "delete"],
    )
    def test_what_is_gone_is_not_found(self, write: Callable[[ObjectStore, KubeObject], Answer]) -> None:
        """Every write but a create needs the object."""
        store = ObjectStore()
        gone = cluster(store)
        store.delete(0, "RayCluster", gone.key)
        assert write(store, gone) == Answer(ApiOutcome.NOT_FOUND)
        assert store.version == 2

    @pytest.mark.parametrize(
        "write",
        [
            lambda store, one: store.update(one),
            lambda store, one: store.update_status(one),
            lambda store, one: store.patch(one.kind, one.key, lambda newest: newest),
            lambda store, one: store.patch_status(one.kind, one.key, one.status),
        ],
        ids=["update", "update_status", "patch", "patch_status"],
    )
    def test_a_write_without_a_change_keeps_the_version(
        self, write: Callable[[ObjectStore, KubeObject], Answer]
    ) -> None:
        """What changes nothing is accepted, with the same version and no event."""
        store = ObjectStore()
        one = cluster(store)
        assert write(store, one) == Answer(ApiOutcome.OK, one)
        assert store.version == 1

    def test_a_patch_needs_no_version(self) -> None:
        """A patch applies to the newest object, whatever its caller has read."""
        store = ObjectStore()
        store.update(dataclasses.replace(cluster(store), spec=2))
        old = store.get("RayCluster", "ns/a")
        answer = store.patch("RayCluster", "ns/a", lambda one: dataclasses.replace(one, labels={"a": "b"}))
        assert (made(answer).spec, made(answer).labels) == (2, {"a": "b"})
        assert answer.event == WatchEvent(EventType.MODIFIED, old, answer.object)
        assert made(store.patch_status("RayCluster", "ns/a", "ready")).status == "ready"

    def test_a_patch_cannot_write_what_the_server_owns(self) -> None:
        """Name, uid, times, generation and status are out of a patch's reach."""
        store = ObjectStore()
        one = cluster(store)
        wanted = dataclasses.replace(
            one, name="b", uid="mine", generation=5, created_ns=6, deleted_ns=7, status=8, resource_version=9
        )
        assert made(store.patch("RayCluster", one.key, lambda _: wanted)) == one

    def test_objects_are_values(self) -> None:
        """What was read before a write does not change with it, and can be a key."""
        store = ObjectStore()
        before = cluster(store)
        after = made(store.patch_status("RayCluster", "ns/a", ["not", "hashable"]))
        assert before.status is None
        assert len({before, after}) == 2


class TestDelete:
    def test_without_finalizers_it_is_gone_at_once(self) -> None:
        """The event has the last state, at the version of the delete."""
        store = ObjectStore()
        one = cluster(store)
        answer = store.delete(0, "RayCluster", one.key)
        gone = dataclasses.replace(one, resource_version=2)
        assert answer == Answer(ApiOutcome.OK, gone, WatchEvent(EventType.DELETED, gone, None))
        assert store.get("RayCluster", one.key) is None

    def test_finalizers_keep_it(self) -> None:
        """With finalizers it gets a deletion timestamp, once, and is gone when the last of them is taken off."""
        store = ObjectStore()
        one = cluster(store, finalizers=("f", "g"))
        marked = made(answer := store.delete(3 * SECOND, "RayCluster", one.key))
        assert marked.deleted_ns == 3 * SECOND
        assert answer.event == WatchEvent(EventType.MODIFIED, one, marked)
        assert store.delete(4 * SECOND, "RayCluster", one.key) == Answer(ApiOutcome.OK, marked)
        half = made(store.update(dataclasses.replace(marked, finalizers=("g",))))
        answer = store.update(dataclasses.replace(half, finalizers=(), spec=2))
        gone = made(answer)
        assert answer.event == WatchEvent(EventType.DELETED, gone, None)
        assert (gone.finalizers, gone.spec, gone.resource_version) == ((), 2, 4)
        assert store.get("RayCluster", one.key) is None

    def test_no_finalizer_can_be_added_after_it(self) -> None:
        """An object that is being deleted takes no further finalizers."""
        store = ObjectStore()
        one = made(store.delete(0, "RayCluster", cluster(store, finalizers=("f",)).key))
        assert store.update(dataclasses.replace(one, finalizers=("f", "g"))) == Answer(ApiOutcome.INVALID)

    def test_taking_off_finalizers_does_not_delete(self) -> None:
        """An object that nobody deleted lives on without finalizers."""
        store = ObjectStore()
        one = cluster(store, finalizers=("f",))
        assert made(store.update(dataclasses.replace(one, finalizers=()))).deleted_ns is None
        assert store.get("RayCluster", one.key) is not None

    @pytest.mark.parametrize(
        ("uid", "resource_version", "outcome"),
        [
            ("uid-1", 1, ApiOutcome.OK),
            (None, None, ApiOutcome.OK),
            ("uid-2", None, ApiOutcome.CONFLICT),
            (None, 2, ApiOutcome.CONFLICT),
        ],
    )
    def test_preconditions(self, uid: str | None, resource_version: int | None, outcome: ApiOutcome) -> None:
        """A delete of one uid or version is a conflict for any other."""
        store = ObjectStore()
        one = cluster(store)
        assert store.delete(0, "RayCluster", one.key, uid=uid, resource_version=resource_version).outcome is outcome


class TestOwners:
    def test_deleting_the_owner_reports_what_it_owned(self) -> None:
        """The owned objects stay, and are named to whoever collects garbage."""
        store = ObjectStore()
        owner = cluster(store)
        pods = [made(owned(store, name, owner)) for name in ("p", "q")]
        owned(store, "other", cluster(store, "b"))
        assert store.owned_by(owner.uid) == tuple(pods)
        answer = store.delete(0, "RayCluster", owner.key)
        assert answer.orphans == tuple(pods)
        assert store.owned_by(owner.uid) == tuple(pods)
        for pod in pods:
            store.delete(0, "Pod", pod.key)
        assert store.owned_by(owner.uid) == ()

    def test_an_owner_with_finalizers_orphans_nothing_yet(self) -> None:
        """Only when the owner is gone, what it owned is to be collected."""
        store = ObjectStore()
        owner = cluster(store, finalizers=("f",))
        pod = made(owned(store, "p", owner))
        marked = made(answer := store.delete(0, "RayCluster", owner.key))
        assert answer.orphans == ()
        assert store.update(dataclasses.replace(marked, finalizers=())).orphans == (pod,)

    def test_one_living_owner_is_enough(self) -> None:
        """An object of two owners is left when both are gone."""
        store = ObjectStore()
        first, second = cluster(store), cluster(store, "b")
        pod = made(owned(store, "p", first, second))
        assert store.delete(0, "RayCluster", first.key).orphans == ()
        assert store.delete(0, "RayCluster", second.key).orphans == (pod,)

    def test_an_object_of_a_gone_owner_is_an_orphan_from_the_start(self) -> None:
        """A Pod that was created for a cluster that is gone already, or was recreated, is to be collected."""
        store = ObjectStore()
        owner = cluster(store)
        store.delete(0, "RayCluster", owner.key)
        cluster(store)
        answer = owned(store, "p", owner)
        assert answer.orphans == (made(answer),)

    def test_owners_can_change(self) -> None:
        """An object that was adopted belongs to its new owner only."""
        store = ObjectStore()
        first, second = cluster(store), cluster(store, "b")
        pod = made(owned(store, "p", first))
        reference = OwnerReference("RayCluster", "b", second.uid)
        pod = made(store.update(dataclasses.replace(pod, owners=(reference,))))
        assert (store.owned_by(first.uid), store.owned_by(second.uid)) == ((), (pod,))
        assert store.delete(0, "RayCluster", first.key).orphans == ()
