import re
from html.parser import HTMLParser

import pytest

from advisor.diagnosis.findings import RULES
from advisor.model.finding import FindingCode, Severity
from tests.web.serving import NOW, World, failure, report, target

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "\u202egnp.exe",
    "n" * 253,
    "\N{CAT FACE} & Söhne",
    "a/b/../c",
    "{{7*7}}{% x %}",
]


def _is_ours(script: dict[str, str | None]) -> bool:
    return (
        script.keys() == {"src", "defer"}
        and re.fullmatch(r"/assets/[0-9a-f]{12}/\w[\w.]*", script["src"] or "") is not None
    )


class Seen(HTMLParser):
    """Elements and text of a page; whether it is well formed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        """Note text."""
        self.text += data

    def tags(self) -> set[str]:
        """Names of its elements; the service's own files of scripts, which each page links to, are none of its."""
        return {tag for tag, found in self.elements if tag != "script" or not _is_ours(found)}

    def hrefs(self) -> list[str]:
        """All links."""
        return [str(found["href"]) for tag, found in self.elements if tag == "a"]


def page(world: World, path: str, status: int = 200) -> Seen:
    """A page, which is HTML of that status."""
    answer = world.client().get(path)
    assert answer.status_code == status, answer.text
    assert answer.content_type == "text/html; charset=utf-8"
    return Seen(answer.text)


class TestFleet:
    def test_worst_first(self) -> None:
        """By severity, then by lost time; what cannot be analysed stands with the warnings."""
        world = World()
        world.analysed("well", severity=Severity.INFO, finding=FindingCode.HEALTHY, lost_seconds=0.0)
        world.analysed("bad", severity=Severity.CRITICAL, lost_seconds=10.0)
        world.analysed("worse", severity=Severity.CRITICAL, lost_seconds=90.0)
        world.store.add_failure("gone", NOW - 5.0, failure())
        links = [href for href in page(world, "/").hrefs() if href.startswith("/operators/")]
        assert links == ["/operators/worse", "/operators/bad", "/operators/gone", "/operators/well"]

    def test_filter(self) -> None:
        """By a part of the name and by severity; a filter that nothing passes says so."""
        world = World()
        world.analysed("team-a", severity=Severity.CRITICAL)
        world.analysed("team-b", severity=Severity.INFO)
        assert "/operators/team-b" not in page(world, "/?q=TEAM-A").hrefs()
        assert "/operators/team-a" not in page(world, "/?severity=info").hrefs()
        assert "No operator is like that." in page(world, "/?q=nothing").text

    def test_nothing_yet(self) -> None:
        """An empty history tells what to expect."""
        assert "Nothing has been analysed yet." in page(World(), "/").text

    def test_age(self) -> None:
        """Old data, and data after which the last try failed, are marked."""
        world = World()
        world.analysed("fresh")
        world.analysed("old", NOW - 7200.0)
        world.analysed("failing")
        world.store.add_failure("failing", NOW - 1.0, failure())
        seen = page(world, "/")
        stale = [dict(found) for tag, found in seen.elements if tag == "span" and found.get("class") == "stale"]
        assert len(stale) == 2
        assert "60 s ago; the last try failed" in seen.text

    def test_trend(self) -> None:
        """Two reports or more give a line, with a text for those who cannot see it."""
        world = World()
        for minute in range(5):
            world.analysed("one", NOW - 600.0 + 60.0 * minute, queue_wait_seconds=float(minute) or None)
        labels = [found["aria-label"] for tag, found in page(world, "/").elements if tag == "svg"]
        assert labels == ["mean queue wait of the last 5 reports"]


class TestOperator:
    def test_the_report_and_its_history(self) -> None:
        """Verdict, advice, findings and patch of the last report, and links to those before."""
        world = World()
        first = world.analysed("one", NOW - 3600.0)
        world.analysed("one")
        world.store.add_change("one", NOW - 1800.0, "concurrency", 1.0, 4.0)
        seen = page(world, "/operators/one")
        assert {"advice", "findings", "history", "changes"} <= {str(found.get("id")) for _, found in seen.elements}
        assert f"/reports/{first}" in seen.hrefs()
        assert "reconcile-concurrency" in seen.text

    def test_one_that_was_never_analysed(self) -> None:
        """The page says why there is no report, and what to do."""
        world = World()
        world.store.add_failure("one", NOW - 5.0, failure("no such host"))
        text = page(world, "/operators/one").text
        assert "no such host (http://store:9090)" in text
        assert "check the address" in text

    def test_one_whose_last_try_failed(self) -> None:
        """The last report is there, with what went wrong since."""
        world = World()
        world.analysed("one", NOW - 900.0)
        world.store.add_failure("one", NOW - 5.0, failure("timed out"))
        text = page(world, "/operators/one").text
        assert "timed out" in text
        assert "Advice" in text

    def test_unknown(self) -> None:
        """A name that is not known is an error with its own page."""
        assert "there is no operator 'x' here" in page(World(), "/operators/x", 404).text.lower()

    def test_a_report_by_its_number(self) -> None:
        """A link that stays; one that is gone says so."""
        world = World()
        number = world.analysed("one")
        assert "/operators/one" in page(world, f"/reports/{number}").hrefs()
        assert "no report 999 any more" in page(world, "/reports/999", 404).text


class TestOthers:
    def test_findings(self) -> None:
        """All are listed, and each has a page."""
        world = World()
        links = page(world, "/findings").hrefs()
        for rule in RULES:
            assert f"/findings/{rule.code.value}" in links
            assert rule.title in page(world, f"/findings/{rule.code.value}").text
        page(world, "/findings/none", 404)

    def test_data(self) -> None:
        """Sources, when they are next, and how they go."""
        targets = [
            target("one"),
            target("two", running_since=NOW - 4.0, failures=3, last_duration_seconds=None, last_failure=failure("bad")),
            target("three", hangs=True),
        ]
        text = page(World(targets=targets), "/data").text
        assert re.search(r"one\s*prometheus\s*in 30 s\s*1.25 s\s*0", text)
        assert re.search(r"two\s*prometheus\s*since 4 s\s*-\s*3\s*bad", text)
        assert re.search(r"three\s*prometheus\s*hangs", text)
        assert "No source is configured." in page(World(), "/data").text

    def test_the_data_of_one_operator(self) -> None:
        """How fresh it is, what was read, which query gave which figure, and what is missing and why."""
        world = World(targets=[target("one")])
        world.analysed("one", NOW - 7200.0)
        world.store.add_failure("one", NOW - 5.0, failure("timed out"))
        seen = page(world, "/data/one")
        assert {"schedule", "freshness", "read", "queries", "missing"} <= {
            str(found.get("id")) for _, found in seen.elements
        }
        assert "That is older than it should be." in seen.text
        assert "timed out (http://store:9090)" in seen.text
        origins = {one.origin for one in report().figures.values()}
        assert origins
        assert all(one in seen.text for one in origins)
        assert all(one.reason in seen.text for one in report().missing)

    def test_the_data_of_one_without_a_report(self) -> None:
        """One that is configured and was not analysed yet has a page, one that nobody knows has none."""
        world = World(targets=[target("new")])
        assert "in 30 s" in page(world, "/data/new").text
        page(world, "/data/nobody", 404)

    def test_style(self) -> None:
        """The style sheet is named by its content, and kept by browsers while it is that."""
        client = World().client()
        href = next(found["href"] for tag, found in Seen(client.get("/").text).elements if tag == "link")
        assert href is not None
        answer = client.get(href)
        assert answer.content_type == "text/css; charset=utf-8"
        assert "immutable" in answer.headers["Cache-Control"]
        assert "immutable" not in client.get("/style-old.css").headers["Cache-Control"]

    def test_a_page_that_the_browser_has(self) -> None:
        """Nothing is sent again while nothing changed."""
        client = World().client()
        tag = client.get("/findings").headers["ETag"]
        assert client.get("/findings", headers={"If-None-Match": tag}).status_code == 304


class TestHostileNames:
    @pytest.mark.parametrize("name", HOSTILE)
    def test_a_name_is_never_markup(self, name: str) -> None:
        """On every page that shows it, a name is text: no element, no attribute and no script comes of it."""
        world = World(targets=[target(name, last_failure=failure(name, name))])
        number = world.analysed(name)
        world.analysed(name, NOW - 10.0)
        world.store.add_failure(name, NOW - 1.0, failure(name, name))
        world.store.add_change(name, NOW - 20.0, name, 1.0, 2.0)
        data = next(href for href in page(world, "/data").hrefs() if href.startswith("/data/"))
        paths = ["/", data, f"/?q={name[:20]}".replace("&", "%26").replace("#", "%23"), "/data", f"/reports/{number}"]
        link = next(href for href in page(world, "/").hrefs() if href.startswith("/operators/"))
        for path in (*paths, link):
            seen = page(world, path)
            assert not seen.tags() & {"script", "img", "style", "iframe"}
            assert not any(key.startswith("on") for _, found in seen.elements for key in found)
            assert "\u202e" not in seen.text
