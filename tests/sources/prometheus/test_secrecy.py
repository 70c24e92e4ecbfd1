"""No secret in any text: not in logs at their most detailed, in errors and what they hold, nor in a repr."""

import base64
import io
import logging
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from advisor.errors import AdvisorError
from advisor.sources.prometheus.auth import Access
from advisor.sources.prometheus.client import PrometheusClient
from advisor.sources.prometheus.credentials import Credentials, Sent
from advisor.sources.prometheus.limits import Limits
from advisor.sources.prometheus.secret import FixedSource, Secret
from tests.sources.prometheus.stores import (
    AT,
    HTML,
    OK,
    UP,
    Behaviour,
    Handler,
    break_off,
    hang,
    refuse,
    reply,
    serving,
    vector,
)
from tests.sources.servers import FastClock

SECRET = "S3cr3t-v4lue"
BASIC = base64.b64encode(f"me:{SECRET}".encode()).decode()
FORMS = (SECRET, BASIC)
LIMITS = Limits(attempts=2, silence_seconds=0.4, first_pause_seconds=0.001)


def in_a_file(folder: Path) -> Path:
    """A file that holds the secret."""
    path = folder / "secret"
    path.write_text(SECRET, encoding="utf-8")
    return path


WAYS: dict[str, Callable[[Path], Access]] = {
    "token": lambda _: Access(bearer_token=Secret(SECRET)),
    "token file": lambda folder: Access(bearer_token_file=in_a_file(folder)),
    "command": lambda _: Access(token_command=("echo", SECRET)),
    "user": lambda _: Access(user="me", password=Secret(SECRET)),
    "password file": lambda folder: Access(user="me", password_file=in_a_file(folder)),
    "header": lambda _: Access(headers={"X-Key": f"Key {SECRET}"}),
    "header file": lambda folder: Access(header_files={"X-Key": in_a_file(folder)}),
    "url": lambda _: Access(),
}


def repeating(status: int, kind: str) -> Behaviour:
    """A store that shows what it was sent."""

    def behave(handler: Handler) -> None:
        seen = handler.request_seen.headers
        text = f"you sent {seen.get('authorization')} and {seen.get('x-key')}"
        if kind == "error":
            refuse("bad_data", text, status)(handler)
        elif kind == "warning":
            vector(("up", "1"), warnings=[text])(handler)
        else:
            reply(text, status, kind)(handler)

    return behave


STORES: dict[str, Behaviour] = {
    "good": OK,
    "401": repeating(401, "text/plain"),
    "403": repeating(403, "application/json"),
    "500": repeating(500, "text/plain"),
    "html": repeating(200, HTML),
    "text": repeating(200, "text/plain"),
    "error": repeating(400, "error"),
    "warning": repeating(200, "warning"),
    "json": repeating(200, "application/json"),
    "cut": reply("{", Content_Length="99", Connection="close"),
    "break": break_off,
    "hang": hang,
    "redirect": reply("", 302, "", Location="http://elsewhere.example/"),
    "circle": reply("", 307, "", Location="/again"),
    "get": reply("", 405, ""),
}


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """Everything that any library writes to its log, at its most detailed."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield stream
    root.removeHandler(handler)
    root.setLevel(before)


def texts_of(error: BaseException) -> Iterator[str]:
    """All that an error shows, and all that it holds: causes, contexts, and the members of each."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        waiting += [one.__cause__, one.__context__]
        yield from (str(one), repr(one), repr(one.args), repr(vars(one)))
        for member in vars(one).values():
            # As requests' errors hold the request with its headers.
            yield repr(getattr(member, "headers", ""))
            yield repr(getattr(member, "body", ""))
    yield "".join(traceback.format_exception(error))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("behaviour", STORES)
def test_no_text_holds_a_secret(way: str, behaviour: str, tmp_path: Path, log: io.StringIO) -> None:
    """Whatever way in, and whatever the store does with it."""
    access = WAYS[way](tmp_path)
    texts = [repr(access), str(access)]
    with serving(STORES[behaviour]) as store:
        url = store.url.replace("//", f"//me:{SECRET}@") if way == "url" else store.url
        client = PrometheusClient(url, access, LIMITS)
        with client:
            try:
                texts.append(repr(client.instant(UP, AT)))
            except AdvisorError as error:
                texts += texts_of(error)
            texts += [client.name, repr(client), str(client.costs), str(client.warnings), repr(vars(client))]
            texts += [repr(vars(part)) for part in vars(client).values() if hasattr(part, "__dict__")]
    sent = [f"{request.headers.get('authorization')} {request.headers.get('x-key')}" for request in store.requests]
    assert any(form in one for one in sent for form in FORMS)
    for text in (*texts, log.getvalue()):
        assert not any(form in text for form in FORMS)


@pytest.mark.parametrize("padding", [0, 100, 190, 290])
@pytest.mark.parametrize("status", [200, 401, 500])
def test_half_a_secret_is_one_too(padding: int, status: int) -> None:
    """Where a text is cut, nothing of a long token is left before the cut."""
    token = "".join(f"{number:03}" for number in range(200))
    text = "x" * padding + token
    with serving(refuse("bad_data", text, status), reply(text, 500, "text/plain")) as store:
        client = PrometheusClient(store.url, Access(bearer_token=Secret(token)), LIMITS)
        with client, pytest.raises(AdvisorError) as caught:
            client.instant(UP, AT)
    assert token[:8] not in str(caught.value)


def test_the_types_that_hold_secrets_show_none() -> None:
    """Not in repr, str or formatting, alone or inside of others."""
    secret = Secret(SECRET)
    sent = Sent({"Authorization": f"Bearer {SECRET}"}, (secret,))
    source = FixedSource(secret, "of the settings")
    texts = [repr(secret), str(secret), f"{secret}", f"{secret!r:>20}", "%s" % (secret,), repr([secret]), repr(sent)]  # noqa: UP031
    assert not any(SECRET in text for text in (*texts, repr(vars(source))))
    assert secret.reveal() == SECRET
    assert secret == Secret(SECRET)
    assert secret != SECRET
    assert len({secret, Secret(SECRET)}) == 1


def test_short_texts_are_not_taken_out_of_others() -> None:
    """A tenant or a team is no secret: an error that has the word by chance keeps it."""
    credentials = Credentials(Access(headers={"X-Team": "ray"}, tenant="ray-prod"), FastClock())
    credentials.headers("GET", "http://a/", None)
    assert credentials.redacted("ray in ray-prod") == "ray in ray-prod"


def test_what_was_sent_long_ago_is_forgotten() -> None:
    """A client that lives long does not remember every signature."""
    count = 0

    class Counting(FixedSource):
        def current(self) -> Secret:
            nonlocal count
            count += 1
            return Secret(f"secret-{count}")

    credentials = Credentials(Access(bearer_token=Secret("x")), FastClock())
    credentials._parts = tuple(
        type(part)(part.header, part.what, Counting(Secret("x"), ""), part.make) for part in credentials._parts
    )
    for _ in range(200):
        with suppress(ValueError):
            credentials.headers("GET", "http://a/", None)
    assert credentials.redacted("secret-200 secret-150 secret-1 ") == "*** *** secret-1 "
