"""YAML as a tree whose nodes know where in the text they stand, so that text can be put between them.

Offsets count characters. The end of a block collection is not the parser's, which is the start of what follows, but
that of its last scalar.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, TypeAlias

import yaml
from yaml.reader import Reader
from yaml.resolver import Resolver

from advisor.errors import InputFormatError

__all__ = ["Alias", "Mapping", "Node", "Scalar", "Sequence", "Value", "check", "line_of", "parse", "pieces", "value_of"]

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml where PyYAML was built with it: the same marks, and twenty times as fast."""
_BREAK: Final = re.compile(r"\r\n|[\n\r\x85\u2028\u2029]")
"""What ends a line for YAML 1.1."""
_PIECE: Final = re.compile(r"^(?:%[A-Z][^\n]*\n)*---(?=\s|\Z)", re.MULTILINE)
"""Nothing but the start of a document may look like this, wherever it stands; its directives are before it."""
_DEEPEST: Final = 200
"""Levels; what is deeper is no manifest."""
_RESOLVER: Final = Resolver()

Value: TypeAlias = "dict[str, Value] | list[Value] | str | int | bool | None"
"""What can be put in."""


@dataclass(frozen=True, slots=True)
class Scalar:
    """A word or text; ``tag`` is what YAML 1.1 makes of it, such as ``tag:yaml.org,2002:str``."""

    start: int
    end: int
    value: str
    tag: str
    block: bool
    """Whether it is written with | or >."""

    @property
    def null(self) -> bool:
        """Whether it stands for nothing."""
        return self.tag == "tag:yaml.org,2002:null"


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list; ``flow`` where it is written in brackets."""

    start: int
    end: int
    items: tuple["Node", ...]
    flow: bool
    anchor: str | None


@dataclass(frozen=True, slots=True)
class Mapping:
    """Keys and values in the order in which they stand; ``flow`` where it is written in braces."""

    start: int
    end: int
    entries: tuple[tuple["Node", "Node"], ...]
    flow: bool
    anchor: str | None


@dataclass(frozen=True, slots=True)
class Alias:
    """A reference to another place."""

    start: int
    end: int
    name: str


Node: TypeAlias = Scalar | Sequence | Mapping | Alias


def line_of(text: str, offset: int) -> int:
    """Number of the line, from 1."""
    return sum(1 for _ in _BREAK.finditer(text, 0, offset)) + 1


def check(text: str) -> None:
    """Whether the whole stream is YAML.

    Raises:
        InputFormatError: it is not, with the line.
    """
    odd = Reader.NON_PRINTABLE.search(text)
    if odd is not None:
        message = f"is not YAML: the character {odd.group()!a} may not be in it, line {line_of(text, odd.start())}"
        raise InputFormatError(message)
    try:
        for _ in yaml.parse(text, Loader=_LOADER):
            pass
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        place = "" if mark is None else f", line {mark.line + 1}"
        raise InputFormatError(f"is not YAML: {problem}{place}") from error


def pieces(text: str) -> list[str]:
    """The text cut before each ``---``; joined they are the text."""
    cuts = [0, *(found.start() for found in _PIECE.finditer(text) if found.start()), len(text)]
    return [text[start:end] for start, end in pairwise(cuts)]


def parse(text: str) -> list[Node]:
    """The documents of a text that :func:`check` has let pass.

    Raises:
        InputFormatError: it is deeper than any manifest.
    """
    events: Iterator[Any] = iter(yaml.parse(text, Loader=_LOADER))
    return [_node(events, next(events), 0) for event in events if isinstance(event, yaml.DocumentStartEvent)]


def _node(events: Iterator[Any], event: Any, depth: int) -> Node:  # noqa: ANN401 - PyYAML's events
    if depth > _DEEPEST:
        raise InputFormatError(f"is nested more than {_DEEPEST} levels deep, which no manifest is")
    start, end = event.start_mark.index, event.end_mark.index
    if isinstance(event, yaml.AliasEvent):
        return Alias(start, end, str(event.anchor))
    if isinstance(event, yaml.ScalarEvent):
        tag = event.tag or _RESOLVER.resolve(yaml.ScalarNode, event.value, event.implicit)  # type: ignore[no-untyped-call]
        return Scalar(start, end, event.value, tag, event.style in ("|", ">"))
    if isinstance(event, yaml.SequenceStartEvent):
        items: list[Node] = []
        while not isinstance(following := next(events), yaml.SequenceEndEvent):
            items.append(_node(events, following, depth + 1))
        end = _end(following) if event.flow_style else _last(items[-1:], end)
        return Sequence(start, end, tuple(items), bool(event.flow_style), event.anchor)
    entries = []
    while not isinstance(following := next(events), yaml.MappingEndEvent):
        entries.append((_node(events, following, depth + 1), _node(events, next(events), depth + 1)))
    end = _end(following) if event.flow_style else _last([value for _, value in entries[-1:]], end)
    return Mapping(start, end, tuple(entries), bool(event.flow_style), event.anchor)


def _end(event: Any) -> int:  # noqa: ANN401 - PyYAML's events
    return int(event.end_mark.index)


def _last(nodes: list[Node], otherwise: int) -> int:
    return nodes[0].end if nodes else otherwise


def value_of(node: Node) -> object:
    """The content without its form: mappings, lists, pairs of tag and text; a reference by its name.

    Of two equal keys the last counts.
    """
    match node:
        case Mapping(entries=entries):
            return {repr(value_of(key)): value_of(value) for key, value in entries}
        case Sequence(items=items):
            return [value_of(item) for item in items]
        case Scalar(tag=tag, value=value):
            return tag, value
        case Alias(name=name):
            return "*", name
