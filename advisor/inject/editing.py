"""Putting values into a text beside what is there, and taking them out again without a trace.

What is put into a block stands on lines of its own, behind what it follows; into braces or brackets it goes with the
comma and the space that its neighbours have. So cutting it out leaves what was there before.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from advisor.errors import AdvisorError, InputFormatError
from advisor.inject.fragments import block_lines, flow_text
from advisor.inject.tree import Alias, Mapping, Node, Scalar, Sequence, Value, line_of

__all__ = ["Editor", "child", "dig", "scalar_of"]

_BREAK: Final = re.compile(r"\r\n|[\n\r\x85\u2028\u2029]")
_DASH: Final = re.compile(r"-[ \t]*(?:[&!]\S*[ \t]+)*$")
_FIRST: Final = -(10**9)
_BARE_DASH: Final = re.compile(r" *-[ \t]*(?:#.*)?$")


def child(mapping: Mapping, key: str, text: str) -> Node | None:
    """The value of a key, None where it is missing.

    Raises:
        InputFormatError: the key stands twice, or the mapping takes keys over from elsewhere.
    """
    found = [value for name, value in mapping.entries if isinstance(name, Scalar) and name.value == key]
    merged = any(isinstance(name, Scalar) and name.tag == "tag:yaml.org,2002:merge" for name, _ in mapping.entries)
    if merged or len(found) > 1:
        what = "takes keys over with <<" if merged else f"has the key {key!r} twice"
        raise InputFormatError(
            f"the mapping in line {line_of(text, mapping.start)} {what}",
            hint="write the operator's Deployment out, for example with kubectl create --dry-run=client --output yaml",
        )
    return found[0] if found else None


def dig(node: Node | None, *keys: str, text: str) -> Node | None:
    """What lies below, None where a key is missing or something else than a mapping is on the way.

    Raises:
        InputFormatError: as for :func:`child`, or one is a reference to another place.
    """
    for key in keys:
        node = child(node, key, text) if isinstance(node, Mapping) else None
        if isinstance(node, Alias):
            raise InputFormatError(
                f"*{node.name} in line {line_of(text, node.start)} refers to another place",
                hint="write the operator's Deployment out, for example with kubectl create --dry-run=client "
                "--output yaml",
            )
    return node


def scalar_of(node: Node | None) -> str | None:
    """The text of a scalar, None for anything else and for null."""
    return node.value if isinstance(node, Scalar) and not node.null else None


@dataclass(slots=True)
class Editor:
    """Edits of one text, made all at once by :meth:`result`.

    Attributes:
        text: the text, ending in a line end.
        step: by how much a mapping is further in than its key.
        dash: by how much a list is.
    """

    text: str
    step: int = 2
    dash: int = 2
    _edits: list[tuple[int, int, str, int]] = field(default_factory=list)
    _newline: str = "\n"

    def __post_init__(self) -> None:
        """Take the line ends that are there."""
        found = _BREAK.search(self.text)
        if found is not None and found.group() in ("\r\n", "\r"):
            self._newline = found.group()

    def result(self) -> str:
        """The text with all edits; those of one place from the inside out.

        Raises:
            AdvisorError: two of them overlap.
        """
        parts, done = [], 0
        for start, end, replacement, _ in sorted(self._edits, key=lambda edit: (edit[0], edit[3])):
            if start < done:
                raise AdvisorError("two changes of the manifest meet", where=f"line {line_of(self.text, start)}")
            parts += [self.text[done:start], replacement]
            done = end
        return "".join([*parts, self.text[done:]])

    def add_entry(self, mapping: Mapping, key: str, value: Value) -> None:
        """Put a key behind those that are there."""
        if not mapping.flow:
            lines = block_lines({key: value}, self.step, self.dash)
            self._lines(mapping.end, self._column(mapping.entries[0][0].start), lines, key=True)
            return
        name, last = flow_text(key, compact=False), mapping.entries[-1] if mapping.entries else None
        colon = self._colon(mapping)
        inner = self._inner(mapping.start, None if last is None else mapping.entries[0][0].start)
        body = f"{name}{colon}{self._flow(value, inner, compact=colon == ':')}"
        self._behind(mapping.start, None if last is None else last[1].end, body, inner, compact=colon == ":")

    def add_item(self, sequence: Sequence, value: Value, *, front: bool, compact: bool) -> None:
        """Put an item before or behind those that are there."""
        items = sequence.items
        if not sequence.flow:
            lines = block_lines([value], self.step, self.dash)
            column, first = self._dash(items[0].start)
            self._lines(first if front else sequence.end, column, lines, before=front)
            return
        inner = self._inner(sequence.start, items[0].start if items else None)
        body = self._flow(value, inner, compact=compact)
        if front and items:
            comma = "," + (inner if inner is not None else "" if compact else " ")
            self._edit(items[0].start, items[0].start, body + comma)
        else:
            self._behind(sequence.start, items[-1].end if items else None, body, inner, compact=compact)

    def replace_null(self, null: Scalar, value: Value, *, compact: bool) -> None:
        """Put a value where null stands."""
        space = "" if null.end > null.start or compact else " "
        self._edit(null.start, null.end, space + flow_text(value, compact=compact), _FIRST)

    def restore(self, mapping: Mapping, key: str, was: str) -> None:
        """Let a key hold again what it held; ``was`` is written in one line, "" is nothing behind the colon."""
        name, node = next(pair for pair in mapping.entries if isinstance(pair[0], Scalar) and pair[0].value == key)
        start = node.start
        if not mapping.flow and not (isinstance(node, Sequence | Mapping) and node.flow):
            # In lines of its own, where no program that keeps the text has put it.
            start = self.text.index(":", name.end) + 1
            was = was and f" {was}"
        elif not was and self.text[start - 1] == " ":
            start -= 1
        self._edit(start, node.end, was)

    def insert(self, offset: int, text: str) -> None:
        """Put text in as it is."""
        self._edit(offset, offset, text)

    def cut(self, start: int, end: int) -> None:
        """Take text out as it is."""
        self._edit(start, end, "")

    def cut_entry(self, mapping: Mapping, key: str) -> None:
        """Take a key and its value out."""
        names = [name.value if isinstance(name, Scalar) else None for name, _ in mapping.entries]
        index = names.index(key)
        start, end = mapping.entries[index][0].start, mapping.entries[index][1].end
        starts = [name.start for name, _ in mapping.entries]
        alone = not self.text[self._line_start(start) : start].strip(" ")
        if not mapping.flow and (alone or index + 1 == len(starts)):
            self._edit(self._line_start(start), self._after(end), "")
        elif not mapping.flow:
            self._edit(start, starts[index + 1], "")
        else:
            self._cut_flow(index, starts, [value.end for _, value in mapping.entries], end)

    def cut_item(self, sequence: Sequence, index: int) -> None:
        """Take an item out."""
        item = sequence.items[index]
        if sequence.flow:
            self._cut_flow(index, [each.start for each in sequence.items], [e.end for e in sequence.items], item.end)
            return
        self._edit(self._dash(item.start)[1], self._after(item.end), "")

    def raw(self, node: Node) -> str:
        """The text of a node."""
        return self.text[node.start : node.end]

    def compact(self, mapping: Mapping) -> bool:
        """Whether what is in it is written without spaces, as programs write JSON."""
        return mapping.flow and self._colon(mapping) == ":"

    def newline(self, offset: int) -> str:
        """How the line before ends."""
        found = re.search(r"(?:\r\n|[\n\r])\Z", self.text[max(offset - 2, 0) : offset])
        return found.group() if found is not None else self._newline

    def _edit(self, start: int, end: int, text: str, rank: int = 0) -> None:
        self._edits.append((start, end, text, rank))

    def _cut_flow(self, index: int, starts: list[int], ends: list[int], end: int) -> None:
        if index:
            self._edit(ends[index - 1], end, "")
        else:
            self._edit(starts[0], starts[1] if len(starts) > 1 else end, "")

    def _lines(self, offset: int, column: int, lines: list[str], *, before: bool = False, key: bool = False) -> None:
        at = offset if before else self._after(offset)
        indent, newline = " " * column, self.newline(at)
        # What is further in comes first, and an item before a key of the same column.
        self._edit(at, at, "".join(f"{indent}{line}{newline}" for line in lines), int(key) - 2 * column)

    def _behind(self, opening: int, last: int | None, body: str, inner: str | None, *, compact: bool) -> None:
        if last is None:
            self._edit(opening + 1, opening + 1, body)
            return
        comma = "," + (inner if inner is not None else "" if compact else " ")
        self._edit(last, last, comma + body)

    def _flow(self, value: Value, inner: str | None, *, compact: bool) -> str:
        if inner is None:
            return flow_text(value, compact=compact)
        indent = inner.lstrip("\r\n")
        newline = inner.removesuffix(indent)
        return flow_text(value, compact=False, step=self.step, inner=indent, newline=newline)

    def _inner(self, opening: int, first: int | None) -> str | None:
        """Line end and indentation before what is in braces or brackets, None where it stands in one line."""
        if first is None:
            return None
        between = self.text[opening + 1 : first]
        found = re.search(r"(\r\n|[\n\r])([ \t]*)$", between)
        return found.group() if found is not None else None

    def _colon(self, mapping: Mapping) -> str:
        if not mapping.entries:
            return ": "
        name, value = mapping.entries[0]
        return ":" if self.text[name.end : value.start] == ":" else ": "

    def _column(self, offset: int) -> int:
        return offset - self._line_start(offset)

    def _dash(self, offset: int) -> tuple[int, int]:
        """Column of an item's dash, and where its line starts."""
        start = self._line_start(offset)
        found = _DASH.search(self.text[start:offset])
        while found is None and start:
            end, start = start, self._line_start(start - 1)
            found = _BARE_DASH.match(_BREAK.sub("", self.text[start:end]))
            if found is not None:
                return self.text.index("-", start) - start, start
        return (0 if found is None else found.start()), start

    def _line_start(self, offset: int) -> int:
        return max((self.text.rfind(end, 0, offset) for end in "\n\r\x85\u2028\u2029"), default=-1) + 1

    def _after(self, offset: int) -> int:
        """Where the next line starts."""
        if offset and offset == self._line_start(offset):
            return offset
        found = _BREAK.search(self.text, offset)
        return len(self.text) if found is None else found.end()
