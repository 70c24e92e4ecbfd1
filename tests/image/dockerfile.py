"""Reads the Dockerfile: the instructions that it uses, and no others, so that a new one is not passed over unseen."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

__all__ = ["Copy", "DockerfileError", "Run", "Stage", "ignored", "read_dockerfile", "sources_of", "substituted"]

_VARIABLE: Final = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_NUMERIC_USER: Final = re.compile(r"(\d+):(\d+)")


class DockerfileError(Exception):
    """The file has something that these tests do not know; the text says what and in which line."""


@dataclass(frozen=True, slots=True)
class Run:
    """A RUN in its shell form; ``environ`` is what ARG and ENV have set before it."""

    command: str
    folder: str
    environ: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Copy:
    """A COPY, from another stage or, where ``stage`` is empty, from the build's context."""

    stage: str
    sources: tuple[str, ...]
    target: str
    folder: str


@dataclass(slots=True)
class Stage:
    """One stage: its steps in order, and what a container of it would be started with."""

    name: str
    base: str
    steps: list[Run | Copy] = field(default_factory=list)
    environ: dict[str, str] = field(default_factory=dict)
    """ENV: what a container has."""
    arguments: dict[str, str] = field(default_factory=dict)
    """ARG: what RUN has besides."""
    labels: dict[str, str] = field(default_factory=dict)
    folder: str = "/"
    user: tuple[int, int] | None = None
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    stop_signal: str = "SIGTERM"


def read_dockerfile(text: str, given: Mapping[str, str]) -> list[Stage]:
    """The stages, the last one being the image.

    Args:
        text: the file.
        given: what ``--build-arg`` would give.

    Raises:
        DockerfileError: an instruction, or a form of one, that is not known here.
    """
    reader = _Reader(given)
    for number, name, rest in _instructions(text):
        known = getattr(reader, f"_on_{name.lower()}", None)
        if known is None:
            raise DockerfileError(f"line {number}: {name} is not known to these tests")
        try:
            known(rest)
        except (ValueError, IndexError) as error:
            raise DockerfileError(f"line {number}: {name} {rest}: {error}") from error
    return reader.stages


class _Reader:
    """Takes one instruction after the other."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self.stages: list[Stage] = []
        self._given = given
        self._before: dict[str, str] = {}
        """ARG before the first FROM."""

    def _on_arg(self, rest: str) -> None:
        name, has_default, default = rest.partition("=")
        known = self._before if not self.stages else self._last().arguments
        value = self._given.get(name, default if has_default else self._before.get(name) if self.stages else None)
        if value is not None:
            known[name] = self._substituted(value)

    def _on_from(self, rest: str) -> None:
        base, *name = rest.split()
        if name and (name[0] != "AS" or len(name) != 2):
            raise ValueError("wants the form FROM image AS name")
        self.stages.append(Stage(name[1] if name else "", substituted(base, self._before)))

    def _on_env(self, rest: str) -> None:
        self._last().environ.update(self._pairs(rest))

    def _on_label(self, rest: str) -> None:
        self._last().labels.update(self._pairs(rest))

    def _on_workdir(self, rest: str) -> None:
        if not rest.startswith("/"):
            raise ValueError("wants an absolute path")
        self._last().folder = rest

    def _on_copy(self, rest: str) -> None:
        words = rest.split()
        stage = words.pop(0).removeprefix("--from=") if words[0].startswith("--from=") else ""
        if any(word.startswith("--") or "*" in word for word in words) or len(words) < 2:
            raise ValueError("wants the form COPY [--from=stage] source... target")
        last = self._last()
        last.steps.append(Copy(stage, tuple(words[:-1]), words[-1], last.folder))

    def _on_run(self, rest: str) -> None:
        if rest.startswith(("--", "[")):
            raise ValueError("wants the shell form without options")
        last = self._last()
        if last.user is not None:
            raise ValueError("comes after USER")
        last.steps.append(Run(rest, last.folder, last.arguments | last.environ))

    def _on_user(self, rest: str) -> None:
        match = _NUMERIC_USER.fullmatch(rest)
        if match is None:
            raise ValueError("wants numbers, so that Kubernetes sees that it is not root")
        self._last().user = (int(match[1]), int(match[2]))

    def _on_stopsignal(self, rest: str) -> None:
        self._last().stop_signal = rest

    def _on_entrypoint(self, rest: str) -> None:
        self._last().entrypoint = tuple(json.loads(rest))

    def _on_cmd(self, rest: str) -> None:
        self._last().command = tuple(json.loads(rest))

    def _last(self) -> Stage:
        if not self.stages:
            raise ValueError("comes before FROM")
        return self.stages[-1]

    def _pairs(self, rest: str) -> dict[str, str]:
        pairs = [word.partition("=") for word in shlex.split(rest)]
        if not all(equal for _, equal, _ in pairs):
            raise ValueError("wants the form name=value")
        return {name: self._substituted(value) for name, _, value in pairs}

    def _substituted(self, text: str) -> str:
        known = self._before if not self.stages else self._last().arguments | self._last().environ
        return substituted(text, known)


def substituted(text: str, known: Mapping[str, str]) -> str:
    """Text with variables in place; what is not known is empty, as an engine has it."""
    return _VARIABLE.sub(lambda match: known.get(match[1] or match[2], ""), text)


def _instructions(text: str) -> Iterator[tuple[int, str, str]]:
    """Line number, name and the rest of each, with continued lines joined and comments left out."""
    parts: list[str] = []
    began = 0
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("#") or (not parts and not line.strip()):
            continue
        began = began if parts else number
        parts.append(line.removesuffix("\\"))
        if not line.endswith("\\"):
            name, _, rest = "".join(parts).strip().partition(" ")
            yield began, name, rest.strip()
            parts = []
    if parts:
        raise DockerfileError(f"line {began}: is continued beyond the end")


def ignored(path: str, patterns: str) -> bool:
    """Whether a .dockerignore keeps a file from the engine: the last pattern that fits it or a folder of it decides."""
    result = False
    for line in patterns.splitlines():
        pattern = line.strip()
        if not pattern or pattern.startswith("#"):
            continue
        keeps = pattern.startswith("!")
        if _fits(path, pattern.removeprefix("!")):
            result = not keeps
    return result


def _fits(path: str, pattern: str) -> bool:
    expression = re.escape(pattern).replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*")
    expression = expression.replace(r"\[", "[").replace(r"\]", "]")
    return re.fullmatch(f"{expression}(?:/.*)?", path) is not None


def sources_of(root: Path, source: str, patterns: str) -> list[str]:
    """The files, relative to the root, that a COPY of a file or folder of the context takes."""
    place = root / source
    found = [place] if place.is_file() else [path for path in place.rglob("*") if path.is_file()]
    names = sorted(path.relative_to(root).as_posix() for path in found)
    return [name for name in names if not ignored(name, patterns)]
