"""The evaluation times of a range query, cut into requests that a store answers.

Times are whole multiples of the step, counted from 1970, so that the same time is asked for whatever the range; they
are counted in integers, so that no two requests share one and none is left out.
"""

import math
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from advisor.errors import StoreError

__all__ = ["Chunk", "aligned", "chunks", "gather"]

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Chunk:
    """``count`` evaluation times: ``first``, ``first + 1``, ... times the step, which is in milliseconds."""

    step_ms: int
    first: int
    count: int

    @property
    def start(self) -> float:
        """The first time, Unix seconds."""
        return self.first * self.step_ms / 1000

    @property
    def end(self) -> float:
        """The last time, Unix seconds."""
        return (self.first + self.count - 1) * self.step_ms / 1000

    @property
    def step(self) -> float:
        """Seconds from one to the next."""
        return self.step_ms / 1000

    def parts(self, number: int) -> "list[Chunk]":
        """So many parts of about the same size, in order."""
        edges = [self.count * part // number for part in range(number + 1)]
        return [Chunk(self.step_ms, self.first + low, high - low) for low, high in pairwise(edges) if high > low]


def aligned(start: float, end: float, step: float) -> Chunk:
    """All multiples of the step from start to end, both included; in seconds, to the millisecond.

    Raises:
        ValueError: the step is shorter than a millisecond, the end is before the start, or one is no number.
    """
    if not (math.isfinite(start) and math.isfinite(end) and math.isfinite(step)):
        raise ValueError("start, end and step have to be numbers")
    step_ms, start_ms, end_ms = round(step * 1000), round(start * 1000), round(end * 1000)
    if step_ms < 1:
        raise ValueError("the step has to be a millisecond or more")
    if end_ms < start_ms:
        raise ValueError("the end is before the start")
    first = -(-start_ms // step_ms)
    return Chunk(step_ms, first, end_ms // step_ms - first + 1)


def chunks(whole: Chunk, most: int) -> list[Chunk]:
    """The fewest chunks of at most so many times each, in order; none where there is no time."""
    return whole.parts(-(-whole.count // most)) if whole.count > 0 else []


def gather(whole: Chunk, most: int, halvings: int, in_flight: int, ask: Callable[[Chunk], _T]) -> list[_T]:
    """What ``ask`` gives for every chunk, in order.

    A chunk that is too much for the store is asked for in halves, and no larger one is asked for after it.

    Args:
        whole: all the times.
        most: times in one request at most.
        halvings: how often the size may be halved before the store's refusal stands.
        in_flight: how many requests may be under way at a time.
        ask: asks for one chunk.

    Raises:
        StoreError: the store does not answer; of several errors that of the earliest times.
    """
    planned = chunks(whole, most)
    largest = max((chunk.count for chunk in planned), default=1)
    size = _Size(largest, -(-largest // 2**halvings))
    if len(planned) <= 1 or in_flight == 1:
        return [one for chunk in planned for one in _ask(chunk, size, ask)]
    pool = ThreadPoolExecutor(min(in_flight, len(planned)), thread_name_prefix="prometheus")
    futures = [pool.submit(_ask, chunk, size, ask) for chunk in planned]
    try:
        return [one for future in futures for one in future.result()]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


class _Size:
    """The most times that a request may have; it only falls, and never below the least."""

    def __init__(self, most: int, least: int) -> None:
        self._most = most
        self._least = least
        self._lock = threading.Lock()

    @property
    def most(self) -> int:
        with self._lock:
            return self._most

    def halve(self, refused: int) -> bool:
        """After a refusal of so many; whether fewer may be asked for."""
        half = max(self._least, -(-refused // 2))
        if half >= refused:
            return False
        with self._lock:
            self._most = min(self._most, half)
        return True


def _ask(chunk: Chunk, size: _Size, ask: Callable[[Chunk], _T]) -> list[_T]:
    waiting = [chunk]
    answers = []
    while waiting:
        one = waiting.pop()
        if one.count > size.most:
            waiting.extend(reversed(chunks(one, size.most)))
            continue
        try:
            answers.append(ask(one))
        except StoreError as error:
            if not error.too_much or not size.halve(one.count):
                raise
            waiting.append(one)
    return answers
