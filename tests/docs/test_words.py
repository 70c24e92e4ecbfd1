"""Words are spelt as Britons do, or stand in our own list."""

import re
from pathlib import Path
from typing import Final

import pytest

from tests.browser.chromium import needed
from tests.support import ROOT

DICTIONARY: Final = Path("/usr/share/dict/british-english")
OURS: Final = ROOT / "docs" / "words.txt"
PAGES: Final = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
# Blocks, code, addresses and comments are no prose, nor are words with digits, underscores or capitals inside.
LEFT_OUT: Final = re.compile(
    r"^```.*?^```$|^    .*$|^## kuberay-advisor .*$|<\w+>|<!--.*?-->|`[^`]*`|\]\([^)]*\)|https?://\S+|&\w+;|\S*[\w-]+[./_=:@~*][\w/-]\S*",
    re.MULTILINE | re.DOTALL,
)
WORD: Final = re.compile(r"(?<![\w-])[A-Za-z][a-z]+(?:'[a-z]+)?(?![\w])")


def words_of(page: Path) -> set[str]:
    """The words of a page's prose."""
    return set(WORD.findall(LEFT_OUT.sub(" ", page.read_text(encoding="utf-8"))))


def ours() -> list[str]:
    """Our own words, one a line; lines with # say what they are about."""
    return [line for line in OURS.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]


@pytest.fixture(scope="module")
def known() -> set[str]:
    """Every word that may stand on a page."""
    needed("Debian's package wbritish", DICTIONARY)
    return {*DICTIONARY.read_text(encoding="utf-8").splitlines(), *ours()}


def is_known(word: str, known: set[str]) -> bool:
    """As it is or, at the start of a sentence, in small letters; without a possessive."""
    plain = word.removesuffix("'s")
    return any(one in known for one in (word, word.lower(), plain, plain.lower()))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_word_is_known(known: set[str], page: Path) -> None:
    """A typing error is seen; a word that is right goes into docs/words.txt."""
    assert sorted(word for word in words_of(page) if not is_known(word, known)) == []


def test_our_list_is_short_and_in_order() -> None:
    """Sorted, each word once, and used on some page."""
    assert ours() == sorted(set(ours()), key=lambda word: (word.lower(), word))
    used = set().union(*map(words_of, PAGES))
    unused = [word for word in ours() if not used & {word, f"{word}'s", word.capitalize(), f"{word.capitalize()}'s"}]
    assert unused == []


def test_american_spelling_is_seen(known: set[str]) -> None:
    """The list is the British one."""
    assert [word for word in ("analyze", "behavior", "color", "center") if is_known(word, known)] == []
    assert all(is_known(word, known) for word in ("analyse", "behaviour", "colour", "centre"))
