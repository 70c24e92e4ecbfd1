import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.served import OPERATOR_METRICS, get, port_of
from tests.sources.servers import answer, serving
from tests.support import until

PROGRAM = (sys.executable, "-c", "from advisor.cli import main; main()", "serve")


@contextmanager
def service(folder: Path, *args: str) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """The program as a process that serves, and its port."""
    command = [*PROGRAM, "--listen-port", "0", "--store-path", str(folder / "history.db"), *args]
    log = folder / "log"
    with log.open("w") as file, subprocess.Popen(command, stderr=file, text=True) as process:
        try:
            until(lambda: port_of(log) or process.poll() is not None)
            port = port_of(log)
            assert port is not None, log.read_text()
            yield process, port
        finally:
            process.kill()


def test_it_watches_an_operator_and_shows_it(tmp_path: Path) -> None:
    """Scraped, analysed and shown within seconds; SIGTERM ends it, and what was kept is there the next time."""
    with serving(answer(OPERATOR_METRICS)) as operator:
        args = ("--scrape", operator.url, "--schedule-interval", "1s")
        with service(tmp_path, *args) as (process, port):
            until(lambda: get(port, "/readyz")[0] == 200)
            assert "kuberay" in get(port, "/")[1]
            assert get(port, "/operators/kuberay")[0] == 200
            assert "There is not enough to simulate from" in get(port, "/what-if/kuberay")[1]
            process.send_signal(signal.SIGTERM)
            assert process.wait(10.0) == 0
    with service(tmp_path) as (_, port):
        (row,) = json.loads(get(port, "/api/v1/operators")[1])["operators"]
        assert row["report"] is not None


def test_an_operator_that_is_not_there(tmp_path: Path) -> None:
    """The pages say what is wrong, and the service goes on."""
    with service(tmp_path, "--sidecar", "http://127.0.0.1:1", "--schedule-interval", "1s") as (process, port):
        until(lambda: "Connection refused" in get(port, "/")[1])
        assert "Connection refused" in get(port, "/data")[1]
        assert process.poll() is None


def test_the_settings_are_read_again(tmp_path: Path) -> None:
    """SIGHUP takes a changed file; one that is wrong changes nothing, and the log says why."""
    config, log = tmp_path / "config.toml", tmp_path / "log"
    config.write_text('[[operators]]\nname = "first"\nsidecar = { url = "http://127.0.0.1:1" }\n')
    with service(tmp_path, "--config", str(config)) as (process, port):
        until(lambda: "first" in get(port, "/data")[1])
        config.write_text('[[operators]]\nname = "second"\nsidecar = { url = "http://127.0.0.1:1" }\n')
        process.send_signal(signal.SIGHUP)
        until(lambda: "second" in get(port, "/data")[1])
        assert "first" not in get(port, "/data")[1]
        config.write_text("[nothing]\n")
        process.send_signal(signal.SIGHUP)
        until(lambda: "the settings before go on to hold" in log.read_text())
        assert "second" in get(port, "/data")[1]


def test_print_config(tmp_path: Path) -> None:
    """Each setting is shown with where it is from, and nothing is served."""
    environ = {**os.environ, "KUBERAY_ADVISOR_LISTEN_PORT": "9999"}
    command = [*PROGRAM, "--print-config", "--store-path", str(tmp_path / "x.db"), "--prometheus", "http://p"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environ, timeout=30.0)
    assert "environment KUBERAY_ADVISOR_LISTEN_PORT" in done.stdout
    assert "http://p" in done.stdout
    assert not (tmp_path / "x.db").exists()


@pytest.mark.parametrize(
    ("args", "code", "text"),
    [
        (("--schedule-interval", "never"), 2, "schedule.interval"),
        (("--config", "/nowhere/x.toml"), 2, "/nowhere/x.toml"),
        (("--listen-host", "192.0.2.1"), 3, "192.0.2.1"),
    ],
)
def test_wrong_settings(tmp_path: Path, args: tuple[str, ...], code: int, text: str) -> None:
    """It does not start, and says which setting is wrong."""
    command = [*PROGRAM, "--store-path", str(tmp_path / "h.db"), *args]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30.0)
    assert text in done.stderr
    assert done.returncode == code
