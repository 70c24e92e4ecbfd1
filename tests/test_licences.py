"""The licence of everything that is pinned is known, and what is not permissive is seen."""

import importlib.metadata
import os
from pathlib import Path

import pytest

from scripts import licences
from scripts.locks import lock_files, normal, pins
from tests.support import ROOT


class Described(importlib.metadata.Distribution):
    """A distribution that has metadata and no files."""

    def __init__(self, *fields: str) -> None:
        self._text = "\n".join(("Metadata-Version: 2.1", "Name: some.Thing", "Version: 1", *fields, "", ""))

    def read_text(self, filename: str) -> str | None:
        """The metadata; there is no other file."""
        return self._text if filename == "METADATA" else None

    def locate_file(self, path: str | os.PathLike[str]) -> Path:
        """Nowhere."""
        raise NotImplementedError


def found(*fields: str) -> tuple[str, bool]:
    """Licence of a distribution with these lines in its metadata."""
    return licences.licence_of("some-thing", {"some-thing": Described(*fields)})


def test_each_locked_distribution_has_a_known_licence() -> None:
    """Whatever a lock file pins is on the page, under a licence that is permissive or whose demands are told."""
    page = licences.page()
    rows = {line.split("`")[1]: line.split(" | ")[1] for line in page.splitlines() if line.startswith("| `")}
    assert rows.keys() == {pin.name for path in lock_files() for pin in pins(path)}
    assert [name for name, licence in rows.items() if not licence.strip()] == []
    restricted = {name for name, licence in rows.items() if licences.restrictions(licence)}
    assert {"certifi", "hypothesis"} <= restricted
    assert restricted == {line.split("`")[1] for line in page.splitlines() if "**MPL-2.0**" in line and "`" in line}


@pytest.mark.parametrize("name", ["build", "sbom"])
def test_what_was_read_by_hand_is_what_metadata_says(name: str) -> None:
    """Where an environment of the build is there, its metadata says nothing else than the table."""
    folders = [str(folder) for folder in (ROOT / f".venv-{name}").glob("lib/python*/site-packages")]
    environment = licences.installed(folders)
    if not environment:
        pytest.skip(f"no .venv-{name} here")
    for pin in pins(ROOT / "requirements" / f"{name}.txt"):
        said, declared = licences.licence_of(pin.name, environment)
        if declared and pin.name not in licences.installed():
            assert (pin.name, said) == (pin.name, licences.licence_of(pin.name, {})[0])


@pytest.mark.parametrize(
    ("fields", "licence"),
    [
        (("License-Expression: MIT AND Zlib", "License: whatever"), "MIT AND Zlib"),
        (("License: BSD-3-Clause",), "BSD-3-Clause"),
        (("License: ZPL 2.1",), "ZPL-2.1"),
        (("License: The MIT License (MIT)", "        all of its text"), "MIT"),
        (("Classifier: License :: OSI Approved :: MIT License",), "MIT"),
        (("License: my own", "Classifier: License :: OSI Approved :: Apache Software License"), "Apache-2.0"),
    ],
)
def test_metadata_of_any_age_is_understood(fields: tuple[str, ...], licence: str) -> None:
    """An expression counts before words, and words before classifiers."""
    assert found(*fields) == (licence, True)


@pytest.mark.parametrize(
    "fields",
    [
        (),
        ("License: Dual License",),
        ("License-Expression: GPL-3.0-only",),
        ("License-Expression: MIT AND GPL-3.0-only",),
        ("Classifier: License :: OSI Approved :: BSD License",),
        ("Classifier: License :: OSI Approved :: MIT License", "Classifier: License :: Other/Proprietary License"),
    ],
)
def test_what_is_unclear_or_new_has_to_be_read(fields: tuple[str, ...]) -> None:
    """Nothing is guessed: the page is not made before somebody has looked."""
    assert found(*fields) == ("", False)


def test_the_page_is_not_made_with_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says which licence has to be read."""
    monkeypatch.delitem(licences._READ, "jinja2")
    with pytest.raises(LookupError, match="jinja2: its licence is not known; read it"):
        licences.page()


@pytest.mark.parametrize(
    ("expression", "restricted"),
    [
        ("MIT", []),
        ("MPL-2.0 AND MIT", ["MPL-2.0"]),
        ("MPL-2.0 OR MIT", []),
        ("Apache-2.0 AND (MIT OR MPL-2.0)", []),
    ],
)
def test_an_alternative_frees_and_an_addition_does_not(expression: str, restricted: list[str]) -> None:
    """Who may choose a permissive licence is not bound by the other."""
    assert licences.restrictions(expression) == restricted


def test_names_are_compared_as_indexes_do() -> None:
    """Case, dots and underscores do not matter."""
    assert normal("Boolean.py") == normal("boolean_py") == "boolean-py"


def test_a_lock_file_is_read_whole_or_not(tmp_path: Path) -> None:
    """Pins with markers, digests and who needs them; a line that is none is an error with its place."""
    path = tmp_path / "lock.txt"
    digest = "a" * 64
    first_lines = f"# head\nA.b==1.0 ; os_name == 'nt' \\\n    --hash=sha256:{digest}\n"
    path.write_text(f"{first_lines}    # via\n    #   -c x.txt\n    #   c\nd==2\n", encoding="utf-8")
    first, second = pins(path)
    assert (first.name, first.version, first.marker, first.sha256) == ("a-b", "1.0", "os_name == 'nt'", (digest,))
    assert (first.needed_by, second.name, second.sha256) == (("c",), "d", ())
    path.write_text("a>=1\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"lock\.txt:1: not a line of a lock file: a>=1"):
        list(pins(path))
