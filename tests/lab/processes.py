"""Processes of the lab: each a part that can be paused, killed and started again, and that never outlives the lab."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["LabError", "Process", "Processes", "wait_until"]

_TERMINATION_SECONDS = 35.0
_TAIL_BYTES = 1500


class LabError(Exception):
    """The lab cannot go on; the text says what happened and where to look."""


def wait_until(what: str, is_true: Callable[[], bool], seconds: float, pause: float = 0.25) -> None:
    """Wait for something.

    Raises:
        LabError: it did not come in time.
    """
    deadline = time.monotonic() + seconds
    while not is_true():
        if time.monotonic() > deadline:
            raise LabError(f"{what}: not within {seconds:.0f} s")
        time.sleep(pause)


@dataclass(slots=True)
class Process:
    """A part: what starts it, and what runs of it. ``enter`` are files that take its process id before it starts."""

    name: str
    command: Sequence[str | Path]
    log: Path
    environ: Mapping[str, str] = field(default_factory=dict)
    enter: Sequence[Path] = ()
    running: "subprocess.Popen[bytes] | None" = None

    def start(self) -> None:
        """Start it, at the end of its log.

        It dies with the lab, whatever ends that, and a Ctrl-C in the lab's terminal does not reach it.
        """
        # The shell enters the cgroups, so that the program sees its CPU limit from its first instruction on.
        enter = "".join(f"echo $$ > {path}; " for path in self.enter)
        words = [str(word) for word in self.command]
        with self.log.open("ab") as log:
            self.running = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "sh", "-c", f'{enter}exec "$@"', "sh", *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **self.environ},
                start_new_session=True,
            )

    @property
    def pid(self) -> int | None:
        """Its process id while it runs."""
        return self.running.pid if self.running is not None and self.running.poll() is None else None

    def send(self, number: signal.Signals) -> None:
        """Send a signal, if it runs."""
        if self.running is not None and self.running.poll() is None:
            self.running.send_signal(number)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End it and wait for the end; one that does not heed a SIGTERM is killed."""
        if self.running is None:
            return
        self.send(signal.SIGCONT)
        self.send(number)
        try:
            self.running.wait(_TERMINATION_SECONDS)
        except subprocess.TimeoutExpired:
            self.running.kill()
            self.running.wait()
        self.running = None

    def check(self) -> None:
        """See that it still runs.

        Raises:
            LabError: it has ended, with the end of its log.
        """
        if self.running is not None and self.running.poll() is not None:
            tail = self.log.read_bytes()[-_TAIL_BYTES:].decode("utf-8", "replace")
            raise LabError(f"{self.name} ended with {self.running.returncode}; the end of {self.log}:\n{tail}")


class Processes:
    """All parts by name, in the order in which they were started."""

    def __init__(self) -> None:
        self._parts: dict[str, Process] = {}

    def start(self, process: Process) -> Process:
        """Start a part; one of the same name has to have ended."""
        self._parts[process.name] = process
        process.start()
        return process

    def get(self, name: str) -> Process:
        """A part.

        Raises:
            LabError: there is none of this name.
        """
        if name not in self._parts:
            raise LabError(f"no part {name}; there are: {', '.join(self._parts)}")
        return self._parts[name]

    def do(self, name: str, action: str) -> None:
        """Pause, resume, kill or restart a part."""
        process = self.get(name)
        if action == "pause":
            process.send(signal.SIGSTOP)
        elif action == "resume":
            process.send(signal.SIGCONT)
        else:
            process.stop(signal.SIGKILL if action == "kill" else signal.SIGTERM)
        if action == "restart":
            process.start()

    def check(self) -> None:
        """See that all parts run that were not stopped on purpose."""
        for process in self._parts.values():
            process.check()

    def stop(self, name: str) -> None:
        """End one part and forget it."""
        self.get(name).stop()
        del self._parts[name]

    def stop_all(self) -> None:
        """End everything, the last started first."""
        for name in reversed(list(self._parts)):
            self._parts[name].stop()
        self._parts.clear()

    def pids(self) -> dict[str, int]:
        """Process ids by name."""
        return {name: pid for name, process in self._parts.items() if (pid := process.pid) is not None}
