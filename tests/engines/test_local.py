import io
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from advisor.engines import local
from advisor.engines.base import Outcome, TaskTimeoutError
from advisor.engines.forecasts import forecast_weight, run_forecast
from advisor.engines.local import LocalEngine, cores
from advisor.engines.trying import packed
from advisor.engines.worker import READY, serve
from advisor.errors import AdvisorError
from tests.engines.material import DIES, HANGS, RAISES, SUM, broken, tasks
from tests.support import ROOT


@pytest.fixture
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are started after the first task, however short it was."""
    monkeypatch.setattr(local, "WORTH_SECONDS", 0.0)


def children() -> set[int]:
    """Processes that this one has started and not yet waited for."""
    return {int(pid) for pid in Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()}


@pytest.mark.usefixtures("_at_once")
def test_workers_give_what_one_process_gives() -> None:
    """Each task comes back once, and every number is equal to the last bit."""
    made = tasks()
    told: list[tuple[int, int]] = []
    pairs = list(LocalEngine(2).run(run_forecast, made, lambda done, of: told.append((done, of))))
    assert sorted(place for place, _ in pairs) == list(range(len(made)))
    assert dict(pairs) == {place: run_forecast(task) for place, task in enumerate(made)}
    assert told == [(done, len(made)) for done in range(1, len(made) + 1)]


@pytest.mark.parametrize(("engine", "worth"), [(LocalEngine(1), 0.0), (LocalEngine(4), 1e9)])
def test_no_process_is_started_for_nothing(engine: LocalEngine, worth: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one worker, or with little to do, everything runs here, in order."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(local, "WORTH_SECONDS", worth)
    monkeypatch.setattr(subprocess, "Popen", refuse)
    assert [place for place, _ in engine.run(run_forecast, tasks(3))] == [0, 1, 2]
    assert list(engine.run(run_forecast, [])) == []


@pytest.mark.usefixtures("_at_once")
def test_what_a_forecast_raises_is_raised_here() -> None:
    """The error of a worker comes out as it is; what was finished before stays, and no process does."""
    before = children()
    found: list[tuple[int, object]] = []
    running = LocalEngine(2).run(run_forecast, [*tasks(2), broken(), *tasks(2)])
    with pytest.raises(AttributeError):
        found.extend(running)
    assert (0, run_forecast(tasks(1)[0])) in found
    assert children() == before


@pytest.mark.usefixtures("_at_once")
def test_closing_ends_the_workers() -> None:
    """Who stops asking leaves no process behind."""
    before = children()
    running = LocalEngine(2).run(run_forecast, tasks(20))
    assert isinstance(running, Iterator)
    next(running)
    next(running)
    assert len(children() - before) == 2
    running.close()  # type: ignore[attr-defined] # it is a generator
    assert children() == before


@pytest.mark.usefixtures("_at_once")
def test_a_worker_that_dies_is_an_error() -> None:
    """A process that is killed from outside ends the run with its signal, and does not hang it."""
    before = children()
    running = LocalEngine(2).run(run_forecast, tasks(200, draws=3))
    next(running)
    next(running)
    for pid in children() - before:
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(AdvisorError, match="a worker process ended with signal 9"):
        list(running)
    assert children() == before


_PROGRAM = """
import sys
from advisor.engines import local
from advisor.engines.forecasts import run_forecast
from tests.engines.material import burst, tasks
local.WORTH_SECONDS = 0.0
done = 0
try:
    for _ in local.LocalEngine(2).run(run_forecast, tasks(400, draws=3, workload=burst(40))):
        done += 1
        if done == 2:
            print("running", flush=True)
except KeyboardInterrupt:
    print("interrupted", done, flush=True)
"""


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_outlives_the_program(sent: signal.Signals) -> None:
    """Ctrl-C keeps what is finished and ends the workers; so does a death that the program never notices."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", _PROGRAM], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="utf-8")
        workers = [int(pid) for pid in listed.split()]
        assert len(workers) == 2
        process.send_signal(sent)
        rest = process.stdout.read()
    assert rest.startswith("interrupted") == (sent is signal.SIGINT)
    deadline = time.monotonic() + 20.0
    while any(Path(f"/proc/{pid}").exists() for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [pid for pid in workers if Path(f"/proc/{pid}").exists()] == []


def test_a_worker_answers_until_the_questions_end() -> None:
    """It reads function, tasks and places, and writes results and errors."""
    made = [tasks(1)[0], broken()]
    questions = io.BytesIO(pickle.dumps((run_forecast, made)) + pickle.dumps(0) + pickle.dumps(1))
    answers = io.BytesIO()
    serve(questions, answers)
    answers.seek(0)
    assert answers.read(1) == READY
    assert pickle.load(answers) == Outcome(value=run_forecast(made[0]))  # noqa: S301 - made here
    outcome: Outcome[object] = pickle.load(answers)  # noqa: S301 - as above
    with pytest.raises(AttributeError):
        outcome.get()


class OddError(Exception):
    """Cannot be put together again from its arguments."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(one + two)


@pytest.mark.parametrize("outcome", [Outcome(error=OddError("so", "odd")), Outcome(value=lambda: "so odd")])
def test_what_cannot_travel_is_told_by_its_text(outcome: Outcome[object]) -> None:
    """An exception or a value that pickle cannot take does not end the worker."""
    found: Outcome[object] = pickle.loads(packed(outcome))  # noqa: S301 - made here
    with pytest.raises(RuntimeError, match=r"soodd|pickle"):
        found.get()


def test_weights_are_runs() -> None:
    """A forecast with draws takes so many runs more."""
    assert [forecast_weight(one) for one in (*tasks(1), *tasks(1, draws=3))] == [2.0, 4.0]


@pytest.mark.parametrize("workers", [1, 2])
def test_one_that_fails_stops_no_other(workers: int) -> None:
    """Raising, dying and hanging are outcomes of their own task; another process goes on where one is gone."""
    before = children()
    made = [SUM, RAISES, DIES, SUM, HANGS, SUM]
    found = dict(LocalEngine(workers).attempt(eval, made, [20.0, 20.0, 20.0, 20.0, 0.2, 20.0]))
    assert sorted(found) == [0, 1, 2, 3, 4, 5]
    assert [found[place].value for place in (0, 3, 5)] == [45, 45, 45]
    assert isinstance(found[1].error, ValueError)
    assert "ended with signal 9" in str(found[2].error)
    assert isinstance(found[4].error, TaskTimeoutError)
    assert str(found[4].error) == "not finished within 0.2 s"
    assert children() == before


def test_attempts_that_nobody_waits_for_end() -> None:
    """Who stops asking leaves no process behind, whatever it is doing."""
    before = children()
    running = LocalEngine(2).attempt(eval, [SUM, HANGS, HANGS], [60.0] * 3)
    next(running)
    running.close()
    assert children() == before


def test_nothing_to_attempt() -> None:
    """Without tasks no process is started."""
    assert list(LocalEngine(2).attempt(eval, [], [])) == []


def test_cores_are_those_that_may_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """The affinity counts, and where there is none the machine."""
    assert cores() >= 1
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert cores() == 3
