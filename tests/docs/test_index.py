"""The index has every page, once, and the pictures are what is said of them."""

import re
import struct
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

import pytest

from tests.browser.pictures import LARGEST_BYTES, PICTURES, SHOWN
from tests.support import ROOT

DOCS: Final = ROOT / "docs"
INDEX: Final = DOCS / "README.md"
BELOW: Final = {
    "findings": DOCS / "findings" / "README.md",
    "decisions": DOCS / "decisions" / "README.md",
    "stores": DOCS / "prometheus.md",
    "access": DOCS / "prometheus.md",
}
"""Folders whose pages are in an index of their own, and which page that is."""
LINE: Final = re.compile(r"^- \[[^\]]+\]\(([^)]+\.md)\): (.+[.?])$", re.MULTILINE)
SVG: Final = "{http://www.w3.org/2000/svg}"
DRAWN: Final = sorted((DOCS / "diagrams").glob("*.svg"))
MOST_BYTES: Final = 16_000


def linked(page: Path) -> list[Path]:
    """The pages that a page leads to."""
    found = re.findall(r"\]\(([^)#:]+\.md)", page.read_text(encoding="utf-8"))
    return [(page.parent / one).resolve() for one in found]


def test_every_page_is_in_the_index_once() -> None:
    """Each with a sentence; those of some folders in the folder's own index, which is in it."""
    listed = [(INDEX.parent / target).resolve() for target, _ in LINE.findall(INDEX.read_text(encoding="utf-8"))]
    pages = {page for page in DOCS.rglob("*.md") if page.parent.name not in BELOW and page != INDEX}
    indexes = {index for index in BELOW.values() if index.parent.name in BELOW}
    assert sorted(listed) == sorted(pages | indexes)


@pytest.mark.parametrize("folder", BELOW)
def test_every_page_of_a_folder_is_in_its_index(folder: str) -> None:
    """So nothing is an orphan."""
    index = BELOW[folder]
    assert {page for page in (DOCS / folder).glob("*.md") if page != index} <= set(linked(index))


def test_the_readme_leads_to_the_index() -> None:
    """And the index back."""
    assert INDEX in linked(ROOT / "README.md")
    assert ROOT / "README.md" in linked(INDEX)


@pytest.mark.parametrize("page", [*sorted((DOCS / "tutorials").glob("*.md"))], ids=lambda page: page.stem)
def test_a_tutorial_leads_on(page: Path) -> None:
    """To pages that say more."""
    assert "## From here" in page.read_text(encoding="utf-8")


def test_pictures_are_there_and_small() -> None:
    """Each is as large as it is taken, and one at least is in the README."""
    for name, picture in SHOWN.items():
        data = (PICTURES / name).read_bytes()
        assert len(data) < LARGEST_BYTES, name
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        assert struct.unpack(">II", data[16:24]) == (picture.width, picture.height), name
    assert {path.name for path in PICTURES.glob("*.png")} == set(SHOWN)


def test_every_picture_is_shown_somewhere() -> None:
    """With words in its place for those who do not see it."""
    pages = [ROOT / "README.md", *DOCS.rglob("*.md")]
    shown = {
        (page.parent / target).resolve(): words
        for page in pages
        for words, target in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    }
    there = {path for folder in ("pictures", "diagrams") for path in (DOCS / folder).iterdir()}
    assert there == set(shown)
    assert all(shown.values())


@pytest.mark.parametrize("path", DRAWN, ids=lambda path: path.stem)
def test_a_diagram_is_for_everybody(path: Path) -> None:
    """It has a title and a description, a background of its own, nothing that runs, and is small."""
    root = ET.fromstring(path.read_text(encoding="utf-8"))  # noqa: S314 - a file of ours
    assert len(path.read_bytes()) < MOST_BYTES
    named = {one.get("id"): one.text for one in (root.find(f"{SVG}title"), root.find(f"{SVG}desc")) if one is not None}
    assert root.get("role") == "img"
    assert set((root.get("aria-labelledby") or "").split()) == set(named)
    assert all(named.values())
    width, height = root.get("width"), root.get("height")
    background = root.find(f"{SVG}rect")
    assert background is not None
    assert (background.get("width"), background.get("height")) == (width, height)
    assert {one.tag.removeprefix(SVG) for one in root.iter()}.isdisjoint({"script", "style", "image", "foreignObject"})
