import importlib
import importlib.metadata
import os
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import advisor
from tests.support import ROOT

needs_wheel = pytest.mark.skipif(
    os.environ.get("ADVISOR_EXPECT_WHEEL") != "1", reason="looks at the installed wheel, which `make unit` installs"
)


def source_files(folder: str) -> set[str]:
    """Paths, relative to the repository, of the files that belong to a folder of the source tree."""
    return {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and not {"__pycache__", "node_modules"} & set(path.parts)
    }


def only_in_dist(pattern: str) -> Path:
    """The single file in dist/ that fits the pattern."""
    (path,) = (ROOT / "dist").glob(pattern)
    return path


@needs_wheel
def test_tests_run_against_the_installed_wheel() -> None:
    """The imported package is the one in site-packages, not the source tree."""
    imported = Path(advisor.__file__).resolve()
    assert "site-packages" in imported.parts
    assert not imported.is_relative_to(ROOT / "advisor")


@needs_wheel
def test_wheel_holds_every_file_of_the_package_and_nothing_else() -> None:
    """Code, schemas, examples and py.typed are shipped; tests and other folders are not."""
    with zipfile.ZipFile(only_in_dist("*.whl")) as wheel:
        shipped = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert shipped == source_files("advisor")
    assert "advisor/py.typed" in shipped


@needs_wheel
def test_sdist_holds_tests_and_docs() -> None:
    """From the sdist alone the project can be built, tested and read."""
    with tarfile.open(only_in_dist("*.tar.gz")) as sdist:
        shipped = {name.split("/", 1)[1] for name in sdist.getnames()}
    wanted = {"LICENSE", "NOTICE", "Makefile", "pyproject.toml", "requirements/dev.txt"}
    for folder in ("advisor", "docs", "tests"):
        wanted |= source_files(folder)
    assert wanted - shipped == set()


@needs_wheel
def test_wheel_names_the_work_of_others() -> None:
    """Licence and notice are part of what is installed; vendored files have their own licence beside them."""
    with zipfile.ZipFile(only_in_dist("*.whl")) as wheel:
        licences = {name.rpartition("/")[2] for name in wheel.namelist() if ".dist-info/licenses/" in name}
        assert "advisor/web/static/vendor/uplot/LICENSE" in wheel.namelist()
    assert licences == {"LICENSE", "NOTICE"}


@needs_wheel
def test_metadata() -> None:
    """The distribution has the package's version, the licence and its supported Python."""
    metadata = importlib.metadata.metadata("kuberay-advisor")
    assert metadata["Version"] == advisor.__version__
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Requires-Python"] == ">=3.11"


@needs_wheel
def test_command_is_installed() -> None:
    """The command kuberay-advisor runs advisor.cli:main and stands beside the interpreter."""
    (script,) = importlib.metadata.entry_points(group="console_scripts", name="kuberay-advisor")
    assert script.value == "advisor.cli:main"
    assert callable(script.load())
    assert os.access(Path(sys.executable).parent / "kuberay-advisor", os.X_OK)


def test_changelog_names_the_version_or_what_is_unreleased() -> None:
    """The change log is open for the next version or has the present one."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "## [Unreleased]" in text or f"## [{advisor.__version__}]" in text


def package_names() -> list[str]:
    """Import names of the package and of every package under it."""
    inits = (ROOT / "advisor").rglob("__init__.py")
    return sorted(".".join(path.parent.relative_to(ROOT).parts) for path in inits)


@pytest.mark.parametrize("name", package_names())
def test_public_names_exist(name: str) -> None:
    """Each name in a package's __all__ is there, and is listed once."""
    module = importlib.import_module(name)
    names = list(getattr(module, "__all__", []))
    assert len(names) == len(set(names))
    assert [each for each in names if not hasattr(module, each)] == []


def test_package_states_its_public_names() -> None:
    """The package itself offers its version and no more."""
    assert advisor.__all__ == ["__version__"]


def test_dependencies_are_explained() -> None:
    """docs/dependencies.md has a row for each pinned distribution, and none for others."""
    pinned = {
        line.split("==")[0]
        for path in (ROOT / "requirements").glob("*.txt")
        for line in path.read_text(encoding="utf-8").splitlines()
        if "==" in line
    }
    table = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8").splitlines()
    explained = {line.split("`")[1] for line in table if line.startswith("| `")}
    assert explained == pinned


def test_lock_files_name_no_address() -> None:
    """Pins come from whichever index the installer is set up for."""
    files = sorted((ROOT / "requirements").iterdir())
    assert files
    assert [path.name for path in files if "://" in path.read_text(encoding="utf-8")] == []
