"""Text that shows as it is in GitHub-flavoured Markdown, wherever it is put."""

import re

from advisor.report.markup import printable

__all__ = ["bars", "code", "escape", "fenced", "inline", "unlinked"]

_SPECIAL = re.compile(r"[\\`*\[\]<~$|]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|&(?=[#A-Za-z])")
_LEADING = re.compile(r"^(?=[-+=>#])")
_NUMBERED = re.compile(r"^(\d+)(?=[.)](?:\s|$))")
# What GitHub turns into a link, a mention or a reference although it is plain text: a comment inside breaks it up.
_LINKED = re.compile(r"@(?=\w)|#(?=\d)|GH-(?=\d)|:(?=//)|(?i:www(?=\.))")
_BROKEN = "<!-- -->"


def escape(text: str) -> str:
    """Text that shows as it is wherever a line of Markdown begins or goes on."""
    return _NUMBERED.sub(rf"\g<0>{_BROKEN}", _LEADING.sub(r"\\", inline(text)))


def inline(text: str) -> str:
    """Text on one line that shows as it is inside a line."""
    return unlinked(_SPECIAL.sub(r"\\\g<0>", " ".join(printable(text).split())))


def unlinked(text: str) -> str:
    """Text without what becomes a link, a mention or a reference by itself."""
    return _LINKED.sub(rf"\g<0>{_BROKEN}", text)


def code(text: str) -> str:
    """Text as code, whatever backticks it has."""
    line = " ".join(printable(text).split()) or " "
    fence = "`" * (_longest_run(line) + 1)
    return f"{fence} {line} {fence}" if "`" in line else f"{fence}{line}{fence}"


def fenced(text: str, language: str = "") -> str:
    """Lines as they are, in a language."""
    fence = "`" * max(3, _longest_run(text) + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def bars(cell: str) -> str:
    """A cell whose bars do not end it; a backslash before one is moved away, as it would take its escape."""
    return cell.replace("\\|", "\\ |").replace("|", "\\|")
