"""An engine that stops when the time is over."""

import pytest

from advisor.engines.bounded import BoundedEngine
from advisor.engines.local import LocalEngine


def test_all_in_the_time() -> None:
    """The same as without bounds, and progress is told."""
    told: list[tuple[int, int]] = []
    engine = BoundedEngine(LocalEngine(1), lambda: False)
    assert list(engine.run(abs, [-1, -2], lambda done, of: told.append((done, of)))) == [(0, 1), (1, 2)]
    assert told == [(1, 2), (2, 2)]
    assert [outcome.get() for _, outcome in engine.attempt(abs, [-1], [30.0])] == [1]


@pytest.mark.parametrize("finished", [0, 1])
def test_the_time_is_over(finished: int) -> None:
    """What has finished by then is there, and no more is begun."""
    begun: list[int] = []

    def note(task: int) -> int:
        begun.append(task)
        return task

    engine = BoundedEngine(LocalEngine(1), lambda: len(begun) == finished)
    assert [value for _, value in engine.run(note, [7, 8])] == [7, 8][:finished]
    assert begun == [7, 8][:finished]
    assert list(BoundedEngine(LocalEngine(1), lambda: True).attempt(abs, [-1], [30.0])) == []
