"""The fleet page's order, pages and filter; its state is in the address."""

import pytest

from advisor.model.finding import FindingCode, Severity
from tests.web.serving import NOW, World, failure
from tests.web.test_pages import Seen, page


def shown(seen: Seen) -> list[str]:
    """The operators of a page, from above."""
    return [href.removeprefix("/operators/") for href in seen.hrefs() if href.startswith("/operators/")]


def heads(seen: Seen) -> dict[str, str | None]:
    """How each column is sorted, by where its head leads."""
    found, sort = {}, None
    for tag, attributes in seen.elements:
        if tag == "th" and attributes.get("scope") == "col":
            sort = attributes.get("aria-sort")
        elif tag == "a" and "sort=" in str(attributes.get("href")):
            found[str(attributes["href"])] = sort
    return found


def varied() -> World:
    """Three operators that differ in everything, and one that could not be analysed."""
    world = World()
    rows = (
        ("b", Severity.INFO, FindingCode.HEALTHY, 3.0, NOW - 20.0, (9.0, 9.0)),
        ("c", Severity.CRITICAL, FindingCode.WORKERS_SATURATED, 1.0, NOW - 90.0, (0.5,)),
        ("a", Severity.WARNING, FindingCode.HOT_KEY, 2.0, NOW - 50.0, (1.0, 1.0)),
    )
    for name, severity, finding, wait, until, before in rows:
        for each in before:
            world.analysed(name, NOW - 900.0, queue_wait_seconds=each)
        world.analysed(name, until, severity=severity, finding=finding, queue_wait_seconds=wait)
    world.store.add_failure("d", NOW, failure())
    return world


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("", "cadb"),
        ("severity", "cadb"),
        ("-severity", "bdac"),
        ("name", "abcd"),
        ("-name", "dcba"),
        ("finding", "bacd"),
        ("wait", "bacd"),
        ("-wait", "cabd"),
        ("age", "cabd"),
        ("-age", "bacd"),
        ("trend", "acbd"),
        ("-trend", "bcad"),
    ],
)
def test_by_each_column(sort: str, order: str) -> None:
    """Both ways; what is not known stands last."""
    assert "".join(shown(page(varied(), f"/?sort={sort}"))) == order


def test_the_heads_tell_the_order() -> None:
    """One column is marked; its head leads to the other way, and all keep the filter."""
    world = varied()
    usual = heads(page(world, "/"))
    assert usual["/?sort=-severity"] == "descending"
    assert [way for way in usual.values() if way] == ["descending"]
    found = heads(page(world, "/?q=a&severity=warning&sort=name"))
    assert found["/?q=a&severity=warning&sort=-name"] == "ascending"
    assert found["/?q=a&severity=warning&sort=wait"] is None
    assert heads(page(world, "/?sort=-name"))["/?sort=name"] == "descending"


def test_the_filter_keeps_the_order() -> None:
    """The form brings it along, and finds findings as well as names."""
    seen = page(varied(), "/?q=HOT&sort=wait")
    assert shown(seen) == ["a"]
    hidden = [found for tag, found in seen.elements if tag == "input" and found.get("type") == "hidden"]
    assert [(one["name"], one["value"]) for one in hidden] == [("sort", "wait")]
    assert "1 that fit, of 4 in all" in seen.text


def test_pages() -> None:
    """A hundred at a time; links lead to the others and keep order and filter; a number too large is the last page."""
    world = World()
    for number in range(230):
        world.store.add_failure(f"op-{number:03d}", NOW, failure())
    first = page(world, "/?q=op&sort=name")
    assert "1 to 100 of 230" in first.text
    assert "/?q=op&sort=name&page=3" in first.hrefs()
    assert shown(page(world, "/?sort=name&page=2"))[0] == "op-100"
    last = page(world, "/?sort=name&page=99")
    assert shown(last) == [f"op-{number:03d}" for number in range(200, 230)]
    current = [found["href"] for tag, found in last.elements if tag == "a" and found.get("aria-current") == "page"]
    assert "/?sort=name&page=3" in current
    data = world.client().get("/?sort=name&page=3&export=json").json
    assert data is not None
    assert (data["data"]["count"], data["data"]["page"], len(data["data"]["operators"])) == (230, 3, 30)


@pytest.mark.parametrize("address", ["/?sort=none", "/?sort=--name", "/?page=x", "/?page=-1", "/?page=99999999"])
def test_a_state_that_does_not_exist(address: str) -> None:
    """It is refused, and the page says why."""
    page(World(), address, 400)


def test_a_trend_follows_its_reports() -> None:
    """It is drawn anew with each report."""
    world = World()
    client = world.client()
    world.analysed("a", queue_wait_seconds=1.0)
    assert "<svg" not in client.get("/").text
    world.analysed("a", queue_wait_seconds=2.0)
    assert "last 2 reports" in client.get("/").text
    world.analysed("a", queue_wait_seconds=3.0)
    assert "last 3 reports" in client.get("/").text


def test_a_report_that_is_dropped_is_gone() -> None:
    """Though it was drawn before; its operator's page says that there is none."""
    world = World()
    number = world.analysed("a")
    client = world.client()
    assert client.get(f"/reports/{number}").status_code == 200
    world.store.prune(NOW)
    world.store.prune(NOW + 40 * 86_400.0)
    world.store.prune(NOW + 40 * 86_400.0 + 3600.0)
    assert client.get(f"/reports/{number}").status_code == 404
