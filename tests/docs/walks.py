"""The commands that pages show, read from Markdown and run as a reader would.

``docs/tested-docs.md`` says how a page marks what is run and what is compared; this is what does it.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.lab.controlplane import free_ports
from tests.support import ROOT

__all__ = ["Block", "Command", "Outcome", "blocks_of", "differs", "play", "programs_of"]

PORTS: Final = ("8080", "8090", "8095", "9090")
"""Ports that pages name; each becomes a free one."""

_FENCE: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MARK: Final = re.compile(r"<!-- (not run|stays|figures differ|file)(?:: ([^>]*?))? -->\n\Z")
_FIGURE: Final = re.compile(r"\d[\d,.:]*")
_PLACES: Final = re.compile(rf"(?:localhost|127\.0\.0\.1):({'|'.join(PORTS)})\b")
_SECONDS: Final = 50.0
_PROGRAM: Final = '#!/bin/sh\nexec "{python}" -c "from advisor.cli import main; main()" "$@"\n'


@dataclass(frozen=True, slots=True)
class Command:
    """What a reader types, and what the page says that it prints."""

    text: str
    shown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block; ``mark`` is what the comment before it says, ``""`` without one."""

    language: str
    text: str
    mark: str
    told: str

    def commands(self) -> Iterator[Command]:
        """Lines after ``$``, each with the lines up to the next; in a block without a language every line is one."""
        if not self.language:
            yield from (Command(line, ()) for line in self.text.splitlines())
            return
        typed: str | None = None
        shown: list[str] = []
        for line in self.text.splitlines():
            if line.startswith("$ "):
                if typed is not None:
                    yield Command(typed, tuple(shown))
                typed, shown = line[2:], []
            elif typed is not None and typed.endswith("\\"):
                typed = f"{typed[:-1].rstrip()} {line.strip()}"
            else:
                shown.append(line)
        if typed is not None:
            yield Command(typed, tuple(shown))


@dataclass
class Outcome:
    """What became of a page's commands: what went wrong, in words, and how many were run."""

    faults: list[str] = field(default_factory=list)
    run: int = 0


def blocks_of(page: Path) -> list[Block]:
    """Every fenced block of a page, with the mark on the line before it."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(text):
        mark = _MARK.search(text[: match.start()])
        found.append(Block(match[1], match[2], mark[1] if mark else "", (mark[2] or "") if mark else ""))
    return found


def programs_of(page: Path) -> set[str]:
    """First words of all commands that are run."""
    return {
        command.text.split()[0]
        for block in blocks_of(page)
        if block.language == "console" and block.mark != "not run"
        for command in block.commands()
    }


def differs(shown: Sequence[str], printed: str, *, figures: bool = True) -> str:
    """Where output is not what a page shows, ``""`` if it is; a line ``...`` on the page stands for any lines."""
    lines = [_bare(line, figures=figures) for line in printed.rstrip().splitlines()]
    start, free = 0, False
    for chunk in _chunks(shown):
        if chunk is None:
            free = True
            continue
        wanted = [_bare(line, figures=figures) for line in chunk]
        places = range(start, len(lines) + 1) if free else [start]
        place = next((one for one in places if lines[one : one + len(wanted)] == wanted), None)
        if place is None:
            return "\n".join(("the page shows", *chunk, "and this was printed", printed.rstrip()))
        start, free = place + len(wanted), False
    if start < len(lines) and not free:
        return "\n".join(("the page ends here, and this followed", *lines[start:]))
    return ""


def _chunks(shown: Sequence[str]) -> Iterator[list[str] | None]:
    chunk: list[str] = []
    for line in [one.rstrip() for one in shown]:
        if line == "...":
            if chunk:
                yield chunk
            yield None
            chunk = []
        else:
            chunk.append(line)
    if chunk:
        yield chunk


def _bare(line: str, *, figures: bool) -> str:
    """A line without blanks at its end; without figures every number is the same and so are runs of blanks."""
    if figures:
        return line.rstrip()
    return " ".join(_FIGURE.sub("#", line).split())


def play(page: Path, folder: Path) -> Outcome:
    """Run a page's commands one after the other in a folder of its own, and compare what they print."""
    session = _Session(folder)
    outcome = Outcome()
    try:
        for block in blocks_of(page):
            if block.mark == "file":
                (folder / block.told).write_text(session.to_run(block.text), encoding="utf-8")
            if block.language != "console" or block.mark == "not run":
                continue
            commands = list(block.commands())
            for command, after in zip(commands, [*commands[1:], None], strict=True):
                outcome.run += 1
                fault = session.stay(command) if block.mark == "stays" else session.step(command, block, after)
                if fault:
                    # What follows rests on it.
                    outcome.faults.append(f"$ {command.text}\n{fault}")
                    return outcome
    finally:
        outcome.faults += session.close()
    return outcome


class _Session:
    """One reader: a folder, ports, a terminal, and more terminals in which programs stay."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._ports = dict(zip(PORTS, map(str, free_ports(len(PORTS))), strict=True))
        self._names = {port: name for name, port in self._ports.items()}
        self._place, self._status = folder, 0
        self._staying: list[tuple[Command, subprocess.Popen[bytes]]] = []
        (folder / "advisor").mkdir()
        (folder / "advisor" / "examples").symlink_to(ROOT / "advisor" / "examples")
        program = folder / ".bin" / "kuberay-advisor"
        program.parent.mkdir()
        program.write_text(_PROGRAM.format(python=sys.executable), encoding="utf-8")
        program.chmod(0o755)
        self._environ = {
            **os.environ,
            "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
            "COLUMNS": "120",
            "PYTHONSAFEPATH": "1",
            "KUBERAY_ADVISOR_LISTEN_PORT": self._ports["8095"],
        }

    def to_run(self, text: str) -> str:
        """The same with ports that are free."""
        return _PLACES.sub(lambda match: f"127.0.0.1:{self._ports[match[1]]}", text)

    def as_shown(self, printed: str, page: str) -> str:
        """The same with the addresses of the page."""
        host = "localhost" if "localhost" in page else "127.0.0.1"
        for port, name in self._names.items():
            printed = printed.replace(f"127.0.0.1:{port}", f"{host}:{name}").replace(
                f"localhost:{port}", f"{host}:{name}"
            )
        return printed

    def step(self, command: Command, block: Block, after: Command | None) -> str:
        """Run to the end in the first terminal; what is wrong with it."""
        script = f"(exit {self._status})\n{self.to_run(command.text)}\nstatus=$?\npwd > .place\nexit $status\n"
        done = subprocess.run(
            ["bash", "-c", script.replace("pwd > .place", f"pwd > '{self._folder}/.place'")],
            cwd=self._place,
            env=self._environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        self._status = done.returncode
        self._place = Path((self._folder / ".place").read_text(encoding="utf-8").strip())
        if done.returncode and (after is None or after.text != "echo $?"):
            return f"exit code {done.returncode}, and the page does not ask for it:\n{done.stdout}"
        if not command.shown:
            return ""
        printed = self.as_shown(done.stdout, block.text)
        return differs(command.shown, printed, figures=block.mark != "figures differ")

    def stay(self, command: Command) -> str:
        """Start in a terminal of its own, and wait until it has printed what the page shows."""
        log = self._folder / f".terminal-{len(self._staying)}"
        with log.open("wb") as file:
            process = subprocess.Popen(
                ["bash", "-c", self.to_run(command.text)],
                cwd=self._place,
                env=self._environ,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._staying.append((command, process))
        end = time.monotonic() + _SECONDS
        shown = (*command.shown, "...")
        while fault := differs(shown, self.as_shown(log.read_text("utf-8"), "\n".join(command.shown)), figures=False):
            if process.poll() is not None or time.monotonic() > end:
                return fault
            time.sleep(0.05)
        return ""

    def close(self) -> list[str]:
        """Press Ctrl-C in every other terminal, the last one first; what did not end well."""
        faults = []
        for command, process in reversed(self._staying):
            if process.poll() is not None:
                faults.append(f"$ {command.text}\nended by itself with exit code {process.returncode}")
                continue
            os.killpg(process.pid, signal.SIGINT)
            try:
                process.wait(20.0)
            except subprocess.TimeoutExpired:
                faults.append(f"$ {command.text}\ndoes not end with Ctrl-C")
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
        return faults
