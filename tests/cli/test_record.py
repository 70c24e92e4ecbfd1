import gzip
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from advisor.cli import entry
from advisor.sources.recording import RecordingSource
from tests.sources.servers import TLS, answer, hang, sequence, serving, snapshots
from tests.support import run

UP = b"workqueue_depth 1\nleader_election_master_status 0\n"
PROGRAM = (sys.executable, "-c", "from advisor.cli import main; main()")
SHORT = ("--for", "0.3s", "--interval", "0.1s")


def start(args: Sequence[str]) -> subprocess.Popen[str]:
    """The program as a process of its own, with its output in pipes."""
    return subprocess.Popen(
        [*PROGRAM, *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(condition: object) -> None:
    """Wait, for ten seconds at most, until a callable says yes."""
    assert callable(condition)
    for _ in range(1000):
        if condition():
            return
        time.sleep(0.01)
    pytest.fail("waited in vain")


class TestAnalyzeScrape:
    def test_a_report_is_printed(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Scraping for a moment ends in a report; standard error has one line at the start and one at the end."""
        with serving(sequence(snapshots())) as server:
            assert run("analyze", "--scrape", server.url, "--output", "json", *SHORT) == 0
        printed = capsys.readouterr()
        document = json.loads(printed.out)
        assert document["source"]["kind"] == "scrape"
        assert printed.err.splitlines() == [
            f"scraping {server.url} every 0.1 s for 0.3 s; Ctrl-C ends it early",
            "scrapes that succeeded: 4, that failed: 0",
        ]

    def test_headers_token_and_authority(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """What a protected endpoint asks for is sent, over a checked connection."""
        token = tmp_path / "token"
        token.write_text("secret-token\n", encoding="utf-8")
        options = ("--header", "X-Scope: a", "--bearer-token-file", str(token))
        with serving(answer(UP), tls=True) as server:
            url = ("analyze", "--scrape", server.url, *SHORT)
            assert run(*url, *options, "--ca-file", str(TLS / "cert.pem")) == 0
            headers = server.requests[0].headers
            assert (headers["X-Scope"], headers["Authorization"]) == ("a", "Bearer secret-token")
            assert run(*url) == 3
            assert "the certificate is not trusted" in capsys.readouterr().err
            assert run(*url, "--insecure") == 0

    def test_only_replicas_that_wait(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A standby is recognised."""
        with serving(answer(UP)) as one, serving(answer(UP)) as other:
            assert run("analyze", "--scrape", one.url, "--scrape", other.url, "--output", "json", *SHORT) == 0
        assert json.loads(capsys.readouterr().out)["findings"][0]["code"] == "not-leader"

    @pytest.mark.parametrize(
        ("args", "error"),
        [
            (("--scrape", "ftp://a"), "--scrape: ftp://a: expected http://HOST"),
            (("--scrape", "http://a", "--scrape", "http://a:80"), "--scrape: the same endpoint is given twice."),
            (("--scrape", "http://a", "--for", "5"), "'5' is no duration such as 90s, 5m, 1h30m or 7d"),
            (("--scrape", "http://a", "--for", "0.01s"), "'0.01s' is shorter than 0.1 s"),
            (("--scrape", "http://a", "--for", "1s"), "--for and --interval: the time is shorter than one interval"),
            (("--scrape", "http://a", "--header", "x"), "--header: expected 'Name: value'."),
            (("--scrape", "http://a", "--ca-file", "/nowhere"), "does not exist"),
            (("--scrape", "http://a", "--recording", "b"), "Give one input:"),
            (("--for", "1m"), "--for belongs to --scrape URL."),
            (("--recording", "b", "--insecure"), "--insecure belongs to --scrape URL."),
            (("--scrape", "http://a", "--bearer-token-file", __file__), "holds no token of one line of ASCII"),
        ],
    )
    def test_wrong_use(self, args: tuple[str, ...], error: str, capsys: pytest.CaptureFixture[str]) -> None:
        """What cannot be meant is refused before anything is asked of anybody."""
        assert run("analyze", *args) == 2
        assert error in " ".join(capsys.readouterr().err.split())

    def test_nobody_answers(self, capsys: pytest.CaptureFixture[str]) -> None:
        """The input cannot be read: where, why, and what to try."""
        with serving(answer(b"", 404)) as server:
            assert run("analyze", "--scrape", server.url, *SHORT) == 3
        error = capsys.readouterr().err
        assert f"error: {server.url}: no scrape succeeded of 4, the last one: status 404 Not Found" in error
        assert "hint: " in error

    def test_another_program_answers(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Metrics of something else hold nothing to analyse."""
        with serving(answer(b"node_load1 1\n")) as server:
            assert run("analyze", "--scrape", server.url, *SHORT) == 4
        assert "fewer than two scrapes of an operator's series" in capsys.readouterr().err


class TestInterrupts:
    def test_the_first_ends_early_and_analyses(self) -> None:
        """After Ctrl-C the report on what was collected comes, and says how long it took."""
        with serving(answer(UP)) as server:
            process = start(["analyze", "--scrape", server.url, "--for", "10m", "--interval", "0.1s"])
            wait_for(lambda: len(server.requests) >= 4)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=20.0)
        assert process.returncode == 0
        assert re.search(r"ended early after \d+ s of 600 s; scrapes that succeeded: \d+", err)
        assert "ended early after" in out
        assert "Traceback" not in err

    def test_the_second_interrupts(self) -> None:
        """Ctrl-C again, while the first one's answers are awaited, ends at once."""
        with serving(hang) as server:
            process = start(["analyze", "--scrape", server.url, "--for", "10m", "--interval", "1m"])
            wait_for(lambda: server.requests)
            process.send_signal(signal.SIGINT)
            time.sleep(0.25)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=20.0)
        assert process.returncode == entry.INTERRUPTED
        assert err.endswith("interrupted\n")

    def test_a_recording_is_finished(self, tmp_path: Path) -> None:
        """A recording that is ended early is whole."""
        out = tmp_path / "out"
        with serving(answer(UP)) as server:
            process = start(["record", "--scrape", server.url, "--for", "10m", "--interval", "0.1s", "--out", str(out)])
            wait_for(lambda: len(server.requests) >= 4)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=20.0)
        assert process.returncode == 0
        assert "ended early after" in err
        assert gzip.decompress((out / "metrics.om.gz").read_bytes()).endswith(b"# EOF\n")
        assert run("analyze", "--recording", str(out)) == 0

    def test_a_killed_recording_can_be_analysed(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """What was scraped before a kill is there."""
        out = tmp_path / "out"
        with serving(answer(UP)) as server:
            process = start(["record", "--scrape", server.url, "--for", "10m", "--interval", "0.1s", "--out", str(out)])
            wait_for(lambda: len(server.requests) >= 6)
            process.kill()
            process.communicate(timeout=20.0)
        assert run("analyze", "--recording", str(out), "--output", "json") == 0
        source = json.loads(capsys.readouterr().out)["source"]
        assert source["samples"] >= 8
        assert "the compressed data has no end" in source["notes"][0]["message"]

    def test_progress_on_a_terminal(self) -> None:
        """On a terminal the state is shown while it lasts."""
        parent, child = pty.openpty()
        with serving(answer(UP)) as server:
            process = subprocess.Popen(
                [*PROGRAM, "analyze", "--scrape", server.url, "--for", "3s", "--interval", "0.5s"],
                stdout=subprocess.DEVNULL,
                stderr=child,
                env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
            )
            os.close(child)
            printed = b""
            while select.select([parent], [], [], 20.0)[0]:
                try:
                    printed += os.read(parent, 65536)
                except OSError:
                    break
        os.close(parent)
        assert process.wait(timeout=20.0) == 0
        assert re.search(rb"scraping: [12] of 3 s; succeeded: \d, failed: 0", printed)


class TestRecord:
    def test_a_recording_is_made(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Samples, log, objects and setup are written, and the next command is told."""
        out, log, objects = tmp_path / "my out", tmp_path / "log", tmp_path / "objects"
        log.write_text('{"level":"info","ts":"2026-11-29T19:31:09.191Z","msg":"x"}\n', encoding="utf-8")
        objects.touch()
        args = ("--log", str(log), "--objects", str(objects), "--version", "1.7.0", "--args", "--qps=50 --burst '100'")
        with serving(answer(UP)) as server:
            assert run("record", "--scrape", server.url, "--out", str(out), *args, *SHORT) == 0
        printed = capsys.readouterr()
        assert printed.out == f"recorded in {out}; read it with: kuberay-advisor analyze --recording '{out}'\n"
        assert len(printed.err.splitlines()) == 2
        source = RecordingSource(out)
        setup = source.setup()
        assert (setup.version, setup.args) == ("1.7.0", ("--qps=50", "--burst", "100"))
        assert (out / "operator.log.gz").exists()
        assert (out / "objects.jsonl.gz").exists()

    def test_options_for_what_is_kept(self, tmp_path: Path) -> None:
        """All series on request, and pseudonyms."""
        with serving(answer(UP + b'x{name="secret"} 1\n')) as server:
            args = ("record", "--scrape", server.url, "--out", str(tmp_path / "out"), *SHORT)
            assert run(*args, "--all-series", "--pseudonyms") == 0
        text = gzip.decompress((tmp_path / "out" / "metrics.om.gz").read_bytes()).decode()
        assert "# TYPE x unknown" in text
        assert "secret" not in text
        assert "127.0.0.1" not in text

    def test_trouble_is_told(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Failed scrapes and files that cannot be read are said on standard error."""
        log = tmp_path / "log.gz"
        log.write_bytes(gzip.compress(b"a\n")[:-8])
        with serving(sequence([UP, b"", UP])) as server:
            out = str(tmp_path / "out")
            assert run("record", "--scrape", server.url, "--log", str(log), "--out", out, *SHORT) == 0
        error = capsys.readouterr().err
        assert "1 of 4 scrapes failed" in error
        assert "the compressed data has no end" in error

    @pytest.mark.parametrize(
        ("args", "code", "error"),
        [
            ((), 2, "Give --scrape URL or --prometheus URL."),
            (("--scrape", "http://a", "--args", "'"), 2, "--args: No closing quotation."),
            (("--scrape", "http://a", "--log", "/nowhere"), 2, "does not exist"),
            (("--scrape", "http://a"), 3, "the folder is not empty"),
        ],
    )
    def test_wrong_use(
        self, args: tuple[str, ...], code: int, error: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """What cannot be done is refused at the start."""
        (tmp_path / "file").touch()
        assert run("record", "--out", str(tmp_path), *args) == code
        assert error in " ".join(capsys.readouterr().err.split())
