"""What scripts do for a reader, against a service that runs, stops and learns."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from advisor.analysis.fleettask import verdict_of
from advisor.report.jsonreport import render_json
from tests.browser.chromium import Watch, opened, served
from tests.report.hostile import hostile
from tests.web.serving import NOW, World, failure, report, target

PERIOD_MS: Final = 31_000
HOSTILE: Final = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "\u202egnp.exe",
    "n" * 253,
    "\N{CAT FACE} & Söhne",
    "{{7*7}}{% x %}",
]


@contextmanager
def reading(browser: Browser, world: World, path: str, **options: Any) -> Iterator[Page]:  # noqa: ANN401 - Playwright's
    """A page of a service before a history; at its end nothing was complained about."""
    watch = Watch()
    with served(world.app()) as address, opened(browser, watch, base_url=address, **options) as page:
        page.clock.install()
        page.goto(path)
        yield page
        assert page.evaluate("window.violations") == []
        assert watch.said == []


def analysed(count: int = 2) -> World:
    """A history of one operator."""
    world = World(targets=[target("one")])
    for index in range(count):
        world.analysed("one", NOW - 600.0 + 60.0 * index)
    return world


def moved(page: Page, milliseconds: int = PERIOD_MS) -> None:
    """So much time goes by for the page."""
    page.clock.fast_forward(milliseconds)


def mark(page: Page) -> None:
    """Something that a reload would lose."""
    page.evaluate("window.marked = true")


def is_marked(page: Page) -> bool:
    """Whether the page was not loaded anew."""
    return page.evaluate("window.marked === true") is True


class TestTimes:
    def test_in_the_readers_zone(self, browser: Browser) -> None:
        """A time is the reader's, and says so; UTC is told on demand."""
        with reading(browser, analysed(), "/operators/one", timezone_id="America/New_York") as page:
            time = page.locator("time").first
            expect(time).to_have_text(re.compile(r"^2026-\d\d-\d\d \d\d:\d\d:\d\d GMT-5$"))
            title = time.get_attribute("title")
            assert title is not None
            assert re.fullmatch(r"2026-\d\d-\d\d \d\d:\d\d:\d\d UTC", title)
            assert title[:13] != (time.text_content() or "")[:13]
            expect(page.locator(".zone")).to_contain_text("America/New_York")

    def test_without_scripts(self, browser: Browser) -> None:
        """It is UTC, and says so."""
        with (
            served(analysed().app()) as address,
            opened(browser, Watch(), base_url=address, java_script_enabled=False) as page,
        ):
            page.goto("/operators/one")
            expect(page.locator("time").first).to_have_text(re.compile(" UTC$"))
            expect(page.locator(".zone")).to_have_text("Times are UTC.")


class TestRefresh:
    def test_a_new_report_is_shown(self, browser: Browser) -> None:
        """Without a reload, and what the reader opened, scrolled to and focused stays."""
        world = analysed()
        with reading(browser, world, "/operators/one") as page:
            mark(page)
            rows = page.locator("#history tbody tr")
            expect(rows).to_have_count(2)
            opened_one = page.locator("#findings details").first
            opened_one.locator("summary").click()
            link = page.locator("#history a").first
            link.focus()
            page.evaluate("window.scrollTo(0, 300)")
            world.analysed("one", NOW - 5.0)
            moved(page)
            expect(rows).to_have_count(3)
            expect(opened_one).to_have_attribute("open", "")
            assert page.evaluate("window.scrollY") == 300
            expect(page.locator("#history a").first).to_be_focused()
            expect(page.locator(".live-chart").first).to_be_visible()
            assert is_marked(page)

    def test_a_page_that_becomes_another(self, browser: Browser) -> None:
        """The first report of an operator brings sections and charts that were not there."""
        world = World(targets=[target("one")])
        world.store.add_failure("one", NOW - 5.0, failure())
        with reading(browser, world, "/operators/one") as page:
            mark(page)
            expect(page.locator("#data")).to_be_visible()
            world.analysed("one", NOW - 1.0)
            moved(page)
            expect(page.locator("#advice")).to_be_visible()
            expect(page.locator(".live-chart").first).to_be_visible()
            expect(page.locator(".live-bar")).to_have_count(1)
            assert page.evaluate("document.body.firstElementChild.className") == "skip"
            assert is_marked(page)

    def test_what_is_being_typed_stays(self, browser: Browser) -> None:
        """A field with the focus is left alone; one that was changed keeps its text."""
        world = analysed()
        with reading(browser, world, "/") as page:
            field = page.locator("input[name=q]")
            field.fill("tea")
            world.analysed("two", NOW - 5.0)
            with page.expect_response("**/"):
                moved(page)
            expect(page.locator(".live-state")).to_be_visible()
            expect(field).to_be_focused()
            field.blur()
            moved(page)
            expect(page.locator("#operators tbody tr")).to_have_count(2)
            expect(field).to_have_value("tea")

    def test_paused(self, browser: Browser) -> None:
        """Nothing is asked while a reader has it paused, also on the next page; then it goes on at once."""
        world = analysed()
        with reading(browser, world, "/") as page:
            page.get_by_role("button", name="Pause").click()
            expect(page.locator(".live-state")).to_contain_text("Paused")
            page.goto("/operators/one")
            expect(page.locator(".live-state")).to_contain_text("Paused")
            asked: list[str] = []
            page.on("request", lambda request: asked.append(request.url))
            world.analysed("one", NOW - 5.0)
            moved(page, 10 * PERIOD_MS)
            assert asked == []
            page.get_by_role("button", name="Resume").click()
            expect(page.locator("#history tbody tr")).to_have_count(3)
            expect(page.locator(".live-state")).to_contain_text("Live")

    def test_hidden(self, browser: Browser) -> None:
        """A page that nobody sees asks nothing; seen again, it is brought up to date at once."""
        world = analysed()
        hide = "Object.defineProperty(document, 'hidden', {value: %s, configurable: true});"
        hide += "document.dispatchEvent(new Event('visibilitychange'))"
        with reading(browser, world, "/operators/one") as page:
            page.evaluate(hide % "true")
            asked: list[str] = []
            page.on("request", lambda request: asked.append(request.url))
            world.analysed("one", NOW - 5.0)
            moved(page, 10 * PERIOD_MS)
            assert asked == []
            page.evaluate(hide % "false")
            expect(page.locator("#history tbody tr")).to_have_count(3)

    def test_the_service_stopped(self, browser: Browser) -> None:
        """The page says that what it shows is old, asks less often, and goes on when the service is back."""
        world = analysed()
        with opened(browser, Watch()) as page:
            page.clock.install()
            with served(world.app()) as address:
                page.goto(f"{address}/operators/one")
                expect(page.locator(".live-bar")).to_be_visible()
            notice = page.locator(".notice")
            expect(notice).to_be_hidden()
            moved(page)
            expect(notice).to_have_text(
                re.compile("^The service does not answer; what is shown is as of .* may be old")
            )
            expect(page.locator(".live-state")).to_contain_text("Waiting")
            expect(page.locator("#advice")).to_be_visible()
            world.analysed("one", NOW - 5.0)
            with served(world.app(), port=int(address.rpartition(":")[2])):
                moved(page, 4 * PERIOD_MS)
                expect(page.locator("#history tbody tr")).to_have_count(3)
                expect(notice).to_be_hidden()

    def test_an_error(self, browser: Browser) -> None:
        """A page that is gone at the service stays as it was, and says so."""
        world = analysed()
        with opened(browser, Watch()) as page, served(world.app()) as address:
            page.clock.install()
            page.goto(f"{address}/operators/one")
            page.route("**/operators/one", lambda route: route.fulfill(status=404, body="none"))
            moved(page)
            expect(page.locator(".notice")).to_contain_text("not there any more")
            expect(page.locator("#advice")).to_be_visible()


@pytest.fixture(scope="class")
def charts(browser: Browser) -> Iterator[Page]:
    """An operator with charts."""
    with reading(browser, analysed(), "/operators/one", timezone_id="Asia/Kolkata") as page:
        yield page


class TestCharts:
    @staticmethod
    def chart(page: Page, title: str = "Workers: raycluster") -> Locator:
        """The figure of a chart."""
        return page.locator("figure", has=page.locator("figcaption", has_text=title))

    def test_from_the_keyboard(self, charts: Page) -> None:
        """Arrow keys read one time after the other, + looks closer, Escape shows the whole time again."""
        figure = self.chart(charts)
        plot, readout, reset = figure.locator(".live-plot"), figure.locator(".readout span"), figure.locator("button")
        plot.focus()
        charts.keyboard.press("Home")
        expect(readout).to_have_text(re.compile(r"^2026-11-30 01:\d\d:\d\d: busy 0, configured 1$"))
        first = readout.text_content()
        charts.keyboard.press("ArrowRight")
        expect(readout).not_to_have_text(first or "")
        charts.keyboard.press("ArrowLeft")
        expect(readout).to_have_text(first or "")
        charts.keyboard.press("End")
        expect(readout).not_to_have_text(first or "")
        expect(reset).to_be_hidden()
        charts.keyboard.press("+")
        expect(reset).to_be_visible()
        charts.keyboard.press("Home")
        expect(readout).to_have_text(first or "")
        charts.keyboard.press("Escape")
        expect(reset).to_be_hidden()

    def test_with_the_pointer(self, charts: Page) -> None:
        """Pointing reads a time in every chart of that time; dragging looks closer in all of them."""
        figure, other = self.chart(charts), self.chart(charts, "Queue wait: raycluster")
        over = figure.locator(".u-over")
        over.scroll_into_view_if_needed()
        box = over.bounding_box()
        assert box is not None
        left, middle = box["x"] + box["width"] * 0.4, box["y"] + box["height"] / 2.0
        charts.mouse.move(left, middle)
        expect(figure.locator(".readout span")).to_have_text(re.compile(r"busy [\d.]+, configured 1$"))
        expect(other.locator(".readout span")).to_have_text(re.compile(r"mean [\d.]+ s, oldest waiting key [\d.]+ s$"))
        charts.mouse.down()
        charts.mouse.move(left + 60.0, middle, steps=4)
        charts.mouse.up()
        expect(figure.locator("button")).to_be_visible()
        expect(other.locator("button")).to_be_visible()
        figure.locator("button").click()
        expect(figure.locator("button")).to_be_hidden()
        expect(other.locator("button")).to_be_hidden()

    def test_they_take_the_theme(self, charts: Page) -> None:
        """A chart is drawn anew in the colours of the other theme."""
        pixels = "(one) => one.toDataURL()"
        canvas = self.chart(charts).locator("canvas")
        before = canvas.evaluate(pixels)
        charts.emulate_media(color_scheme="dark")
        charts.wait_for_function(
            "([before]) => [...document.querySelectorAll('figure canvas')].every((one) => one.toDataURL() !== before)",
            arg=[before],
        )


def test_copying(browser: Browser) -> None:
    """A button copies a patch as it is."""
    with reading(browser, analysed(), "/operators/one", permissions=["clipboard-read", "clipboard-write"]) as page:
        page.locator("#advice .copy").first.click()
        expect(page.locator("#advice .copy").first).to_have_text("Copied")
        assert page.evaluate("navigator.clipboard.readText()") == page.locator("#advice pre").first.text_content()


def test_a_hostile_name_runs_nothing(browser: Browser) -> None:
    """It is text on every page, in what a refresh brings, and fits a narrow screen."""
    world = World(targets=[target(name, last_failure=failure(name, name)) for name in HOSTILE])
    for name in HOSTILE:
        world.analysed(name)
        world.analysed(name, NOW - 10.0)
        world.store.add_failure(name, NOW - 1.0, failure(name, name))
        world.store.add_change(name, NOW - 20.0, name, 1.0, 2.0)
    with reading(browser, world, "/", viewport={"width": 360, "height": 800}) as page:
        links = [link.get_attribute("href") or "" for link in page.locator("#operators tbody th a").all()]
        assert len(links) == len(HOSTILE)
        for path in ("/", "/data", *links):
            page.goto(path)
            expect(page.locator(".live-bar")).to_be_visible()
            if path in ("/", links[0]):
                with page.expect_response(lambda answer: answer.request.resource_type == "fetch"):
                    moved(page)
                expect(page.locator(".live-state")).to_contain_text("Live")
            assert page.locator("body script, img, iframe").count() == 0
            assert page.evaluate("window.violations") == [], path
            over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert over <= 0, path


def test_a_hostile_report_runs_nothing(browser: Browser) -> None:
    """Also where every text of a report is hostile, the charts' names among them."""
    bad = hostile(report("one"))
    timeline = bad.timeline
    assert timeline is not None
    real = report("one").timeline
    assert real is not None
    series = tuple(
        msgspec.structs.replace(one, quantity=was.quantity)
        for one, was in zip(timeline.series, real.series, strict=True)
    )
    bad = msgspec.structs.replace(bad, operator="one", timeline=msgspec.structs.replace(timeline, series=series))
    world = World()
    world.store.add_report("one", NOW - 5.0, verdict_of(report("one")), render_json(bad).encode())
    with reading(browser, world, "/operators/one") as page:
        expect(page.locator(".live-chart").first).to_be_visible()
        assert page.locator("body script, img").count() == 0


def test_a_page_as_a_file(browser: Browser, tmp_path: Path) -> None:
    """It stands alone: pictures are there, nothing is asked for, and its own policy complains about nothing."""
    answer = analysed().client().get("/operators/one?export=html")
    file = tmp_path / "page.html"
    file.write_bytes(answer.data)
    watch = Watch()
    with opened(browser, watch) as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(file.as_uri())
        assert page.locator("svg.chart:visible").count() > 0
        assert page.locator("script, form, .live-bar, [data-chart]").count() == 0
        assert asked == [file.as_uri()]
    assert watch.said == []
