"""The Prometheus programs of this machine: Debian's package, and the lab's newer ones where they are built."""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

import pytest

from tests.lab.binaries import BuildError, Toolbox, release, toolbox

__all__ = ["TOOLS", "MissingToolError", "Tool", "find", "find_or_leave_out", "lab_tool", "system_tool"]

_MODULE: Final = "github.com/prometheus/prometheus"


class MissingToolError(Exception):
    """A Prometheus is not on this machine; the text says how to get it."""


@dataclass(frozen=True, slots=True)
class Tool:
    """One release of Prometheus: its server, and the tool that makes blocks from OpenMetrics."""

    name: str
    version: str
    prometheus: Path
    promtool: Path

    def __str__(self) -> str:
        return f"Prometheus {self.version} ({self.name})"


def system_tool(which: Callable[[str], str | None] = shutil.which) -> Tool:
    """The one on PATH: Debian's package, which ``make system-deps`` installs.

    Raises:
        MissingToolError: there is none.
    """
    found = [which(program) for program in ("prometheus", "promtool")]
    if None in found:
        raise MissingToolError(
            "no prometheus and promtool on PATH; run: apt-get install prometheus (or: make system-deps)"
        )
    prometheus, promtool = (Path(str(path)) for path in found)
    said = subprocess.run([prometheus, "--version"], capture_output=True, text=True, check=True)
    # Older ones tell on one stream, newer ones on the other: "prometheus, version 2.42.0+ds (branch: ...".
    version = (said.stdout + said.stderr).partition("version ")[2].split()[0].partition("+")[0]
    return Tool("system", version, prometheus, promtool)


def lab_tool(built: Callable[[], Toolbox] = toolbox) -> Tool:
    """The lab's, built from its Go module; its programs do not know their release, so the module says it.

    Raises:
        MissingToolError: it is not built.
    """
    tools = built()
    try:
        prometheus, promtool = tools.path("prometheus"), tools.path("promtool")
    except BuildError as error:
        raise MissingToolError(str(error)) from error
    return Tool("lab", _release(), prometheus, promtool)


def _release() -> str:
    """Release 3.11.2 of Prometheus is release v0.311.2 of its Go module."""
    _, minor, patch = release("prometheus", _MODULE).removeprefix("v").split(".")
    return f"{int(minor) // 100}.{int(minor) % 100}.{patch}"


TOOLS: Final[Mapping[str, Callable[[], Tool]]] = {"system": system_tool, "lab": lab_tool}
"""How to find each, by name."""


def find(name: str) -> Tool:
    """One of ``TOOLS``.

    Raises:
        MissingToolError: it is not on this machine.
    """
    return TOOLS[name]()


def find_or_leave_out(name: str, environ: Mapping[str, str] = os.environ, finder: Callable[[str], Tool] = find) -> Tool:
    """One of ``TOOLS``, or the end of the test: skipped with the reason.

    In CI (CI=true) the machine's own has to be there, so that no check drops out unseen.
    """
    try:
        return finder(name)
    except MissingToolError as missing:
        _leave_out(str(missing), fails=name == "system" and environ.get("CI") == "true")


def _leave_out(reason: str, *, fails: bool) -> NoReturn:
    if fails:
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
