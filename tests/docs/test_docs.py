"""The documentation says what the program does."""

import importlib
import itertools
import re
import sys
from functools import cache
from pathlib import Path
from types import ModuleType

import click
import pytest

from advisor import errors
from advisor.cli import entry
from advisor.cli.commands import cli
from advisor.cli.compare import WORSE
from advisor.cli.entry import FOUND
from advisor.diagnosis.findings import RULES
from advisor.errors import AdvisorError
from advisor.knowledge import METRICS
from advisor.model.finding import FindingCode
from tests.support import ROOT

PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(r"\]\((?!https?://)([^)#\s]*)(?:#([^)]*))?\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)


def without_code(text: str) -> str:
    """A page without its blocks and words of code, whose brackets are no links."""
    return CODE.sub("", text)


@cache
def anchors(page: Path) -> set[str]:
    """The headings of a page as a forge names them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    names: set[str] = set(re.findall(r'<a (?:id|name)="([^"]+)"', text))
    for heading in re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE):
        plain = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        again = (f"{name}-{count}" for count in itertools.count(1))
        names.add(next(one for one in itertools.chain((name,), again) if one not in names))
    return names


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    """The script that writes the generated pages."""
    with pytest.MonkeyPatch.context() as patch:
        # Behind everything else, so that the product is still the installed one.
        patch.setattr(sys, "path", [*sys.path, str(ROOT)])
        return importlib.import_module("scripts.generate_docs")


def test_generated_pages_are_not_stale(generator: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """Metrics, findings, settings, command line, stories, conformance and schemas are what the code says."""
    assert generator.main(["--check"]) == 0, capsys.readouterr().err


def test_the_generator_writes_what_it_checks(
    generator: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """--check fails on missing pages and changes nothing; after writing it passes, and a changed page fails again."""
    monkeypatch.setattr(generator, "ROOT", tmp_path)
    assert generator.main(["--check"]) == 1
    assert list(tmp_path.iterdir()) == []
    assert generator.main([]) == 0
    assert generator.main(["--check"]) == 0
    (tmp_path / "docs" / "cli.md").write_text("old", encoding="utf-8")
    capsys.readouterr()
    assert generator.main(["--check"]) == 1
    assert capsys.readouterr().err == "docs/cli.md: stale, run python -m scripts.generate_docs\n"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """Each relative link names a file that exists, and what stands after its # is a heading there."""
    for target, anchor in LINK.findall(without_code(page.read_text(encoding="utf-8"))):
        found = (page.parent / target).resolve() if target else page
        assert found.exists(), target
        if anchor and found.suffix == ".md":
            assert anchor in anchors(found), f"{target}#{anchor}"


def test_the_decision_table_names_each_situation_with_advice() -> None:
    """Every finding but the one about the data itself has its row."""
    page = (ROOT / "docs" / "decision-table.md").read_text(encoding="utf-8")
    for rule in RULES:
        if rule.code != "metrics-missing":
            assert f"[{rule.code.value}](findings/{rule.code.value}.md)" in page


def test_each_exit_code_is_documented() -> None:
    """The table of exit codes has those of the exception tree and of the command line."""
    page = (ROOT / "docs" / "exit-codes.md").read_text(encoding="utf-8")
    rows = {int(code) for code in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)}
    tree = {getattr(errors, name).exit_code for name in errors.__all__ if isinstance(getattr(errors, name), type)}
    assert rows == {0, FOUND, WORSE, entry.INTERRUPTED, entry.READER_LEFT, entry.TERMINATED, *tree}


def test_the_readmes_make_targets_exist() -> None:
    """The commands that the README names are targets of the Makefile."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    found = re.findall(r"^(?:\$ )?make ([a-z-]+)", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert {"demo", "test"} <= set(found)
    for target in found:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_each_error_says_what_where_and_what_to_do() -> None:
    """An error's text leads with the place and ends with the hint, leaving out what is empty."""
    assert str(AdvisorError("is broken", where="a.om", hint="mend it")) == "a.om: is broken (mend it)"
    assert str(AdvisorError("is broken")) == "is broken"


def test_each_flag_is_documented() -> None:
    """Every option of every command stands in the page of the command line."""
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    context = click.Context(cli)
    flags = [
        flag
        for name in cli.list_commands(context)
        if (command := cli.get_command(context, name)) is not None
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for flag in parameter.opts
    ]
    assert "--scrape" in flags
    assert [flag for flag in flags if flag not in page] == []


def test_each_code_is_documented() -> None:
    """Every finding has its page and its line in the list of findings."""
    folder = ROOT / "docs" / "findings"
    listed = (folder / "README.md").read_text(encoding="utf-8")
    for code in FindingCode:
        assert (folder / f"{code.value}.md").is_file()
        assert f"({code.value}.md)" in listed


def test_each_metric_is_documented() -> None:
    """Every series of the catalogue stands in the page of the metrics."""
    page = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert [metric.name for metric in METRICS if f"`{metric.name}`" not in page] == []
