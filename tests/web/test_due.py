"""When who is due, in virtual time."""

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.web.due import DueRules, Schedule

RULES = DueRules(interval_seconds=60.0, jitter_ratio=0.0, at_a_time=2, longest_pause_seconds=300.0)


def schedule(*names: str, rules: DueRules = RULES, limit: float = 10.0) -> Schedule:
    """A schedule without chance on which everybody is due at once."""
    made = Schedule(rules, lambda: 0.0)
    for name in names:
        made.add(name, 0.0, limit)
    return made


def due_of(made: Schedule, name: str) -> float:
    """When somebody is due."""
    state = made.state(name)
    assert state is not None
    return state.due


def test_from_begin_to_begin() -> None:
    """After a success the next is due an interval after the begin, however long it took."""
    made = schedule("a")
    assert made.take(0.0) == ("a",)
    assert made.take(1.0) == ()
    assert made.ended("a", 8.0, is_ok=True)
    assert due_of(made, "a") == 60.0
    made.released("a")
    assert (made.next_deadline(), made.take(59.9), made.take(60.0)) == (60.0, (), ("a",))


def test_one_that_takes_longer_than_the_interval() -> None:
    """It is due again at once, and not for what it missed."""
    made = schedule("a", limit=1000.0)
    made.take(0.0)
    made.ended("a", 500.0, is_ok=True)
    made.released("a")
    assert due_of(made, "a") == 500.0
    assert made.take(500.0) == ("a",)
    assert made.take(500.0) == ()


def test_pauses_after_failures_double() -> None:
    """Up to the longest; one success leads back."""
    made, now, pauses = schedule("a"), 0.0, []
    for _ in range(5):
        assert made.take(now) == ("a",)
        made.ended("a", now + 1.0, is_ok=False)
        made.released("a")
        pauses.append(due_of(made, "a") - now - 1.0)
        now = due_of(made, "a")
    assert pauses == [60.0, 120.0, 240.0, 300.0, 300.0]
    made.take(now)
    made.ended("a", now + 1.0, is_ok=True)
    assert due_of(made, "a") == now + 60.0


def test_longest_pause_below_the_interval() -> None:
    """A failure never makes an operator come more often."""
    rules = DueRules(interval_seconds=60.0, longest_pause_seconds=5.0)
    assert rules.pause_seconds(1) == rules.pause_seconds(1_000_000) == 60.0


def test_places() -> None:
    """No more than so many at a time; who has been due longest goes first."""
    made = schedule("c", "a", "b")
    assert made.take(0.0) == ("a", "b")
    assert made.next_deadline() == 10.0
    made.ended("b", 1.0, is_ok=True)
    assert made.take(1.0) == ("c",)


def test_too_long() -> None:
    """It is told once, has failed, gives its place back, and does not begin again before it has let go."""
    made = schedule("a", "b", "c")
    made.take(0.0)
    made.ended("b", 1.0, is_ok=True)
    made.released("b")
    assert made.take(1.0) == ("c",)
    assert made.overrun(9.9) == ()
    assert made.overrun(10.0) == ("a",)
    assert made.overrun(10.0) == ()
    state = made.state("a")
    assert state is not None
    assert (state.failures, state.is_held, state.running_since) == (1, True, None)
    assert not made.ended("a", 12.0, is_ok=True)
    made.ended("c", 12.0, is_ok=True)
    made.released("c")
    assert made.take(1000.0) == ("b", "c")
    made.ended("b", 1000.0, is_ok=True)
    made.released("a")
    assert made.take(1000.0) == ("a",)


def test_who_leaves() -> None:
    """Is forgotten at once, or when what is under way has ended; who comes back meanwhile keeps his state."""
    made = schedule("a", "b")
    assert made.take(0.0) == ("a", "b")
    made.remove("a")
    made.remove("b")
    made.remove("nobody")
    assert (made.names(), made.state("a")) == (frozenset(), None)
    made.add("b", 1.0, 20.0)
    assert not made.ended("a", 2.0, is_ok=True)
    assert made.ended("b", 2.0, is_ok=True)
    made.released("a")
    made.released("b")
    made.released("nobody")
    assert (made.names(), made.next_deadline()) == (frozenset({"b"}), 60.0)


def test_in_a_hurry() -> None:
    """Somebody can be made due at once; who is not there cannot."""
    made = schedule("a")
    made.take(0.0)
    made.ended("a", 1.0, is_ok=True)
    made.released("a")
    assert made.hurry("a", 2.0)
    assert made.take(2.0) == ("a",)
    assert not made.hurry("b", 2.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"interval_seconds": 0.0},
        {"interval_seconds": 1.0, "at_a_time": 0},
        {"interval_seconds": 1.0, "jitter_ratio": 1.0},
    ],
)
def test_rules_that_cannot_be(wrong: dict[str, float]) -> None:
    """They are refused."""
    with pytest.raises(ValueError, match=r"interval|jitter"):
        DueRules(**wrong)  # type: ignore[arg-type]


class World:
    """Drives a schedule as its owner does, with analyses that take as long as chance says, and checks what must hold.

    What is under way is kept by name: when it ends, how, and when its thread lets go.
    """

    def __init__(self, names: int, rules: DueRules, seed: int, limit: float) -> None:
        self.random = Random(seed)
        self.rules = rules
        self.limit = limit
        self.made = Schedule(rules, self.random.random)
        self.now = 0.0
        self.under_way: dict[str, tuple[float, bool, float]] = {}
        self.begins: dict[str, list[float]] = {f"t{number}": [] for number in range(names)}
        for name in self.begins:
            self.made.add(name, 0.0, limit)

    def step(self) -> None:
        """Go on to the next moment at which something happens."""
        ends = [min(end, release) for end, _, release in self.under_way.values()]
        ends += [release for _, _, release in self.under_way.values()]
        moments = [moment for moment in (self.made.next_deadline(), *ends) if moment is not None and moment > self.now]
        if moments:
            self.now = min(moments)
        for name, (end, is_ok, release) in list(self.under_way.items()):
            if end <= self.now:
                self.made.ended(name, self.now, is_ok=is_ok)
            if release <= self.now:
                del self.under_way[name]
                self.made.released(name)
        self.made.overrun(self.now)
        for name in self.made.take(self.now):
            assert name not in self.under_way
            self.begins[name].append(self.now)
            takes = self.random.choice((0.1, 1.0, self.limit / 2, self.limit * 3))
            self.under_way[name] = (self.now + takes, self.random.random() < 0.7, self.now + takes)
        self.check()

    def check(self) -> None:
        """What always holds."""
        states = {name: self.made.state(name) for name in self.begins}
        running = [state for state in states.values() if state is not None and state.running_since is not None]
        assert len(running) <= self.rules.at_a_time
        for state in running:
            assert state.running_since is not None
            assert self.now - state.running_since < self.limit
        # Whoever could begin has no place, or is not due.
        idle = [
            state
            for state in states.values()
            if state is not None and state.running_since is None and not state.is_held
        ]
        assert len(running) == self.rules.at_a_time or all(state.due > self.now for state in idle)


@given(
    names=st.integers(1, 12),
    at_a_time=st.integers(1, 4),
    jitter=st.floats(0.0, 0.5),
    seed=st.integers(0, 1 << 30),
)
def test_what_always_holds(names: int, at_a_time: int, jitter: float, seed: int) -> None:
    """Never too many, none longer than its limit, none twice at a time, and nobody waits while there is a place."""
    rules = DueRules(interval_seconds=60.0, jitter_ratio=jitter, at_a_time=at_a_time, longest_pause_seconds=300.0)
    world = World(names, rules, seed, limit=10.0)
    for _ in range(150):
        world.step()
    for begins in world.begins.values():
        gaps = [later - earlier for earlier, later in pairwise(begins)]
        assert all(gap >= 60.0 * (1.0 - jitter) - 1e-6 for gap in gaps)


@given(names=st.integers(1, 8), seed=st.integers(0, 1 << 30))
def test_nobody_starves(names: int, seed: int) -> None:
    """With one place and enough time everybody comes again and again, however many hang or fail."""
    rules = DueRules(interval_seconds=300.0, at_a_time=1, longest_pause_seconds=300.0)
    world = World(names, rules, seed, limit=10.0)
    while world.now < 3600.0:
        world.step()
    assert min(len(begins) for begins in world.begins.values()) >= 5


@given(seed=st.integers(0, 1 << 30))
def test_first_ones_are_spread(seed: int) -> None:
    """Two hundred that are named at once are not due at once, but for as many as there are places; all are soon."""
    rules = DueRules(interval_seconds=300.0, at_a_time=4)
    world = World(200, rules, seed, limit=10.0)
    dues = [due_of(world.made, name) for name in world.begins]
    assert dues.count(0.0) >= 4
    assert dues[:4] == [0.0] * 4
    assert 1.0 < max(dues) <= 30.0
    assert len(set(dues)) > 100
