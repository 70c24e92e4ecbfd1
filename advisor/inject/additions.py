"""What is added to an object, where, and how it is found again.

Each addition goes into a list or mapping that may be missing: then it is made, and the record says so, that taking the
addition out takes it along. Where it was there as null, the record keeps how that was written.
"""

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from advisor.errors import InputFormatError
from advisor.inject.editing import Editor, child
from advisor.inject.tree import Alias, Mapping, Node, Scalar, Sequence, Value, line_of

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Addition", "Traces", "add", "expected", "take"]

_WRITE_OUT: Final = "write it out where it stands, without a reference"


@dataclass(frozen=True, slots=True)
class Addition:
    """One item of a list, or one key of a mapping.

    Attributes:
        parent: the mapping below which it goes; it is there.
        path: keys from there to the list or mapping.
        item: what goes into a list, None for a mapping.
        entry: key and value that go into a mapping, None for a list.
        front: whether an item goes before the others.
    """

    parent: Mapping
    path: tuple[str, ...]
    item: Value = None
    entry: tuple[str, Value] | None = None
    front: bool = False

    def wrapped(self, below: int) -> Value:
        """What a missing key has to hold: ``below`` keys further down, the addition alone."""
        value: Value = [self.item] if self.entry is None else {self.entry[0]: self.entry[1]}
        for key in reversed(self.path[len(self.path) - below :] if below else ()):
            value = {key: value}
        return value


@dataclass(slots=True)
class Traces:
    """Which lists and mappings were made, and what stood there where it was null."""

    created: list[str] = field(default_factory=list)
    was: dict[str, str] = field(default_factory=dict)


def add(editor: Editor, addition: Addition, traces: Traces, aliased: frozenset[str]) -> None:
    """Put it in, and note what had to be made for it.

    Args:
        editor: of the text.
        addition: what and where.
        traces: grows.
        aliased: names of all anchors that something refers to.

    Raises:
        InputFormatError: something else than a list or mapping is there, or it is referred to from elsewhere.
    """
    node: Node = addition.parent
    parent = addition.parent
    for index, key in enumerate(addition.path):
        assert isinstance(node, Mapping)  # noqa: S101 - looked at below
        parent, value = node, child(node, key, editor.text)
        below = len(addition.path) - index - 1
        if value is None:
            editor.add_entry(node, key, addition.wrapped(below))
            traces.created.append(key)
            return
        if isinstance(value, Scalar) and value.null:
            editor.replace_null(value, addition.wrapped(below), compact=editor.compact(node))
            traces.was[key] = editor.raw(value)
            return
        _refuse(value, Mapping if below or addition.entry is not None else Sequence, key, editor.text, aliased)
        node = value
    if isinstance(node, Sequence):
        editor.add_item(node, addition.item, front=addition.front, compact=editor.compact(parent))
    elif isinstance(node, Mapping) and addition.entry is not None:
        editor.add_entry(node, *addition.entry)


def _refuse(value: Node, kind: type[Mapping | Sequence], key: str, text: str, aliased: frozenset[str]) -> None:
    line = line_of(text, value.start)
    if isinstance(value, Alias):
        raise InputFormatError(f"{key} in line {line} is a reference to another place", hint=_WRITE_OUT)
    if not isinstance(value, kind):
        expected_kind = "mapping" if kind is Mapping else "list"
        raise InputFormatError(
            f"{key} in line {line} is no {expected_kind}", hint="this is no manifest that Kubernetes takes"
        )
    if value.anchor in aliased:
        message = f"something refers to {key} in line {line} from elsewhere, and would change with it"
        raise InputFormatError(message, hint=_WRITE_OUT)


def take(
    editor: Editor,
    parent: Mapping,
    path: tuple[str, ...],
    wanted: "Callable[[Node, Node | None], bool]",
    traces: Traces,
) -> bool:
    """Take out an addition, along with what was made for it and is empty without it; whether it was there.

    Args:
        editor: of the text.
        parent: the mapping below which it is.
        path: keys from there to its list or mapping.
        wanted: of an item and None, or of a key and its value, whether it is the one.
        traces: what was made for it.
    """
    levels: list[tuple[Mapping, str]] = []
    node: Node | None = parent
    for key in path:
        if not isinstance(node, Mapping):
            return False
        levels.append((node, key))
        node = child(node, key, editor.text)
    pairs = _pairs(node)
    index = next((place for place, pair in enumerate(pairs) if wanted(*pair)), None)
    if index is None or node is None:
        return False
    _cut(editor, levels, node, index, traces)
    return True


def _pairs(node: Node | None) -> list[tuple[Node, Node | None]]:
    if isinstance(node, Sequence):
        return [(item, None) for item in node.items]
    return list(node.entries) if isinstance(node, Mapping) else []


def _cut(editor: Editor, levels: list[tuple[Mapping, str]], node: Node, index: int, traces: Traces) -> None:
    """Cut the highest of what would be empty, up to what was made; what was there and is in lines stays, empty."""
    for depth in range(len(levels) - 1, -1, -1) if len(_pairs(node)) == 1 else ():
        mapping, key = levels[depth]
        made_above = any(above in traces.created or above in traces.was for _, above in levels[:depth])
        if key in traces.was:
            editor.restore(mapping, key, traces.was[key])
            return
        if key in traces.created or (made_above and len(mapping.entries) > 1):
            _drop(editor, levels, depth)
            return
        if not made_above:
            break
    _drop_last(editor, levels, node, index)


def _drop(editor: Editor, levels: list[tuple[Mapping, str]], depth: int) -> None:
    """Cut a key; of a mapping in lines that has no other, braces stay."""
    mapping, key = levels[depth]
    if depth and len(mapping.entries) == 1 and not mapping.flow:
        editor.restore(*levels[depth - 1], "{}")
    else:
        editor.cut_entry(mapping, key)


def _drop_last(editor: Editor, levels: list[tuple[Mapping, str]], node: Node, index: int) -> None:
    """Cut an item or a key; of what is in lines and has no other, brackets or braces stay."""
    if isinstance(node, Sequence | Mapping) and not node.flow and len(_pairs(node)) == 1:
        editor.restore(*levels[-1], "[]" if isinstance(node, Sequence) else "{}")
    elif isinstance(node, Sequence):
        editor.cut_item(node, index)
    elif isinstance(node, Mapping):
        name = node.entries[index][0]
        editor.cut_entry(node, name.value if isinstance(name, Scalar) else "")


def expected(before: object, places: list[tuple[tuple[str | int, ...], Addition]]) -> object:
    """The content that a document must have after the additions, made without its text.

    Args:
        before: its content, as :func:`value_of` gives it.
        places: where the parent of each addition is, and the addition.
    """
    after = copy.deepcopy(before)
    for place, addition in places:
        node: object = after
        for step in place:
            node = _down(node, step)
        for index, key in enumerate(addition.path):
            assert isinstance(node, dict)  # noqa: S101 - add() has been there
            name = _name(key)
            value = node.get(name)
            if value is None or (isinstance(value, tuple) and value[0] == "tag:yaml.org,2002:null"):
                node[name] = plain(addition.wrapped(len(addition.path) - index - 1))
                break
            node = value
        else:
            _put(node, addition)
    return after


def _put(node: object, addition: Addition) -> None:
    if isinstance(node, list):
        node.insert(0 if addition.front else len(node), plain(addition.item))
    elif isinstance(node, dict) and addition.entry is not None:
        node[_name(addition.entry[0])] = plain(addition.entry[1])


def _down(node: object, step: str | int) -> object:
    if isinstance(node, list) and isinstance(step, int):
        return node[step]
    assert isinstance(node, dict)  # noqa: S101 - the places come from the same document
    return node[_name(str(step))]


def _name(key: str) -> str:
    return repr(("tag:yaml.org,2002:str", key))


def plain(value: Value) -> object:
    """A value as :func:`value_of` gives it of a document."""
    match value:
        case dict():
            return {_name(key): plain(item) for key, item in value.items()}
        case list():
            return [plain(item) for item in value]
        case bool():
            return "tag:yaml.org,2002:bool", str(value).lower()
        case int():
            return "tag:yaml.org,2002:int", str(value)
        case None:
            return "tag:yaml.org,2002:null", "null"
        case str():
            return "tag:yaml.org,2002:str", value
