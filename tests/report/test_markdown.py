import re
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from advisor.analysis import Options, analyse
from advisor.model.advice import Patch
from advisor.model.report import Report
from advisor.model.signal import Window
from advisor.model.signals import Episode, EpisodeKind
from advisor.report.markdown import render_markdown_report
from advisor.report.markdowntext import escape
from advisor.report.markup import printable
from advisor.sources.recording import RecordingSource
from tests.report.hostile import TEXT, hostile
from tests.support import ROOT, Golden

PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
OWN_HTML = re.compile(r"<!-- -->|<br>|</details>\n?|<details><summary>[^<>]*(<!-- -->[^<>]*)*</summary>\n?")


@pytest.fixture(scope="module")
def example() -> Report:
    """The report on the example that the package ships."""
    return analyse(RecordingSource(ROOT / "advisor" / "examples" / "saturated-one-worker"), Options())


def tokens(text: str) -> list[Token]:
    """Everything in the text, also what stands inside lines."""
    return [inner for token in PARSER.parse(text) for inner in (token, *(token.children or ()))]


def test_markdown_of_the_example(example: Report, golden: Golden) -> None:
    """The comment on the example, whole."""
    golden.check("report/saturated-one-worker.md", render_markdown_report(example))


@pytest.mark.parametrize("name", ["throttled-one-worker", "standby-replica", "hot-key-big-scale-up"])
def test_markdown_of_other_cases(name: str, data: Path, golden: Golden) -> None:
    """Comments on a throttled client, a refusal, and a hot key, whole."""
    report = analyse(RecordingSource(data / "recordings" / name), Options())
    golden.check(f"report/{name}.md", render_markdown_report(report))


def test_hostile_texts_become_nothing(example: Report) -> None:
    """No name or error text becomes an element, a link, a mention, a heading or a cell."""
    text = render_markdown_report(hostile(example))
    found = tokens(text)
    assert {token.type for token in found} & {"link_open", "image", "s_open", "em_open", "blockquote_open"} == set()
    for token in found:
        if token.type in ("html_inline", "html_block"):
            assert OWN_HTML.fullmatch(token.content), token.content
        if token.type == "text":
            assert not re.search(r"@\w|#\d|://|www\.", token.content)
    headings = [after.content for token, after in pairwise(found) if token.type == "heading_open"]
    own = {token.content for token in tokens(render_markdown_report(example)) if token.type == "inline"}
    assert set(headings[1:]) - own <= {"Skipped while reading"}


def test_a_hostile_table_keeps_its_columns(example: Report) -> None:
    """Each row has as many cells as the head, whatever bars its texts hold."""
    widths: list[int] = []
    for token in tokens(render_markdown_report(hostile(example))):
        if token.type == "tr_open":
            widths.append(0)
        elif token.type in ("th_open", "td_open"):
            widths[-1] += 1
    lines = [line for line in render_markdown_report(hostile(example)).splitlines() if line.startswith("| ")]
    assert len(widths) == len([line for line in lines if not line.startswith("| ---")])
    for line in lines:
        assert len(re.findall(r"(?<!\\)\|", line)) - 1 in widths


@given(st.text())
def test_escaped_text_shows_as_it_is(text: str) -> None:
    """Whatever the text, a reader sees it, on one line and nothing else."""
    (*_, item) = [token for token in PARSER.parse(f"- x {escape(text)}.") if token.type == "inline"]
    shown = "".join(child.content for child in item.children or () if child.type == "text")
    assert {child.type for child in item.children or ()} <= {"text", "html_inline"}
    assert shown == f"x {' '.join(printable(text).split())}."


@pytest.mark.parametrize(
    "text", ["# a", "- a", "+ a", "> a", "1. a", "12) a", "===", "---", "* a", "    a", "```", "~~~"]
)
def test_the_beginning_of_a_line_is_only_text(text: str) -> None:
    """Nothing at the beginning of a text makes a heading, a list, a quotation or code."""
    found = PARSER.parse(escape(text))
    assert [token.type for token in found] == ["paragraph_open", "inline", "paragraph_close"]
    assert "".join(token.content for token in found[1].children or () if token.type == "text") == text.strip()


def test_a_patch_cannot_end_its_fence(example: Report) -> None:
    """Backticks in a patch are inside, however many there are."""
    patch = Patch(kind="other", title="a & b", text="x: 1\n````\n# no heading\n")
    advice = msgspec.structs.replace(example.advice, patches=(patch,))
    text = render_markdown_report(msgspec.structs.replace(example, advice=advice))
    assert "<summary>Patch: a &amp; b</summary>\n\n`````\nx: 1\n````\n# no heading\n`````\n" in text


def test_code_with_backticks_stays_code(example: Report) -> None:
    """A name with backticks is shown with them; an empty name is a blank."""
    keys = tuple(msgspec.structs.replace(one, name=name) for one, name in zip(example.keys, ("a``b", ""), strict=False))
    text = render_markdown_report(msgspec.structs.replace(example, keys=keys, namespaces=()))
    codes = [token.content for token in tokens(text) if token.type == "code_inline"]
    assert f"raycluster {keys[0].namespace}/a``b" in codes


def test_of_many_episodes_the_costly_ones_are_listed(example: Report) -> None:
    """Twenty episodes at most, in order of time, the verdict's among them, and how many were left out."""
    verdict = next(one for one in example.episodes if one.is_verdict)
    other = msgspec.structs.replace(verdict, is_verdict=False)
    many = tuple(
        msgspec.structs.replace(
            verdict if index == 7 else other,
            episode=Episode(EpisodeKind.LOAD, Window(1e9 + index, 1e9 + index + 1), ""),
            lost_seconds=0.0 if index == 7 else float(index),
        )
        for index in range(50)
    )
    source = msgspec.structs.replace(example.source, window=Window(1e9, 1e9 + 50))
    text = render_markdown_report(msgspec.structs.replace(example, episodes=many, source=source))
    section = text.partition("### Episodes\n\n")[2].partition("\n\n###")[0]
    rows = [line for line in section.splitlines() if "workers-saturated" in line]
    assert len(rows) == 20
    assert rows[0].startswith("| **load** (verdict) | 7 s |")
    assert rows[-1].startswith("| load | 49 s |")
    assert "\n\n30 more episodes lost less.\n" in text


@pytest.mark.parametrize("name", ["slow-dashboard", "verbose-log", "retry-bucket-classic-queue"])
def test_a_comment_fits_into_an_issue(name: str, shared: Path) -> None:
    """GitHub takes 65,536 characters; the comments on the largest recordings come nowhere near."""
    report = analyse(RecordingSource(shared / "recordings" / name), Options())
    assert len(render_markdown_report(report)) < 30_000


def test_texts_from_outside_are_in_the_comment(example: Report) -> None:
    """Escaping loses nothing: the text of a note is shown."""
    shown = "".join(token.content for token in tokens(render_markdown_report(hostile(example))) if token.type == "text")
    assert " ".join(TEXT.split()) in shown
