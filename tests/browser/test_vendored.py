import json
from importlib.resources import files
from pathlib import Path
from typing import Final

import pytest

from tests.browser.chromium import MODULES, needed
from tests.support import ROOT

FOLDER: Final = ROOT / "tests" / "browser"
LOCK: Final = json.loads((FOLDER / "package-lock.json").read_text(encoding="utf-8"))["packages"]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("uPlot.iife.min.js", "dist/uPlot.iife.min.js"),
        ("uPlot.min.css", "dist/uPlot.min.css"),
        ("LICENSE", "LICENSE"),
    ],
)
def test_what_is_shipped_is_what_was_published(ours: str, theirs: str) -> None:
    """Byte for byte the files of the package that is pinned."""
    published = needed("uplot", MODULES / "uplot" / theirs)
    shipped = files("advisor.web").joinpath("static", "vendor", "uplot", ours)
    assert shipped.read_bytes() == Path(published).read_bytes()


def test_the_notice_names_its_version() -> None:
    """NOTICE, the table of dependencies and the pin agree."""
    version = LOCK["node_modules/uplot"]["version"]
    assert f"uPlot {version}" in (ROOT / "NOTICE").read_text(encoding="utf-8")
    table = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8").splitlines()
    rows = {line.split("**")[1]: line for line in table if line.startswith("| **")}
    assert set(rows) == {name.removeprefix("node_modules/") for name in LOCK if name}
    for name, row in rows.items():
        assert f"| {LOCK[f'node_modules/{name}']['version']} |" in row


def test_the_lock_names_no_address() -> None:
    """Packages come from whichever registry npm is set up for, and are known by their digests."""
    text = (FOLDER / "package-lock.json").read_text(encoding="utf-8")
    assert "://" not in text
    assert "resolved" not in text
    assert all("integrity" in package for name, package in LOCK.items() if name)


class TestWhatIsMissing:
    def test_skips(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A machine without it leaves these tests out, and says what sets it up."""
        monkeypatch.delenv("CI", raising=False)
        with pytest.raises(pytest.skip.Exception, match="need chromium; `make test` sets it up"):
            needed("chromium", None)

    def test_fails_in_ci(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """No check drops out unseen."""
        monkeypatch.setenv("CI", "true")
        with pytest.raises(pytest.fail.Exception, match="need axe-core"):
            needed("axe-core", "/nowhere/axe.min.js")

    def test_is_there(self, tmp_path: Path) -> None:
        """What is found is used."""
        assert needed("it", tmp_path) == str(tmp_path)
