import threading
from itertools import count

import pytest

from advisor.web.remembered import Remembered


class Time:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        """Seconds."""
        return self.now


def test_a_result_is_made_once_until_it_is_old() -> None:
    """Each key has its own; a clock that was set back makes it anew."""
    time, numbers = Time(), count()
    remembered: Remembered[str, int] = Remembered(time)

    def get(key: str) -> int:
        return remembered.get(key, lambda: (next(numbers), 10.0))

    assert (get("a"), get("b"), get("a")) == (0, 1, 0)
    time.now += 9.0
    assert get("a") == 0
    time.now += 1.0
    assert get("a") == 2
    time.now -= 50.0
    assert get("a") == 3


def test_what_was_asked_for_last_stays() -> None:
    """No more than so many are kept."""
    remembered: Remembered[int, int] = Remembered(Time(), most=2)
    numbers = count()
    got = [remembered.get(key, lambda: (next(numbers), 10.0)) for key in (1, 2, 1, 3, 1, 2)]
    assert got == [0, 1, 0, 2, 0, 3]


def test_an_error_is_not_remembered() -> None:
    """The next one who asks has it made again."""
    remembered: Remembered[str, int] = Remembered(Time())
    with pytest.raises(ZeroDivisionError):
        remembered.get("a", lambda: (1 // 0, 10.0))
    assert remembered.get("a", lambda: (7, 10.0)) == 7


def test_who_asks_meanwhile_waits_for_it() -> None:
    """Many at a time have it made once, and another key is not held up by it."""
    remembered: Remembered[str, int] = Remembered(Time())
    begun, going, numbers, got = threading.Event(), threading.Event(), count(), list[int]()

    def make() -> tuple[int, float]:
        begun.set()
        assert going.wait(20.0)
        return next(numbers), 10.0

    threads = [threading.Thread(target=lambda: got.append(remembered.get("slow", make))) for _ in range(5)]
    for thread in threads:
        thread.start()
    assert begun.wait(20.0)
    assert remembered.get("quick", lambda: (9, 10.0)) == 9
    going.set()
    for thread in threads:
        thread.join()
    assert got == [0] * 5
