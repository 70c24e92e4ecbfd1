"""How a run ends that does not end by itself: Ctrl-C, SIGTERM, a full disk, a reader that has left, a fault."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from advisor.cli import entry
from tests.firsthour.program import COMMAND, EXAMPLE
from tests.support import run


@pytest.fixture
def silent() -> Iterator[tuple[str, socket.socket]]:
    """A server that takes connections and never answers: its address and its socket."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60.0)
        yield f"http://127.0.0.1:{server.getsockname()[1]}", server


@contextmanager
def asking(folder: Path, server: socket.socket, *args: str) -> Iterator[subprocess.Popen[str]]:
    """The program, once it waits for an answer of the server; its temporary files go into the folder ``tmp``."""
    (folder / "tmp").mkdir()
    path = os.pathsep.join(filter(None, sys.path))
    process = subprocess.Popen(
        [*COMMAND, *args],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder / "tmp"), "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        connection, _ = server.accept()
        with connection:
            yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize(
    "args",
    [
        ("analyze", "--prometheus"),
        ("analyze", "--sidecar"),
        ("analyze", "--all", "--out", "reports", "--prometheus"),
        ("record", "--out", "recording", "--prometheus"),
    ],
    ids=["prometheus", "sidecar", "all", "record"],
)
def test_a_signal_ends_it_with_nothing_left(
    args: tuple[str, ...], number: signal.Signals, code: int, silent: tuple[str, socket.socket], tmp_path: Path
) -> None:
    """While a server lets it wait: one word, the usual exit code, and neither a temporary file nor an empty folder."""
    url, server = silent
    with asking(tmp_path, server, *args, url) as process:
        process.send_signal(number)
        printed, errors = process.communicate(timeout=50)
    assert (process.returncode, printed, errors.strip()) == (code, "", "interrupted")
    assert [path.name for path in tmp_path.rglob("*")] == ["tmp"]


def test_what_was_not_scraped_is_said(silent: tuple[str, socket.socket], tmp_path: Path) -> None:
    """A scrape that is ended before it has anything says why nothing came, and leaves no folder behind."""
    url, server = silent
    with asking(tmp_path, server, "record", "--out", "recording", "--scrape", url) as process:
        process.send_signal(signal.SIGINT)
        printed, errors = process.communicate(timeout=50)
    assert (process.returncode, printed) == (3, "")
    assert f"error: {url}/metrics: no scrape succeeded of" in errors
    assert [path.name for path in tmp_path.rglob("*")] == ["tmp"]


def test_sigterm_is_as_before_afterwards() -> None:
    """Who calls the command line in a process of their own keeps their handling of signals."""
    before = signal.getsignal(signal.SIGTERM)
    assert run("--version") == 0
    assert signal.getsignal(signal.SIGTERM) is before


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """What bash makes of a line with ``advisor`` in it for the program."""
    path = os.pathsep.join(filter(None, sys.path))
    program = f'advisor() {{ PYTHONPATH="{path}" "{COMMAND[0]}" -c "{COMMAND[2]}" "$@"; }}; {line}'
    return subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=False)


FULL = "/dev/full"
needs_full = pytest.mark.skipif(not Path(FULL).exists(), reason="no /dev/full here")


@needs_full
@pytest.mark.parametrize("args", ["--help", "explain", f"analyze --recording '{EXAMPLE}' --output json"])
def test_a_full_disk_is_told(args: str) -> None:
    """Standard output that takes nothing more is an error with its reason, and no traceback."""
    done = shell(f"advisor {args} > {FULL}")
    assert done.returncode == 3
    assert done.stderr == (
        "error: standard output: cannot be written: No space left on device\n"
        "hint: the disk that it goes to may be full\n"
    )


@needs_full
@pytest.mark.parametrize(("args", "code"), [("nonsense", 2), ("analyze --facts nowhere", 3), ("--version", 0)])
def test_errors_that_nobody_can_read_keep_their_exit_code(args: str, code: int) -> None:
    """A full disk behind standard error changes nothing of the outcome."""
    assert shell(f"advisor {args} 2> {FULL}").returncode == code


@pytest.mark.parametrize("args", ["explain", f"analyze --recording '{EXAMPLE}' --output json"])
def test_a_reader_that_leaves_is_no_finding(args: str) -> None:
    """Where head has seen enough nothing is said, and the exit code is not the 1 of --fail-on."""
    done = shell(f"advisor {args} | true; exit ${{PIPESTATUS[0]}}")
    assert done.stderr == ""
    assert done.returncode in (0, 141)


def test_a_fault_is_told_as_one(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """What nobody foresaw ends with 70, with all that a report of it needs: no gate takes it for a finding."""

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("advisor.cli.analyze.report_of", broken)
    assert run("analyze", "--recording", str(EXAMPLE)) == entry.FAULT == 70
    errors = capsys.readouterr().err
    assert "ZeroDivisionError" in errors
    assert errors.splitlines()[-1].startswith("error: this is a fault of kuberay-advisor ")


def test_what_fails_while_it_is_closed_for_an_interrupt_is_no_fault(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An interrupt may come while a connection is half made, which then cannot be closed."""

    def broken(*_: object) -> None:
        try:
            raise KeyboardInterrupt
        finally:
            int("raw stream has been detached")

    monkeypatch.setattr("advisor.cli.analyze.report_of", broken)
    assert run("analyze", "--recording", str(EXAMPLE)) == entry.INTERRUPTED
    assert capsys.readouterr().err.splitlines()[-1] == "interrupted"


def test_a_file_that_is_not_there_is_no_fault_of_the_disk(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only standard output fails without a file's name; any other error of the system is a fault."""

    def broken(*_: object, **__: object) -> None:
        raise FileNotFoundError(2, "No such file or directory", "x")

    monkeypatch.setattr("advisor.cli.analyze.report_of", broken)
    assert run("analyze", "--recording", str(EXAMPLE)) == 70
    assert "FileNotFoundError" in capsys.readouterr().err
