"""Ranges in chunks: every time once, none left out, none invented."""

import threading
from math import ceil, floor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.errors import StoreError, StoreUnreachableError
from advisor.sources.prometheus.ranges import Chunk, aligned, chunks, gather

STARTS = st.integers(-(10**6), 2 * 10**9 * 1000)
STEPS = st.integers(1, 10**7)


def times(chunk: Chunk) -> list[int]:
    """Milliseconds of all times of a chunk."""
    return [index * chunk.step_ms for index in range(chunk.first, chunk.first + chunk.count)]


@given(STARTS, st.integers(0, 10**4), STEPS)
def test_aligned(start_ms: int, steps: int, step_ms: int) -> None:
    """All multiples of the step in the range, its ends included, and no others."""
    end_ms = start_ms + steps * step_ms // 2
    whole = aligned(start_ms / 1000, end_ms / 1000, step_ms / 1000)
    expected = range(ceil(start_ms / step_ms) * step_ms, floor(end_ms / step_ms) * step_ms + 1, step_ms)
    assert (whole.count, times(whole)[:1], times(whole)[-1:]) == (
        len(expected), list(expected[:1]), list(expected[-1:])
    )  # fmt: skip


@given(STARTS, st.integers(0, 5000), STEPS, st.integers(1, 700))
def test_chunks_have_every_time_once(first: int, count: int, step_ms: int, most: int) -> None:
    """Joined they are the whole, in order; each has at most so many times, and there are no more than needed."""
    whole = Chunk(step_ms, first, count)
    parts = chunks(whole, most)
    assert [time for part in parts for time in times(part)] == times(whole)
    assert all(0 < part.count <= most for part in parts)
    assert len(parts) == ceil(count / most)


@settings(max_examples=50)
@given(st.integers(0, 600), st.integers(1, 300), st.integers(1, 20), st.integers(1, 3))
def test_halving_has_every_time_once(count: int, most: int, answered: int, in_flight: int) -> None:
    """What a store refuses is asked for in halves, six times at most; what it answers is every time once, in order."""
    whole = Chunk(1000, 7, count)
    refused: list[int] = []

    def ask(chunk: Chunk) -> list[int]:
        if chunk.count > answered:
            refused.append(chunk.count)
            raise StoreError("too much", too_much=True)
        return times(chunk)

    largest = max((part.count for part in chunks(whole, most)), default=1)
    if ceil(largest / 64) > answered:
        with pytest.raises(StoreError, match="too much"):
            gather(whole, most, 6, in_flight, ask)
    else:
        assert [time for found in gather(whole, most, 6, in_flight, ask) for time in found] == times(whole)
        assert len(refused) <= 6 * in_flight


def test_sizes_that_were_refused_are_not_asked_again() -> None:
    """Later chunks are cut to the size that a store has shown that it answers."""
    asked: list[int] = []

    def ask(chunk: Chunk) -> int:
        asked.append(chunk.count)
        if chunk.count > 30:
            raise StoreError("too much", too_much=True)
        return chunk.count

    assert sum(gather(Chunk(1000, 0, 400), 100, 6, 1, ask)) == 400
    assert asked[:3] == [100, 50, 25]
    assert set(asked[3:]) <= {25}


@pytest.mark.parametrize("in_flight", [1, 2])
def test_other_errors_are_not_halved(in_flight: int) -> None:
    """They would come again, smaller or not."""

    def ask(chunk: Chunk) -> int:
        raise StoreUnreachableError("gone")

    with pytest.raises(StoreUnreachableError, match="gone"):
        gather(Chunk(1000, 0, 100), 10, 6, in_flight, ask)


def test_no_more_at_a_time_than_allowed() -> None:
    """Two requests meet each other, three never do."""
    lock, meeting = threading.Lock(), threading.Barrier(2)
    running = most = 0

    def ask(chunk: Chunk) -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        meeting.wait(10.0)
        with lock:
            running -= 1
        return chunk.first

    assert gather(Chunk(1000, 0, 80), 10, 6, 2, ask) == list(range(0, 80, 10))
    assert most == 2


def test_seconds() -> None:
    """Times are exact to the millisecond, also where a step has no exact form in binary."""
    whole = aligned(0.3, 0.9, 0.1)
    assert (whole.start, whole.end, whole.step, whole.count) == (0.3, 0.9, 0.1, 7)
    assert aligned(61.0, 119.0, 60.0).count == 0
    assert chunks(aligned(61.0, 119.0, 60.0), 10) == []
    assert aligned(60.0, 60.0, 60.0).count == 1


@pytest.mark.parametrize(
    ("start", "end", "step", "text"),
    [
        (0.0, 1.0, 0.0004, "the step has to be a millisecond or more"),
        (2.0, 1.0, 1.0, "the end is before the start"),
        (0.0, float("nan"), 1.0, "start, end and step have to be numbers"),
        (0.0, float("inf"), 1.0, "start, end and step have to be numbers"),
    ],
)
def test_impossible_ranges(start: float, end: float, step: float, text: str) -> None:
    """Said before anything is asked."""
    with pytest.raises(ValueError, match=text):
        aligned(start, end, step)
