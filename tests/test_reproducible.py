"""Two builds of one tree give the same bytes, whoever builds them, where and when."""

import hashlib
import os
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import ROOT

BUILDER = ROOT / ".venv-build" / "bin" / "python"
DATE = 1_767_225_600
"""2026-01-01 00:00 UTC."""
NOT_SOURCE = shutil.ignore_patterns(
    ".git", ".venv*", ".*_cache", ".hypothesis", ".coverage*", "__pycache__", "dist", "node_modules"
)


def builder() -> str:
    """The interpreter that `make build` builds with; where `make unit` runs there is one."""
    if not BUILDER.exists() and os.environ.get("ADVISOR_EXPECT_WHEEL") != "1":
        pytest.skip("no .venv-build, which `make build` makes")
    return str(BUILDER)


def start(tree: Path, *what: str, umask: int, **environment: str) -> subprocess.Popen[bytes]:
    """A build of the tree into its own dist/, without network."""
    return subprocess.Popen(
        [builder(), "-m", "build", "--no-isolation", *what, "--outdir", "dist", "."],
        cwd=tree,
        env={"PATH": os.environ["PATH"], "SOURCE_DATE_EPOCH": str(DATE), **environment},
        stdout=subprocess.DEVNULL,
        umask=umask,
    )


def digests(tree: Path) -> dict[str, str]:
    """Digest of each file that a build has made."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (tree / "dist").iterdir()}


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    """The tree, built twice: as it is, and as somebody else has it, at another time and place."""
    builder()
    ours = tmp_path_factory.mktemp("ours")
    theirs = tmp_path_factory.mktemp("\u00fcber there")
    shutil.copytree(ROOT, ours, ignore=NOT_SOURCE, dirs_exist_ok=True)
    shutil.copytree(ours, theirs, copy_function=shutil.copyfile, dirs_exist_ok=True)
    for path in theirs.rglob("*"):
        os.utime(path, (1_600_000_000, 1_600_000_000))
        executable = path.is_dir() or os.access(ours / path.relative_to(theirs), os.X_OK)
        path.chmod(0o700 if executable else 0o600)
    # Wheels of both ways: straight from the tree, and from the sdist, as `make build` does it.
    builds = (
        start(ours, "--sdist", "--wheel", umask=0o022, LC_ALL="C.UTF-8", TZ="UTC"),
        start(theirs, umask=0o077, LC_ALL="C", TZ="Asia/Tokyo", PYTHONHASHSEED="7"),
    )
    assert [build.wait() for build in builds] == [0, 0]
    yield ours, theirs
    shutil.rmtree(ours)
    shutil.rmtree(theirs)


def test_two_builds_give_the_same_bytes(trees: tuple[Path, Path]) -> None:
    """Folder, time, umask, locale, zone and file dates leave no trace; the wheel of the sdist is that of the tree."""
    ours, theirs = map(digests, trees)
    assert ours == theirs
    assert sorted(name.rpartition(".")[2] for name in ours) == ["gz", "whl"]


def test_dates_are_those_of_the_last_commit(trees: tuple[Path, Path]) -> None:
    """Everything inside has the date that the build was given, and nobody's name."""
    (wheel,) = (trees[0] / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(2026, 1, 1, 0, 0, 0)}
    (sdist,) = (trees[0] / "dist").glob("*.tar.gz")
    with tarfile.open(sdist) as members:
        seen = {(member.mtime, member.uid, member.gid, member.uname, member.gname) for member in members}
    assert seen == {(DATE, 0, 0, "", "")}


def test_make_takes_the_date_from_the_commit_or_the_sdist(tmp_path: Path) -> None:
    """`make build` passes the last commit's date on; an unpacked sdist has its own in PKG-INFO."""
    shutil.copyfile(ROOT / "Makefile", tmp_path / "Makefile")
    environment = {"PATH": os.environ["PATH"], "GIT_CEILING_DIRECTORIES": str(tmp_path.parent), "HOME": str(tmp_path)}

    def date() -> str:
        show = ["make", "--eval", "show: ; @echo $(BUILD_DATE)", "show"]
        done = subprocess.run(show, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    assert date() == "1580601600"
    (tmp_path / "PKG-INFO").touch()
    os.utime(tmp_path / "PKG-INFO", (DATE, DATE))
    assert date() == str(DATE)
    commit = "-c user.name=a -c user.email=a@b commit --quiet --allow-empty --message x"
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, env=environment, check=True)
    subprocess.run(
        ["git", *commit.split()],
        cwd=tmp_path,
        env={**environment, "GIT_COMMITTER_DATE": f"{DATE + 9} +0000"},
        check=True,
    )
    assert date() == str(DATE + 9)
