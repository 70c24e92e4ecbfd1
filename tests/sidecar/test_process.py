import logging
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from queue import SimpleQueue

import pytest

from advisor.sidecar.component import RestartPauses, Supervisor
from advisor.sidecar.process import ClockWatch, Life, run
from advisor.sidecar.selfview import cpu_seconds, resident_bytes
from advisor.sidecar.settings import Settings
from tests.sources.servers import FastClock, answer, hang, serving
from tests.support import until

GIB = 1 << 30
PROGRAM = (sys.executable, "-c", "from advisor.cli import main; main()", "sidecar")


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def status(port: int, path: str) -> int:
    """What the sidecar answers; 0 where it does not."""
    connection = HTTPConnection("127.0.0.1", port, timeout=5.0)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except OSError:
        return 0
    finally:
        connection.close()


@contextmanager
def sidecar(*args: str) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """The program as a process that serves, and its port."""
    port = free_port()
    command = [*PROGRAM, "--no-watch", "--listen", f"127.0.0.1:{port}", *args]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            until(lambda: status(port, "/healthz") == 200 or process.poll() is not None)
            yield process, port
        finally:
            process.kill()


def ended(process: "subprocess.Popen[str]", number: signal.Signals = signal.SIGTERM) -> tuple[int, float, str]:
    """Exit code after a signal, the seconds until then, and what it said."""
    began = time.monotonic()
    process.send_signal(number)
    code = process.wait(10.0)
    seconds = time.monotonic() - began
    assert process.stderr is not None
    return code, seconds, process.stderr.read()


class TestLifeOfTheProcess:
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_it_ends_when_told(self, number: signal.Signals) -> None:
        """Within two seconds and with exit code 0, by either signal."""
        with (
            serving(answer(b"workqueue_depth 1\n")) as target,
            sidecar("--operator-metrics", target.url) as (process, _),
        ):
            code, seconds, said = ended(process, number)
        assert (code, said) == (0, "")
        assert seconds < 2.0

    def test_it_ends_while_a_scrape_hangs(self) -> None:
        """Nobody waits for the operator."""
        with serving(hang) as target, sidecar("--operator-metrics", target.url) as (process, _):
            until(lambda: target.requests)
            code, seconds, said = ended(process)
        assert code == 0
        assert seconds < 2.0
        assert "scraper did not end in time, and is left" in said

    def test_an_operator_that_is_not_there(self) -> None:
        """The sidecar lives, has nothing to tell, and says once what is wrong."""
        port = free_port()
        with sidecar("--operator-metrics", f"http://127.0.0.1:{port}/metrics", "--scrape-interval", "100ms") as (
            process,
            own_port,
        ):
            time.sleep(1.0)
            assert (status(own_port, "/healthz"), status(own_port, "/readyz")) == (200, 503)
            code, _, said = ended(process)
        assert code == 0
        assert len(said.splitlines()) == 1
        expected = rf"\S+Z WARNING \S+ scraping http://127\.0\.0\.1:{port}/metrics: Connection refused\n"
        assert re.fullmatch(expected, said)

    def test_it_is_ready_once_it_has_scraped(self) -> None:
        """And tells its metrics."""
        body = b'workqueue_depth{name="raycluster"} 5\n'
        with serving(answer(body)) as target, sidecar("--operator-metrics", target.url) as (_, port):
            until(lambda: status(port, "/readyz") == 200)
            assert status(port, "/metrics") == 200

    def test_an_address_that_is_taken(self) -> None:
        """Is an error with the exit code of outputs, not a part that fails for ever."""
        with socket.create_server(("127.0.0.1", 0)) as taken:
            command = [*PROGRAM, "--no-watch", "--listen", f"127.0.0.1:{taken.getsockname()[1]}"]
            done = subprocess.run(command, capture_output=True, text=True, timeout=30.0, check=False)
        assert done.returncode == 3
        assert "Address already in use" in done.stderr
        assert "hint: name another address with --listen ADDRESS" in done.stderr

    def test_threads_that_never_end(self) -> None:
        """A thread that is no daemon would hold up the end of a program for ever; not of this one."""
        program = (
            "import sys, threading, time\n"
            "import advisor.sidecar.assembly as assembly\n"
            "from advisor.cli import main\n"
            "made = assembly.assemble\n"
            "def assemble(settings, life):\n"
            "    threading.Thread(target=time.sleep, args=(60,)).start()\n"
            "    life.on_tick.append(lambda _: time.sleep(60))\n"
            "    return made(settings, life)\n"
            "assembly.assemble = assemble\n"
            "main(sys.argv[1:])\n"
        )
        port = free_port()
        command = [sys.executable, "-c", program, "sidecar", "--no-watch", "--listen", f"127.0.0.1:{port}"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            until(lambda: status(port, "/healthz") == 200)
            code, seconds, _ = ended(process)
        assert code == 0
        assert seconds < 2.0


class Part:
    """A component that does as a test says."""

    def __init__(self, name: str, act: Callable[[threading.Event], None]) -> None:
        self.name = name
        self._act = act
        self.runs = 0

    def run(self, stop: threading.Event) -> None:
        """Act."""
        self.runs += 1
        self._act(stop)

    def health(self) -> str:
        """Always well."""
        return ""

    def counters(self) -> Mapping[str, float]:
        """How often it was run."""
        return {"runs": self.runs}


def fail(_: threading.Event) -> None:
    """Fail at once."""
    raise ValueError("out of order")


def wait(stop: threading.Event) -> None:
    """Work until the end."""
    stop.wait()


class TestRun:
    def test_a_part_that_dies_takes_no_other_with_it(
        self, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """It is logged, started again with a pause, and counted."""
        monkeypatch.setattr(RestartPauses, "FIRST", 0.05)
        good, bad = Part("good", wait), Part("bad", fail)
        asked: SimpleQueue[None] = SimpleQueue()
        lives: list[Life] = []

        def parts(_: Settings, life: Life) -> list[Part]:
            lives.append(life)
            return [bad, good]

        def end_later() -> None:
            until(lambda: bad.runs >= 4)
            asked.put(None)

        helper = threading.Thread(target=end_later)
        helper.start()
        assert run(Settings(), asked, parts) == 0
        helper.join()
        assert good.runs == 1
        failures = lives[0].self_view().component_failures
        assert failures == {"good": 0, "bad": bad.runs, "main": 0}
        assert lives[0].health() == {"bad": "ValueError: out of order"}
        assert "bad failed, and runs again in 0.05 s: out of order" in caplog.messages
        assert "bad failed, and runs again in 0.2 s: out of order" in caplog.messages

    def test_a_part_that_ends_by_itself_is_left_alone(self) -> None:
        """There is nothing more to do, as at the end of standard input."""
        part = Part("stdin", lambda _: None)
        supervisor = Supervisor(part, threading.Event())
        supervisor.start()
        assert supervisor.join(5.0)
        assert supervisor.has_ended
        assert (part.runs, supervisor.failures, supervisor.error) == (1, 0, "")

    def test_a_pause_after_a_failure_is_ended(self) -> None:
        """Nobody waits for it at the end."""
        stop = threading.Event()
        supervisor = Supervisor(Part("bad", fail), stop)
        supervisor.start()
        until(lambda: supervisor.failures)
        stop.set()
        assert supervisor.join(0.5)


class TestRestartPauses:
    def test_it_doubles_up_to_a_minute(self) -> None:
        """And begins anew after a minute that went well."""
        pauses = RestartPauses()
        assert [pauses.after(0.0) for _ in range(8)] == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]
        assert [pauses.after(59.0), pauses.after(60.0), pauses.after(0.0)] == [60.0, 1.0, 2.0]


class TestClockWatch:
    def test_a_clock_that_is_set(self) -> None:
        """By how much it was set, and 0 while it goes; steering it is no jump."""
        watch = ClockWatch()
        looks = [(1000.0, 5.0), (1001.0, 6.0), (1002.4, 7.0), (4603.0, 8.0), (4604.0, 9.0), (905.0, 10.0)]
        assert [round(watch.look(*look), 3) for look in looks] == [0.0, 0.0, 0.0, 3599.6, 0.0, -3700.0]


class TestLife:
    def test_a_clock_jump_is_told_and_counted(self, caplog: pytest.LogCaptureFixture) -> None:
        """To whoever keeps times."""
        clock = FastClock(jumps={1: -3600.0})
        life = Life(64 * GIB, clock)
        told: list[float] = []
        life.on_jump.append(told.append)
        for _ in range(4):
            life.tick()
            clock.pause(life.stop, 1.0)
        assert [round(one) for one in told] == [-3600]
        assert life.self_view().clock_jumps == 1
        assert caplog.messages == ["the clock was set by -3600.0 s"]

    def test_a_listener_that_fails(self, caplog: pytest.LogCaptureFixture) -> None:
        """Others are told all the same; it is counted, and said ever more rarely."""
        clock = FastClock()
        life = Life(64 * GIB, clock)
        told: list[float] = []

        def refuse(_: float) -> None:
            raise RuntimeError("no")

        life.on_tick.extend((refuse, told.append))
        for _ in range(100):
            life.tick()
        assert told == [clock.wall()] * 100
        assert life.self_view().component_failures == {"main": 100}
        assert len(caplog.messages) == 7

    def test_memory_at_its_limit(self, caplog: pytest.LogCaptureFixture) -> None:
        """Rings are told what they may hold; a process is always larger than a megabyte."""
        life = Life(1 << 20, FastClock())
        told: list[float] = []
        life.on_share.append(told.append)
        with caplog.at_level(logging.WARNING):
            life.tick()
        assert told == [0.5]
        assert life.self_view().memory_share == 0.5
        assert caplog.messages == ["memory: rings and digests hold 0.5 of their usual bounds"]

    def test_it_is_alive_while_it_ticks(self) -> None:
        """For half a minute after the last tick, whatever the parts do."""
        clock = FastClock()
        life = Life(64 * GIB, clock)
        found = []
        for seconds in (29.0, 2.0):
            clock.move(seconds)
            found.append(life.is_alive)
        life.tick()
        assert [*found, life.is_alive] == [True, False, True]


class TestOwnFigures:
    def test_cpu_and_memory(self) -> None:
        """Of this very process."""
        before = cpu_seconds()
        sum(range(100_000))
        assert cpu_seconds() > before
        assert 1 << 20 < resident_bytes() < 16 * GIB

    def test_a_system_that_does_not_tell(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The largest so far is taken then."""
        monkeypatch.setattr("advisor.sidecar.selfview._STATM", Path("/no/such/file"))
        assert resident_bytes() > 1 << 20
