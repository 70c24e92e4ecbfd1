import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.web.whatifline import Line, LineRules, Phase

RULES = LineRules(at_a_time=1, most_waiting=2, lease_seconds=15.0, limit_seconds=35.0, most_kept=4)


def line(*asked: str, rules: LineRules = RULES) -> Line:
    """A line in which some have been asked for at 0 s."""
    made = Line(rules)
    for one in asked:
        assert made.ask(one, 0.0)
    return made


def test_one_after_the_other() -> None:
    """In the order in which they were asked for; the next begins once the process of the one before is gone."""
    made = line("a", "b")
    assert made.take(0.0) == ["a"]
    assert (made.touch("a", 1.0), made.touch("b", 1.0), made.ahead("b")) == (Phase.RUNNING, Phase.WAITING, 0)
    assert made.take(1.0) == []
    assert made.ended("a", is_ok=True) is Phase.DONE
    assert made.take(2.0) == ["b"]
    assert made.ended("b", is_ok=False) is Phase.FAILED


def test_as_many_as_there_are_places() -> None:
    """And how many wait before each."""
    made = line("a", "b", "c", "d", rules=LineRules(at_a_time=2))
    assert made.take(0.0) == ["a", "b"]
    assert [made.ahead(one) for one in ("a", "c", "d")] == [0, 0, 1]


def test_a_full_line() -> None:
    """Who comes then is refused; who is in it already is not."""
    made = line("a", "b", "c")
    assert made.is_full
    assert not made.ask("d", 0.0)
    assert made.take(0.0) == ["a"]
    assert not made.ask("d", 0.0)
    assert made.ask("b", 0.0)
    made.ended("a", is_ok=True)
    assert made.take(0.0) == ["b"]
    assert made.ask("d", 0.0)
    assert made.touch("never", 0.0) is None


def test_a_question_that_is_known() -> None:
    """Is not simulated again, unless it came to nothing: then it goes to the end of the line."""
    made = line("a", "b")
    made.take(0.0)
    made.ended("a", is_ok=True)
    assert made.ask("a", 1.0)
    assert made.touch("a", 1.0) is Phase.DONE
    made.cancel("b")
    assert made.ask("c", 1.0)
    assert made.ask("b", 1.0)
    assert made.take(1.0) == ["c"]
    assert made.ahead("b") == 0


def test_nobody_looks_any_more() -> None:
    """Whoever leaves loses the place, waiting or running; each look keeps it for as long as a lease."""
    made = line("a", "b")
    made.take(0.0)
    assert made.next_deadline() == 15.0
    made.touch("a", 10.0)
    assert made.overdue(15.0) == []
    assert made.touch("b", 15.0) is Phase.LEFT
    assert made.overdue(24.9) == []
    assert made.overdue(25.0) == ["a"]
    assert made.ended("a", is_ok=True) is Phase.LEFT
    assert made.next_deadline() is None


def test_one_that_takes_too_long() -> None:
    """Is ended, however often somebody looks."""
    made = line("a")
    made.take(5.0)
    made.touch("a", 39.0)
    assert made.next_deadline() == 40.0
    assert made.overdue(40.0) == ["a"]
    assert made.overdue(41.0) == []
    assert made.touch("a", 41.0) is Phase.LATE


def test_cancelling() -> None:
    """Tells whether there is a process to end; its place is free when that is gone, and what came late is nothing."""
    made = line("a", "b", "c")
    made.take(0.0)
    assert not made.cancel("b")
    assert made.is_running("a")
    assert made.cancel("a")
    assert not made.cancel("a")
    assert not made.cancel("unknown")
    assert made.take(1.0) == []
    assert made.ended("a", is_ok=True) is Phase.CANCELLED
    assert made.take(1.0) == ["c"]


def test_asked_again_while_its_process_ends() -> None:
    """It begins anew only when that is gone."""
    made = line("a", rules=LineRules(at_a_time=2))
    made.take(0.0)
    made.cancel("a")
    assert made.ask("a", 1.0)
    assert made.take(1.0) == []
    assert made.ended("a", is_ok=True) is Phase.WAITING
    assert made.take(2.0) == ["a"]


def test_the_oldest_are_forgotten() -> None:
    """As far as there are too many; those that go on never are."""
    made = Line(RULES)
    for index in range(4):
        made.ask(f"r{index}", float(index))
        made.take(float(index))
        made.ended(f"r{index}", is_ok=True)
    made.touch("r0", 50.0)
    made.ask("new", 51.0)
    made.take(51.0)
    assert made.forget() == ["r1"]
    assert made.forget() == []
    assert made.touch("r1", 52.0) is None
    assert made.touch("new", 52.0) is Phase.RUNNING


@pytest.mark.parametrize(
    "wrong", [{"at_a_time": 0}, {"most_waiting": -1}, {"most_kept": 3}, {"lease_seconds": 0.0}, {"limit_seconds": 0.0}]
)
def test_rules_that_cannot_be(wrong: dict[str, float]) -> None:
    """Are refused."""
    with pytest.raises(ValueError, match=r"at least one|longer than zero"):
        LineRules(**{"at_a_time": 2, "most_waiting": 2, **wrong})  # type: ignore[arg-type]


@given(st.lists(st.tuples(st.sampled_from(["ask", "cancel", "ended", "look", "pass"]), st.integers(0, 7)), max_size=60))
def test_bounds_hold_whatever_happens(steps: list[tuple[str, int]]) -> None:
    """Never more processes than places, never more waiting than may, and every process is ended by somebody."""
    rules = LineRules(at_a_time=2, most_waiting=3, lease_seconds=5.0, limit_seconds=9.0, most_kept=6)
    made, alive, now = Line(rules), set[str](), 0.0
    for what, number in steps:
        name = f"r{number}"
        if what == "ask":
            made.ask(name, now)
        elif what == "cancel":
            made.cancel(name)
        elif what == "ended" and name in alive:
            alive.remove(name)
            made.ended(name, is_ok=number % 2 == 0)
        elif what == "look":
            made.touch(name, now)
        now += 1.0
        assert set(made.overdue(now)) <= alive
        taken = made.take(now)
        assert not set(taken) & alive
        alive |= set(taken)
        made.forget()
        assert len(alive) <= rules.at_a_time
    phases = [made.touch(f"r{one}", now) for one in range(8)]
    assert phases.count(Phase.WAITING) <= rules.most_waiting
    assert len(phases) - phases.count(None) <= rules.most_kept
