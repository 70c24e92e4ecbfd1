import re
from html.parser import HTMLParser

import pytest

from advisor.web.assets import asset
from tests.web.serving import NOW, World, failure, target

PATHS = [
    "/",
    "/operators/one",
    "/operators/none-yet",
    "/reports/1",
    "/findings",
    "/findings/hot-key",
    "/data",
    "/nowhere",
]
EXPORTED = ["/", "/operators/one", "/reports/1", "/findings", "/data"]
FILES = {
    "style.css": "text/css; charset=utf-8",
    "uPlot.min.css": "text/css; charset=utf-8",
    "uPlot.iife.min.js": "text/javascript; charset=utf-8",
    "charts.js": "text/javascript; charset=utf-8",
    "live.js": "text/javascript; charset=utf-8",
}


def filled() -> World:
    """Something on every page."""
    world = World(targets=[target("one"), target("none-yet", last_failure=failure())])
    for minute in range(3):
        world.analysed("one", NOW - 600.0 + 60.0 * minute)
    world.store.add_failure("none-yet", NOW - 5.0, failure())
    return world


class Inline(HTMLParser):
    """What of a page is a script or a style in itself, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.loaded: list[str] = []
        self._within = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note attributes that are scripts or styles, and addresses."""
        self.found += [f"{tag} {key}" for key, _ in attrs if key == "style" or key.startswith("on")]
        known = dict(attrs)
        address = known.get("src") if tag == "script" else known.get("href") if tag == "link" else None
        if address is not None:
            self.loaded.append(address)
        elif tag in ("script", "style"):
            self.found.append(tag)
        self._within = tag

    def handle_endtag(self, tag: str) -> None:
        """An element ends."""
        self._within = ""

    def handle_data(self, data: str) -> None:
        """Note text of scripts and styles."""
        if self._within in ("script", "style") and data.strip():
            self.found.append(data)


@pytest.mark.parametrize("path", PATHS)
def test_no_page_has_a_script_or_a_style_in_itself(path: str) -> None:
    """All come from files of the service, under addresses that name their content."""
    seen = Inline(filled().client().get(path).text)
    assert seen.found == []
    assert [address.rpartition("/")[2] for address in seen.loaded] == [
        "uPlot.min.css",
        "style.css",
        "uPlot.iife.min.js",
        "charts.js",
        "live.js",
    ]
    assert all(re.fullmatch(r"/assets/[0-9a-f]{12}/[\w.]+", address) for address in seen.loaded)


@pytest.mark.parametrize("path", EXPORTED)
def test_a_page_as_a_file_has_no_script(path: str) -> None:
    """Neither a script, nor what only a script reads, nor anything that is loaded."""
    text = filled().client().get(f"{path}?export=html").text
    assert Inline(text).loaded == []
    assert "<script" not in text
    assert "data-chart" not in text


@pytest.mark.parametrize("name", FILES)
def test_a_file(name: str) -> None:
    """It has the right type, and a browser keeps it for as long as its address names what it is."""
    client = World().client()
    found = asset(name)
    assert found is not None
    answer = client.get(f"/assets/{found.digest}/{name}")
    assert answer.status_code == 200
    assert answer.content_type == FILES[name]
    assert answer.headers["Cache-Control"] == "private, max-age=31536000, immutable"
    old = client.get(f"/assets/000000000000/{name}")
    assert old.text == answer.text
    assert "immutable" not in old.headers["Cache-Control"]


@pytest.mark.parametrize("name", ["web.css", "vendor/uplot/LICENSE", "LICENSE", "../app.py", "none.js"])
def test_no_other_file(name: str) -> None:
    """Only what pages need is there, whatever else lies beside it."""
    assert World().client().get(f"/assets/000000000000/{name}").status_code == 404


def test_who_asks_again() -> None:
    """A page that is well says how often its script may ask; an error page does not ask again."""
    client = filled().client()
    assert '<meta name="advisor-refresh" content="30">' in client.get("/").text
    assert "advisor-refresh" not in client.get("/nowhere").text


def test_the_policy() -> None:
    """Scripts and what they ask come from this service alone."""
    policy = World().client().get("/").headers["Content-Security-Policy"].split("; ")
    assert {"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'"} <= set(policy)
    assert not any("unsafe" in part or "*" in part for part in policy)
