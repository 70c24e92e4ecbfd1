"""The operator's configuration file in its ConfigMap, and the line in it that says where the log goes."""

import posixpath
import re
from dataclasses import dataclass
from typing import Final

from advisor.errors import InputFormatError
from advisor.inject.editing import Editor, child, scalar_of
from advisor.inject.operator import Manifest
from advisor.inject.tree import Mapping, Scalar, check, parse
from advisor.inject.workload import Workload, mount_of

__all__ = ["Configuration", "add_log_file", "configuration_of", "find_configuration", "take_log_file"]

_FIELD: Final = "logFile"
_ESCAPE: Final = {"x": 4, "u": 6, "U": 10}
"""Length of an escape with this letter in a text in double quotes; of all others it is 2."""
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_VALUES: Final = "set logging.baseDir and logging.fileName among the values of KubeRay's chart, then inject"


@dataclass(frozen=True, slots=True)
class Configuration:
    """A configuration file.

    Attributes:
        manifest: the ConfigMap.
        key: which of its keys.
        scalar: the file as the value of that key.
        root: the file's own mapping, whose places are those in ``scalar.value``.
    """

    manifest: Manifest
    key: str
    scalar: Scalar
    root: Mapping

    @property
    def title(self) -> str:
        """Name of the ConfigMap and key."""
        return f"{self.manifest.name}/{self.key}"

    def field(self, name: str) -> str | None:
        """What it says of one thing, None where it says nothing."""
        return scalar_of(child(self.root, name, self.scalar.value)) or None


def find_configuration(
    path: str, workload: Workload, deployment: Manifest, manifests: list[Manifest]
) -> Configuration | None:
    """The file that ``--config`` names, None where its ConfigMap is not among the manifests.

    Raises:
        InputFormatError: it is there, but no YAML mapping.
    """
    mount = mount_of(path, workload.mounts)
    volume = None if mount is None else workload.volume(mount.volume)
    if mount is None or volume is None or volume.config_map is None:
        return None
    inside = mount.sub_path or posixpath.relpath(posixpath.normpath(path), mount.path)
    key = next((key for key, place in volume.keys if posixpath.normpath(place) == inside), inside)
    return configuration_of(volume.config_map, key, deployment, manifests)


def configuration_of(name: str, key: str, deployment: Manifest, manifests: list[Manifest]) -> Configuration | None:
    """The file in that key of that ConfigMap beside the Deployment, None where it is not among the manifests.

    Raises:
        InputFormatError: it is there, but no YAML mapping.
    """
    for each in manifests:
        near = each.namespace == deployment.namespace or None in (each.namespace, deployment.namespace)
        if each.kind != "ConfigMap" or each.name != name or not near:
            continue
        data = each.get("data")
        value = child(data, key, each.text) if isinstance(data, Mapping) else None
        if not isinstance(value, Scalar):
            continue
        try:
            check(value.value)
            documents = parse(value.value)
        except InputFormatError as error:
            raise InputFormatError(error.message, where=f"ConfigMap {name}, {key}") from error
        if len(documents) != 1 or not isinstance(documents[0], Mapping):
            raise InputFormatError("is no configuration of the operator", where=f"ConfigMap {name}, {key}")
        return Configuration(each, key, value, documents[0])
    return None


def add_log_file(editor: Editor, configuration: Configuration, path: str) -> str:
    """Put the line in, behind apiVersion and kind; the file's text after it.

    Raises:
        InputFormatError: the file is written in a way that has no place for a line.
    """
    text, entries = configuration.scalar.value, configuration.root.entries
    heads = {"apiVersion", "kind", "metadata"}
    names = [name for name, _ in entries if isinstance(name, Scalar)]
    others = [name for name in names if name.value not in heads]
    offset = (others or names)[0].start if names else 0
    if configuration.root.flow or not names or text[:offset].rpartition("\n")[2].strip(" "):
        raise InputFormatError("is not written in lines", where=f"ConfigMap {configuration.title}", hint=_VALUES)
    start = text.rfind("\n", 0, offset) + 1
    line = f'{text[start:offset]}{_FIELD}: "{path}"\n'
    places = _places(editor.text, configuration)
    if configuration.scalar.block:
        indent = _indent(editor.text, places[start])
        at = places[start] - len(indent)
        editor.insert(at, f"{indent}{line.rstrip()}{editor.newline(at)}")
    else:
        editor.insert(places[start], _escaped(line))
    return text[:start] + line + text[start:]


def take_log_file(editor: Editor, configuration: Configuration, path: str) -> bool:
    """Take the line out again; whether it was there and still said so.

    Raises:
        InputFormatError: as for :func:`add_log_file`.
    """
    text = configuration.scalar.value
    names = {name.value: name for name, _ in configuration.root.entries if isinstance(name, Scalar)}
    if configuration.field(_FIELD) != path or configuration.root.flow:
        return False
    start = text.rfind("\n", 0, names[_FIELD].start) + 1
    end = text.find("\n", start) + 1 or len(text)
    places = _places(editor.text, configuration)
    indent = _indent(editor.text, places[start]) if configuration.scalar.block else ""
    editor.cut(places[start] - len(indent), places[end - 1] + len(_break_at(editor.text, places[end - 1])))
    return True


def _break_at(text: str, offset: int) -> str:
    """What stands for one line end there, be it written as an escape."""
    return "\\n" if text[offset] == "\\" else "\r\n" if text[offset : offset + 2] == "\r\n" else text[offset]


def _indent(text: str, place: int) -> str:
    """What stands before the first word of a line of a text in lines."""
    start = max(text.rfind("\n", 0, place), text.rfind("\r", 0, place)) + 1
    return text[start:place]


def _escaped(text: str) -> str:
    """A text as it stands in double quotes."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _places(text: str, configuration: Configuration) -> list[int]:
    """Where each character of the file stands in the manifest.

    Raises:
        InputFormatError: it is folded, so that its lines are not those of the manifest.
    """
    scalar = configuration.scalar
    raw = text[scalar.start : scalar.end]
    places = _literal(raw, scalar) if scalar.block else _quoted(raw, scalar)
    if places is None:
        raise InputFormatError(
            "is folded into lines that are not its own", where=f"ConfigMap {configuration.title}", hint=_VALUES
        )
    return [scalar.start + place for place in places]


def _literal(raw: str, scalar: Scalar) -> list[int] | None:
    """Of a text behind ``|``: each line is there with an indentation before it."""
    places: list[int] = []
    header = re.match(r"\|[^\n\r]*(?:\r\n|[\n\r])", raw)
    if header is None:
        return None
    offset = header.end()
    ends = list(re.finditer(r"\r\n|[\n\r]", raw))
    stops = [found for found in ends if found.start() >= offset]
    for line in _LINE.findall(scalar.value):
        stop = stops.pop(0) if stops else None
        content, bare = raw[offset : stop.start() if stop else len(raw)], line.rstrip("\n")
        if not content.endswith(bare):
            return None
        first = offset + len(content) - len(bare)
        places += range(first, first + len(bare))
        if line.endswith("\n"):
            places.append(stop.start() if stop else len(raw))
        offset = stop.end() if stop else len(raw)
    return places


def _quoted(raw: str, scalar: Scalar) -> list[int] | None:
    """Of a text in double quotes on one line."""
    if not raw.startswith('"') or "\n" in raw or "\r" in raw:
        return None
    places, offset = [], 1
    while offset < len(raw) - 1:
        places.append(offset)
        offset += 1 if raw[offset] != "\\" else _ESCAPE.get(raw[offset + 1], 2)
    return places if len(places) == len(scalar.value) else None
