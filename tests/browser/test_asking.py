from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from advisor.web.whatifline import LineRules
from tests.browser.chromium import Watch, opened, served, taken
from tests.support import until
from tests.web.asking import Asking, Clocked, Played, played, results

Stage = tuple[Asking, list[Played]]


@pytest.fixture
def stage() -> Iterator[Stage]:
    """A watched operator, and what-ifs with processes that the test plays."""
    whatifs, begun = played(LineRules(at_a_time=1, most_waiting=1), Clocked())
    world = Asking(whatifs=whatifs)
    world.watched()
    whatifs.start()
    results()
    yield world, begun
    assert whatifs.stop(5.0)


def asked(page: Page, workers: str) -> None:
    """Fill in the form and send it."""
    page.locator("input[name=concurrency]").fill(workers)
    page.locator("form.ask button").click()
    page.wait_for_url("**/what-if/one?*")


def test_other_settings_change_the_prediction(browser: Browser, stage: Stage) -> None:
    """The answer comes by itself once it is simulated, also while the page is paused: else nobody would wait for it."""
    world, begun = stage
    watch = Watch()
    with served(world.app()) as address, opened(browser, watch, base_url=address) as page:
        page.goto("/what-if/one")
        page.get_by_role("button", name="Pause").click()
        tables = page.locator("main table")
        before = tables.all_text_contents()
        asked(page, "4")
        until(lambda: begun)
        page.evaluate("window.marked = true")
        begun[0].finish()
        expect(page.locator("svg.heat").first).to_be_visible(timeout=20_000)
        assert tables.all_text_contents() != before
        assert page.evaluate("window.marked") is True
        expect(page.locator("meta[name=advisor-refresh][data-goes-on]")).to_have_count(0)
        for theme, width in (("light", 360), ("dark", 1440)):
            page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
            taken(page, f"what-if-answered-{theme}-{width}")
        assert page.evaluate("window.violations") == []
    assert watch.said == []


def test_without_scripts(browser: Browser, stage: Stage) -> None:
    """The form works as a plain form; the page that it leads to loads itself anew."""
    world, begun = stage
    with served(world.app()) as address, opened(browser, Watch(), base_url=address, java_script_enabled=False) as page:
        page.goto("/what-if/one")
        asked(page, "4")
        until(lambda: begun)
        begun[0].finish()
        expect(page.locator("svg.heat").first).to_be_visible(timeout=20_000)
