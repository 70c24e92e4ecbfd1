"""The commands of README and tutorials do what their page shows, run as a reader runs them."""

import re
import shutil
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest

from tests.browser.chromium import needed
from tests.docs.walks import Command, Outcome, blocks_of, differs, play, programs_of
from tests.support import ROOT

DOCS: Final = ROOT / "docs"
PAGES: Final = [
    page
    for page in sorted([ROOT / "README.md", *DOCS.rglob("*.md")])
    if any(block.language == "console" for block in blocks_of(page))
]
WALKED: Final = [ROOT / "README.md", *sorted((DOCS / "tutorials").glob("*.md"))]
EXPLAINED: Final = (DOCS / "tested-docs.md").read_text(encoding="utf-8")
AT_A_TIME: Final = 4
# All pages together, also on a busy machine.
pytestmark = pytest.mark.timeout(300)


def name_of(page: Path) -> str:
    """A page below the root."""
    return page.relative_to(ROOT).as_posix()


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Path, Future[Outcome]]]:
    """What becomes of each page; pages run side by side, since they wait most of their time."""
    for program in sorted(set.union(*map(programs_of, PAGES)) & {"curl", "prometheus", "promtool"}):
        needed(program, shutil.which(program))
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        yield {page: pool.submit(play, page, tmp_path_factory.mktemp(page.stem)) for page in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_a_page_shows_what_happens(played: dict[Path, Future[Outcome]], page: Path) -> None:
    """Each command is accepted, ends with the exit code that the page tells, and prints what the page shows."""
    outcome = played[page].result()
    assert outcome.faults == []


def test_something_is_run(played: dict[Path, Future[Outcome]]) -> None:
    """Each tutorial runs several commands, so a page that is no longer understood is seen."""
    for page in WALKED:
        assert played[page].result().run >= (3 if page.parent.name == "tutorials" else 1), page


def test_what_is_not_run_is_listed() -> None:
    """The page about it has every command that is not run, with the reason that stands beside it, and no other."""
    marked = {
        (name_of(page), command.text, block.told)
        for page in PAGES
        for block in blocks_of(page)
        if block.mark == "not run"
        for command in block.commands()
    }
    rows = re.findall(r"^\| \[[^\]]+\]\(([^)]+)\) \| `(.+)` \| (.+) \|$", EXPLAINED, re.MULTILINE)
    assert {
        (name_of((DOCS / page).resolve()), command.replace(r"\|", "|"), reason) for page, command, reason in rows
    } == marked
    assert all(reason for _, _, reason in marked)


def test_every_command_of_a_walk_is_marked_as_one() -> None:
    """README and tutorials have no command in a block that would not be run."""
    for page in WALKED:
        for block in blocks_of(page):
            assert block.language in {"console", "yaml"} or block.mark == "not run", f"{page}: ```{block.language}"
            assert block.language != "yaml" or block.mark == "file" or "kuberay-advisor" not in block.text, page


@pytest.mark.parametrize(
    ("shown", "same"),
    [
        (("a 1", "b"), True),
        (("a 1", "..."), True),
        (("...", "b"), True),
        (("...", "a 1", "...", "b", "..."), True),
        (("a 1",), False),
        (("b",), False),
        (("b", "..."), False),
        (("...", "b", "...", "a 1", "..."), False),
        (("a 2", "b"), False),
    ],
)
def test_what_counts_as_the_same(shown: tuple[str, ...], same: bool) -> None:
    """Whole lines in order; only dots stand for others."""
    assert (differs(shown, "a 1\nb\n") == "") is same


def test_figures_may_differ_where_the_page_says_so() -> None:
    """Numbers and the blanks of their columns, and nothing else."""
    assert differs(("wait  1.5 s", "..."), "wait 12 s\nend", figures=False) == ""
    assert differs(("wait  1.5 s", "..."), "wait 12 ms\nend", figures=False)


def test_a_fault_is_seen(tmp_path: Path) -> None:
    """A page with another output, another exit code or a program that ends too soon does not pass."""
    page = tmp_path / "page.md"
    for text in (
        "```console\n$ echo a\nb\n```\n",
        "```console\n$ false\n```\n",
        "<!-- stays -->\n```console\n$ echo gone\n```\n\n```console\n$ sleep 1\n```\n",
    ):
        page.write_text(text, encoding="utf-8")
        folder = tmp_path / f"run-{len(text)}"
        folder.mkdir()
        assert play(page, folder).faults, text


def test_commands_go_on_in_the_next_line(tmp_path: Path) -> None:
    """A backslash joins lines, a mark says what is done with a block, and exit codes can be asked for."""
    page = tmp_path / "page.md"
    page.write_text("<!-- figures differ -->\n```console\n$ a \\\n    b\nc\n$ d\n```\n", encoding="utf-8")
    (block,) = blocks_of(page)
    assert block.mark == "figures differ"
    assert list(block.commands()) == [Command("a b", ("c",)), Command("d", ())]
