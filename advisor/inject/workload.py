"""What the operator's container says of itself: where it logs, where its metrics are, what it may use."""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from advisor.errors import InputFormatError, SettingsError
from advisor.inject.editing import dig, scalar_of
from advisor.inject.operator import Found
from advisor.inject.tree import Mapping, Scalar, Sequence
from advisor.knowledge.commandline import flag_values

__all__ = ["Mount", "Volume", "Workload", "mount_of", "read_workload"]

_SHELLS: Final = frozenset({"sh", "ash", "bash", "dash", "busybox"})


@dataclass(frozen=True, slots=True)
class Mount:
    """Where a volume is in the operator's file system."""

    volume: str
    path: str
    sub_path: str | None = None
    sub_path_expression: str | None = None
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class Volume:
    """A volume of the Pod: its kind, such as ``emptyDir``, and what that holds."""

    name: str
    kind: str
    size_limit: str | None = None
    config_map: str | None = None
    keys: tuple[tuple[str, str], ...] = ()
    """Key and path of the items of a ConfigMap that are mounted, none for all."""


@dataclass(frozen=True, slots=True)
class Workload:
    """The operator's container and what of its Pod concerns it."""

    flags: dict[str, str]
    mounts: tuple[Mount, ...]
    volumes: tuple[Volume, ...]
    cpu_limit: str | None
    storage_limit: str | None
    user: str | None
    group: str | None
    """User and group of the container itself; those of the Pod count for all its containers anyway."""
    root: bool
    """Whether it runs as root."""
    host_network: bool

    def flag(self, name: str) -> str | None:
        """What a flag says, the last time that it is given; None where it is not given, or to nothing."""
        return self.flags.get(name) or None

    def volume(self, name: str) -> Volume | None:
        """A volume by its name."""
        return next((each for each in self.volumes if each.name == name), None)


def read_workload(found: Found) -> Workload:
    """What the operator's container says.

    Raises:
        InputFormatError: the manifest is none that Kubernetes takes.
        SettingsError: arguments put in front of its own would not reach it.
    """
    text, container, pod = found.deployment.text, found.container, found.deployment.pod()
    own, common = "securityContext", dig(pod, "securityContext", text=text)
    user = scalar_of(dig(container, own, "runAsUser", text=text))
    return Workload(
        flags=_flags(_words(container, "command", text), _words(container, "args", text)),
        mounts=tuple(_mounts(container, text)),
        volumes=tuple(_volumes(pod, text)),
        cpu_limit=scalar_of(dig(container, "resources", "limits", "cpu", text=text)),
        storage_limit=scalar_of(dig(container, "resources", "limits", "ephemeral-storage", text=text)),
        user=user,
        group=scalar_of(dig(container, own, "runAsGroup", text=text)),
        root=(user or scalar_of(dig(common, "runAsUser", text=text))) == "0",
        host_network=scalar_of(dig(pod, "hostNetwork", text=text)) == "true",
    )


def _words(container: Mapping, key: str, text: str) -> list[str]:
    node = dig(container, key, text=text)
    items = node.items if isinstance(node, Sequence) else ()
    words = [item.value for item in items if isinstance(item, Scalar)]
    if len(words) != len(items) or (node is not None and not isinstance(node, Sequence | Scalar)):
        raise InputFormatError(f"{key} of the operator's container is no list of words")
    return words


def _flags(command: list[str], args: list[str]) -> dict[str, str]:
    through = bool(command[1:]) and (not command[1].startswith("-") or command[1] == "--")
    if through or (command and posixpath.basename(command[0]) in _SHELLS):
        raise SettingsError(
            f"the operator is started through {' '.join(command[:2])}, which may keep arguments from it",
            hint="start it directly, or put the sidecar in by hand as docs/inject.md shows",
        )
    return flag_values((*command[1:], *args))


def _mounts(container: Mapping, text: str) -> Iterator[Mount]:
    node = dig(container, "volumeMounts", text=text)
    for item in node.items if isinstance(node, Sequence) else ():
        name, path = (scalar_of(dig(item, key, text=text)) for key in ("name", "mountPath"))
        if name is None or path is None:
            raise InputFormatError("a volume mount of the operator's container lacks its name or path")
        yield Mount(
            name,
            posixpath.normpath(path),
            scalar_of(dig(item, "subPath", text=text)),
            scalar_of(dig(item, "subPathExpr", text=text)),
            scalar_of(dig(item, "readOnly", text=text)) == "true",
        )


def _volumes(pod: Mapping, text: str) -> Iterator[Volume]:
    node = dig(pod, "volumes", text=text)
    for item in node.items if isinstance(node, Sequence) else ():
        name = scalar_of(dig(item, "name", text=text))
        if name is None or not isinstance(item, Mapping):
            raise InputFormatError("a volume of the operator's Pod has no name")
        kinds = [key.value for key, _ in item.entries if isinstance(key, Scalar) and key.value != "name"]
        listed = dig(item, "configMap", "items", text=text)
        keys = [
            tuple(scalar_of(dig(each, key, text=text)) or "" for key in ("key", "path"))
            for each in (listed.items if isinstance(listed, Sequence) else ())
        ]
        yield Volume(
            name,
            kinds[0] if kinds else "emptyDir",
            scalar_of(dig(item, "emptyDir", "sizeLimit", text=text)),
            scalar_of(dig(item, "configMap", "name", text=text)),
            tuple((key, path) for key, path in keys),
        )


def mount_of(path: str, mounts: tuple[Mount, ...]) -> Mount | None:
    """The mount in which a path lies: the deepest."""
    clean = posixpath.normpath(path)
    around = [each for each in mounts if re.match(re.escape(each.path.rstrip("/")) + "(?:/|$)", clean)]
    return max(around, key=lambda each: len(each.path), default=None)
