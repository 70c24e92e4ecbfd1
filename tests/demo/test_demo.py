"""`kuberay-advisor demo` as a process: pages with a history soon, and nothing left at the end."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.served import get, port_of
from tests.support import until

PROGRAM = (sys.executable, "-c", "from advisor.cli import main; main()", "demo")


@contextmanager
def running(folder: Path, *args: str) -> Iterator[tuple["subprocess.Popen[str]", Path]]:
    """The program as a process whose files would all be in one folder, and what it tells."""
    log, home = folder / "told", folder / "home"
    home.mkdir()
    environ = {**os.environ, "HOME": str(home), "TMPDIR": str(home)}
    with (
        log.open("w") as file,
        subprocess.Popen([*PROGRAM, *args], stderr=file, text=True, cwd=home, env=environ) as process,
    ):
        try:
            yield process, log
        finally:
            process.kill()


def left_in(folder: Path) -> list[str]:
    """What stands in a folder, apart from what measures coverage."""
    return [one.name for one in folder.iterdir() if not one.name.startswith(".coverage")]


@pytest.mark.timeout(240)
def test_pages_with_a_history_and_nothing_left(tmp_path: Path) -> None:
    """A fault is shown as it goes on, with reports and changes from before; the operators are scraped live; Ctrl-C."""
    with running(tmp_path, "--listen-port", "0") as (process, log):
        until(lambda: "from now on two simulated operators are live" in log.read_text())
        port = port_of(log)
        assert port is not None
        for path in ("/", "/operators/kuberay", "/operators/kuberay-staging", "/data"):
            assert get(port, path)[0] == 200
        assert "API server" in get(port, "/operators/kuberay")[1]
        metrics = get(port, "/metrics")[1]
        assert 'kuberay_advisor_current{operator="kuberay",setting="concurrency"}' in metrics
        kept = json.loads(get(port, "/api/v1/operators/kuberay/reports?limit=100")[1])["reports"]
        found = {one["verdict"]["finding"] for one in kept}
        assert {"healthy", "workers-saturated", "client-throttled", "hot-key", "api-server-slow"} <= found
        changes = json.loads(get(port, "/api/v1/operators/kuberay/changes")[1])["changes"]
        advised = [one for one in changes if one["predicted"]["predictions"]]
        assert [[move["setting"] for move in one["settings"]] for one in advised] == [["qps", "burst"], ["concurrency"]]
        assert [one["measured"]["comparison"]["outcome"] for one in advised] == ["better", "better"]
        assert "Predicted and measured" in get(port, "/changes/kuberay")[1]
        # Of the past as well: whoever asks at once need not wait for the next analysis.
        assert "Settings to try" in get(port, "/what-if/kuberay")[1]
        # Those from before have gone before; the first that the schedule makes reads what was scraped over HTTP.
        last = kept[0]["id"]
        until(lambda: json.loads(get(port, "/api/v1/operators/kuberay/reports")[1])["reports"][0]["id"] > last)
        process.send_signal(signal.SIGINT)
        assert process.wait(20.0) == 0
    assert left_in(tmp_path / "home") == []


def test_an_end_while_the_past_is_played(tmp_path: Path) -> None:
    """SIGTERM ends it at once, also before everything is there."""
    with running(tmp_path, "--listen-port", "0") as (process, log):
        until(lambda: port_of(log))
        process.send_signal(signal.SIGTERM)
        assert process.wait(20.0) == 0
        assert "from now on two simulated operators are live" not in log.read_text()
    assert left_in(tmp_path / "home") == []


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    """One that was asked for is an error."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run(
            [*PROGRAM, "--listen-port", str(port)], capture_output=True, text=True, check=False, cwd=tmp_path
        )
    assert done.returncode == 3
    assert f"127.0.0.1:{port}" in done.stderr
