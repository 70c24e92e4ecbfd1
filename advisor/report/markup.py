"""HTML and SVG from elements that escape what they are given, so that no input becomes markup by being forgotten."""

import html
import re
from collections.abc import Iterable
from functools import cache

__all__ = ["Child", "Markup", "blocks", "element", "number", "printable"]

_VOID = frozenset({"meta", "link", "input", "line", "rect", "path", "circle"})
"""Elements that are written without content; those of SVG close themselves."""
_HTML_VOID = frozenset({"meta", "link", "input"})

# Control characters, and those that turn the direction of the text around them.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


_PLAIN = re.compile(r"[\w .,:;/()%+*=#?!\[\]-]*", re.ASCII)
"""Text that needs no escaping: most of it is, and seeing that takes less time than escaping does."""


class Markup(str):
    """Text that is markup already and is not escaped again."""

    __slots__ = ()


Child = str | None
"""What an element holds: Markup as it is, any other text escaped, None for nothing."""


def printable(text: str) -> str:
    """Text without characters that hide, reorder or break what is shown."""
    return _UNPRINTABLE.sub("\ufffd", text)


def element(name: str, /, *children: Child, **attributes: str | float | None) -> Markup:
    """One element.

    Attributes that are None are left out; ``_`` in a name stands for ``-`` and is dropped at its end, so that
    ``class_`` is ``class``. Numbers are written with at most one decimal.
    """
    written = ""
    for key, value in attributes.items():
        if value is not None:
            written += f' {_attribute(key)}="{_escaped(value)}"'
    if name in _VOID:
        return Markup(f"<{name}{written}>" if name in _HTML_VOID else f"<{name}{written}/>")
    return Markup(f"<{name}{written}>{''.join(map(_content, children))}</{name}>")


def blocks(parts: Iterable[Child]) -> Markup:
    """Elements one below the other, each on a line of its own."""
    return Markup("\n".join(_content(part) for part in parts if part))


@cache
def _attribute(key: str) -> str:
    """The name of an attribute; there are as many as this program's text has."""
    return key.rstrip("_").replace("_", "-")


def _content(child: Child) -> str:
    if child is None:
        return ""
    return child if isinstance(child, Markup) else _escaped(child)


def _escaped(value: str | float) -> str:
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) else html.escape(printable(value))
    return number(value)


def number(value: float) -> str:
    """A coordinate with at most one decimal, so that the same picture is the same text everywhere."""
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text
