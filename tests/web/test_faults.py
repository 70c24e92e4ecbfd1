"""The whole service while things break: pages go on and say what is wrong, and nothing that was kept is lost."""

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from advisor.errors import AdvisorError
from advisor.sources.scraping import Clock
from advisor.web.assembly import Advisor
from advisor.web.config import Config, load_config
from tests.served import OPERATOR_METRICS
from tests.served import get as ask
from tests.sources.servers import answer, hang, serving
from tests.support import until
from tests.web.test_webhook import hooked, notice, statuses

DAY = 86_400.0
PROGRAM = (sys.executable, "-c", "from advisor.cli import main; main()", "serve")


class Jumping(Clock):
    """A clock whose wall time can be set."""

    ahead = 0.0

    def wall(self) -> float:
        """The time that somebody has set."""
        return time.time() + self.ahead


def configured(folder: Path, *urls: str, **flags: str) -> Config:
    """A service that scrapes these each second, the first one called ``op0``."""
    operators = [
        {"name": f"op{number}", "scrape": {"urls": [url], "interval": "1s"}} for number, url in enumerate(urls)
    ]
    given: dict[str, object] = {name.replace("__", "."): value for name, value in flags.items()}
    usual = {"listen.port": 0, "store.path": folder / "history.db", "schedule.interval": "1s"}
    return load_config(None, {}, {**usual, **given, "operators": operators})


@contextmanager
def running(config: Config, clock: Clock | None = None) -> Iterator[Advisor]:
    """The service while the block lasts."""
    advisor = Advisor(config, clock)
    advisor.start()
    try:
        yield advisor
    finally:
        advisor.stop()


def get(advisor: Advisor, path: str, token: str = "") -> tuple[int, str]:
    """Status and text of a page."""
    port = urlsplit(advisor.address).port
    assert port is not None
    return ask(port, path, {"Authorization": f"Bearer {token}"} if token else None)


def newest(advisor: Advisor, name: str = "op0") -> int:
    """The id of an operator's newest report; 0 before there is one."""
    status = advisor._store.status(name)
    return 0 if status is None or status.report is None else status.report.id


def test_a_source_that_hangs(tmp_path: Path) -> None:
    """It accepts and never answers: the other operator is analysed, pages are there, and say whose source it is."""
    with serving(hang) as silent, serving(answer(OPERATOR_METRICS)) as good:
        with running(configured(tmp_path, silent.url, good.url)) as advisor:
            until(lambda: newest(advisor, "op1"))
            until(lambda: "The last scrape op0" in get(advisor, "/operators/op0")[1])
            assert "The last scrape op0" in get(advisor, "/data")[1]
            assert get(advisor, "/")[0] == 200
            before = newest(advisor, "op1")
            until(lambda: newest(advisor, "op1") > before)
            assert "The last scrape" not in get(advisor, "/operators/op1")[1]
        silent.released.set()


def test_readers_who_are_slow(tmp_path: Path) -> None:
    """Whoever does not take an answer, or does not finish asking, holds nobody up, however many they are."""
    with running(configured(tmp_path)) as advisor, ExitStack() as stack:
        host, _, port = urlsplit(advisor.address).netloc.partition(":")
        for number in range(120):
            slow = stack.enter_context(socket.create_connection((host, int(port)), timeout=20.0))
            asked = f"GET /findings HTTP/1.1\r\nHost: {host}\r\n".encode()
            slow.sendall(asked if number % 2 else asked + b"\r\n")
        assert get(advisor, "/findings")[0] == 200


def test_a_full_disk(tmp_path: Path) -> None:
    """Every page says that nothing new is kept; what was kept is shown; with room again all is well by itself."""
    with serving(answer(OPERATOR_METRICS)) as good, running(configured(tmp_path, good.url)) as advisor:
        until(lambda: newest(advisor))
        kept = newest(advisor)
        writer = advisor._store._connections.writer
        assert writer is not None
        with advisor._store._connections.write():
            (pages,) = writer.execute("PRAGMA page_count").fetchone()
        writer.execute(f"PRAGMA max_page_count = {pages}")
        until(lambda: 'role="alert"' in get(advisor, "/")[1])
        for path in ("/", "/findings", "/data", "/operators/op0", f"/reports/{kept}"):
            status, text = get(advisor, path)
            assert status == 200
            assert "What is new is not kept, of 1 operators: " in text
            assert "make room on its disk" in text
        assert "Its last" in get(advisor, "/operators/op0")[1]
        assert get(advisor, "/metrics")[0] == 200
        writer.execute("PRAGMA max_page_count = 1000000")
        until(lambda: 'role="alert"' not in get(advisor, "/")[1])
        until(lambda: newest(advisor) > kept)
        assert get(advisor, f"/reports/{kept}")[0] == 200


def test_a_damaged_history(tmp_path: Path) -> None:
    """It is set aside, a new one is begun, and every page says so, so that nobody takes it for all there was."""
    (tmp_path / "history.db").write_bytes(b"SQLite format 3\0" + b"?" * 20_000)
    with serving(answer(OPERATOR_METRICS)) as good, running(configured(tmp_path, good.url)) as advisor:
        (aside,) = tmp_path.glob("history.db.corrupt-*")
        assert aside.read_bytes().endswith(b"?" * 20_000)
        for path in ("/", "/data", "/findings"):
            assert f"it is kept as {aside.name}" in get(advisor, path)[1]
        until(lambda: newest(advisor))
        assert json.loads(get(advisor, "/data?export=json")[1])["data"]["troubles"][0]["is_grave"]


def test_the_clock_leaps(tmp_path: Path) -> None:
    """Ahead by years and back: analyses go on, ages are those of what is new, and no report is dropped."""
    clock = Jumping()
    with serving(answer(OPERATOR_METRICS)) as good, running(configured(tmp_path, good.url), clock) as advisor:
        until(lambda: newest(advisor))
        reports = [newest(advisor)]
        until(lambda: _is_clock_known(advisor))
        for ahead in (1000.0 * DAY, -1000.0 * DAY, 0.0):
            clock.ahead = ahead
            advisor._store.prune(clock.wall())
            until(lambda: newest(advisor) > reports[-1] + 1)
            reports.append(newest(advisor))
            until(lambda: " s ago" in get(advisor, "/")[1])
            text = get(advisor, "/data")[1]
            assert "in 0 s" in text or "in 1 s" in text or "since 0 s" in text
        for report in reports:
            assert get(advisor, f"/reports/{report}")[0] == 200


def _is_clock_known(advisor: Advisor) -> bool:
    with advisor._store._connections.read() as connection:
        return connection.execute("SELECT 1 FROM clock").fetchone() is not None


def test_killed_again_and_again(tmp_path: Path) -> None:
    """Each report that anybody has seen is there after SIGKILL at any time, as it was."""
    seen: dict[str, bytes] = {}
    command = (*PROGRAM, "--listen-port", "0", "--store-path", str(tmp_path / "h.db"), "--schedule-interval", "1s")
    with serving(answer(OPERATOR_METRICS)) as good:
        for turn in range(2):
            log = tmp_path / f"log{turn}"
            with log.open("w") as file, subprocess.Popen([*command, "--scrape", good.url], stderr=file) as process:
                until(lambda log=log: "; Ctrl-C ends it" in log.read_text())  # type: ignore[misc]
                line = next(one for one in log.read_text().splitlines() if one.startswith("serving "))
                connection = HTTPConnection(urlsplit(line.split()[1]).netloc.rstrip("/;"), timeout=20.0)
                before = len(seen)
                until(lambda: _look(connection, seen) > before)  # noqa: B023 - called in this turn alone
                process.send_signal(signal.SIGKILL)
            connection.close()
            assert "damaged" not in log.read_text()
    assert len(seen) >= 2
    with running(configured(tmp_path, store__path=str(tmp_path / "h.db"))) as advisor:
        assert advisor._store.problem is None
        for path, document in seen.items():
            assert get(advisor, path) == (200, document.decode())


def _look(connection: HTTPConnection, seen: dict[str, bytes]) -> int:
    """Fetch whole reports that are not seen yet; how many there are by now."""
    connection.request("GET", "/api/v1/operators/kuberay/reports?limit=500")
    answered = connection.getresponse()
    body = json.loads(answered.read())
    for one in body.get("reports", ()):
        if one["report"] not in seen:
            connection.request("GET", one["report"])
            seen[one["report"]] = connection.getresponse().read()
    return len(seen)


def test_who_may_read_and_where_notices_go_change_at_once(tmp_path: Path) -> None:
    """A reload asks for the new token with the next request, and what waits for a webhook goes to its successor."""
    token = tmp_path / "token"
    token.write_text("s3cret")
    nowhere, there = tmp_path / "nowhere", tmp_path / "there"
    nowhere.write_text("http://127.0.0.1:1/")
    with serving(answer(OPERATOR_METRICS)) as good, hooked(statuses(200)) as hook:
        there.write_text(hook.url)
        config = configured(tmp_path, good.url, notify__webhook_url_file=str(nowhere))
        with running(config) as advisor:
            assert get(advisor, "/findings")[0] == 200
            advisor._tell([notice()])
            until(lambda: "Notices to webhook" in get(advisor, "/data")[1])
            advisor.apply(
                configured(tmp_path, good.url, notify__webhook_url_file=str(there), login__token_file=str(token))
            )
            assert get(advisor, "/findings")[0] == 401
            assert get(advisor, "/findings", "s3cret")[0] == 200
            until(lambda: hook.received)
            same = advisor._webhooks
            advisor.apply(configured(tmp_path, notify__webhook_url_file=str(there), store__keep_reports="1h"))
            assert advisor._webhooks == same
            assert advisor._store.retention.reports_seconds == 3600.0
            assert get(advisor, "/findings")[0] == 200


def test_settings_that_cannot_be_are_refused_whole(tmp_path: Path) -> None:
    """A reload that names a file of authorities that is not there leaves everything as it is."""
    config = load_config(None, {}, {"listen.port": 0, "store.path": tmp_path / "h.db"})
    with running(config) as advisor:
        operators = [{"name": "a", "scrape": {"urls": ["https://127.0.0.1:1"], "ca_file": "none.pem"}}]
        token = tmp_path / "token"
        token.write_text("x")
        flags = {"listen.port": 0, "operators": operators, "login.token_file": token}
        with pytest.raises(AdvisorError, match=r"none\.pem"):
            advisor.apply(load_config(None, {}, flags))
        assert get(advisor, "/findings")[0] == 200
