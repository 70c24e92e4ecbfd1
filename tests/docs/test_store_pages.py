"""Each page about a store or a way in has a command that works."""

import re
import shlex
from pathlib import Path

import pytest

from tests.support import ROOT, run

DOCS = ROOT / "docs"
PAGES = sorted([*(DOCS / "stores").glob("*.md"), *(DOCS / "access").glob("*.md"), DOCS / "prometheus.md"])
COMMAND = re.compile(r"^    kuberay-advisor (analyze .*)$", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_are_accepted(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every option is there and takes what is written; what would be asked is explained, and nothing is."""
    monkeypatch.chdir(tmp_path)
    for name in ("token", "password", "client.pem", "client.key", "ca.pem"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    commands = COMMAND.findall(page.read_text(encoding="utf-8"))
    assert commands
    for command in commands:
        words = [word for word in shlex.split(command) if word != "--explain-queries"]
        assert run(*words, "--explain-queries") == 0, command


def test_every_page_is_linked() -> None:
    """The overview leads to each."""
    overview = (DOCS / "prometheus.md").read_text(encoding="utf-8")
    for page in PAGES:
        if page.parent != DOCS:
            assert f"({page.parent.name}/{page.name})" in overview
