"""The page of keys: what a sidecar told over time, what reports know without one, and one key alone."""

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from prometheus_client import CollectorRegistry

from advisor.analysis import Options
from advisor.model.finding import FindingCode
from advisor.model.signal import Window
from advisor.sidecar.collector import SidecarCollector, SidecarView
from advisor.sidecar.server import Held, Server, Telling
from advisor.web.assembly import Advisor
from advisor.web.config import load_config
from advisor.web.history import KeptHistory
from advisor.web.targets import watched
from tests.sidecar.sidecarviews import worst_case
from tests.sources.servers import answer, serving
from tests.web.serving import NOW, World, target
from tests.web.sidecarkept import hot, kept, key, keys_view, parsed, played, text_of
from tests.web.test_api import fits
from tests.web.test_exports import exported
from tests.web.test_pages import HOSTILE, Seen, page

SIDECAR = "sidecar"


def filled(kind: str = SIDECAR) -> World:
    """A sidecar that told three times of two keys and the rest; the first key is hot."""
    world = World(kind=kind)
    for_all = (key("team-b/rc-2", 4.0, reconciles=3), key("team-c/job", 0.5, controller="rayjob"))
    kept(
        world,
        [
            keys_view(key("team-a/rc-1", 1.0, reconciles=10), *for_all, rest=2.0),
            keys_view(
                key("team-a/rc-1", 9.0, reconciles=90, errors=4), *for_all, rest=3.0, hot_keys=(hot("team-a/rc-1"),)
            ),
            keys_view(
                key("team-a/rc-1", 16.0, reconciles=190, errors=8), *for_all, rest=6.0, hot_keys=(hot("team-a/rc-1"),)
            ),
        ],
    )
    return world


class TestSidecar:
    def test_the_heaviest_come_first(self) -> None:
        """With their share of all busy time, what they did, who writes to them, and since when they are hot."""
        seen = page(filled(), "/keys/one")
        assert "team-a/rc-1raycluster79%15 s18084annotatorsince" in seen.text
        assert "all other keysraycluster21%4 s400--" in seen.text
        assert "All of them together: 19 s of busy worker time." in seen.text
        assert "team-b/rc-2" not in seen.text
        assert "none has had more than 500 ms since the sidecar started" in seen.text

    def test_namespaces_and_a_chart(self) -> None:
        """The same by namespace, and the heaviest keys over time for those who cannot see it as well."""
        seen = page(filled(), "/keys/one")
        assert "team-a79%15 s180841" in seen.text
        assert any(found.get("class") == "chart" for tag, found in seen.elements if tag == "svg")
        assert "team-a/rc-1: highest 89%" in seen.text

    def test_a_key_alone(self) -> None:
        """It has a page of its own under a link that stays, with its share and its reconciles over time."""
        world = filled()
        links = [href for href in page(world, "/keys/one?window=6h").hrefs() if "key=team-a" in href]
        assert links == ["/keys/one?window=6h&key=team-a/rc-1&controller=raycluster"]
        seen = page(world, links[0])
        assert "Key team-a/rc-1" in seen.text
        assert "6.67/s" in seen.text
        assert "team-a79%" not in seen.text
        assert "/keys/one?window=24h&key=team-a/rc-1&controller=raycluster" in seen.hrefs()

    @pytest.mark.parametrize("asked", ["key=none/such", "key=team-a/rc-1&controller=rayjob"])
    def test_a_key_that_is_not_known(self, asked: str) -> None:
        """It is said where it may be, with a way back."""
        seen = page(filled(), f"/keys/one?{asked}")
        assert "had no series of its own in the last hour" in seen.text
        assert "/keys/one?window=1h" in seen.hrefs()

    def test_a_key_of_two_controllers(self) -> None:
        """Without a controller both are shown."""
        world = World(kind=SIDECAR)
        both = [(key("n/a", busy), key("n/a", busy, controller="rayjob")) for busy in (1.0, 2.0)]
        kept(world, [keys_view(*totals) for totals in both])
        text = page(world, "/keys/one?key=n/a").text
        assert "n/araycluster50%" in text
        assert "n/arayjob50%" in text

    def test_a_sidecar_that_began_anew(self) -> None:
        """What it counted before and after is added up."""
        world = World(kind=SIDECAR)
        kept(world, [keys_view(key("n/a", busy)) for busy in (90.0, 100.0, 3.0)])
        assert "n/araycluster100%13 s" in page(world, "/keys/one").text

    def test_a_key_that_is_hot_no_longer(self) -> None:
        """For how long it was."""
        world = World(kind=SIDECAR)
        views = [keys_view(key("n/a", busy), hot_keys=(hot("n/a"),) if busy < 3.0 else ()) for busy in (1.0, 2.0, 3.0)]
        kept(world, views)
        assert "for 30 s, not now" in page(world, "/keys/one").text

    def test_more_keys_than_a_page_has_room_for(self) -> None:
        """How many are left out is said."""
        world = World(kind=SIDECAR)
        kept(
            world,
            [keys_view(*(key(f"n/{number}", step + number * step) for number in range(23))) for step in (1.0, 2.0)],
        )
        assert "3 lighter keys had series of their own in this time." in page(world, "/keys/one").text

    def test_doubts(self) -> None:
        """A sidecar far behind its log, and one that left series out, are told."""
        world = World(kind=SIDECAR)
        whole = worst_case(keys=200)
        assert whole.own is not None
        kept(world, [replace(whole, own=replace(whole.own, log_lag_seconds=lag)) for lag in (0.0, 300.0)])
        text = page(world, "/keys/one").text
        assert "The sidecar is 5.0 min behind the log" in text
        assert "series out to stay below its limit" in text

    def test_what_is_kept_is_bounded(self) -> None:
        """Of all that a sidecar can tell, some 160 series, and never its own controllers'."""
        samples = parsed(worst_case()).samples
        assert 140 < len(samples) < 180
        assert all(name.startswith("kuberay_advisor_") and not name.endswith("_bucket") for name, _, _ in samples)

    def test_longer_times(self) -> None:
        """A page looks back as far as it is asked to, and an address that asks for anything else is refused."""
        world = filled()
        world.now += 3 * 3600.0
        world.store.prune(world.now)
        assert "The sidecar told of no key in the last hour" in page(world, "/keys/one").text
        seen = page(world, "/keys/one?window=6h")
        assert "team-a/rc-1raycluster79%" in seen.text
        assert "3 h ago" in seen.text
        assert "Window is one of 1h, 6h, 24h, 7d" in page(world, "/keys/one?window=2h", 400).text


class TestEmpty:
    def test_an_operator_without_a_sidecar(self) -> None:
        """Why no key is known, how to get a sidecar, and what the last report says of keys."""
        world = World()
        world.analysed("one", NOW - 900.0)
        world.analysed("one", finding=FindingCode.HOT_KEY)
        seen = page(world, "/keys/one")
        assert "No metric of the operator tells which keys" in seen.text
        assert "kuberay-advisor sidecar --log-file" in seen.text
        assert "Keys of the last report" in {found.get("aria-label") for _, found in seen.elements}
        assert "came first in 1 of 2 reports of the last hour" in seen.text
        assert "/findings/hot-key" in seen.hrefs()

    def test_a_sidecar_that_told_nothing_yet(self) -> None:
        """It is said how long it takes, and what is wrong where something is."""
        world = World(kind=SIDECAR, problem="connection refused <b>")
        world.analysed("one")
        seen = page(world, "/keys/one")
        assert "Nothing that the sidecar tells has been kept yet" in seen.text
        assert "What it tells is not kept just now: connection refused <b>" in seen.text

    def test_a_sidecar_without_a_log(self) -> None:
        """It tells of no key, and the page says why that may be."""
        world = World(kind=SIDECAR)
        kept(world, [SidecarView(own=worst_case().own)] * 3)
        assert "it reads no log" in page(world, "/keys/one").text

    def test_nothing_was_reconciled(self) -> None:
        """A log without a reconcile is not silence."""
        world = World(kind=SIDECAR)
        kept(world, [keys_view(key("n/a", 5.0))] * 3)
        assert "No reconcile has ended in the last hour" in page(world, "/keys/one").text

    def test_a_sidecar_that_is_gone(self) -> None:
        """What it told is there, marked as old."""
        world = filled()
        world.now += 600.0
        seen = page(world, "/keys/one")
        stale = [found for tag, found in seen.elements if tag == "p" and found.get("class") == "stale"]
        assert len(stale) == 1
        assert "10 min ago" in seen.text

    def test_one_that_is_watched_and_has_told_nothing(self) -> None:
        """Right after the start nothing is kept of it, and it has its page all the same."""
        world = World(kind=SIDECAR, targets=[target("new")])
        assert "Nothing that the sidecar tells has been kept yet" in page(world, "/keys/new").text

    def test_unknown(self) -> None:
        """A name that is not known is an error."""
        assert "there is no operator 'x' here" in page(World(), "/keys/x", 404).text.lower()


class TestApi:
    def test_the_same_values(self) -> None:
        """As the page as JSON has them, and as they are described."""
        world = filled()
        answer = world.client().get("/api/v1/operators/one/keys?window=6h")
        assert answer.json is not None
        fits("/api/v1/operators/{name}/keys", answer.json)
        assert answer.json["history"]["keys"][0]["writers"] == ["annotator"]
        assert json.loads(exported(world, "/keys/one?window=6h", "json"))["data"] == answer.json

    def test_a_limit(self) -> None:
        """No more keys than that, and how many are left out."""
        world = World(kind=SIDECAR)
        kept(
            world,
            [keys_view(*(key(f"n/{number}", step + number * step) for number in range(5))) for step in (1.0, 2.0)],
        )
        answer = world.client().get("/api/v1/operators/one/keys?limit=2").json
        assert answer is not None
        assert [one["name"] for one in answer["history"]["keys"]] == ["4", "3"]
        assert answer["history"]["keys_left_out"] == 3

    def test_nothing_kept(self) -> None:
        """Null, and not an error."""
        world = World()
        world.analysed("one")
        answer = world.client().get("/api/v1/operators/one/keys").json
        fits("/api/v1/operators/{name}/keys", answer)
        assert answer is not None
        assert (answer["history"], answer["sampled_until"]) == (None, None)

    @pytest.mark.parametrize(("path", "status"), [("one/keys?window=1y", 400), ("none/keys", 404)])
    def test_errors(self, path: str, status: int) -> None:
        """A time that there is not, and an operator that there is not."""
        answer = filled().client().get(f"/api/v1/operators/{path}")
        assert (answer.status_code, answer.content_type) == (status, "application/problem+json")


class TestHostile:
    @pytest.mark.parametrize("name", HOSTILE)
    @pytest.mark.parametrize("form", ["", "html", "markdown"])
    def test_names_are_text(self, name: str, form: str) -> None:
        """Of keys, namespaces, controllers and writers, on pages and in files: no element comes of them."""
        world = World(kind=SIDECAR)
        names = [key(f"{name}/{name}", busy, controller=name) for busy in (1.0, 2.0)]
        kept(world, [keys_view(one, hot_keys=(hot(f"{name}/{name}", name, name),)) for one in names])
        for path in ("/keys/one", f"/keys/one?key={quote(f'{name}/{name}')}"):
            text = exported(world, path, form) if form else world.client().get(path).text
            assert "\u202e" not in text
            if form == "markdown":
                assert not re.search(r"(?<!\\)<(script|img)", text)
                continue
            seen = Seen(text)
            assert not seen.tags() & {"script", "img", "iframe", "object"}
            assert all(not found.keys() & {"onerror", "onclick"} for _, found in seen.elements)
            assert name.replace("\u202e", "\ufffd") in seen.text

    def test_a_link_leads_to_the_key(self) -> None:
        """Whatever its name is."""
        world = World(kind=SIDECAR)
        name = "a&b=c#d/<e>?f%20 g"
        kept(world, [keys_view(key(name, busy)) for busy in (1.0, 2.0)])
        (link,) = [href for href in page(world, "/keys/one").hrefs() if "key=" in href]
        assert f"{name}raycluster100%" in page(world, link).text


@pytest.mark.timeout(120)
def test_a_recording_played_to_a_sidecar(shared: Path) -> None:
    """Of a real operator with a hot key the page names it, since when it is hot, and how often it was reconciled."""
    world, last = World(kind=SIDECAR), 0.0
    history = KeptHistory(world.store)
    for last, exposition in played(shared / "recordings" / "hot-key-annotation-writer", step=10.0):
        history.keep("one", last, exposition)
    world.now = last + 1.0
    text = page(world, "/keys/one").text
    assert "team-b/rc-001raycluster100%6" in text
    assert "2,400" in text
    assert "since 2026-11-29 19:40:" in text


def serving_sidecar(views: list[SidecarView]) -> Server:
    """A sidecar's own server; each scrape gets the next view."""
    registry, left = CollectorRegistry(), list(views)
    registry.register(SidecarCollector(lambda: left.pop(0) if len(left) > 1 else left[0]))
    telling = Telling(registry=registry, held=Held(), is_alive=lambda: True, is_ready=lambda: True)
    return Server("127.0.0.1", 0, telling)


def growing(count: int) -> list[SidecarView]:
    """A hot key whose time grows with each scrape."""
    return [keys_view(key("team-a/rc-1", 1.0 + step), hot_keys=(hot("team-a/rc-1"),)) for step in range(count)]


@contextmanager
def sidecar(views: list[SidecarView]) -> Iterator[str]:
    """A real sidecar's server while the block lasts; its address."""
    server, stop = serving_sidecar(views), threading.Event()
    thread = threading.Thread(target=server.run, args=(stop,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        stop.set()
        thread.join()


class TestKept:
    def test_the_metrics_of_a_sidecar_are_scraped(self) -> None:
        """At its own address, and kept in the store as they are."""
        world = World(kind=SIDECAR)
        with sidecar(growing(3)) as url:
            config = load_config(None, {}, {"operators": [{"name": "one", "sidecar": {"url": f"{url}/metrics"}}]})
            (scrape,) = watched(config.operators, config.schedule, Options(), history=KeptHistory(world.store)).scrapes
            for _ in range(3):
                scrape.once()
        assert (scrape.health(), scrape.counters()["scrapes_ok"]) == ("", 3)
        world.now = time.time()
        history = json.loads(exported(world, "/keys/one", "json"))["data"]["history"]
        assert (history["scrapes"], history["keys"][0]["busy_seconds"]) == (3, 2.0)

    def test_no_more_than_a_sidecar_may_have(self) -> None:
        """Of an answer without end the first so many samples are kept, and it is counted how many are not."""
        world, body = World(kind=SIDECAR), text_of(keys_view(*(key(f"n/{number}", 1.0) for number in range(100))))
        lines = [f'kuberay_advisor_key_busy_seconds_total{{object_name="x{number}"}} 1\n' for number in range(600)]
        with serving(answer((body + "".join(lines)).encode())) as server:
            config = load_config(None, {}, {"operators": [{"name": "one", "sidecar": {"url": server.url}}]})
            (scrape,) = watched(config.operators, config.schedule, Options(), history=KeptHistory(world.store)).scrapes
            scrape.once()
        assert scrape.counters()["samples_left_out"] > 0
        assert len(world.store.series("one", Window(0.0, time.time() + 1.0))) == 500

    def test_from_a_sidecar_to_the_page(self, tmp_path: Path) -> None:
        """The whole service, with its threads: a sidecar is scraped at its interval, and a browser sees the key."""
        with sidecar(growing(1000)) as url:
            operators = [{"name": "eu/one", "sidecar": {"url": url, "interval": "1s"}}]
            told = {"store.path": str(tmp_path / "h.db"), "listen.port": 0, "operators": operators}
            advisor = Advisor(load_config(None, {}, told))
            advisor.start()
            try:
                text, end = "", time.monotonic() + 40.0
                while "team-a/rc-1" not in text and time.monotonic() < end:
                    time.sleep(0.2)
                    text = got(advisor, "/keys/eu/one")
                stopped = got(advisor, "/priorities/eu/one")
            finally:
                advisor.stop()
        assert "team-a/rc-1" in text
        assert "annotator" in text
        assert "The sidecar told of no queue" in stopped


def got(advisor: Advisor, path: str) -> str:
    """A page of a service."""
    address = urlsplit(advisor.address)
    connection = HTTPConnection(address.hostname or "", address.port, timeout=20.0)
    connection.request("GET", path)
    found = connection.getresponse().read().decode()
    connection.close()
    return found


def test_why_nothing_is_kept(tmp_path: Path) -> None:
    """A sidecar that is not there is told on the page of its keys, as soon as it was tried."""
    operators = [{"name": "one", "sidecar": {"url": "http://127.0.0.1:1", "interval": "1s"}}]
    told = {"store.path": str(tmp_path / "h.db"), "listen.port": 0, "operators": operators}
    advisor = Advisor(load_config(None, {}, told))
    advisor.start()
    try:
        text, end = "", time.monotonic() + 40.0
        while "What it tells is not kept just now" not in text and time.monotonic() < end:
            time.sleep(0.2)
            text = got(advisor, "/keys/one")
    finally:
        advisor.stop()
    assert "What it tells is not kept just now" in text
    assert "Nothing that the sidecar tells has been kept yet" in text
