"""The command that records or serves a simulated operator."""

import http.client
import json
import re
import signal
import threading
import time
from pathlib import Path

import pytest

from advisor.cli.simulate import _keep_up
from tests.cli.served import serving
from tests.support import run

WORKLOAD = """
schema: kuberay-advisor/workload/v1
clusters:
  rc: {count: 60, workers: 5, over_seconds: 0.5, namespaces: [team-a, team-b]}
"""


@pytest.fixture
def workload(tmp_path: Path) -> Path:
    """A burst that one worker takes a while for."""
    path = tmp_path / "burst.yaml"
    path.write_text(WORKLOAD, encoding="utf-8")
    return path


def get(port: int, path: str) -> str:
    """What the server answers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10.0)
    try:
        connection.request("GET", path)
        return connection.getresponse().read().decode()
    finally:
        connection.close()


class TestRecord:
    def test_a_recording_that_can_be_analysed(
        self, workload: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The line that is printed leads on to the report."""
        folder = tmp_path / "a folder"
        assert run("simulate", str(workload), "--out", str(folder)) == 0
        printed = capsys.readouterr()
        assert printed.err == ""
        line = rf"recorded \d+ s in {folder}; read it with: kuberay-advisor analyze --recording '{folder}'\n"
        assert re.fullmatch(line, printed.out)
        assert run("analyze", "--recording", str(folder), "--output", "json") == 0
        document = json.loads(capsys.readouterr().out)
        assert document["findings"][0]["code"] == "workers-saturated"
        assert document["source"]["notes"] == []

    def test_options(self, workload: Path, tmp_path: Path) -> None:
        """Interval, start and all series."""
        folder = tmp_path / "out"
        options = ("--interval", "1s", "--start", "2020-01-01T01:00:00+01:00", "--all-series")
        assert run("simulate", str(workload), "--out", str(folder), *options) == 0
        setup = json.loads((folder / "setup.json").read_bytes())
        assert (setup["start"], setup["scrape_interval_seconds"]) == (1_577_836_800.0, 1.0)

    def test_now(self, workload: Path, tmp_path: Path) -> None:
        """The clock is read where that is asked for."""
        before = time.time()
        assert run("simulate", str(workload), "--out", str(tmp_path / "out"), "--start", "now") == 0
        start = json.loads((tmp_path / "out" / "setup.json").read_bytes())["start"]
        assert before - 0.001 <= start <= time.time()


class TestWrongUse:
    @pytest.mark.parametrize(
        ("args", "error"),
        [
            ((), "Give either --out DIR or --serve."),
            (("--out", "a", "--serve"), "Give either --out DIR or --serve."),
            (("--out", "a", "--pace", "2"), "--pace belongs to --serve."),
            (("--out", "a", "--for", "2s"), "--for belongs to --serve."),
            (("--serve", ":0", "--interval", "2s"), "--interval belongs to --out DIR."),
            (("--serve", ":0", "--all-series"), "--all-series belongs to --out DIR."),
            (("--serve", "nowhere"), "'nowhere' is no address such as 127.0.0.1:8080"),
            (("--serve", "127.0.0.1:99999"), "is no address such as"),
            (("--serve", ":0", "--pace", "0"), "0.0 is not in the range"),
            (("--serve", ":0", "--for", "0.01s"), "'0.01s' is shorter than 0.1 s"),
            (("--out", "a", "--start", "yesterday"), "'yesterday' is neither now nor a time"),
            (("--out", "a", "--start", "1960-01-01"), "'1960-01-01' is neither now nor a time"),
        ],
    )
    def test_what_cannot_be_meant(
        self, args: tuple[str, ...], error: str, workload: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """It is refused before anything is run."""
        assert run("simulate", str(workload), *args) == 2
        assert error in " ".join(capsys.readouterr().err.split())

    def test_a_workload_that_is_none(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The error names the file, and nothing is written."""
        assert run("simulate", str(tmp_path / "absent.yaml"), "--out", str(tmp_path / "out")) == 3
        assert "absent.yaml" in capsys.readouterr().err
        assert list(tmp_path.iterdir()) == []

    def test_a_taken_address(self, workload: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Another address is asked for."""
        with serving(str(workload), "--serve", "127.0.0.1:0") as (_, port):
            assert run("simulate", str(workload), "--serve", f"127.0.0.1:{port}") == 3
        printed = capsys.readouterr().err
        assert "cannot be served at: Address already in use" in printed
        assert "hint: name another address" in printed


class TestServe:
    def test_for_a_while(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """It ends by itself after the time that it was given."""
        short = tmp_path / "short.yaml"
        short.write_text("clusters: {rc: {count: 1, workers: 1}}\n", encoding="utf-8")
        assert run("simulate", str(short), "--serve", ":0", "--for", "1s", "--pace", "100") == 0
        first, over, last = capsys.readouterr().err.splitlines()
        assert first.startswith("serving http://127.0.0.1:")
        assert over == "the workload has come to its end; the operator idles from now on"
        assert re.fullmatch(r"served until \d+ s of the run", last)

    def test_a_machine_that_is_too_slow(self, capsys: pytest.CaptureFixture[str]) -> None:
        """It is told once."""
        _keep_up(lambda: 9.0, lambda: False, threading.Event(), 0.2)
        assert capsys.readouterr().err == "this machine is too slow for that pace: 9 s behind\n"

    def test_scraped_while_it_runs(self, workload: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """An analysis of a live operator finds what a recording of it would show."""
        with serving(str(workload), "--serve", "127.0.0.1:0") as (process, port):
            url = f"http://127.0.0.1:{port}"
            args = ("--scrape", url, "--for", "2s", "--interval", "0.2s", "--output", "json")
            assert run("analyze", *args) == 0
            lines = get(port, "/log").splitlines()
            objects = get(port, "/objects?tailLines=1").splitlines()
            process.send_signal(signal.SIGINT)
            assert process.wait(10.0) == 0
        document = json.loads(capsys.readouterr().out)
        assert document["findings"][0]["code"] == "workers-saturated"
        assert document["source"]["notes"] == []
        assert len(lines) > 20
        assert all(json.loads(line)["level"] for line in lines)
        assert json.loads(objects[0])["kind"] in ("Pod", "RayCluster")

    def test_at_a_pace(self, workload: Path) -> None:
        """Minutes pass in a moment, and a request to end ends it."""
        with serving(str(workload), "--serve", "127.0.0.1:0", "--pace", "100") as (process, port):
            for _ in range(400):
                match = re.search(r'result="requeue_after"\} (\d+)', get(port, "/metrics"))
                assert match is not None
                if int(match[1]) > 150:
                    break
                time.sleep(0.05)
            else:
                pytest.fail("waited in vain")
            process.send_signal(signal.SIGTERM)
            assert process.wait(10.0) == 0
