"""Our own markup as GitHub-flavoured Markdown, so that whatever has a page has a comment too.

It knows the elements that pages are made of. Pictures become their text for those who cannot see them; what is only
for a browser (navigation, forms) is left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Final

from advisor.report.markdowntext import bars, code, escape, fenced
from advisor.report.markup import Markup

__all__ = ["to_markdown"]

_LEFT_OUT: Final = frozenset({"nav", "form", "script", "style", "template", "button"})
_VOID: Final = frozenset({"meta", "link", "input", "br", "img"})
_BLOCKS: Final = frozenset({"p", "h1", "h2", "h3", "h4", "ul", "ol", "table", "pre", "svg", "summary", "figcaption"})
_HEADINGS: Final = {"h1": "# ", "h2": "## ", "h3": "### ", "h4": "#### ", "summary": "#### "}


@dataclass(slots=True)
class _Node:
    """An element with what it holds."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: "list[_Node | str]" = field(default_factory=list)


class _Tree(HTMLParser):
    """Reads markup that is well formed, as ours is."""

    def __init__(self) -> None:
        super().__init__()
        self.root = _Node("root")
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open an element."""
        node = _Node(tag, {name: value or "" for name, value in attrs})
        self._open[-1].children.append(node)
        if tag not in _VOID:
            self._open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take an element that holds nothing."""
        self._open[-1].children.append(_Node(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        """Close an element."""
        if len(self._open) > 1 and self._open[-1].name == tag:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        """Take text."""
        self._open[-1].children.append(data)


def to_markdown(markup: Markup, *, root: str = "", origin: str = "") -> str:
    """The text, with a line end.

    Args:
        markup: elements of `advisor.report.markup`.
        root: what addresses that begin with "/" are below, such as ``http://localhost:8095``.
        origin: the address that it is from, said at the end; "" for none.
    """
    tree = _Tree()
    tree.feed(markup)
    tree.close()
    parts = list(_blocks(tree.root, root))
    if origin:
        parts.append(f"From <{origin}>")
    return "\n\n".join(parts) + "\n"


def _blocks(node: _Node, root: str) -> Iterator[str]:
    """Everything in an element that stands on lines of its own; text beside blocks makes blocks too."""
    line: list[_Node | str] = []
    for child in node.children:
        if isinstance(child, str) or not _is_block(child):
            line.append(child)
            continue
        yield from _line(line, root)
        line = []
        yield from _block(child, root)
    yield from _line(line, root)


def _is_block(node: _Node) -> bool:
    return node.name in _BLOCKS or any(isinstance(one, _Node) and _is_block(one) for one in node.children)


def _line(children: list[_Node | str], root: str) -> Iterator[str]:
    text = _inlines(children, root)
    if text:
        yield text


def _block(node: _Node, root: str) -> Iterator[str]:
    if node.name in _LEFT_OUT:
        return
    if node.name in _HEADINGS:
        yield _HEADINGS[node.name] + _inlines(node.children, root)
    elif node.name in ("ul", "ol"):
        yield "\n".join(f"- {_inlines(item.children, root)}" for item in _elements(node, "li"))
    elif node.name == "table":
        yield _table(node, root)
    elif node.name == "pre":
        yield fenced(_text(node))
    elif node.name == "svg":
        yield from _picture(node)
    elif node.name in ("p", "figcaption"):
        yield from _line(node.children, root)
    else:
        yield from _blocks(node, root)


def _table(node: _Node, root: str) -> str:
    rows = [[_cell(cell, root) for cell in _elements(row, "th", "td")] for row in _elements(node, "tr")]
    heads, *body = rows
    lines = [heads, ["---"] * len(heads), *body]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cell(node: _Node, root: str) -> str:
    for one in _elements(node, "code"):
        # Code is not escaped, and a bar in it would end the cell.
        one.children = [bars(_text(one))]
    return _inlines(node.children, root) or " "


def _picture(node: _Node) -> Iterator[str]:
    """What stands for a picture: its label, or its description."""
    told = [_text(one) for one in _elements(node, "title", "desc")]
    text = node.attributes.get("aria-label") or " ".join(told)
    if text:
        yield f"*{escape(text)}*"


def _inlines(children: list[_Node | str], root: str) -> str:
    return " ".join("".join(_inline(child, root) for child in children).split())


def _inline(child: _Node | str, root: str) -> str:
    if isinstance(child, str):
        return _spaced(child)
    if child.name in _LEFT_OUT:
        return ""
    if child.name == "svg":
        return " ".join(_picture(child))
    text = _inlines(child.children, root)
    return _dressed(child, text, root) if text else ""


def _dressed(node: _Node, text: str, root: str) -> str:
    """Text as its element shows it."""
    if node.name == "a" and (address := _address(node.attributes.get("href", ""), root)):
        return f"[{text}]({address})"
    if node.name == "code":
        return code(_text(node))
    is_strong = node.name == "strong" or "badge" in node.attributes.get("class", "").split()
    return f"**{text}**" if is_strong else text


def _spaced(text: str) -> str:
    """Text escaped, with a space kept where the elements around it need one."""
    shown = escape(text)
    if not shown:
        return " " if text else ""
    return f"{' ' if text[:1].isspace() else ''}{shown}{' ' if text[-1:].isspace() else ''}"


def _address(href: str, root: str) -> str:
    """A link that works elsewhere; none where it leads to a place on the page."""
    if href.startswith("#"):
        return ""
    whole = f"{root}{href}" if href.startswith("/") else href
    return whole.replace("(", "%28").replace(")", "%29").replace(" ", "%20")


def _text(node: _Node) -> str:
    return "".join(child if isinstance(child, str) else _text(child) for child in node.children)


def _elements(node: _Node, *names: str) -> Iterator[_Node]:
    """All elements of some names below one, none of those inside another of them."""
    for child in node.children:
        if isinstance(child, str):
            continue
        if child.name in names:
            yield child
        else:
            yield from _elements(child, *names)
