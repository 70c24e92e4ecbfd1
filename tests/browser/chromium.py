"""Chromium before a service of our own: what it is started with, and what a page did in it."""

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest
from flask import Flask
from playwright.sync_api import Browser, ConsoleMessage, Error, FloatRect, Page, sync_playwright
from waitress.server import create_server
from waitress.wasyncore import close_all

from tests.support import ROOT

__all__ = ["MODULES", "SCREENSHOTS", "Watch", "needed", "opened", "served", "started", "taken"]

FOLDER: Final = ROOT / "tests" / "browser"
MODULES: Final = FOLDER / "node_modules"
SCREENSHOTS: Final = ROOT / "build" / "screenshots"
_OPTIONS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_HIGHEST: Final = 6000
"""Pixels of a page that a picture shows at most."""
_VIOLATIONS: Final = """
window.violations = [];
window.alert = () => window.violations.push("a script of a name ran");
document.addEventListener("securitypolicyviolation", (event) => {
  window.violations.push(`${event.violatedDirective}: ${event.blockedURI} ${event.sample}`);
});
"""


@dataclass
class Watch:
    """What a page complained about."""

    said: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> None:
        """Note errors of scripts, of the policy, and what could not be loaded."""
        page.on("console", self._heard)
        page.on("pageerror", self._failed)

    def _heard(self, message: ConsoleMessage) -> None:
        # An error page is an answer, about which the browser complains too.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.said.append(message.text)

    def _failed(self, error: Error) -> None:
        self.said.append(str(error))


def needed(name: str, found: str | Path | None) -> str:
    """Where something is that these tests need; without it they are skipped, and fail in CI (CI=true)."""
    if found is not None and Path(found).exists():
        return str(found)
    reason = f"the browser tests need {name}; `make test` sets it up"
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@contextmanager
def started() -> Iterator[Browser]:
    """One Chromium, Debian's."""
    path = needed("chromium", shutil.which("chromium"))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(_OPTIONS))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def served(app: Flask, port: int = 0) -> Iterator[str]:
    """The application at an address of this machine, without "/" at its end; stopped afterwards."""
    server: Any = create_server(app, host="127.0.0.1", port=port, threads=4, clear_untrusted_proxy_headers=True)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.effective_port}"
    finally:
        # In its own thread, and with the connections that the browser holds open: nothing answers any more.
        server.trigger.pull_trigger(lambda: close_all(server._map))
        thread.join(timeout=20.0)
        server.task_dispatcher.shutdown()


def taken(page: Page, name: str) -> None:
    """A picture of the page, to be looked at."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    size = page.evaluate("({width: innerWidth, height: document.documentElement.scrollHeight})")
    clip: FloatRect = {"x": 0.0, "y": 0.0, "width": size["width"], "height": min(size["height"], _HIGHEST)}
    page.screenshot(path=SCREENSHOTS / f"{name}.jpg", type="jpeg", quality=80, full_page=True, clip=clip)


@contextmanager
def opened(browser: Browser, watch: Watch, **options: Any) -> Iterator[Page]:  # noqa: ANN401 - the context's
    """A page of a context of its own, which is watched."""
    context = browser.new_context(**options)
    try:
        context.add_init_script(_VIOLATIONS)
        page = context.new_page()
        page.set_default_timeout(20_000)
        watch.watch(page)
        yield page
    finally:
        context.close()
