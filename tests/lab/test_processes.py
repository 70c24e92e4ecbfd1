import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.lab import processes as module
from tests.lab.processes import LabError, Process, Processes, wait_until
from tests.support import ROOT

SLEEP = ("sleep", "600")


@pytest.fixture
def parts() -> Iterator[Processes]:
    """Parts that end with the test."""
    parts = Processes()
    yield parts
    parts.stop_all()


def soon(what: str, is_true: Callable[[], bool]) -> None:
    """Wait for what another process does."""
    wait_until(what, is_true, 30.0, pause=0.01)


def until_said(part: Process, text: str) -> None:
    """Wait until a part has printed exactly this."""
    soon("its words", lambda: part.log.read_text(encoding="utf-8") == text)


def state(pid: int | None) -> str:
    """The kernel's letter for a process; nothing where there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def is_running(pid: int | None, program: str = "sleep") -> bool:
    """Whether a process has come to be this program, and is neither dead nor a corpse."""
    try:
        name = Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return name == program and state(pid) not in ("Z", "X", "")


def shell(name: str, text: str, log: Path) -> Process:
    """A part that runs a shell script."""
    return Process(name, ("sh", "-c", text), log)


def test_a_part_runs_until_it_is_stopped(parts: Processes, tmp_path: Path) -> None:
    """Its id is known while it runs, and afterwards it is forgotten."""
    part = parts.start(Process("one", SLEEP, tmp_path / "one.log"))
    pid = part.pid
    soon("the program", lambda: is_running(pid))
    parts.check()
    assert parts.pids() == {"one": pid}
    parts.stop("one")
    assert not is_running(pid)
    assert (part.pid, parts.pids()) == (None, {})
    with pytest.raises(LabError, match="no part one"):
        parts.get("one")


def test_what_it_prints_is_in_its_log(parts: Processes, tmp_path: Path) -> None:
    """Output and errors, each start after the one before; it reads nothing and sees the variables given."""
    log = tmp_path / "one.log"
    log.write_text("before\n", encoding="utf-8")
    part = shell("one", 'echo "$GREETING"; cat; echo error >&2; echo end', log)
    part.environ = {"GREETING": "hello"}
    for _ in range(2):
        parts.start(part)
        soon("its end", lambda: part.pid is None)
    assert log.read_text(encoding="utf-8") == "before\n" + "hello\nerror\nend\n" * 2
    assert "GREETING" not in os.environ


def test_arguments_reach_the_program_as_they_are(parts: Processes, tmp_path: Path) -> None:
    """Whatever a shell would do with them."""
    log = tmp_path / "one.log"
    part = parts.start(Process("one", ("printf", "%s\\n", "a b", "$HOME", "'", "*"), log))
    soon("its end", lambda: part.pid is None)
    assert log.read_text(encoding="utf-8").splitlines() == ["a b", "$HOME", "'", "*"]


def test_it_enters_before_it_starts(parts: Processes, tmp_path: Path) -> None:
    """Each file has the id of the process that becomes the program, already when the program begins."""
    files = (tmp_path / "cpu.procs", tmp_path / "memory.procs")
    part = shell("one", f"cat {files[0]} {files[1]}; echo $$; sleep 600", tmp_path / "one.log")
    part.enter = files
    parts.start(part)
    soon("its words", lambda: part.log.read_text(encoding="utf-8").count("\n") == 3)
    assert part.log.read_text(encoding="utf-8").split() == [str(part.pid)] * 3


def test_pause_and_resume(parts: Processes, tmp_path: Path) -> None:
    """A paused part stands still but is there; resumed, it goes on as the same process."""
    part = parts.start(Process("one", SLEEP, tmp_path / "one.log"))
    pid = part.pid
    soon("the program", lambda: is_running(pid))
    parts.do("one", "pause")
    soon("the pause", lambda: state(pid) == "T")
    parts.check()
    parts.do("one", "resume")
    soon("going on", lambda: state(pid) == "S")
    assert part.pid == pid


def test_a_paused_part_can_be_stopped(parts: Processes, tmp_path: Path) -> None:
    """It is woken to end by itself."""
    part = shell("one", 'trap "echo told; exit 0" TERM; echo ready; while :; do sleep 0.02; done', tmp_path / "one.log")
    parts.start(part)
    until_said(part, "ready\n")
    pid = part.pid
    parts.do("one", "pause")
    soon("the pause", lambda: state(pid) == "T")
    parts.stop("one")
    assert part.log.read_text(encoding="utf-8") == "ready\ntold\n"


def test_a_kill_leaves_no_time(parts: Processes, tmp_path: Path) -> None:
    """The part cannot do anything more, but it is no failure, since it was wanted; it can be started again."""
    part = shell(
        "one", 'trap "echo told; exit 0" TERM INT HUP; echo ready; while :; do sleep 0.02; done', tmp_path / "one.log"
    )
    parts.start(part)
    until_said(part, "ready\n")
    first = part.pid
    parts.do("one", "kill")
    assert not is_running(first, "sh")
    parts.check()
    assert parts.pids() == {}
    parts.do("one", "restart")
    assert part.pid not in (None, first)
    until_said(part, "ready\nready\n")


def test_a_restart_is_another_process(parts: Processes, tmp_path: Path) -> None:
    """The one before has ended when the next one starts."""
    part = parts.start(Process("one", SLEEP, tmp_path / "one.log"))
    first = part.pid
    parts.do("one", "restart")
    assert part.pid not in (None, first)
    assert not is_running(first)
    soon("the program", lambda: is_running(part.pid))


def test_one_that_does_not_heed_is_killed(parts: Processes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stop always comes to an end."""
    monkeypatch.setattr(module, "_TERMINATION_SECONDS", 0.1)
    part = shell("one", 'trap "" TERM; echo ready; exec sleep 600', tmp_path / "one.log")
    parts.start(part)
    until_said(part, "ready\n")
    pid = part.pid
    parts.stop("one")
    assert not is_running(pid)


def test_the_end_of_a_part_is_told_with_the_end_of_its_log(parts: Processes, tmp_path: Path) -> None:
    """Its exit code, where the log is, and the last of it only; other parts are not blamed."""
    parts.start(Process("healthy", SLEEP, tmp_path / "healthy.log"))
    text = "i=0; while [ $i -lt 500 ]; do echo line $i; i=$((i+1)); done; echo 'cannot listen'; exit 3"
    part = parts.start(shell("one", text, tmp_path / "one.log"))
    soon("its end", lambda: part.pid is None)
    with pytest.raises(LabError) as failed:
        parts.check()
    told = str(failed.value)
    assert told.startswith(f"one ended with 3; the end of {tmp_path / 'one.log'}:\n")
    assert told.endswith("line 499\ncannot listen\n")
    assert "line 100\n" not in told


def test_signals_to_a_part_that_ended_do_nothing(parts: Processes, tmp_path: Path) -> None:
    """It may end at any time, also between a look and a signal."""
    part = parts.start(shell("one", "exit 0", tmp_path / "one.log"))
    soon("its end", lambda: part.pid is None)
    parts.do("one", "pause")
    parts.do("one", "resume")
    parts.do("one", "kill")
    Process("never", SLEEP, tmp_path / "never.log").stop()
    parts.check()


def test_a_part_that_is_not_there(parts: Processes, tmp_path: Path) -> None:
    """The message names those that are."""
    for name in ("etcd", "kwok"):
        parts.start(Process(name, SLEEP, tmp_path / f"{name}.log"))
    for act in (
        lambda: parts.get("scheduler"),
        lambda: parts.do("scheduler", "pause"),
        lambda: parts.stop("scheduler"),
    ):
        with pytest.raises(LabError, match=r"no part scheduler; there are: etcd, kwok$"):
            act()


def test_all_stop_in_reverse_order(parts: Processes, tmp_path: Path) -> None:
    """What was started last and needs the others ends first, and each has ended before the next is told to."""
    order = tmp_path / "order"
    for name in ("etcd", "api", "operator"):
        end = f"sleep 0.05; echo {name} >> {order}; exit 0"
        text = f"trap '{end}' TERM; echo ready; while :; do sleep 0.02; done"
        part = parts.start(shell(name, text, tmp_path / f"{name}.log"))
        until_said(part, "ready\n")
    parts.stop_all()
    assert order.read_text(encoding="utf-8").split() == ["operator", "api", "etcd"]
    assert parts.pids() == {}


def test_a_part_dies_with_the_lab(tmp_path: Path) -> None:
    """However the lab ends, even killed, nothing of it goes on running."""
    program = f"""
import time
from pathlib import Path
from tests.lab.processes import Process, Processes
part = Processes().start(Process("one", {SLEEP!r}, Path({str(tmp_path / "one.log")!r})))
print(part.pid, flush=True)
time.sleep(600)
"""
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    lab = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environ)
    try:
        assert lab.stdout is not None
        pid = int(lab.stdout.readline())
        soon("the program", lambda: is_running(pid))
    finally:
        lab.kill()
        lab.communicate()
    soon("its death", lambda: not is_running(pid))


def test_an_interrupt_of_the_lab_reaches_no_part(parts: Processes, tmp_path: Path) -> None:
    """A Ctrl-C goes to the terminal's group of processes, and parts are not in it: the lab ends them itself."""
    part = parts.start(Process("one", SLEEP, tmp_path / "one.log"))
    assert part.pid is not None
    assert os.getpgid(part.pid) == os.getsid(part.pid) == part.pid
    assert os.getpgid(part.pid) != os.getpgid(0)


class TestWaitUntil:
    def test_it_asks_until_it_is_so(self) -> None:
        """And not again."""
        answers = iter([False, False, True])
        wait_until("it", lambda: next(answers), 60.0, pause=0.0)
        assert list(answers) == []

    def test_it_asks_once_at_least(self) -> None:
        """What is so already needs no time."""
        wait_until("it", lambda: True, 0.0)

    def test_what_did_not_come_is_named(self) -> None:
        """With the seconds that were waited."""
        with pytest.raises(LabError, match=r"^the proxy: not within 0 s$"):
            wait_until("the proxy", lambda: False, 0.0, pause=0.0)

    def test_an_error_ends_it(self, parts: Processes, tmp_path: Path) -> None:
        """A part that ends while something is waited for is told at once."""
        parts.start(shell("one", "kill -KILL $$", tmp_path / "one.log"))

        def check() -> bool:
            parts.check()
            return False

        with pytest.raises(LabError, match=f"one ended with -{signal.SIGKILL:d}"):
            wait_until("it", check, 30.0, pause=0.01)
