"""Two times of an operator, or two operators, on a page and in the API."""

import json
from urllib.parse import urlencode

import pytest

from tests.analysis.reportsmade import after_ten, moved
from tests.web.changing import Watched, before
from tests.web.serving import NOW, World
from tests.web.test_api import fits
from tests.web.test_pages import HOSTILE, Seen, page

HOUR = 3600.0


def two() -> tuple[World, int, int]:
    """One worker, and ten an hour later."""
    watched = Watched()
    watched.sees(NOW - HOUR - 60.0, before(NOW - 2 * HOUR))
    watched.sees(NOW - 60.0, moved(after_ten(), NOW - 300.0))
    second, first = (one.id for one in watched.store.reports("one"))
    return watched.world(), first, second


def chosen(seen: Seen) -> list[str | None]:
    """The values of the options that are chosen."""
    return [found["value"] for tag, found in seen.elements if tag == "option" and "selected" in found]


def test_two_times_of_an_operator() -> None:
    """The verdict with its reasons, links to both reports and to the other way round."""
    world, first, second = two()
    seen = page(world, f"/compare?a={first}&b={second}")
    assert "It got better: wait in the queue per created Pod fell" in seen.text
    assert {f"/reports/{first}", f"/reports/{second}", f"/compare?a={second}&b={first}"} <= set(seen.hrefs())
    assert chosen(seen) == ["one", str(first), "one", str(second)]
    assert "It got worse" in page(world, f"/compare?a={second}&b={first}").text


def test_an_operator_with_itself() -> None:
    """Without times its newest report is compared with the one of an hour before."""
    world, first, second = two()
    for path in ("/compare", "/compare?from=one&to=one", "/compare?from=one"):
        assert chosen(page(world, path)) == ["one", str(first), "one", str(second)]
    assert chosen(page(world, f"/compare?a={first}")) == ["one", str(first), "one", str(second)]


def test_the_report_before_where_there_is_none_of_an_hour_ago() -> None:
    """Then the oldest one there is."""
    world = World()
    numbers = [world.analysed("one", NOW - 600.0 + 60.0 * at) for at in range(3)]
    assert chosen(page(world, "/compare")) == ["one", str(numbers[0]), "one", str(numbers[2])]


def test_two_operators() -> None:
    """Their newest reports, whatever time was chosen of another one."""
    world, first, _ = two()
    other = world.analysed("other")
    seen = page(world, f"/compare?from=other&a={first}&to=one&b=")
    assert chosen(seen)[:3] == ["other", str(other), "one"]
    assert "/operators/other" in seen.hrefs()


def test_times_thin_out() -> None:
    """All of the newest reports are offered, then one an hour, then one a day; the chosen one is among them."""
    world = World()
    kept = [world.analysed("one", NOW - 48 * HOUR + 600.0 * at) for at in range(289)]
    odd = kept[7]
    seen = page(world, f"/compare?a={odd}&b={kept[-1]}")
    assert chosen(seen) == ["one", str(odd), "one", str(kept[-1])]
    offered = [found for tag, found in seen.elements if tag == "option"]
    assert 60 < len(offered) < 100


def test_nothing_to_compare() -> None:
    """Without any report, and with one only, the page says what is needed."""
    world = World()
    assert "no operator has been analysed" in page(world, "/compare").text
    only = world.analysed("one")
    seen = page(world, "/compare")
    assert "There is one report only." in seen.text
    assert "There is one report only." in page(world, f"/compare?a={only}&b={only}").text


@pytest.mark.parametrize(
    ("query", "status", "text"),
    [
        ("a=x", 400, "a is the number of a report, not 'x'"),
        ("a=1&b=-1", 400, "b is the number of a report, not '-1'"),
        ("a=1&b=99999999999999999999999", 400, "b is the number of a report"),
        ("a=1&b=999", 404, "there is no report 999 any more"),
        ("from=none", 404, "there is no report of an operator 'none' here"),
    ],
)
def test_what_is_not_there(query: str, status: int, text: str) -> None:
    """It is named, with the right status."""
    world, _, _ = two()
    assert text in page(world, f"/compare?{query}", status).text.lower()


def test_a_report_that_is_dropped_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row whose document is gone is no fault of the page."""
    world, first, second = two()
    monkeypatch.setattr(world.store, "document", lambda _: None)
    page(world, f"/compare?a={first}&b={second}", 404)


def test_links_from_the_operator_s_page() -> None:
    """An hour, a day and a week ago, as far as there are reports of about that time."""
    world = World()
    old = [world.analysed("one", NOW - 60.0 - age) for age in (8 * 24 * HOUR, 24.5 * HOUR, 3.0 * HOUR)]
    newest = world.analysed("one")
    links = [one for one in page(world, "/operators/one").hrefs() if one.startswith("/compare?")]
    assert links == [f"/compare?a={old[1]}&b={newest}", f"/compare?a={old[0]}&b={newest}"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name(name: str) -> None:
    """It is text in the form, in links and in every file."""
    watched = Watched(operator=name)
    watched.sees(NOW - HOUR, before(NOW - 2 * HOUR))
    watched.sees(NOW, moved(after_ten(), NOW - 60.0))
    world = watched.world()
    for path in (f"/compare?{urlencode({'from': name, 'to': name})}", "/compare"):
        seen = page(world, path)
        assert not seen.tags() & {"script", "img"}
        for form in ("html", "markdown", "json"):
            separator = "&" if "?" in path else "?"
            answer = world.client().get(f"{path}{separator}export={form}")
            assert answer.status_code == 200
            assert form == "json" or "\u202e" not in answer.text
            assert form == "json" or "<script>alert" not in answer.text.replace("\\<", "")


class TestApi:
    def test_a_comparison(self) -> None:
        """As described, and as the page says it."""
        world, first, second = two()
        client = world.client()
        answer = client.get(f"/api/v1/compare?a={first}&b={second}").json
        assert answer is not None
        fits("/api/v1/compare", answer)
        assert (answer["before"]["id"], answer["after"]["id"]) == (first, second)
        assert answer["comparison"]["outcome"] == "better"
        shown = json.loads(client.get(f"/compare?a={first}&b={second}&export=json").data)
        assert shown["data"]["comparison"] == answer["comparison"]

    @pytest.mark.parametrize("query", ["", "?a=1", "?a=1&b=x"])
    def test_without_two_reports(self, query: str) -> None:
        """Both have to be named."""
        world, _, _ = two()
        answer = world.client().get(f"/api/v1/compare{query}")
        assert (answer.status_code, answer.content_type) == (400, "application/problem+json")
