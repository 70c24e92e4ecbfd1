import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from advisor.twin.grid import GridAxes
from advisor.web.whatifasked import Asked, read_asked
from advisor.web.whatifline import LineRules, Phase
from advisor.web.whatifprocess import Failed, Found, Process, Step, Task, Told, run
from advisor.web.whatifs import BusyError, WhatIfs
from tests.support import until
from tests.web.asking import TINY, Clocked, Played, basis, children, command, played, results

RULES = LineRules(at_a_time=1, most_waiting=1, lease_seconds=15.0, limit_seconds=35.0)
NOBODY = (None, None)


def workers(count: int) -> Asked:
    """So many workers, and the rest as it is."""
    return read_asked({"concurrency": str(count)}, basis().settings)


def task(**changed: object) -> Task:
    """A real question that is quickly answered."""
    around = GridAxes((1, 4), (100.0,), (), (None,))
    usual = Task(basis=basis(), asked=workers(4), around=around, draws=0, draws_around=0, seconds=60.0)
    return msgspec.structs.replace(usual, **changed)


@pytest.fixture
def clock() -> Clocked:
    """A clock that stands."""
    return Clocked()


@pytest.fixture
def stage(clock: Clocked) -> Iterator[tuple[WhatIfs, list[Played]]]:
    """What-ifs that run, with processes that the test plays."""
    whatifs, begun = played(RULES, clock)
    whatifs.start()
    yield whatifs, begun
    assert whatifs.stop(5.0)
    assert not [one for one in threading.enumerate() if one.name.startswith("what-if")]


Stage = tuple[WhatIfs, list[Played]]


def ask(whatifs: WhatIfs, count: int, reader: str = "me") -> str:
    """Ask for so many workers."""
    return whatifs.ask(reader, basis(), 1.0, workers(count), NOBODY)


def phase(whatifs: WhatIfs, name: str) -> Phase | None:
    """How a run stands; the look keeps it alive."""
    found = whatifs.look(name)
    return None if found is None else found.phase


class TestRuns:
    def test_from_question_to_result(self, stage: Stage) -> None:
        """Steps are seen on the way, the answer before the rest; asked again it is there at once."""
        whatifs, begun = stage
        name = ask(whatifs, 4)
        until(lambda: begun)
        assert begun[0].task.asked == workers(4)
        assert {1, 4} <= set(begun[0].task.around.concurrency)
        begun[0].words.put(Step(text="calibrating"))
        until(lambda: (found := whatifs.look(name)) is not None and found.step == "calibrating")
        answer, around = results()
        begun[0].words.put(Found(result=answer))
        until(lambda: (found := whatifs.look(name)) is not None and found.answer == answer)
        assert phase(whatifs, name) is Phase.RUNNING
        begun[0].words.put(Found(result=around, is_around=True))
        begun[0].words.put(None)
        until(lambda: phase(whatifs, name) is Phase.DONE)
        found = whatifs.look(name)
        assert found is not None
        assert (found.around, found.error, found.operator) == (around, "", "one")
        assert ask(whatifs, 4) == name
        assert len(begun) == 1

    def test_nobody_looks_any_more(self, stage: Stage, clock: Clocked) -> None:
        """Its process is ended, and the next one begins."""
        whatifs, begun = stage
        left = ask(whatifs, 4)
        until(lambda: begun)
        clock.now += 14.0
        stays = ask(whatifs, 8)
        clock.now += 2.0
        until(lambda: begun[0].is_ended)
        until(lambda: len(begun) == 2)
        assert phase(whatifs, left) is Phase.LEFT
        assert phase(whatifs, stays) is Phase.RUNNING

    def test_a_look_keeps_it(self, stage: Stage, clock: Clocked) -> None:
        """But not beyond its time; what was answered by then stays."""
        whatifs, begun = stage
        name = ask(whatifs, 4)
        until(lambda: begun)
        begun[0].words.put(Found(result=results()[0]))
        for _ in range(3):
            clock.now += 10.0
            assert phase(whatifs, name) is Phase.RUNNING
        clock.now += 10.0
        until(lambda: begun[0].is_ended)
        found = whatifs.look(name)
        assert found is not None
        assert (found.phase, found.answer) == (Phase.LATE, results()[0])

    def test_cancelling(self, stage: Stage) -> None:
        """One that runs is ended, one that waits never begins; asked again it is made again."""
        whatifs, begun = stage
        name = ask(whatifs, 4)
        until(lambda: begun)
        waiting = ask(whatifs, 8)
        whatifs.cancel(waiting)
        whatifs.cancel(name)
        until(lambda: begun[0].is_ended)
        assert (phase(whatifs, name), phase(whatifs, waiting)) == (Phase.CANCELLED, Phase.CANCELLED)
        assert ask(whatifs, 8) == waiting
        until(lambda: len(begun) == 2)
        assert begun[1].task.asked.concurrency == 8
        begun[1].finish()
        until(lambda: phase(whatifs, waiting) is Phase.DONE)

    def test_a_full_line(self, stage: Stage) -> None:
        """Costs the reader nothing."""
        whatifs, begun = stage
        ask(whatifs, 2)
        until(lambda: begun)
        ask(whatifs, 3)
        with pytest.raises(BusyError, match="too many what-ifs wait") as caught:
            ask(whatifs, 4)
        assert not caught.value.is_readers

    def test_a_process_that_dies(self, stage: Stage) -> None:
        """Is told, and does not stop the next one."""
        whatifs, begun = stage
        name = ask(whatifs, 4)
        until(lambda: begun)
        begun[0].words.put(None)
        until(lambda: phase(whatifs, name) is Phase.FAILED)
        found = whatifs.look(name)
        assert found is not None
        assert "its process ended before it was through" in found.error
        other = ask(whatifs, 8)
        until(lambda: len(begun) == 2)
        begun[1].words.put(Failed(error="no load"))
        begun[1].words.put(None)
        until(lambda: phase(whatifs, other) is Phase.FAILED)
        found = whatifs.look(other)
        assert found is not None
        assert found.error == "no load"


def test_asked_too_often(clock: Clocked) -> None:
    """A reader who asks for more than may be is told when to try again; a known question is free, others may ask."""
    whatifs, _ = played(LineRules(), clock, per_minute=2)
    first = ask(whatifs, 2)
    ask(whatifs, 3)
    with pytest.raises(BusyError, match="too often") as caught:
        ask(whatifs, 4)
    assert caught.value.is_readers
    assert caught.value.retry_seconds == pytest.approx(30.0)
    assert ask(whatifs, 2) == first
    ask(whatifs, 4, "somebody else")
    clock.now += 30.0
    ask(whatifs, 5)


def test_results_are_forgotten(clock: Clocked) -> None:
    """The ones that were looked at the longest ago, where there are too many."""
    whatifs, begun = played(LineRules(most_waiting=1, most_kept=2), clock)
    whatifs.start()
    names = []
    for count in (2, 3, 4):
        names.append(ask(whatifs, count))
        until(lambda: len(begun) == len(names))
        begun[-1].finish()
        until(lambda: phase(whatifs, names[-1]) is Phase.DONE)
        clock.now += 1.0
    assert [phase(whatifs, name) for name in names] == [None, Phase.DONE, Phase.DONE]
    assert whatifs.stop()


def test_no_process_is_to_be_had(clock: Clocked) -> None:
    """That is told as the reason."""

    def none(_: Task) -> Played:
        raise OSError("no more processes")

    whatifs = WhatIfs(RULES, TINY, clock=clock, begin=none)
    whatifs.start()
    name = ask(whatifs, 4)
    until(lambda: phase(whatifs, name) is Phase.FAILED)
    found = whatifs.look(name)
    assert found is not None
    assert found.error == "it cannot be started: no more processes"
    assert whatifs.stop()


def test_no_thread_is_to_be_had(clock: Clocked, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is a place lost where the system gives no thread."""
    whatifs, begun = played(RULES, clock)
    whatifs.start()
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name.startswith("what-if "):
            raise RuntimeError("can't start new thread")
        start(thread)

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        name = ask(whatifs, 4)
        until(lambda: phase(whatifs, name) is Phase.FAILED)
    ask(whatifs, 8)
    until(lambda: begun)
    assert whatifs.stop()


def test_cancelled_before_its_process_is_there(clock: Clocked) -> None:
    """The process that comes late is ended at once."""
    begins, begun = threading.Event(), list[Played]()

    def begin(one: Task) -> Played:
        begins.wait(10.0)
        begun.append(Played(one))
        return begun[-1]

    whatifs = WhatIfs(RULES, TINY, clock=clock, begin=begin)
    whatifs.start()
    name = ask(whatifs, 4)
    until(lambda: phase(whatifs, name) is Phase.RUNNING)
    whatifs.cancel(name)
    begins.set()
    until(lambda: begun and begun[0].is_ended)
    assert phase(whatifs, name) is Phase.CANCELLED
    assert whatifs.stop()


class TestTask:
    def test_what_it_tells(self) -> None:
        """Steps, then the settings in force and those asked, then the combinations around, as ``what_if`` has them."""
        told: list[Told] = []
        run(task(), told.append)
        answer, around = (one for one in told if isinstance(one, Found))
        assert [cell.concurrency for cell in answer.result.cells] == [1, 4]
        wait = [cell.estimate("queue_wait_seconds_mean") for cell in answer.result.cells]
        assert wait[0] is not None
        assert wait[1] is not None
        assert wait[1].value < 0.5 * wait[0].value
        assert (answer.is_around, around.is_around, around.result.is_complete) == (False, True, True)
        assert isinstance(told[0], Step)

    def test_no_time(self) -> None:
        """What is asked is answered; of the rest there is what was finished."""
        told: list[Told] = []
        moments = iter([0.0, 0.0, 100.0])
        run(task(), told.append, lambda: next(moments))
        around = told[-1]
        assert isinstance(around, Found)
        assert (len(around.result.cells), around.result.cells_wanted) == (1, 2)

    def test_nothing_to_simulate(self) -> None:
        """Is told as an error."""
        told: list[Told] = []
        run(task(around=GridAxes((), ())), told.append)
        assert told[-1] == Failed(error="concurrency and qps need at least one value each")


class TestProcess:
    def test_a_process_of_its_own(self) -> None:
        """Tells the same as here, bit for bit, and is gone afterwards."""
        here: list[Told] = []
        run(task(), here.append)
        assert list(Process(task()).told()) == here

    def test_ended_in_the_middle(self) -> None:
        """Whoever reads what it tells is through at once, and nothing is left of it."""
        process = Process(task(draws=1000))
        told = process.told()
        assert isinstance(next(told), Step)
        (child,) = children("whatifprocess")
        process.end()
        assert all(isinstance(one, Step) for one in told)
        assert child not in children()

    def test_it_ends_with_its_parent(self, tmp_path: Path) -> None:
        """Though that is killed."""
        program = (
            "import sys; sys.path[:] = sys.argv[2:]\n"
            "from advisor.web.whatifprocess import Process, Task; import msgspec\n"
            "process = Process(msgspec.json.decode(open(sys.argv[1], 'rb').read(), type=Task))\n"
            "for _ in process.told(): print(process._process.pid, flush=True)\n"
        )
        path = tmp_path / "task.json"
        path.write_bytes(msgspec.json.encode(task(draws=1000)))
        with subprocess.Popen([sys.executable, "-c", program, str(path), *sys.path], stdout=subprocess.PIPE) as parent:
            assert parent.stdout is not None
            child = int(parent.stdout.readline())
            parent.kill()
        until(lambda: "whatifprocess" not in command(child))


def test_stopping_ends_real_processes() -> None:
    """Within the time that there is, also in the middle of a simulation."""
    whatifs = WhatIfs(RULES, replace(TINY, draws=1000))
    whatifs.start()
    name = ask(whatifs, 4)
    until(lambda: (found := whatifs.look(name)) is not None and found.step)
    assert whatifs.stop(5.0)
    assert not children("whatifprocess")
    assert phase(whatifs, name) is Phase.FAILED
