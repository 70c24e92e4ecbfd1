import dataclasses
from typing import Final

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from advisor.queueing.informer import RESYNC_PERIOD_NS, Change, ChangeType, InformerCache, jittered_resync_ns
from advisor.queueing.objectstore import Answer, ApiOutcome, EventType, KubeObject, ObjectStore, WatchEvent

SECOND: Final = 1_000_000_000


def pod(name: str, version: int = 1, *, namespace: str = "ns", uid: str = "uid-1") -> KubeObject:
    """A Pod at a version."""
    return KubeObject("Pod", namespace, name, uid=uid, resource_version=version)


def appeared(one: KubeObject) -> WatchEvent[KubeObject]:
    """The event of a create."""
    return WatchEvent(EventType.ADDED, None, one)


def changed(old: KubeObject, new: KubeObject) -> WatchEvent[KubeObject]:
    """The event of a change."""
    return WatchEvent(EventType.MODIFIED, old, new)


def vanished(one: KubeObject) -> WatchEvent[KubeObject]:
    """The event of a delete."""
    return WatchEvent(EventType.DELETED, one, None)


def synced(*objects: KubeObject, resync_period_ns: int | None = None) -> InformerCache[KubeObject]:
    """A cache that has these objects at time 0."""
    cache: InformerCache[KubeObject] = InformerCache(resync_period_ns=resync_period_ns)
    cache.receive_list(0, objects)
    cache.tick(0)
    return cache


class TestInitialList:
    def test_creates_are_marked(self) -> None:
        """Objects of the first list are creates of the initial list, those of later events are not."""
        cache: InformerCache[KubeObject] = InformerCache()
        cache.receive_list(0, [pod("a"), pod("b")])
        cache.receive(0, appeared(pod("c", 2)))
        assert cache.tick(0) == [
            Change(ChangeType.CREATE, None, pod("a"), is_initial_list=True),
            Change(ChangeType.CREATE, None, pod("b"), is_initial_list=True),
            Change(ChangeType.CREATE, None, pod("c", 2), is_initial_list=False),
        ]
        assert cache.objects() == (pod("a"), pod("b"), pod("c", 2))

    def test_takes_its_time(self) -> None:
        """Until the list is due the cache is empty and not synced; events after it wait for it."""
        cache: InformerCache[KubeObject] = InformerCache()
        cache.receive_list(0, [pod("a")], lag_ns=2 * SECOND)
        cache.receive(SECOND, changed(pod("a"), pod("a", 2)))
        assert (cache.tick(SECOND), cache.has_synced, len(cache)) == ([], False, 0)
        assert (cache.next_deadline_ns(), cache.events_under_way) == (2 * SECOND, 2)
        assert [one.type for one in cache.tick(2 * SECOND)] == [ChangeType.CREATE, ChangeType.UPDATE]
        assert (cache.has_synced, cache.get("ns/a"), cache.events_under_way) == (True, pod("a", 2), 0)

    def test_of_nothing_is_synced(self) -> None:
        """An empty list makes a cache that has synced."""
        cache = synced()
        assert (cache.has_synced, len(cache), cache.next_deadline_ns()) == (True, 0, None)


class TestLag:
    def test_events_are_seen_when_due(self) -> None:
        """The cache shows the old object until the event's lag has passed, and the new one from then on."""
        cache = synced(pod("a"))
        cache.receive(SECOND, changed(pod("a"), pod("a", 2)), lag_ns=SECOND)
        assert (cache.tick(2 * SECOND - 1), cache.get("ns/a")) == ([], pod("a"))
        assert cache.tick(2 * SECOND) == [Change(ChangeType.UPDATE, pod("a"), pod("a", 2))]
        assert cache.get("ns/a") == pod("a", 2)

    def test_keeps_the_order(self) -> None:
        """An event with less lag does not overtake one that came first."""
        cache = synced()
        cache.receive(0, appeared(pod("a", 2)), lag_ns=3 * SECOND)
        cache.receive(0, appeared(pod("b", 3)), lag_ns=SECOND)
        assert cache.tick(2 * SECOND) == []
        assert [one.new for one in cache.tick(3 * SECOND)] == [pod("a", 2), pod("b", 3)]

    def test_a_late_tick_loses_nothing(self) -> None:
        """All events that are due come at once, in order."""
        cache = synced()
        cache.receive(0, appeared(pod("a", 2)), lag_ns=SECOND)
        cache.receive(0, changed(pod("a", 2), pod("a", 3)), lag_ns=2 * SECOND)
        cache.receive(0, vanished(pod("a", 4)), lag_ns=3 * SECOND)
        assert cache.tick(9 * SECOND) == [
            Change(ChangeType.CREATE, None, pod("a", 2)),
            Change(ChangeType.UPDATE, pod("a", 2), pod("a", 3)),
            Change(ChangeType.DELETE, pod("a", 4), None),
        ]
        assert "ns/a" not in cache

    def test_what_is_told_compares_with_the_cache(self) -> None:
        """An added object that is known is an update, a changed one that is not known a create, and so on."""
        cache = synced(pod("a"))
        cache.receive(0, appeared(pod("a", 2)))
        cache.receive(0, changed(pod("b", 2), pod("b", 3)))
        cache.receive(0, vanished(pod("c", 4)))
        assert cache.tick(0) == [
            Change(ChangeType.UPDATE, pod("a"), pod("a", 2)),
            Change(ChangeType.CREATE, None, pod("b", 3)),
        ]


class TestNamespaces:
    def test_others_are_not_seen(self) -> None:
        """Lists and events of namespaces that are not watched are left out."""
        cache: InformerCache[KubeObject] = InformerCache(namespaces=["x", "y"])
        cache.receive_list(0, [pod("a", namespace="x"), pod("a", namespace="z")])
        cache.receive(0, appeared(pod("b", 2, namespace="y")))
        cache.receive(0, appeared(pod("b", 3, namespace="z")))
        assert len(cache.tick(0)) == 2
        assert [one.key for one in cache.objects()] == ["x/a", "y/b"]
        assert [one.key for one in cache.objects("y")] == ["y/b"]

    def test_none_watches_all(self) -> None:
        """Without a set all namespaces are watched; an empty set watches none."""
        everything = [pod("a", namespace="x"), pod("a", namespace="z")]
        assert len(synced(*everything)) == 2
        nothing: InformerCache[KubeObject] = InformerCache(namespaces=[])
        nothing.receive_list(0, everything)
        assert nothing.tick(0) == []


class TestResync:
    def test_is_off_by_default(self) -> None:
        """Without a period nothing is repeated."""
        assert synced(pod("a")).next_deadline_ns() is None

    def test_repeats_every_object(self) -> None:
        """Each period every object is an update to itself, as it is in the cache by then."""
        cache = synced(pod("a"), pod("b"), resync_period_ns=10 * SECOND)
        cache.receive(0, changed(pod("a"), pod("a", 2)), lag_ns=10 * SECOND)
        assert [one.new for one in cache.tick(9 * SECOND)] == []
        assert cache.next_deadline_ns() == 10 * SECOND
        assert cache.tick(10 * SECOND) == [
            Change(ChangeType.UPDATE, pod("a"), pod("a", 2)),
            Change(ChangeType.UPDATE, pod("a", 2), pod("a", 2)),
            Change(ChangeType.UPDATE, pod("b"), pod("b")),
        ]
        assert cache.next_deadline_ns() == 20 * SECOND

    def test_comes_in_between(self) -> None:
        """A late tick has resyncs and events in the order in which they were due."""
        cache = synced(pod("a"), resync_period_ns=10 * SECOND)
        cache.receive(0, vanished(pod("a", 2)), lag_ns=15 * SECOND)
        assert [one.type for one in cache.tick(25 * SECOND)] == [ChangeType.UPDATE, ChangeType.DELETE]
        assert cache.next_deadline_ns() == 30 * SECOND

    def test_starts_with_the_list(self) -> None:
        """The period runs from the last list."""
        cache: InformerCache[KubeObject] = InformerCache(resync_period_ns=10 * SECOND)
        assert cache.next_deadline_ns() is None
        cache.receive_list(3 * SECOND, [pod("a")])
        cache.tick(3 * SECOND)
        assert cache.next_deadline_ns() == 13 * SECOND
        cache.lose_watch()
        assert cache.next_deadline_ns() is None
        cache.receive_list(8 * SECOND, [pod("a")])
        cache.tick(8 * SECOND)
        assert cache.next_deadline_ns() == 18 * SECOND

    @pytest.mark.parametrize(("fraction", "hours"), [(0.0, 9), (0.5, 10), (1.0, 11)])
    def test_the_period_is_ten_hours_give_or_take_one(self, fraction: float, hours: int) -> None:
        """The jitter is 10 % to either side."""
        assert jittered_resync_ns(fraction) == hours * 3600 * SECOND
        assert jittered_resync_ns(fraction, 10) == hours
        assert RESYNC_PERIOD_NS == 10 * 3600 * SECOND


class TestLostWatch:
    def test_the_cache_stays_and_events_are_lost(self) -> None:
        """What was under way and what comes later is lost; the old objects can still be read."""
        cache = synced(pod("a"))
        cache.receive(0, changed(pod("a"), pod("a", 2)), lag_ns=SECOND)
        cache.lose_watch()
        cache.receive(SECOND, appeared(pod("b", 3)))
        assert (cache.is_watching, cache.next_deadline_ns(), cache.tick(9 * SECOND)) == (False, None, [])
        assert cache.objects() == (pod("a"),)

    def test_a_list_makes_up_for_them(self) -> None:
        """A later list brings creates without the mark, updates also at equal versions, then deletes."""
        cache = synced(pod("gone"), pod("same"), pod("changed"), pod("recreated"))
        cache.lose_watch()
        cache.receive_list(
            SECOND, [pod("same"), pod("changed", 2), pod("recreated", 3, uid="uid-2"), pod("new", 4)], lag_ns=SECOND
        )
        cache.receive(SECOND, changed(pod("new", 4), pod("new", 5)))
        assert cache.is_watching
        assert cache.tick(2 * SECOND) == [
            Change(ChangeType.UPDATE, pod("same"), pod("same")),
            Change(ChangeType.UPDATE, pod("changed"), pod("changed", 2)),
            Change(ChangeType.UPDATE, pod("recreated"), pod("recreated", 3, uid="uid-2")),
            Change(ChangeType.CREATE, None, pod("new", 4)),
            Change(ChangeType.DELETE, pod("gone"), None),
            Change(ChangeType.UPDATE, pod("new", 4), pod("new", 5)),
        ]

    def test_a_list_does_not_wait_for_what_was_lost(self) -> None:
        """The list that follows is in the cache after its own lag, whatever was under way before."""
        cache = synced()
        cache.receive(0, appeared(pod("a")), lag_ns=60 * SECOND)
        cache.lose_watch()
        cache.receive_list(SECOND, [pod("a")], lag_ns=SECOND)
        assert cache.next_deadline_ns() == 2 * SECOND
        assert cache.tick(2 * SECOND) == [Change(ChangeType.CREATE, None, pod("a"))]

    def test_a_first_list_that_is_lost_stays_the_first(self) -> None:
        """Until one list has arrived, objects come as the initial list."""
        cache: InformerCache[KubeObject] = InformerCache()
        cache.receive_list(0, [pod("a")], lag_ns=SECOND)
        cache.lose_watch()
        cache.receive_list(2 * SECOND, [pod("a")])
        assert cache.tick(2 * SECOND) == [Change(ChangeType.CREATE, None, pod("a"), is_initial_list=True)]

    def test_nothing_is_received_before_the_first_list(self) -> None:
        """An event before the first list is part of that list and not told twice."""
        cache: InformerCache[KubeObject] = InformerCache()
        cache.receive(0, appeared(pod("a")))
        assert (cache.is_watching, cache.tick(9)) == (False, [])


NAMES: Final = st.sampled_from(["a", "b", "c"])
NAMESPACES: Final = st.sampled_from(["x", "y"])
LAGS: Final = st.integers(0, 5)


class StoreAndCaches(RuleBasedStateMachine):
    """Clients that write from any version they have ever read, and two caches that lag behind."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0
        self.store = ObjectStore()
        self.caches: list[InformerCache[KubeObject]] = [InformerCache(), InformerCache(namespaces={"x"})]
        self.told: list[dict[str, KubeObject]] = [{}, {}]
        self.last_version = 0
        for cache in self.caches:
            cache.receive_list(0, ())

    read = Bundle("read")

    def took(self, answer: Answer, lag: int) -> KubeObject | None:
        """Check versions and pass the event on."""
        if answer.event is None:
            assert self.store.version == self.last_version
        else:
            assert answer.object is not None
            assert answer.object.resource_version == self.store.version == self.last_version + 1
            for cache in self.caches:
                cache.receive(self.now, answer.event, lag)
        self.last_version = self.store.version
        return answer.object

    @rule(target=read, name=NAMES, namespace=NAMESPACES, finalizers=st.sampled_from([(), ("f",)]), lag=LAGS)
    def create(self, name: str, namespace: str, finalizers: tuple[str, ...], lag: int) -> KubeObject:
        """Create an object, or read the one that has the name."""
        draft = KubeObject("Pod", namespace, name, spec=0, finalizers=finalizers)
        existing = self.store.get("Pod", draft.key)
        answer = self.store.create(self.now, draft)
        assert answer.outcome is (ApiOutcome.ALREADY_EXISTS if existing else ApiOutcome.OK)
        found = self.took(answer, lag) or existing
        assert found is not None
        return found

    @rule(target=read, old=read, value=st.integers(0, 2), is_status=st.booleans(), lag=LAGS)
    def write(self, old: KubeObject, value: int, is_status: bool, lag: int) -> KubeObject:
        """Write from any version; a conflict exactly if it is not the newest."""
        newest = self.store.get("Pod", old.key)
        answer = (
            self.store.update_status(dataclasses.replace(old, status=value))
            if is_status
            else self.store.update(dataclasses.replace(old, spec=value))
        )
        after = self.took(answer, lag)
        if newest is None:
            assert answer.outcome is ApiOutcome.NOT_FOUND
            return old
        is_newest = newest.resource_version == old.resource_version
        assert answer.outcome is (ApiOutcome.OK if is_newest else ApiOutcome.CONFLICT)
        if after is None:
            return newest
        assert (answer.event is None) == (value == (newest.status if is_status else newest.spec))
        assert after.generation - newest.generation == (not is_status and value != newest.spec)
        return after

    @rule(old=consumes(read), lag=LAGS)
    def finish(self, old: KubeObject, lag: int) -> None:
        """Delete an object and take off its finalizers."""
        self.took(self.store.delete(self.now, "Pod", old.key), lag)
        self.took(self.store.patch("Pod", old.key, lambda one: dataclasses.replace(one, finalizers=())), lag)
        assert self.store.get("Pod", old.key) is None

    @rule(lag=LAGS)
    def lose_watch_and_list_again(self, lag: int) -> None:
        """The first cache loses its connection and starts over."""
        self.caches[0].lose_watch()
        self.caches[0].receive_list(self.now, self.store.objects("Pod"), lag)

    @rule(by=st.integers(1, 4))
    def pass_time(self, by: int) -> None:
        """Time goes on and the caches follow; what handlers are told is what happens to the cache."""
        self.now += by
        for cache, told in zip(self.caches, self.told, strict=True):
            for change in cache.tick(self.now):
                one = change.new if change.new is not None else change.old
                assert one is not None
                before = told.pop(one.key, None)
                if change.type is ChangeType.DELETE:
                    assert before is not None
                else:
                    assert change.old is before
                    assert before is None or one.resource_version >= before.resource_version
                    told[one.key] = one

    @invariant()
    def what_was_told_is_in_the_cache(self) -> None:
        """Who follows the changes knows the cache, and no cache is ahead of the store."""
        for cache, told in zip(self.caches, self.told, strict=True):
            assert {one.key: one for one in cache.objects()} == told
            assert all(one.resource_version <= self.store.version for one in told.values())

    def teardown(self) -> None:
        """When everything has been delivered, caches and store are the same."""
        self.pass_time(100)
        for cache, namespaces in zip(self.caches, (None, {"x"}), strict=True):
            assert cache.next_deadline_ns() is None
            assert set(cache.objects()) == set(self.store.objects("Pod", namespaces))


TestStoreAndCaches = StoreAndCaches.TestCase
