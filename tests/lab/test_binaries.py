import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.lab import binaries
from tests.lab.binaries import MODULES, BuildError, Module, Toolbox, build, cache_folder, toolbox, versions

TOOL: Final = Module(
    "tool", {"tool": ".", "helper": "example.com/helper"}, {"files": ("example.com/kinds", "a/*.yaml")}
)
OTHER: Final = Module("other", {"other": "."}, {})
ALL_MODULES: Final = pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)

GO: Final = """#!/bin/sh
# Stands for go: notes each call, and makes what it is asked for.
echo "$PWD $CGO_ENABLED $*" >> "$FAKE_GO_CALLS"
if [ -n "$FAKE_GO_FAILS" ]; then
  echo "main.go:3:8: $FAKE_GO_FAILS" >&2
  exit 1
fi
case "$1" in
build)
  while [ "$1" != -o ]; do shift; done
  echo "built from $3" > "$2"
  ;;
list)
  printf '{"Path": "%s", "Dir": "%s"}' "$4" "$FAKE_GO_MODULES/$4"
  ;;
esac
"""


@pytest.fixture(autouse=True)
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two small modules in place of the lab's."""
    folder = tmp_path / "go"
    for module in (TOOL, OTHER):
        write(
            folder / module.name,
            {
                "go.mod": f"module lab/{module.name}\n",
                "go.sum": "",
                "main.go": "package main\n",
                "main_test.go": "package main\n",
                "README.md": "A module.\n",
            },
        )
    monkeypatch.setattr(binaries, "_GO", folder)
    monkeypatch.setattr(binaries, "MODULES", (TOOL, OTHER))
    return folder


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Where programs are kept; it does not exist yet."""
    return tmp_path / "cache" / "lab"


class FakeGo:
    """A program named go on PATH that notes how it was called."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._calls, self._patch = folder / "calls", monkeypatch
        write(folder / "bin", {"go": GO})
        (folder / "bin" / "go").chmod(0o755)
        kinds = folder / "modules" / "example.com" / "kinds" / "a"
        write(kinds, {"b.yaml": "kind: b\n", "a.yaml": "kind: a\n", "kustomization.yaml": "", "notes.md": ""})
        monkeypatch.setenv("PATH", str(folder / "bin"), prepend=os.pathsep)
        monkeypatch.setenv("FAKE_GO_CALLS", str(self._calls))
        monkeypatch.setenv("FAKE_GO_MODULES", str(folder / "modules"))
        monkeypatch.delenv("FAKE_GO_FAILS", raising=False)

    def fail(self, why: str | None) -> None:
        """Let every call fail from now on, or none."""
        if why is None:
            self._patch.delenv("FAKE_GO_FAILS")
        else:
            self._patch.setenv("FAKE_GO_FAILS", why)

    def calls(self) -> list[str]:
        """Each call since the last look: where, whether with C, and the arguments."""
        if not self._calls.exists():
            return []
        lines = self._calls.read_text(encoding="utf-8").splitlines()
        self._calls.unlink()
        return lines


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeGo:
    """Go, as far as builds need it."""
    return FakeGo(tmp_path / "fake", monkeypatch)


def write(folder: Path, files: Mapping[str, str]) -> None:
    """A folder of files."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def quiet(_: str) -> None:
    """Say nothing."""


class TestKey:
    @pytest.mark.parametrize("name", ["go.mod", "go.sum", "main.go", "another.go"])
    def test_a_source_changes_it(self, sources: Path, name: str) -> None:
        """Also one that is new; and the way back gives the key of before."""
        before = TOOL.key()
        path = sources / "tool" / name
        old = path.read_text(encoding="utf-8") if path.exists() else None
        path.write_text("// changed\n", encoding="utf-8")
        assert TOOL.key() != before
        if old is None:
            path.unlink()
        else:
            path.write_text(old, encoding="utf-8")
        assert TOOL.key() == before

    @pytest.mark.parametrize("name", ["main_test.go", "another_test.go", "README.md"])
    def test_tests_and_other_files_do_not(self, sources: Path, name: str) -> None:
        """Nothing is built from them."""
        before = TOOL.key()
        (sources / "tool" / name).write_text("changed\n", encoding="utf-8")
        assert TOOL.key() == before

    def test_what_is_made_changes_it(self) -> None:
        """Another program, or another folder that is copied, from the same sources."""
        other_programs = Module(TOOL.name, {"tool": "./cmd"}, TOOL.copies)
        other_copies = Module(TOOL.name, TOOL.programs, {})
        assert len({TOOL.key(), other_programs.key(), other_copies.key()}) == 3

    def test_text_that_moves_between_files_changes_it(self, sources: Path) -> None:
        """Sources are told apart by name."""
        write(sources / "tool", {"a.go": "1", "b.go": "2"})
        before = TOOL.key()
        write(sources / "tool", {"a.go": "12", "b.go": ""})
        assert TOOL.key() != before


class TestToolbox:
    def test_nothing_is_built_yet(self, cache: Path) -> None:
        """Every program is missing, and asking for one says how to build it."""
        tools = toolbox(cache)
        assert tools.missing() == ["tool", "helper", "other"]
        for name in ("tool", "files"):
            with pytest.raises(BuildError, match=f"^{name} is not built; run: make lab-build$"):
                tools.path(name)

    def test_what_is_built_has_its_place(self, cache: Path) -> None:
        """Programs and copied folders of a module that is built; the others are missing."""
        place = cache / f"tool-{TOOL.key()}"
        place.mkdir(parents=True)
        tools = toolbox(cache)
        assert tools.path("tool") == place / "tool"
        assert tools.path("files") == place / "files"
        assert tools.missing() == ["other"]

    def test_other_sources_are_not_built(self, cache: Path, sources: Path) -> None:
        """A program of yesterday's sources is as good as none, and so is one that was not finished."""
        (cache / f"tool-{TOOL.key()}.part").mkdir(parents=True)
        assert "tool" in toolbox(cache).missing()
        (cache / f"tool-{TOOL.key()}").mkdir()
        (sources / "tool" / "main.go").write_text("package main // changed\n", encoding="utf-8")
        assert "tool" in toolbox(cache).missing()

    def test_where_it_looks(self, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
        """KUBERAY_LAB_CACHE names the folder; without it, it is one of the user's cache."""
        assert cache_folder({"KUBERAY_LAB_CACHE": "/some/where", "XDG_CACHE_HOME": "/cache"}) == Path("/some/where")
        assert cache_folder({"XDG_CACHE_HOME": "/cache"}) == Path("/cache/kuberay-lab")
        assert cache_folder({}) == Path.home() / ".cache" / "kuberay-lab"
        (cache / f"other-{OTHER.key()}").mkdir(parents=True)
        monkeypatch.setenv("KUBERAY_LAB_CACHE", str(cache))
        assert toolbox().missing() == ["tool", "helper"]

    def test_the_labs_programs(self, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
        """Each name is one program's or folder's only, so that a name is enough to find it."""
        monkeypatch.setattr(binaries, "MODULES", MODULES)
        made = [name for module in MODULES for name in (*module.programs, *module.copies)]
        assert len(set(made)) == len(made)
        assert {"etcd", "kube-apiserver", "kwok", "faultproxy", "operator-priority", "operator-classic"} <= set(made)
        assert toolbox(cache).missing() == [name for module in MODULES for name in module.programs]


class TestBuild:
    def test_without_go(self, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """It says what is needed, and touches nothing."""
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(BuildError, match="there is no go on PATH"):
            build(quiet, cache)
        assert not cache.exists()

    def test_every_program_and_folder_is_made(self, cache: Path, go: FakeGo, sources: Path) -> None:
        """From the module's own folder and without C, into a folder named by what it is built from."""
        tools = build(quiet, cache)
        assert tools.missing() == []
        assert tools.path("tool").read_text(encoding="utf-8") == "built from .\n"
        assert tools.path("helper").read_text(encoding="utf-8") == "built from example.com/helper\n"
        assert tools.path("tool").parent == cache / f"tool-{TOOL.key()}"
        calls = go.calls()
        assert [call.split()[:3] for call in calls] == [
            [str(sources / "tool"), "0", "build"],
            [str(sources / "tool"), "0", "build"],
            [str(sources / "tool"), "0", "list"],
            [str(sources / "other"), "0", "build"],
        ]

    def test_files_of_a_dependency_are_copied(self, cache: Path, go: FakeGo) -> None:
        """Those of the pattern, with their path as their name, and not what only lists them."""
        folder = build(quiet, cache).path("files")
        found = {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}
        assert found == {"a-a.yaml": "kind: a\n", "a-b.yaml": "kind: b\n"}

    def test_some_modules_only(self, cache: Path, go: FakeGo, sources: Path) -> None:
        """Those that are named; a name that is none is told, and nothing is built."""
        assert build(quiet, cache, ["other"]).missing() == ["tool", "helper"]
        assert [call.split()[0] for call in go.calls()] == [str(sources / "other")]
        with pytest.raises(BuildError, match=r"^there is no module nothing, tol; known are tool, other$"):
            build(quiet, cache, ["tol", "other", "nothing"])
        assert go.calls() == []

    def test_nothing_is_built_twice(self, cache: Path, go: FakeGo) -> None:
        """A second call says so and asks go for nothing."""
        said: list[str] = []
        build(said.append, cache)
        go.calls()
        assert said[0] == "tool: building tool, helper"
        assert said[1].startswith("tool: built in ")
        said.clear()
        assert build(said.append, cache).missing() == []
        assert go.calls() == []
        assert said == [
            f"tool: built before, in {cache / f'tool-{TOOL.key()}'}",
            f"other: built before, in {cache / f'other-{OTHER.key()}'}",
        ]

    def test_a_change_builds_that_module_and_removes_the_older(self, cache: Path, go: FakeGo, sources: Path) -> None:
        """Other modules, and what lies there under other names, stay."""
        build(quiet, cache)
        old, other = cache / f"tool-{TOOL.key()}", cache / f"other-{OTHER.key()}"
        foreign = cache / "tool-of-somebody-else"
        foreign.mkdir()
        go.calls()
        (sources / "tool" / "main.go").write_text("package main // changed\n", encoding="utf-8")
        tools = build(quiet, cache)
        assert [call.split()[0] for call in go.calls()] == [str(sources / "tool")] * 3
        assert sorted(cache.iterdir()) == sorted([cache / f"tool-{TOOL.key()}", other, foreign])
        assert not old.exists()
        assert tools.missing() == []

    def test_a_failure_tells_what_go_said(self, cache: Path, go: FakeGo) -> None:
        """Module, command and errors; what was made so far does not count as built, and what was built stays."""
        build(quiet, cache)
        built = sorted(cache.iterdir())
        (binaries._GO / "other" / "main.go").write_text("package main // changed\n", encoding="utf-8")
        go.fail("expected 'package'")
        with pytest.raises(BuildError, match=r"^other: go build .*: main\.go:3:8: expected 'package'$"):
            build(quiet, cache)
        assert toolbox(cache).missing() == ["other"]
        assert set(built) <= set(cache.iterdir())

    def test_after_a_failure_it_begins_anew(self, cache: Path, go: FakeGo) -> None:
        """Whatever lies there of the attempt before, and nothing of it is left."""
        go.fail("no")
        with pytest.raises(BuildError):
            build(quiet, cache)
        part = cache / f"tool-{TOOL.key()}.part"
        write(part, {"rubbish": ""})
        go.fail(None)
        tools = build(quiet, cache)
        assert tools.missing() == []
        assert not part.exists()
        assert sorted(path.name for path in tools.path("tool").parent.iterdir()) == ["files", "helper", "tool"]

    def test_long_errors_are_cut(self, cache: Path, go: FakeGo) -> None:
        """Their end is kept: go says last what failed."""
        go.fail(f"{'x' * 5000} the end")
        with pytest.raises(BuildError) as failed:
            build(quiet, cache)
        assert str(failed.value).endswith("the end")
        assert len(str(failed.value)) < 3000


class TestShipped:
    """The lab's own modules, without building them."""

    @pytest.fixture(autouse=True)
    def _own(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(binaries, "_GO", Path(binaries.__file__).parent / "go")

    @ALL_MODULES
    def test_each_has_its_sources(self, module: Module) -> None:
        """A go.mod with the checksums of what it needs, and a main package or a tool for each program."""
        text = (module.folder / "go.mod").read_text(encoding="utf-8")
        words = text.split()
        for package in module.programs.values():
            assert package in words or (package == "." and (module.folder / "main.go").is_file())
        for dependency, _ in module.copies.values():
            assert dependency in words
        assert ("require" not in words) or (module.folder / "go.sum").is_file()

    def test_versions_are_those_of_the_modules(self) -> None:
        """For reports of runs: a release for each part, as its go.mod has it."""
        found = dict(versions())
        assert list(found) == [
            "Kubernetes",
            "etcd",
            "kwok",
            "KubeRay controllers",
            "controller-runtime (priority)",
            "controller-runtime (classic)",
        ]
        for version in found.values():
            major, minor, patch = version.removeprefix("v").split(".")
            assert version.startswith("v")
            assert (major + minor + patch).isdigit()
        assert found["controller-runtime (priority)"] != found["controller-runtime (classic)"]
        assert f"k8s.io/kubernetes {found['Kubernetes']}" in (binaries._GO / "controlplane" / "go.mod").read_text(
            encoding="utf-8"
        )


def test_a_toolbox_is_only_where_things_are() -> None:
    """It can be made of any places."""
    tools = Toolbox({"tool": Path("/a/tool")})
    assert tools.path("tool") == Path("/a/tool")
    assert tools.missing() == ["helper", "other"]
