"""The engine on Ray: without Ray, with something that looks like it, and with Ray where it is installed."""

import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import pytest

from advisor.engines import EngineUnavailableError, TaskTimeoutError, engine_named
from advisor.engines.base import ENGINES
from advisor.engines.forecasts import run_forecast
from advisor.engines.local import LocalEngine
from advisor.errors import UnknownNameError
from tests.engines.material import HANGS, RAISES, SUM, tasks

needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")


class Ref(NamedTuple):
    """A task that was asked for; told apart by its place."""

    place: int
    value: object


class FakeRay:
    """Runs at once what it is given, and says that the last task is done first."""

    def __init__(self, *, is_up: bool) -> None:
        self.is_up = is_up
        self.cancelled: list[Ref] = []
        self.started: dict[str, object] | None = None
        self.stopped = False
        self.lost: set[int] = set()
        self.most_waiting = 0

    def is_initialized(self) -> bool:
        """Whether somebody has started it."""
        return self.is_up

    def init(self, **options: object) -> None:
        """Start."""
        self.started = options

    def shutdown(self) -> None:
        """Stop."""
        self.stopped = True

    def put(self, value: object) -> object:
        """Keep a value."""
        return value

    def remote(self, **_: object) -> Callable[[Callable[..., object]], "Remote"]:
        """Make a function one that runs elsewhere."""
        return Remote

    def wait(self, waiting: Sequence[Ref], *, num_returns: int) -> tuple[list[Ref], list[Ref]]:
        """What is done, and what is not."""
        self.most_waiting = max(self.most_waiting, len(waiting))
        return list(waiting[-num_returns:]), []

    def get(self, one: Ref) -> object:
        """What a task came to."""
        if one.place in self.lost:
            raise RuntimeError("the node is gone")
        assert isinstance(one.value, Held)
        return one.value.value

    def cancel(self, one: Ref, *, force: bool) -> None:
        """End a task."""
        assert force
        self.cancelled.append(one)


class Remote:
    """A function that runs elsewhere."""

    def __init__(self, function: Callable[..., object]) -> None:
        self.function = function

    def remote(self, shared: object, place: int, seconds: float | None) -> Ref:
        """Ask for it."""
        return Ref(place, Held(self.function(shared, place, seconds)))


class Held:
    """Any value as one that can be a key."""

    def __init__(self, value: object) -> None:
        self.value = value


def test_without_ray_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hint is the line for pip, and it is wrong use, not a fault."""
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(EngineUnavailableError) as error:
        engine_named("ray")
    assert "pip install 'kuberay-advisor[ray]'" in error.value.hint
    assert error.value.exit_code == 2


@pytest.mark.parametrize("is_up", [False, True])
def test_tasks_come_back_as_they_finish(*, is_up: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each comes back once with its place; a Ray that was up stays up, one that was started is stopped."""
    fake = FakeRay(is_up=is_up)
    monkeypatch.setitem(sys.modules, "ray", fake)
    made, told = tasks(3), []
    found = list(engine_named("ray", workers=2).run(run_forecast, made, lambda done, of: told.append((done, of))))
    assert [place for place, _ in found] == [1, 2, 0]
    assert dict(found) == {place: run_forecast(task) for place, task in enumerate(made)}
    assert told == [(1, 3), (2, 3), (3, 3)]
    assert (fake.started is None, fake.stopped) == (is_up, not is_up)
    assert fake.started is None or fake.started["num_cpus"] == 2


def test_what_still_runs_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who stops asking ends all tasks that are not finished."""
    fake = FakeRay(is_up=True)
    monkeypatch.setitem(sys.modules, "ray", fake)
    running = engine_named("ray").run(run_forecast, tasks(3))
    assert isinstance(running, Iterator)
    next(running)
    running.close()  # type: ignore[attr-defined] # it is a generator
    assert len(fake.cancelled) == 2


def test_one_that_fails_stops_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raising, hanging and a lost node are outcomes of their own task; no more run at a time than was asked for."""
    fake = FakeRay(is_up=True)
    fake.lost = {4}
    monkeypatch.setitem(sys.modules, "ray", fake)
    made = [SUM, RAISES, HANGS, SUM, SUM]
    found = dict(engine_named("ray", workers=2).attempt(eval, made, [20.0, 20.0, 0.2, 20.0, 20.0]))
    assert [found[place].value for place in (0, 3)] == [45, 45]
    assert isinstance(found[1].error, ValueError)
    assert isinstance(found[2].error, TaskTimeoutError)
    assert str(found[4].error) == "the node is gone"
    assert fake.most_waiting == 2


def test_engines_have_names() -> None:
    """An unknown name is an error that lists the known ones."""
    assert ENGINES == ("local", "ray")
    assert isinstance(engine_named("local"), LocalEngine)
    with pytest.raises(UnknownNameError, match="local, ray"):
        engine_named("fortran")


@needs_ray
@pytest.mark.filterwarnings("default")
def test_real_ray_fails_the_same_way() -> None:
    """A task that raises, hangs or dies is an outcome on either engine."""
    made, seconds = [SUM, RAISES, HANGS, SUM], [60.0, 60.0, 1.0, 60.0]
    for engine in (engine_named("ray", workers=2), LocalEngine(2)):
        found = dict(engine.attempt(eval, made, seconds))
        assert [found[place].value for place in (0, 3)] == [45, 45]
        assert isinstance(found[1].error, ValueError)
        assert isinstance(found[2].error, TaskTimeoutError)


@needs_ray
@pytest.mark.filterwarnings("default")
def test_real_ray_gives_the_same() -> None:
    """Every number is equal to the last bit."""
    made = tasks(4)
    assert dict(engine_named("ray", workers=2).run(run_forecast, made)) == dict(LocalEngine(1).run(run_forecast, made))
