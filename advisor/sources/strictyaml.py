"""YAML of a size that people write, strictly checked: each key once, no aliases, no figures that cannot be."""

import re
from pathlib import Path
from typing import Any

import msgspec
import yaml

from advisor.errors import InputFormatError, InputNotFoundError, nearest

__all__ = ["line_of", "load_document", "refusal", "refuse_unreal", "with_place", "worded"]

_LARGEST_FIGURE, _SMALLEST_FIGURE = 1e15, 1e-9
"""A petabyte, thirty million years; a nanosecond. Nothing outside is a fact, and products of such would overflow."""
_UNKNOWN = "Object contains unknown field `"
_PLACE = re.compile(r"at `\$([^`]*)`")
_UNKNOWN_KEY = re.compile(r"unknown field `([^`]*)`")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")


class _Loader(yaml.SafeLoader):
    """The safe loader, but stricter.

    A key given twice is an error and not silently the last one. Aliases are refused: nothing here is worth them, and a
    few lines of them stand for more than any memory holds.
    """

    def compose_node(self, parent: yaml.Node | None, index: object) -> yaml.Node | None:
        """A node that stands where it is used."""
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()  # type: ignore[no-untyped-call]
            line = event.start_mark.line + 1
            raise InputFormatError(f"refers with *{event.anchor} to another place, in line {line}")
        node: yaml.Node | None = super().compose_node(parent, index)  # type: ignore[arg-type]
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - as in the class it extends
        """A mapping whose keys are words and all different."""
        seen: set[str] = set()
        for key, _ in node.value if node.id == "mapping" else ():
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
                raise InputFormatError(f"a list, a mapping or a merge stands for a key, in line {line}")
            if key.value in seen:
                raise InputFormatError(f"the key {key.value!r} stands twice, again in line {line}")
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def load_document(path: Path, *, kind: str, largest_bytes: int, instead: str = "") -> object:
    """What a YAML file holds.

    Args:
        path: the file.
        kind: what it is to be, for errors, such as "facts file".
        largest_bytes: anything longer is something else.
        instead: a hint on what that could be.

    Raises:
        InputNotFoundError: the file cannot be opened.
        InputFormatError: it is too long or not such YAML.
    """
    try:
        with path.open("rb") as file:
            data = file.read(largest_bytes + 1)
    except IsADirectoryError as error:
        raise InputNotFoundError(f"is a folder, and no {kind}", where=str(path), hint=instead) from error
    except OSError as error:
        raise InputNotFoundError(
            f"cannot be read: {error.strerror}", where=str(path), hint="check the path and its permissions"
        ) from error
    if len(data) > largest_bytes:
        message = f"is longer than {largest_bytes // 1024} KiB, which no {kind} is"
        raise InputFormatError(message, where=str(path), hint=instead)
    try:
        return yaml.load(data, Loader=_Loader)  # noqa: S506 - a subclass of the safe loader
    except yaml.YAMLError as error:
        raise InputFormatError(_first_line(error), where=str(path), hint=f"a {kind} is YAML") from error
    except InputFormatError as error:
        raise InputFormatError(
            error.message, where=str(path), hint="write each key once, and each value in full"
        ) from error
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        # What the loader's own constructors raise for a value that is not what its tag says.
        raise InputFormatError(f"cannot be read as YAML: {error}", where=str(path)) from error


def with_place(message: str, place: str) -> str:
    """A message of msgspec with the whole path of what it is about."""
    if "`$" not in message:
        return f"{message} - at `{place}`"
    return message.replace("`$", f"`{place}", 1)


def refusal(error: msgspec.ValidationError, path: Path, kind: type[msgspec.Struct], page: str) -> InputFormatError:
    """What is wrong in a document, in words, with the key that was meant where one is unknown.

    Args:
        error: as msgspec tells it.
        path: the file.
        kind: what the whole document was to be.
        page: where all keys are explained.
    """
    message = with_place(str(error), "$")
    _, found, rest = message.partition(_UNKNOWN)
    hint = f"{page} lists the keys, their units and ranges"
    if found:
        key, known = rest.partition("`")[0], _keys(msgspec.inspect.type_info(kind))
        # A right key in the wrong place is as usual as a wrong letter.
        hint = f"{key} belongs to another place; {hint}" if key in known else nearest(key, sorted(known), hint)
    return InputFormatError(worded(message), where=str(path), hint=hint)


def worded(message: str) -> str:
    """A message of msgspec for people who do not know it."""
    return message.replace(_UNKNOWN, "there is no key `").replace("Object missing", "it lacks the")


def _keys(kind: msgspec.inspect.Type) -> set[str]:
    """The keys of a type and of everything in it; no type holds itself."""
    found: set[str] = set()
    for field in getattr(kind, "fields", ()):
        found |= {field.encode_name} | _keys(field.type)
    inside = (getattr(kind, name, None) for name in ("item_type", "value_type"))
    for one in (*getattr(kind, "types", ()), *filter(None, inside)):
        found |= _keys(one)
    return found


def line_of(path: Path, message: str) -> int | None:
    """The line of a file that is YAML which an error with a place is about; None where it has no such place any more.

    Of a key that is unknown or lacking, the line of what it stands in.
    """
    found = _PLACE.search(message)
    try:
        node = yaml.compose(path.read_bytes(), Loader=yaml.SafeLoader)
    except (OSError, yaml.YAMLError):
        return None
    unknown = _UNKNOWN_KEY.search(message)
    steps = _STEP.findall(found[1]) if found else []
    return _line_below(node, [*steps, (unknown[1], "")] if unknown else steps)


def _line_below(node: yaml.Node | None, steps: list[tuple[str, str]]) -> int | None:
    """The line of what the steps lead to, or of the last thing that is there on the way."""
    line: int | None = None if node is None else node.start_mark.line + 1
    for key, index in steps:
        if isinstance(node, yaml.MappingNode) and key:
            pair = next((one for one in node.value if one[0].value == key), None)
        elif isinstance(node, yaml.SequenceNode) and index.isdigit():
            pair = next(((one, one) for one in node.value[int(index) : int(index) + 1]), None)
        else:
            return line  # of a mapping with free keys no key is named
        if pair is None:
            return line
        line, node = pair[0].start_mark.line + 1, pair[1]
    return line


def refuse_unreal(value: object, place: str = "$") -> None:
    """Refuse what YAML can say and nobody can mean: .nan, .inf, numbers of any size and half characters.

    Raises:
        ValidationError: with the place of the value.
    """
    if isinstance(value, int | float):
        if value != value or abs(value) > _LARGEST_FIGURE or 0 < abs(value) < _SMALLEST_FIGURE:  # noqa: PLR0124 - nan
            shown = f"{value:g}" if isinstance(value, float) else "an integer of that size"
            raise msgspec.ValidationError(f"{shown} is no figure; leave out what is unknown - at `{place}`")
    elif isinstance(value, str):
        if not value.isprintable():
            raise msgspec.ValidationError(f"the text {value!a:.40} cannot be shown - at `{place}`")
    elif isinstance(value, dict):
        for key, item in value.items():
            refuse_unreal(key, f"{place}.{key!a}")
            refuse_unreal(item, f"{place}.{key}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            refuse_unreal(item, f"{place}[{index}]")


def _first_line(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    return f"is not YAML: {problem}" + (f", line {mark.line + 1}" if mark is not None else "")
