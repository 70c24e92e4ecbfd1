import json
import re
from html.parser import HTMLParser
from urllib.parse import quote

import pytest

from tests.web.changing import Watched, advised
from tests.web.serving import NOW, World, failure, target
from tests.web.test_pages import HOSTILE

PAGES = [
    *("/", "/operators/one", "/keys/one", "/priorities/one", "/changes/one", "/compare"),
    *("/findings", "/findings/hot-key", "/data", "/data/one"),
]


def filled(name: str = "one") -> World:
    """A service with a little of everything."""
    world = World(targets=[target(name, last_failure=failure(name, name))])
    world.analysed(name, NOW - 3600.0)
    watched = Watched(name, world.store)
    watched.sees(NOW - 1800.0, advised(NOW - 1900.0))
    watched.sees(NOW - 60.0, advised(NOW - 1600.0))
    return world


def exported(world: World, path: str, form: str) -> str:
    """A page as a file."""
    separator = "&" if "?" in path else "?"
    answer = world.client().get(f"{path}{separator}export={form}")
    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Disposition"].startswith('attachment; filename="')
    return answer.text


@pytest.mark.parametrize("path", PAGES)
def test_html_stands_alone(path: str) -> None:
    """It loads nothing, runs nothing, and its links lead to the service."""
    text = exported(filled(), path, "html")
    assert "Content-Security-Policy" in text
    assert "<script" not in text
    assert not re.findall(r"<(?:link|img|iframe|form)\b", text)
    links = re.findall(r'href="([^"]*)"', text)
    assert links
    assert all(one.startswith(("#", "http://localhost/")) for one in links)


@pytest.mark.parametrize("path", PAGES)
def test_json_is_what_the_page_shows(path: str) -> None:
    """It has the page's address without the form, its title, and values."""
    found = json.loads(exported(filled(), path, "json"))
    assert found["page"] == f"http://localhost{path}"
    assert found["title"]
    assert found["data"]


@pytest.mark.parametrize("path", PAGES)
def test_markdown_has_the_page_s_text(path: str) -> None:
    """Headings and tables are those of Markdown, and nothing of the HTML is left."""
    text = exported(filled(), path, "markdown")
    assert re.search(r"^# ", text, re.MULTILINE)
    assert not re.search(r"(?<!\\)<(?!https?://|!-- -->)", text)
    assert f"From <http://localhost{path}>" in text


def test_the_state_of_a_page_is_kept() -> None:
    """A filter is in the file, and in the address that the file gives."""
    world = filled()
    world.analysed("other")
    found = json.loads(exported(world, "/?q=oth", "json"))
    assert [one["name"] for one in found["data"]["operators"]] == ["other"]
    assert found["page"] == "http://localhost/?q=oth"


def test_a_form_that_is_not_there() -> None:
    """It is refused, and those that are there are named."""
    answer = filled().client().get("/?export=pdf")
    assert answer.status_code == 400
    assert "html, markdown, json" in answer.text


def test_an_error_has_no_file() -> None:
    """What is not there is said as a page, whatever form was asked for."""
    answer = filled().client().get("/operators/nobody?export=json")
    assert answer.status_code == 404
    assert answer.content_type == "text/html; charset=utf-8"


class _Tags(HTMLParser):
    """The names of a page's elements."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note it."""
        self.names.add(tag)


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("path", ["/", "/data", "/operators/NAME", "/changes/NAME", "/compare"])
def test_a_hostile_name_is_text_in_every_file(path: str, name: str) -> None:
    """No element comes of it in HTML, no markup in Markdown, and JSON has it as it is."""
    world = filled(name)
    path = path.replace("NAME", quote(name))
    assert not _Tags(exported(world, path, "html")).names & {"script", "img", "iframe", "object"}
    text = exported(world, path, "markdown")
    assert "\u202e" not in text
    assert not re.search(r"(?<!\\)<(script|img)", text)
    assert name in json.dumps(json.loads(exported(world, path, "json")), ensure_ascii=False).replace('\\"', '"')
