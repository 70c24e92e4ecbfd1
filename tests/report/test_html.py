import base64
import hashlib
import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest

from advisor.analysis import Options, analyse
from advisor.model.report import Report
from advisor.report.htmlreport import render_html
from advisor.sources.recording import RecordingSource
from tests.report.hostile import TEXT, hostile
from tests.support import ROOT, Golden

VOID = {"meta"}
ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "header", "nav", "main", "section", "article", "footer"),
    *("h1", "h2", "h3", "p", "a", "ul", "li", "div", "span", "strong", "code", "pre", "details", "summary"),
    *("table", "thead", "tbody", "tr", "th", "td", "figure", "figcaption"),
    *("svg", "desc", "rect", "line", "path", "text"),
}


class Document(HTMLParser):
    """The elements of a document with their attributes, and its text; fails where elements do not nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins."""
        self.elements.append((tag, {key: value or "" for key, value in attrs}))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element without content."""
        self.elements.append((tag, {key: value or "" for key, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        """An element ends: the one that began last."""
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Text."""
        self.text.append(data)

    def all(self, tag: str) -> list[dict[str, str]]:
        """The attributes of each element of that name."""
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def example() -> Report:
    """The report on the example that the package ships."""
    return analyse(RecordingSource(ROOT / "advisor" / "examples" / "saturated-one-worker"), Options())


@pytest.fixture(scope="module", params=["as it is", "hostile"])
def document(request: pytest.FixtureRequest, example: Report) -> Document:
    """The document of the example, and of one in which every text tries to become markup."""
    return Document(render_html(hostile(example) if request.param == "hostile" else example))


def test_html_of_the_example(example: Report, golden: Golden) -> None:
    """The document on the example, whole."""
    golden.check("report/saturated-one-worker.html", render_html(example))


@pytest.mark.parametrize("name", ["standby-replica", "hot-key-big-scale-up"])
def test_html_of_other_cases(name: str, data: Path, golden: Golden) -> None:
    """Documents on a refusal without any controller, and on a hot key, whole."""
    report = analyse(RecordingSource(data / "recordings" / name), Options())
    golden.check(f"report/{name}.html", render_html(report))


def test_nothing_but_known_elements(document: Document) -> None:
    """No script, image, frame, form or link to a style: whatever the input, only elements that are meant."""
    assert {tag for tag, _ in document.elements} <= ALLOWED


def test_nothing_runs_and_nothing_is_loaded(document: Document) -> None:
    """No event handler, no style attribute, no address: links lead inside the page only."""
    for _, attributes in document.elements:
        for name, value in attributes.items():
            assert not name.startswith("on")
            assert name not in ("style", "src", "srcset", "xlink:href", "action")
            assert name != "href" or re.fullmatch(r"#[a-z]+(-\d+)*", value)


def test_links_lead_to_sections(document: Document) -> None:
    """Each link inside the page has its target, and no id is given twice."""
    ids = Counter(attributes["id"] for _, attributes in document.elements if "id" in attributes)
    assert max(ids.values()) == 1
    for _, attributes in document.elements:
        assert attributes.get("href", "#advice").removeprefix("#") in ids
        assert all(name in ids for name in attributes.get("aria-labelledby", "").split())


def test_the_policy_allows_the_documents_own_style_only(example: Report) -> None:
    """A browser that honours the policy runs nothing and loads nothing, even if something had slipped through."""
    html = render_html(example)
    style = html.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    (policy,) = (one["content"] for one in Document(html).all("meta") if one.get("http-equiv"))
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert "url(" not in style
    assert "@import" not in style


def test_readers_find_their_way(document: Document) -> None:
    """One of each landmark, one main heading, each table with heads and a name, each chart with a description."""
    for tag in ("header", "nav", "main", "footer", "h1"):
        assert len(document.all(tag)) == 1
    assert document.all("html") == [{"lang": "en"}]
    assert all(one.get("scope") in ("col", "row") for one in document.all("th"))
    assert len([one for one in document.all("div") if one.get("role") == "region" and one["aria-label"]]) == len(
        document.all("table")
    )
    for one in document.all("svg"):
        assert one.get("role") == "img" or one.get("aria-hidden") == "true"


def test_hostile_text_is_shown_as_text(example: Report) -> None:
    """A name or message that looks like markup is read by people exactly as it is."""
    shown = "".join(Document(render_html(hostile(example))).text)
    assert shown.count(TEXT) > 50


def test_without_samples_there_are_no_charts(example: Report) -> None:
    """A report that knows no timeline, keys, predictions, patches, actions or figures still makes a document."""
    advice = msgspec.structs.replace(example.advice, patches=(), actions=())
    bare = msgspec.structs.replace(
        example,
        timeline=None,
        keys=(),
        predictions=(),
        advice=advice,
        figures={},
        missing=(),
        episodes=example.episodes[:1],
        findings=(msgspec.structs.replace(example.findings[0], evidence=(), checks=()),),
    )
    document = Document(render_html(bare))
    assert document.all("svg") == []
    assert [one["id"] for one in document.all("section")] == ["advice", "findings"]


def test_charts_are_those_of_the_controllers_that_worked(example: Report) -> None:
    """At most three controllers have charts, the busiest first; those that hardly worked have none."""
    assert example.timeline is not None
    template = {one.quantity: one for one in example.timeline.series if one.controller == "raycluster"}
    busy = {"a": 1.0, "b": 4.0, "c": 0.01, "d": 2.0, "e": 3.0}
    series = tuple(
        msgspec.structs.replace(one, controller=name, values=(level,) * len(one.values))
        for name, level in busy.items()
        for one in template.values()
    )
    timeline = msgspec.structs.replace(example.timeline, series=series)
    html = render_html(msgspec.structs.replace(example, timeline=timeline))
    assert re.findall(r"<strong>Workers: (\w)</strong>", html) == ["b", "e", "d"]
    assert "Time of a request" not in html


def test_the_whole_request_is_shown_where_its_parts_are_not_known(example: Report) -> None:
    """Without the limiter's series there is one curve and no legend."""
    assert example.timeline is not None
    series = tuple(one for one in example.timeline.series if one.quantity == "request_seconds_mean")
    timeline = msgspec.structs.replace(example.timeline, series=series)
    html = render_html(msgspec.structs.replace(example, timeline=timeline))
    assert html.count("<figure>") == 1
    assert "API server and client limiter: highest" in html
    assert 'class="legend"' not in html
