"""Notices on their way, against real servers on loopback."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from advisor.model.finding import FindingCode, Severity
from advisor.web.config import load_config
from advisor.web.notify import Notice, NoticeKind
from advisor.web.webhook import SCHEMA, Webhook, WebhookSettings, json_body, slack_body, webhooks_of
from tests.sources.servers import lasting
from tests.support import until

SECRET = "T0-very-secret"
PATIENCE = 10.0
Behaviour = Callable[["Receiver"], None]


class Receiver(BaseHTTPRequestHandler):
    """Keeps what it gets and answers as its server says."""

    server: "Hook"  # type: ignore[mutable-override]

    def do_POST(self) -> None:
        """Take the body first, then answer."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.append((self.path, self.headers["Content-Type"], json.loads(body)))
        self.server.behave(self)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Keep quiet."""


class Hook(ThreadingHTTPServer):
    """A webhook; ``released`` is set when the test is over."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, behave: Behaviour) -> None:
        super().__init__(("127.0.0.1", 0), Receiver)
        self.behave = behave
        self.received: list[tuple[str, str, Any]] = []
        self.released = threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is no matter."""

    @property
    def url(self) -> str:
        """Its URL, with a secret as such URLs have."""
        return f"http://127.0.0.1:{self.server_address[1]}/hooks/{SECRET}?key={SECRET}"


def statuses(*codes: int, **headers: str) -> Behaviour:
    """One status after another, then the last for ever."""
    left = list(codes)

    def behave(receiver: Receiver) -> None:
        receiver.send_response(left.pop(0) if len(left) > 1 else left[0])
        for name, value in headers.items():
            receiver.send_header(name.replace("_", "-"), value)
        receiver.send_header("Content-Length", "0")
        receiver.end_headers()

    return behave


def hang(receiver: Receiver) -> None:
    """Say nothing."""
    receiver.server.released.wait(PATIENCE)


def drip(receiver: Receiver) -> None:
    """Send a header one byte at a time."""
    receiver.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while not receiver.server.released.wait(0.02):
        receiver.wfile.write(b"x")
        receiver.wfile.flush()


def babble(receiver: Receiver) -> None:
    """Answer something that is no HTTP."""
    receiver.wfile.write(b"hello\r\n\r\n")


@contextmanager
def hooked(behave: Behaviour) -> Iterator[Hook]:
    """A webhook while the block lasts."""
    server = Hook(behave)
    with lasting(server, server.released):
        yield server


@contextmanager
def sending(url_file: Path, **settings: Any) -> Iterator[Webhook]:  # noqa: ANN401 - as the settings have it
    """A sender that hardly pauses, while the block lasts."""
    quick = {"first_pause_seconds": 0.01, "longest_pause_seconds": 0.1, "name": "webhook", "url_file": url_file}
    webhook = Webhook(WebhookSettings(**{**quick, **settings}), lambda: 0.5)
    webhook.start()
    try:
        yield webhook
    finally:
        assert webhook.stop()


def notice(operator: str = "eu", kind: NoticeKind = NoticeKind.NEW, summary: str = "All are busy.") -> Notice:
    """One notice."""
    return Notice(
        operator=operator,
        kind=kind,
        code=FindingCode.WORKERS_SATURATED,
        severity=Severity.CRITICAL,
        title="All workers are busy",
        summary=summary,
        verdict="All workers are busy.",
        time=1000.0,
    )


@pytest.fixture(name="url_file")
def file_of_url(tmp_path: Path) -> Path:
    """Where the URL is."""
    return tmp_path / "url"


def failing(url_file: Path, lost: int = 1, **settings: Any) -> str:  # noqa: ANN401 - as the settings have it
    """The last error of notices that are given up."""
    with sending(url_file, **settings) as webhook:
        webhook.send([notice()] * lost)
        until(lambda: webhook.figures.lost == lost)
        assert (webhook.figures.sent, webhook.figures.waiting) == (0, 0)
        return webhook.figures.last_error


def test_json(url_file: Path) -> None:
    """All that is known of each notice is posted, to the path and query of the URL."""
    with hooked(statuses(204)) as hook, sending(url_file) as webhook:
        url_file.write_text(f"{hook.url}\n")
        webhook.send([notice(), notice("us", NoticeKind.RESOLVED)])
        until(lambda: webhook.figures.sent == 2)
        ((path, kind, body),) = hook.received
        assert (path, kind) == (f"/hooks/{SECRET}?key={SECRET}", "application/json")
        assert body["schema"] == SCHEMA
        assert [(one["operator"], one["kind"]) for one in body["notices"]] == [("eu", "new"), ("us", "resolved")]
        assert body["notices"][0]["code"] == "workers-saturated"
        figures = webhook.figures
    assert (figures.lost, figures.failed_requests, figures.last_error) == (0, 0, "")
    assert figures.last_sent is not None
    assert webhook.name == "webhook"


def test_slack(url_file: Path) -> None:
    """One message for all; nothing of an operator's name becomes a mention, a link, or another line."""
    hostile = "<!channel> & <http://evil|ok>\n\u202eCRITICAL"
    with hooked(statuses(200)) as hook, sending(url_file, body=slack_body) as webhook:
        url_file.write_text(hook.url)
        webhook.send([notice(hostile, summary="x" * 5000), notice("us", NoticeKind.RESOLVED)])
        until(lambda: webhook.figures.sent == 2)
        ((_, _, body),) = hook.received
    first, second, third = body["text"].splitlines()
    shown = "&lt;!channel&gt; &amp; &lt;http://evil|ok&gt; \ufffdCRITICAL"
    assert first == f"CRITICAL {shown}: All workers are busy (workers-saturated)"
    assert len(second) == 600
    assert third == "RESOLVED us: All workers are busy (workers-saturated)"
    assert body["mrkdwn"] is False


def test_many_in_one_message() -> None:
    """A message has an end; the webhook gets all of them."""
    notices = [notice(f"t{number}", NoticeKind.RESOLVED) for number in range(50)]
    lines = json.loads(slack_body(notices))["text"].splitlines()
    assert (len(lines), lines[-1]) == (21, "and 30 more")
    assert len(json.loads(json_body(notices))["notices"]) == 50


def test_tried_again(url_file: Path) -> None:
    """What may pass is tried again: overload and faults of the other side."""
    with hooked(statuses(503, 429, 200)) as hook, sending(url_file) as webhook:
        url_file.write_text(hook.url)
        webhook.send([notice()])
        until(lambda: webhook.figures.sent == 1)
        assert (webhook.figures.failed_requests, webhook.figures.last_error, len(hook.received)) == (2, "", 3)


def test_the_other_side_says_when(url_file: Path) -> None:
    """Its ``Retry-After`` is heeded, up to the longest pause; a date is passed over."""
    with (
        hooked(statuses(429, 200, Retry_After="3600")) as hook,
        sending(url_file, longest_pause_seconds=0.3) as webhook,
    ):
        url_file.write_text(hook.url)
        began = time.monotonic()
        webhook.send([notice()])
        until(lambda: webhook.figures.sent == 1)
        assert time.monotonic() - began >= 0.3
    with hooked(statuses(429, 200, Retry_After="Mon, 30 Nov 2026 09:00:00 GMT")) as hook, sending(url_file) as webhook:
        url_file.write_text(hook.url)
        webhook.send([notice()])
        until(lambda: webhook.figures.sent == 1)


def test_refused(url_file: Path) -> None:
    """What does not pass is given up at once."""
    with hooked(statuses(404)) as hook:
        url_file.write_text(hook.url)
        assert failing(url_file, lost=2) == "status 404"
        assert len(hook.received) == 1


def test_redirects_are_not_followed(url_file: Path) -> None:
    """They could lead the secret anywhere."""
    with hooked(statuses(302, Location="http://127.0.0.1:1/")) as hook:
        url_file.write_text(hook.url)
        assert failing(url_file) == "status 302; redirects are not followed"


@pytest.mark.parametrize("behave", [hang, drip])
def test_no_answer_in_time(behave: Behaviour, url_file: Path) -> None:
    """A server that says nothing, or a byte now and then, takes no longer than the time-out."""
    with hooked(behave) as hook:
        url_file.write_text(hook.url)
        began = time.monotonic()
        assert failing(url_file, timeout_seconds=0.2, attempts=2) == "no answer within 0.2 s"
        assert time.monotonic() - began < 3.0
        assert len(hook.received) == 2


def test_no_http(url_file: Path) -> None:
    """Whatever answers is told from a webhook."""
    with hooked(babble) as hook:
        url_file.write_text(hook.url)
        assert failing(url_file, attempts=1) == "no HTTP answer that can be read: BadStatusLine"


def test_nobody_there(url_file: Path) -> None:
    """A port that nobody listens at is tried several times, then given up."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url_file.write_text(f"http://127.0.0.1:{taken.getsockname()[1]}/{SECRET}")
        assert failing(url_file, attempts=2) == "no connection: Connection refused"


def test_no_trust(url_file: Path) -> None:
    """A server without HTTPS behind an https URL is no connection."""
    with hooked(statuses(200)) as hook:
        url_file.write_text(hook.url.replace("http://", "https://"))
        assert failing(url_file, attempts=1).startswith("no connection: ")


@pytest.mark.parametrize(
    "text",
    ["", "ftp://x/y", "http://", "http://x:99999/", "http://x/ y", "http://x/\nhttp://y/", "http://x/" + "y" * 9000],
)
def test_a_file_without_a_url(text: str, url_file: Path) -> None:
    """It is told by its file, without what is in it."""
    url_file.write_text(text)
    assert failing(url_file, attempts=1) == f"the file {url_file} holds no http or https URL on one line"


def test_the_url_may_come_later(url_file: Path) -> None:
    """The file is read at each attempt: a mounted secret may come late, and be changed."""
    with hooked(statuses(200)) as hook, sending(url_file, attempts=1000, longest_pause_seconds=0.02) as webhook:
        webhook.send([notice()])
        until(lambda: "cannot be read: No such file" in webhook.figures.last_error)
        url_file.write_text(hook.url)
        until(lambda: webhook.figures.sent == 1)


def test_nothing_secret_is_told(url_file: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Neither figures, nor logs, nor the sender itself show the URL."""
    caplog.set_level(0)
    with hooked(statuses(500)) as hook:
        url_file.write_text(hook.url)
        assert failing(url_file, attempts=3) == "status 500"
    assert "webhook: status 500; 1 notices are given up" in caplog.text
    assert SECRET not in caplog.text


def test_sending_never_waits(url_file: Path) -> None:
    """While a server hangs notices wait, and the oldest are lost where they are too many; stopping is quick."""
    with hooked(hang) as hook:
        url_file.write_text(hook.url)
        webhook = Webhook(
            WebhookSettings(name="webhook", url_file=url_file, timeout_seconds=0.5, attempts=100), lambda: 0.5
        )
        webhook.start()
        webhook.send([notice()])
        until(lambda: hook.received)
        began = time.monotonic()
        for _ in range(300):
            webhook.send([notice()])
        assert time.monotonic() - began < 1.0
        assert (webhook.figures.waiting, webhook.figures.lost) == (200, 100)
        began = time.monotonic()
        assert webhook.stop()
        assert time.monotonic() - began < 2.0


def test_a_fault_of_our_own_is_told(url_file: Path) -> None:
    """Whatever happens while a notice is sent, nobody else is disturbed."""

    def faulty(_notices: object) -> bytes:
        raise ZeroDivisionError

    with hooked(statuses(200)) as hook:
        url_file.write_text(hook.url)
        assert failing(url_file, body=faulty) == "a fault of this program: ZeroDivisionError"


def test_which_there_are() -> None:
    """Those whose file the configuration names."""
    config = load_config(None, {}, {"notify.slack_url_file": "slack", "notify.webhook_url_file": "hook"})
    hook, slack = webhooks_of(config.notify)
    assert (hook.name, hook.url_file, hook.body) == ("webhook", Path("hook"), json_body)
    assert (slack.name, slack.url_file, slack.body) == ("slack", Path("slack"), slack_body)
    assert webhooks_of(load_config(None, {}, {}).notify) == ()


def test_stopped_before_it_began(url_file: Path) -> None:
    """There is nothing to wait for."""
    assert Webhook(WebhookSettings(name="webhook", url_file=url_file), lambda: 0.5).stop()
