import random
import tracemalloc
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.sidecar.hitters import AgingTop, Hitters
from advisor.sidecar.views import KeysView, KeyTotal, Reconcile

MEASURES = ("busy_seconds", "reconciles", "errors", "conflicts", "pods_created")


def reconcile(
    key: str, began: float, seconds: float = 1.0, *, controller: str = "raycluster", failed: bool = False, pods: int = 0
) -> Reconcile:
    """One that has ended."""
    return Reconcile(
        controller=controller,
        key=key,
        began=began,
        ended=began + seconds,
        exact=True,
        failed=failed,
        conflict=failed,
        pods_created=pods,
    )


def whole(view: KeysView, controller: str) -> tuple[float, ...]:
    """Sums of all measures over a controller's keys and its rest."""
    parts = [one for one in (*view.totals, *view.rest) if one.controller == controller]
    return tuple(sum(getattr(one, measure) for one in parts) for measure in MEASURES)


def shown(view: KeysView) -> dict[tuple[str, str], KeyTotal]:
    """Totals by key."""
    return {(one.controller, one.key): one for one in view.totals}


class TestFewKeys:
    def test_all_is_exact(self) -> None:
        """With a place for each there is no rest, and no other key can have had anything."""
        hitters = Hitters(places=3)
        hitters.add(reconcile("a/one", 10.0, 2.0, pods=3))
        hitters.add(reconcile("a/one", 20.0, 1.5, failed=True))
        hitters.add(reconcile("b/two", 30.0, 0.5, controller="rayjob"))
        view = hitters.view(40.0)
        assert view.totals == (
            KeyTotal(
                controller="raycluster",
                key="a/one",
                busy_seconds=3.5,
                reconciles=2,
                errors=1,
                conflicts=1,
                pods_created=3,
            ),
            KeyTotal(
                controller="rayjob", key="b/two", busy_seconds=0.5, reconciles=1, errors=0, conflicts=0, pods_created=0
            ),
        )
        assert [(one.controller, one.key, one.reconciles) for one in view.rest] == [
            ("raycluster", "", 0),
            ("rayjob", "", 0),
        ]
        assert view.error_seconds == {"raycluster": 0.0, "rayjob": 0.0}

    def test_the_same_name_in_two_controllers_is_two_keys(self) -> None:
        """A RayCluster is a key of several controllers."""
        hitters = Hitters()
        hitters.add(reconcile("a/one", 1.0))
        hitters.add(reconcile("a/one", 1.0, controller="networkpolicy"))
        assert set(shown(hitters.view(5.0))) == {("raycluster", "a/one"), ("networkpolicy", "a/one")}

    def test_a_clock_that_went_back_takes_no_time(self) -> None:
        """A reconcile cannot have taken less than nothing."""
        hitters = Hitters()
        hitters.add(reconcile("a/one", 100.0, -5.0))
        assert hitters.view(100.0).totals[0].busy_seconds == 0.0

    def test_no_place_at_all_is_refused(self) -> None:
        """Then nothing could be shown."""
        with pytest.raises(ValueError, match="at least one"):
            Hitters(places=0)


class TestPlaces:
    def test_a_heavier_key_takes_the_place_of_the_lightest(self) -> None:
        """It begins at zero, what it had before stays in the rest; the other's series ends."""
        hitters = Hitters(places=2)
        hitters.add(reconcile("a/heavy", 0.0, 50.0))
        hitters.add(reconcile("a/light", 50.0, 1.0))
        for number in range(10):
            hitters.add(reconcile("a/new", 60.0 + number, 5.0))
        view = hitters.view(120.0)
        assert {key for _, key in shown(view)} == {"a/heavy", "a/new"}
        assert shown(view)["raycluster", "a/new"].busy_seconds == 0.0
        assert view.rest[0].busy_seconds == 51.0
        hitters.add(reconcile("a/new", 130.0, 5.0))
        assert shown(hitters.view(140.0))["raycluster", "a/new"].busy_seconds == 5.0

    @pytest.mark.parametrize("measure", ["errors", "pods_created", "reconciles"])
    def test_a_key_that_leads_in_another_measure_gets_a_place(self, measure: str) -> None:
        """Whoever fails all the time takes hardly any."""
        hitters = Hitters(places=5)
        for number in range(10):
            hitters.add(reconcile(f"a/busy-{number}", float(number), 10.0))
        for number in range(30):
            failed, pods = measure == "errors", 5 if measure == "pods_created" else 0
            hitters.add(reconcile("a/odd", 20.0 + number, 0.001, failed=failed, pods=pods))
        assert ("raycluster", "a/odd") in shown(hitters.view(60.0))

    def test_places_do_not_change_hands_among_like_keys(self) -> None:
        """Ten thousand keys of equal weight make twenty series and not ten thousand."""
        hitters = Hitters()
        series = set()
        for number in range(20_000):
            hitters.add(reconcile(f"a/rc-{number % 10_000}", number * 0.1, 0.1))
            if number % 150 == 0:
                series |= set(shown(hitters.view(number * 0.1)))
        assert len(series) == 20

    def test_a_key_that_was_heavy_long_ago_makes_room(self) -> None:
        """After twenty minutes without it, others that are lighter than it was take its place."""
        hitters = Hitters(places=1)
        hitters.add(reconcile("a/once", 0.0, 500.0))
        for minute in range(60):
            hitters.add(reconcile("a/now", 600.0 + 60.0 * minute, 1.0))
            hitters.view(600.0 + 60.0 * minute)
        assert set(shown(hitters.view(4200.0))) == {("raycluster", "a/now")}

    def test_a_heavy_key_is_found_among_very_many(self) -> None:
        """One in fifty reconciles is its own, of ten thousand others each comes once."""
        hitters = Hitters()
        for number in range(10_000):
            hitters.add(reconcile(f"a/rc-{number}", number * 0.1, 0.05))
            if number % 50 == 0:
                hitters.add(reconcile("a/heavy", number * 0.1, 0.05))
            if number % 200 == 0:
                hitters.view(number * 0.1)
        assert ("raycluster", "a/heavy") in shown(hitters.view(2000.0))


_EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["raycluster", "rayjob"]),
        st.integers(0, 12),
        st.floats(0.0, 20.0),
        st.booleans(),
        st.integers(0, 3),
        st.sampled_from([0.1, 20.0, 700.0]),
    ),
    max_size=80,
)


@given(events=_EVENTS, places=st.integers(1, 6))
def test_nothing_that_is_counted_falls_or_is_lost(
    events: list[tuple[str, int, float, bool, int, float]], places: int
) -> None:
    """Keys and rest are all there was; shown values and the rest only grow; no key had more than the bound says."""
    hitters = Hitters(places)
    now = 0.0
    before: dict[tuple[str, str], KeyTotal] = {}
    busy: Counter[tuple[str, str]] = Counter()
    sums: dict[str, Counter[str]] = {}
    for controller, number, seconds, failed, pods, pause in events:
        now += pause
        key = f"a/rc-{number}"
        hitters.add(reconcile(key, now, seconds, controller=controller, failed=failed, pods=pods))
        busy[controller, key] += round(seconds * 1e9)
        added = dict(zip(MEASURES, (seconds, 1, int(failed), int(failed), pods), strict=True))
        sums.setdefault(controller, Counter()).update(added)
        view = hitters.view(now)
        assert len(view.totals) <= places
        after = {**shown(view), **{(one.controller, ""): one for one in view.rest}}
        for identity in before.keys() & after.keys():
            for measure in MEASURES:
                assert getattr(after[identity], measure) >= getattr(before[identity], measure)
        before = after
        for name, expected in sums.items():
            assert whole(view, name) == pytest.approx(tuple(expected[measure] for measure in MEASURES), abs=1e-6)
        for identity, had_ns in busy.items():
            if identity not in shown(view):
                assert had_ns / 1e9 <= view.error_seconds[identity[0]] + 1e-6


def test_memory_does_not_grow_with_the_keys() -> None:
    """What ten thousand keys take, thirty thousand take as well."""
    hitters = Hitters()
    source = random.Random(7)

    def work(count: int) -> None:
        for _ in range(count):
            number = source.randrange(1_000_000)
            hitters.add(reconcile(f"namespace/cluster-{number}", number * 0.001, 0.1, failed=True, pods=1))

    work(10_000)
    tracemalloc.start()
    work(20_000)
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 2_000_000


class TestAgingTop:
    def test_what_is_older_is_forgotten(self) -> None:
        """Pane by pane."""
        top = AgingTop(seconds=10.0, pane_seconds=2.0)
        for second in range(20):
            top.add(float(second), "a", 1)
        assert top.sums(0.0)[1] <= 12
        assert top.sums(top.since(19.0, 4.0)) == ({"a": 6}, 6)

    def test_a_span_counts_in_each_pane_by_its_part(self) -> None:
        """Half of it before a time, half after."""
        top = AgingTop(seconds=60.0, pane_seconds=5.0)
        top.add_span(7.5, 12.5, "a")
        assert top.sums(10.0) == ({"a": 2_500_000_000}, 2_500_000_000)
        assert top.sums(5.0) == ({"a": 5_000_000_000}, 5_000_000_000)
        assert top.of("a", 0.0) == (5_000_000_000, {1, 2})

    def test_of_a_span_longer_than_all_only_the_end_counts(self) -> None:
        """However long it is, it takes no more panes than are kept."""
        top = AgingTop(seconds=10.0, pane_seconds=5.0)
        top.add_span(0.0, 1e9, "a")
        assert top.sums(0.0)[1] <= 15_000_000_000

    def test_many_keys_are_told_as_all_of_them(self) -> None:
        """Keys without a place count in the sum."""
        top = AgingTop(seconds=10.0, pane_seconds=5.0, capacity=4)
        for number in range(100):
            top.add(1.0, str(number), 1)
        by_key, together = top.sums(0.0)
        assert len(by_key) == 4
        assert together == 100

    def test_a_clock_that_is_set_back_starts_over(self) -> None:
        """What is said of the future would else hide all that comes."""
        top = AgingTop(seconds=10.0, pane_seconds=5.0)
        top.add(1_000_000.0, "a", 1)
        top.add(500.0, "b", 1)
        assert top.sums(0.0) == ({"b": 1}, 1)

    def test_a_late_word_does_not_start_over(self) -> None:
        """It counts where it belongs, or not at all."""
        top = AgingTop(seconds=10.0, pane_seconds=5.0)
        top.add(100.0, "a", 1)
        top.add(96.0, "b", 1)
        top.add(50.0, "c", 1)
        assert top.sums(0.0) == ({"a": 1, "b": 1}, 2)

    def test_impossible_panes_are_refused(self) -> None:
        """A pane that is longer than all could not age."""
        with pytest.raises(ValueError, match="pane"):
            AgingTop(seconds=1.0, pane_seconds=2.0)
