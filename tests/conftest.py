"""Fixtures and settings that all tests share."""

import os
import signal
from pathlib import Path
from typing import Final

import hypothesis
import pytest

from tests.support import ROOT, Golden, find_shared, golden_from

# Variables of the caller's shell that change what commands print or whom they ask.
_LEAKING: Final = frozenset(
    {
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "COLORTERM",
        "FORCE_COLOR",
        "KUBECONFIG",
        "NO_COLOR",
        "PAGER",
        "TERM",
        "TTY_COMPATIBLE",
        "TTY_INTERACTIVE",
    }
)
_LEAKING_PREFIXES: Final = ("AWS_", "KUBERAY_ADVISOR_", "KUBERNETES_")

# A shell that runs the tests in the background leaves SIGINT ignored, and what tests start would ignore it too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Times vary under coverage and on busy machines; pytest-timeout stops what hangs.
hypothesis.settings.register_profile("advisor", deadline=None, print_blob=True)
hypothesis.settings.load_profile("advisor")


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test the same terminal and no settings from the caller's shell."""
    for name in list(os.environ):
        if name in _LEAKING or name.startswith(_LEAKING_PREFIXES) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "25")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of recordings and cases beside the repository."""
    return find_shared(os.environ, ROOT)


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of the tests' own input files."""
    return ROOT / "tests" / "data"


@pytest.fixture(scope="session")
def golden() -> Golden:
    """Golden files in tests/golden."""
    return golden_from(os.environ, ROOT / "tests" / "golden")
