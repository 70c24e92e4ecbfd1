import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., "subprocess.CompletedProcess[bytes]"]
"""Runs the command with these arguments; ``given`` is its standard input."""


@pytest.fixture
def executable(tmp_path: Path) -> Path:
    """The command as one file, as an installed package has it; the path goes along, as the sources may be on it."""
    path = tmp_path / "kuberay-advisor"
    program = f"import sys; sys.path[:] = {sys.path!r}; from advisor.cli import main; main()"
    path.write_text(f"#!{sys.executable}\n{program}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.fixture
def command(executable: Path) -> Command:
    """The command as a process of its own."""

    def call(*args: str, given: bytes) -> "subprocess.CompletedProcess[bytes]":
        return subprocess.run([executable, *args], input=given, capture_output=True, check=False, timeout=60)

    return call
