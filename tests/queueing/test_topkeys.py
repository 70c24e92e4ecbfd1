from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.queueing.topkeys import KeyLoad, TopKeys

UPDATES = st.lists(st.tuples(st.sampled_from("abcdefghij"), st.integers(0, 50), st.booleans()), max_size=200)


def test_exact_while_there_is_room() -> None:
    """As long as every key has a place, nothing is estimated."""
    top = TopKeys(3)
    top.add("a", 5)
    top.add("b", 2, failed=True)
    top.add("a", 1)
    assert sorted(top, key=lambda load: load.key) == [KeyLoad("a", 6, 2, 0, 0), KeyLoad("b", 2, 1, 1, 0)]
    assert (len(top), top.capacity, top.error) == (2, 3, 0)
    assert (top.total_weight, top.total_count, top.total_failures) == (8, 3, 1)


def test_the_lightest_gives_its_place_up() -> None:
    """A newcomer takes the place of the smallest estimate, which becomes its possible error."""
    top = TopKeys(2)
    top.add("a", 10)
    top.add("b", 3)
    top.add("c", 4)
    assert sorted(top, key=lambda load: load.key) == [KeyLoad("a", 10, 1, 0, 0), KeyLoad("c", 4, 1, 0, 3)]
    assert top.error == 7


def test_weights_below_zero_count_as_nothing() -> None:
    """A clock that steps back takes nothing away."""
    top = TopKeys(1)
    top.add("a", -5)
    assert list(top) == [KeyLoad("a", 0, 1, 0, 0)]


def test_a_place_is_needed() -> None:
    """No capacity is an error in the set-up."""
    with pytest.raises(ValueError, match="capacity must be at least 1, not 0"):
        TopKeys(0)


@given(updates=UPDATES, capacity=st.integers(1, 12))
def test_bounds(updates: list[tuple[str, int, bool]], capacity: int) -> None:
    """What is shown is never too high, and never too low by more than its error; heavy keys are always there."""
    top, weights, counts = TopKeys(capacity), Counter[str](), Counter[str]()
    for key, weight, failed in updates:
        top.add(key, weight, failed=failed)
        weights[key] += weight
        counts[key] += 1
    found = {load.key: load for load in top}
    for key, load in found.items():
        assert load.weight <= weights[key] <= load.weight + load.error
        assert load.failures <= load.count <= counts[key]
    assert len(found) == min(capacity, len(weights))
    for key in weights.keys() - found.keys():
        assert weights[key] <= top.error
    assert {key for key, weight in weights.items() if weight * capacity > top.total_weight} <= found.keys()
    assert top.error * capacity <= top.total_weight == sum(weights.values())
    if len(weights) <= capacity:
        assert all(load.error == 0 for load in top)


@given(updates=UPDATES, capacity=st.integers(1, 12))
def test_the_rest_never_falls(updates: list[tuple[str, int, bool]], capacity: int) -> None:
    """What no place holds is a counter too: it only grows, and with the places it makes up the total."""
    top, before = TopKeys(capacity), (0, 0, 0)
    for key, weight, failed in updates:
        top.add(key, weight, failed=failed)
        loads = list(top)
        rest = (
            top.total_weight - sum(load.weight for load in loads),
            top.total_count - sum(load.count for load in loads),
            top.total_failures - sum(load.failures for load in loads),
        )
        assert all(now >= then for now, then in zip(rest, before, strict=True))
        before = rest


@given(updates=UPDATES, capacity=st.integers(1, 12))
def test_as_the_plain_algorithm(updates: list[tuple[str, int, bool]], capacity: int) -> None:
    """Errors are those of Space-Saving with a linear search; which of several smallest keys goes is left open."""
    top = TopKeys(capacity)
    plain: dict[str, int] = {}
    for key, weight, failed in updates:
        top.add(key, weight, failed=failed)
        if key not in plain and len(plain) == capacity:
            smallest = min(plain.values())
            kept = {load.key for load in top}
            gone = next(each for each in plain if plain[each] == smallest and each not in kept)
            plain[key] = plain.pop(gone)
        plain[key] = plain.get(key, 0) + weight
        assert {load.key: load.weight + load.error for load in top} == plain
