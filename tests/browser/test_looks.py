import json
from collections.abc import Iterator
from contextlib import ExitStack
from http import HTTPStatus
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, Page

from advisor.model.finding import FindingCode, Severity
from tests.browser.chromium import MODULES, Watch, needed, opened, served, taken
from tests.web.serving import NOW, World, failure, target
from tests.web.sidecarkept import kept, key, keys_view, queue_view

# Every page: one line for each, also for what it looks like with nothing to show.
PAGES: Final = {
    "fleet": "/",
    "fleet-none-found": "/?q=nothing",
    "operator": "/operators/team-a",
    "operator-failing": "/operators/team-b",
    "operator-without-report": "/operators/team-c",
    "operator-data": "/data/team-a",
    "keys": "/keys/keyed",
    "keys-of-no-sidecar": "/keys/team-a",
    "priorities": "/priorities/queued",
    "what-if": "/what-if/team-a",
    "changes": "/changes/team-a",
    "compare": "/compare",
    "compare-two": "/compare?from=team-a&to=team-d",
    "report": "/reports/1",
    "findings": "/findings",
    "finding": "/findings/hot-key",
    "data": "/data",
    "not-found": "/operators/nobody",
}
THEMES: Final = ("light", "dark")
WIDTHS: Final = (360, 1440)
HEIGHT: Final = 900
AXE: Final = """
axe.run(document, {resultTypes: ["violations"], preload: false, iframes: false}).then(
  (found) => found.violations.filter((one) => ["serious", "critical"].includes(one.impact)))
"""
SETTLED: Final = """
() => [...document.querySelectorAll(".live-plot")].every(
  (one) => Math.abs(one.firstElementChild.offsetWidth - one.clientWidth) <= 1)
"""
UNSEEN_FOCUS: Final = """
() => {
  const chosen = "a[href], button, input, select, textarea, summary, [tabindex='0']";
  const found = [...document.querySelectorAll(chosen)].filter((one) => one.checkVisibility());
  return found.filter((one) => {
    one.focus();
    const style = getComputedStyle(one);
    const drawn = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
    return document.activeElement !== one || !drawn;
  }).map((one) => one.outerHTML.slice(0, 120));
}
"""


def filled() -> World:
    """A history with an operator that is analysed, one that fails since, one that never was, and one that is well."""
    targets = [
        target("team-a"),
        target("team-b", failures=3, last_failure=failure("timed out after 10 s")),
        target("team-c", last_success=None, last_duration_seconds=None, failures=1, last_failure=failure()),
        target("team-d", running_since=NOW - 4.0),
    ]
    world = World(targets=targets, kind="sidecar")
    busy = (1.0, 9.0, 16.0)
    kept(world, [keys_view(key("a/rc-1", one), key("b/rc-2", 4.0), rest=one) for one in busy], operator="keyed")
    kept(
        world, [queue_view(("0", 2, 0.1, 10 * one), ("-100", 9, 15.0 * one, 3)) for one in range(5)], operator="queued"
    )
    for index in range(12):
        waits = float(index % 5)
        world.analysed("team-a", NOW - 3600.0 + 300.0 * index, queue_wait_seconds=waits)
    world.analysed("team-b", NOW - 7200.0, severity=Severity.WARNING)
    world.store.add_failure("team-b", NOW - 5.0, failure("timed out after 10 s"))
    world.store.add_failure("team-c", NOW - 5.0, failure())
    world.analysed("team-d", severity=Severity.INFO, finding=FindingCode.HEALTHY, lost_seconds=0.0)
    world.store.add_change("team-a", NOW - 1800.0, "concurrency", 1.0, 4.0)
    return world


class Tabs:
    """A page with scripts and one without, which all tests of this file go through."""

    def __init__(self, browser: Browser, stack: ExitStack, address: str) -> None:
        self.address = address
        self._browser, self._stack = browser, stack
        self._pages: dict[bool, tuple[Page, Watch]] = {}

    def at(self, path: str, *, scripts: bool) -> tuple[Page, Watch]:
        """A page that shows a path, and what it complains about."""
        if scripts not in self._pages:
            watch = Watch()
            options: dict[str, Any] = {"java_script_enabled": scripts, "base_url": self.address}
            self._pages[scripts] = (self._stack.enter_context(opened(self._browser, watch, **options)), watch)
        page, watch = self._pages[scripts]
        watch.said.clear()
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": WIDTHS[-1], "height": HEIGHT})
        answer = page.goto(path)
        assert answer is not None
        assert answer.status == (HTTPStatus.NOT_FOUND if path == PAGES["not-found"] else HTTPStatus.OK), path
        return page, watch


@pytest.fixture(scope="module")
def tabs(browser: Browser) -> Iterator[Tabs]:
    """Pages before one filled history."""
    with ExitStack() as stack:
        yield Tabs(browser, stack, stack.enter_context(served(filled().app())))


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "plain"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page(tabs: Tabs, name: str, scripts: bool) -> None:
    """In both themes and on any width it fits, and neither the policy nor a script complains; pictures are kept."""
    page, watch = tabs.at(PAGES[name], scripts=scripts)
    assert page.title().endswith(" - kuberay-advisor")
    assert page.locator("h1").count() == 1
    # A picture of each theme at each width: two with scripts, two without.
    pictured = set(zip(THEMES, WIDTHS if scripts else reversed(WIDTHS), strict=True))
    for theme, width in product(THEMES, WIDTHS) if scripts else sorted(pictured):
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        page.set_viewport_size({"width": width, "height": HEIGHT})
        page.wait_for_function(SETTLED)
        over = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert over <= 0, f"{theme} {width}: {over} pixels too wide"
        if (theme, width) in pictured:
            taken(page, f"{name}-{'scripts' if scripts else 'plain'}-{theme}-{width}")
    live, pictures = page.locator(".live-chart").count(), page.locator("svg[data-chart]").count()
    assert live == (pictures if scripts else 0)
    assert page.locator("svg[data-chart]:visible").count() == (0 if scripts else pictures)
    assert page.evaluate("window.violations") in ([], None)
    assert watch.said == []


@pytest.mark.parametrize("name", PAGES)
def test_for_everybody(tabs: Tabs, name: str) -> None:
    """Axe finds nothing serious, in both themes, narrow or wide; what has the focus is seen, from the skip link on."""
    axe = needed("axe-core", MODULES / "axe-core" / "axe.min.js")
    page, _ = tabs.at(PAGES[name], scripts=True)
    page.keyboard.press("Tab")
    skip = page.locator("a.skip")
    assert skip.evaluate("(one) => document.activeElement === one")
    box = skip.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.querySelector(location.hash).matches('main section')")
    assert page.evaluate(UNSEEN_FOCUS) == []
    page.evaluate(Path(axe).read_text(encoding="utf-8"))
    for theme, width in zip(THEMES, WIDTHS, strict=True):
        page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
        page.set_viewport_size({"width": width, "height": HEIGHT})
        page.wait_for_function(SETTLED)
        found = page.evaluate(AXE)
        assert found == [], json.dumps(found, indent=1)


def test_paper(tabs: Tabs) -> None:
    """Printed, a page is light, has the pictures as the server drew them, and nothing that can only be pressed."""
    page, _ = tabs.at(PAGES["operator"], scripts=True)
    page.emulate_media(media="print", color_scheme="dark")
    try:
        assert page.locator("svg[data-chart]:visible").count() > 0
        assert page.locator(":is(.live-chart, .live-bar, nav, form, button):visible").count() == 0
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        page.set_viewport_size({"width": 794, "height": 1123})
        taken(page, "operator-paper")
    finally:
        page.emulate_media(media="screen")
