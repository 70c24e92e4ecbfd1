from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.queueing.expectations import (
    CREATE_TIMEOUT_NS,
    HEAD_GROUP,
    ScaleAction,
    ScaleExpectations,
    UnmetExpectation,
)
from advisor.queueing.informer import InformerCache
from advisor.queueing.objectstore import KubeObject, ObjectStore

SECOND: Final = 1_000_000_000
CLUSTER: Final = "ns/c"
GROUP: Final = "workers"
POD: Final = "ns/p"


class TestCreate:
    def test_is_met_by_sight(self) -> None:
        """A created Pod is waited for until the cache shows it."""
        expectations = ScaleExpectations()
        expectations.expect_create(0, CLUSTER, GROUP, POD)
        assert not expectations.is_satisfied(SECOND, CLUSTER, GROUP, ())
        assert expectations.is_satisfied(SECOND, CLUSTER, GROUP, {POD})

    def test_is_not_waited_for_again(self) -> None:
        """A Pod that was seen and then vanishes holds nothing up: its expectation was dropped when it was met."""
        expectations = ScaleExpectations()
        expectations.expect_create(0, CLUSTER, GROUP, POD)
        assert expectations.is_satisfied(SECOND, CLUSTER, GROUP, {POD})
        assert expectations.is_satisfied(2 * SECOND, CLUSTER, GROUP, ())

    @pytest.mark.parametrize(("waited_ns", "satisfied"), [(CREATE_TIMEOUT_NS, False), (CREATE_TIMEOUT_NS + 1, True)])
    def test_times_out(self, waited_ns: int, *, satisfied: bool) -> None:
        """A created Pod that never shows up is given up when more than 30 s have passed."""
        expectations = ScaleExpectations()
        expectations.expect_create(7, CLUSTER, GROUP, POD)
        assert expectations.is_satisfied(7 + waited_ns, CLUSTER, GROUP, ()) is satisfied


class TestDelete:
    def test_is_met_when_gone(self) -> None:
        """A deleted Pod is waited for as long as the cache shows it."""
        expectations = ScaleExpectations()
        expectations.expect_delete(0, CLUSTER, GROUP, POD)
        assert not expectations.is_satisfied(SECOND, CLUSTER, GROUP, {POD})
        assert expectations.is_satisfied(SECOND, CLUSTER, GROUP, ())

    def test_never_times_out(self) -> None:
        """A Pod that stays in Terminating holds its group up for as long as it does."""
        expectations = ScaleExpectations()
        expectations.expect_delete(0, CLUSTER, GROUP, POD)
        assert not expectations.is_satisfied(24 * 3600 * SECOND, CLUSTER, GROUP, {POD})

    def test_replaces_the_create(self) -> None:
        """Of one Pod only the latest is expected: created and then deleted, it has to be gone."""
        expectations = ScaleExpectations()
        expectations.expect_create(0, CLUSTER, GROUP, POD)
        expectations.expect_delete(SECOND, CLUSTER, GROUP, POD)
        assert not expectations.is_satisfied(SECOND, CLUSTER, GROUP, {POD})
        assert expectations.is_satisfied(SECOND, CLUSTER, GROUP, ())


class TestGroups:
    def test_hold_up_only_themselves(self) -> None:
        """Other groups, the head and other clusters of the same group name go on."""
        expectations = ScaleExpectations()
        expectations.expect_create(0, CLUSTER, GROUP, POD)
        assert not expectations.is_satisfied(0, CLUSTER, GROUP, ())
        assert expectations.is_satisfied(0, CLUSTER, HEAD_GROUP, ())
        assert expectations.is_satisfied(0, CLUSTER, "others", ())
        assert expectations.is_satisfied(0, "ns/d", GROUP, ())

    def test_need_all_their_pods(self) -> None:
        """A group is satisfied when each of its Pods is."""
        expectations = ScaleExpectations()
        expectations.expect_create(0, CLUSTER, GROUP, "ns/p")
        expectations.expect_create(0, CLUSTER, GROUP, "ns/q")
        expectations.expect_delete(0, CLUSTER, GROUP, "ns/r")
        assert not expectations.is_satisfied(0, CLUSTER, GROUP, {"ns/p", "ns/r"})
        assert not expectations.is_satisfied(0, CLUSTER, GROUP, {"ns/q", "ns/r"})
        assert expectations.is_satisfied(0, CLUSTER, GROUP, {"ns/q"})


class TestForgetting:
    def test_a_cluster_that_is_gone(self) -> None:
        """What was expected of a cluster goes with it, of all its groups, and of no other cluster."""
        expectations = ScaleExpectations()
        expectations.expect_create(0, CLUSTER, HEAD_GROUP, "ns/h")
        expectations.expect_create(0, CLUSTER, GROUP, POD)
        expectations.expect_create(0, "ns/d", GROUP, "ns/q")
        expectations.forget_cluster(CLUSTER)
        expectations.forget_cluster("ns/unknown")
        assert expectations.is_satisfied(0, CLUSTER, HEAD_GROUP, ())
        assert expectations.is_satisfied(0, CLUSTER, GROUP, ())
        assert not expectations.is_satisfied(0, "ns/d", GROUP, ())

    @pytest.mark.parametrize(
        ("seen", "satisfied"),
        [(["1", "1"], False), (["1", "2"], True), (["1", None], True), (["1", None, "1"], True)],
    )
    def test_a_cluster_that_was_recreated(self, seen: list[str | None], *, satisfied: bool) -> None:
        """Another uid, or none, drops what was expected; the same uid keeps it."""
        expectations = ScaleExpectations()
        first, *later = seen
        expectations.see_cluster(CLUSTER, first)
        expectations.expect_create(0, CLUSTER, GROUP, POD)
        for uid in later:
            expectations.see_cluster(CLUSTER, uid)
        assert expectations.is_satisfied(0, CLUSTER, GROUP, ()) is satisfied

    def test_its_uid_is_forgotten_with_it(self) -> None:
        """What is expected after a cluster was forgotten belongs to the one that is seen next."""
        expectations = ScaleExpectations()
        expectations.see_cluster(CLUSTER, "1")
        expectations.forget_cluster(CLUSTER)
        expectations.expect_create(0, CLUSTER, GROUP, POD)
        expectations.see_cluster(CLUSTER, "2")
        assert not expectations.is_satisfied(0, CLUSTER, GROUP, ())

    def test_first_sight_drops_nothing(self) -> None:
        """A uid that comes after the first expectation is taken for that of the same cluster."""
        expectations = ScaleExpectations()
        expectations.expect_create(0, CLUSTER, GROUP, POD)
        expectations.see_cluster(CLUSTER, "1")
        assert not expectations.is_satisfied(0, CLUSTER, GROUP, ())


class TestUnmet:
    def test_says_what_is_waited_for_and_how_long(self) -> None:
        """Each Pod that is not met is named with its age; those that are met now are left out and not dropped."""
        expectations = ScaleExpectations()
        expectations.expect_create(0, CLUSTER, HEAD_GROUP, "ns/h")
        expectations.expect_create(2 * SECOND, CLUSTER, GROUP, "ns/p")
        expectations.expect_delete(3 * SECOND, "ns/d", GROUP, "ns/q")
        assert list(expectations.unmet(5 * SECOND, {"ns/h", "ns/q"})) == [
            UnmetExpectation(CLUSTER, GROUP, "ns/p", ScaleAction.CREATE, 3 * SECOND),
            UnmetExpectation("ns/d", GROUP, "ns/q", ScaleAction.DELETE, 2 * SECOND),
        ]
        assert [one.pod for one in expectations.unmet(5 * SECOND, ())] == ["ns/h", "ns/p"]

    @given(
        st.lists(st.tuples(st.sampled_from(ScaleAction), st.sampled_from("abcd"), st.integers(0, 50)), max_size=8),
        st.frozensets(st.sampled_from("abcd")),
        st.integers(50, 100),
    )
    def test_agrees_with_the_check(
        self, recorded: list[tuple[ScaleAction, str, int]], seen: frozenset[str], now: int
    ) -> None:
        """A group is satisfied exactly if it has no unmet expectation."""
        expectations = ScaleExpectations()
        for action, pod, at in recorded:
            expect = expectations.expect_create if action is ScaleAction.CREATE else expectations.expect_delete
            expect(at * SECOND, CLUSTER, GROUP, pod)
        unmet = list(expectations.unmet(now * SECOND, seen))
        assert expectations.is_satisfied(now * SECOND, CLUSTER, GROUP, seen) is (unmet == [])
        assert list(expectations.unmet(now * SECOND, seen)) == unmet


def test_an_informer_cache_is_a_view() -> None:
    """A create is met when the lagging cache has it, not when the API server does."""
    store = ObjectStore()
    cache: InformerCache[KubeObject] = InformerCache()
    cache.receive_list(0, ())
    cache.tick(0)
    expectations = ScaleExpectations()
    event = store.create(0, KubeObject("Pod", "ns", "p")).event
    assert event is not None
    expectations.expect_create(0, CLUSTER, GROUP, POD)
    cache.receive(0, event, lag_ns=SECOND)
    assert not expectations.is_satisfied(0, CLUSTER, GROUP, cache)
    cache.tick(SECOND)
    assert expectations.is_satisfied(SECOND, CLUSTER, GROUP, cache)
