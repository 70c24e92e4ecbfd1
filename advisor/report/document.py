"""An HTML page that stands alone: no script, nothing from elsewhere, with a policy that lets nothing else in."""

import base64
import hashlib
import html
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from types import MappingProxyType
from typing import Final, NamedTuple

from advisor.report.markup import Child, Markup, blocks, element

__all__ = ["Section", "page", "served_page", "style_text", "wide_table"]

_CARRIED: Final = re.compile(r' data-chart="[^"]*"')
"""What charts carry for scripts."""
_TAG: Final = re.compile(r"<[^>]*>")
_CARDS_FROM: Final = 4
"""Columns that a table of words has at least to be shown as cards on a narrow screen."""


class Section(NamedTuple):
    """One part of a page: its id, its title and what it holds."""

    name: str
    title: str
    content: Markup


def page(title: str, header: Markup, sections: Sequence[Section], *, skip: str, style: str) -> str:
    """The whole document, with a line end.

    Args:
        title: for the browser.
        header: what stands above the sections.
        sections: at least one, linked from above.
        skip: text of the link that leads to the first section.
        style: the text of its style sheet.
    """
    parts = [_skip_link(skip, sections), header, _section_links(sections), *_body(sections)]
    # No script runs here. Text has no quotation mark, so this finds attributes of ours alone.
    return _CARRIED.sub("", _document(_head(title, style), parts))


def served_page(
    title: str,
    header: Markup,
    sections: Sequence[Section],
    *,
    skip: str,
    head: Sequence[Markup],
    navigation: Markup,
    below: Markup,
) -> str:
    """The same as a server has it, whose policy stands in its answer.

    Args:
        title: for the browser.
        header: what stands above the sections.
        sections: at least one.
        skip: text of the link that leads to the first section.
        head: links to style sheets and scripts.
        navigation: what stands above everything.
        below: what stands in the footer.
    """
    links = _section_links(sections) if len(sections) > 1 else None
    parts = [_skip_link(skip, sections), navigation, header, links, *_body(sections, below)]
    return _document(element("head", blocks([*_metas(title), *head])), parts)


def _skip_link(text: str, sections: Sequence[Section]) -> Markup:
    """A link past what stands above the first section."""
    return element("a", text, class_="skip", href=f"#{sections[0].name}")


def _section_links(sections: Sequence[Section]) -> Markup:
    """Links to the sections."""
    links = [element("a", one.title, href=f"#{one.name}") for one in sections]
    return element("nav", blocks(links), aria_label="Sections")


def _body(sections: Sequence[Section], below: Markup | None = None) -> tuple[Markup, Markup]:
    """The sections, and what stands below them."""
    told = element("p", "Times are UTC. Made by kuberay-advisor, which changed nothing.")
    return element("main", blocks(map(_section, sections))), element("footer", told if below is None else below)


def _document(head: Markup, parts: Iterable[Child]) -> str:
    return f"<!doctype html>\n{element('html', head, element('body', blocks(parts)), lang='en')}\n"


def style_text(names: Sequence[str]) -> str:
    """The text of style sheets of this package, one after the other."""
    folder = files("advisor.report")
    return "".join(folder.joinpath(name).read_text(encoding="utf-8") for name in names)


def _metas(title: str) -> list[Markup]:
    return [
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
    ]


def _head(title: str, style: str) -> Markup:
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    # Whatever a name or an error text may hold: a browser runs and loads nothing here.
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return element(
        "head",
        blocks(
            [
                element("meta", charset="utf-8"),
                element("meta", http_equiv="Content-Security-Policy", content=policy),
                element("meta", name="viewport", content="width=device-width, initial-scale=1"),
                element("meta", name="color-scheme", content="light dark"),
                element("meta", name="referrer", content="no-referrer"),
                element("title", title),
                element("style", Markup(style)),
            ]
        ),
    )


def _section(one: Section) -> Markup:
    heading = element("h2", one.title, id=f"{one.name}-title")
    return element("section", blocks([heading, one.content]), id=one.name, aria_labelledby=f"{one.name}-title")


def _plain(head: str) -> str:
    """A head of a table as text, where it is a link."""
    return html.unescape(_TAG.sub("", head)) if isinstance(head, Markup) else head


def wide_table(
    label: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[Child]],
    *,
    numbers: Iterable[int] = (),
    styles: Sequence[str | None] = (),
    sorts: Mapping[int, str] = MappingProxyType({}),
) -> Markup:
    """A table whose first column heads its rows.

    It scrolls by itself where it is too wide, also from the keyboard. One that is mostly text is wide for its words:
    on a narrow screen each of its rows becomes a card, whose cells name their columns.

    Args:
        label: what it is, for those who cannot see it.
        heads: of its columns.
        rows: their cells.
        numbers: columns that are set right.
        styles: a class for each row; none where there are fewer.
        sorts: of columns by which rows are sorted, how: ascending or descending.
    """
    right = dict.fromkeys(numbers, "number")
    has_cards = len(heads) >= _CARDS_FROM and len(right) * 2 < len(heads)
    named = list(map(_plain, heads)) if has_cards else [None] * len(heads)
    head = element(
        "tr",
        *(
            element("th", head, scope="col", class_=right.get(index), aria_sort=sorts.get(index))
            for index, head in enumerate(heads)
        ),
    )
    body = (
        element(
            "tr",
            element("th", row[0], scope="row", class_=right.get(0)),
            *(
                element("td", cell, class_=right.get(index), data_head=named[index])
                for index, cell in enumerate(row[1:], start=1)
            ),
            class_=styles[place] if place < len(styles) else None,
        )
        for place, row in enumerate(rows)
    )
    table = element("table", blocks([element("thead", head), element("tbody", blocks(body))]))
    return element(
        "div", table, class_="wide cards" if has_cards else "wide", role="region", tabindex=0, aria_label=label
    )
