"""The lab's programs: built from their Go modules, kept by the content of what they are built from.

Each folder in ``go/`` is a module of its own, so that programs that need different releases of the same library do
not have to agree; a change in one builds that one anew.
"""

import hashlib
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

__all__ = ["MODULES", "BuildError", "Module", "Toolbox", "build", "cache_folder", "release", "toolbox"]

_GO: Final = Path(__file__).parent / "go"
_SOURCES: Final = ("go.mod", "go.sum", "*.go")


class BuildError(Exception):
    """A program could not be built, or is not built yet; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Module:
    """A Go module, the programs built from it (name to package), and folders of its dependencies that are copied.

    ``copies`` maps a folder of the toolbox to a dependency and the pattern of its files.
    """

    name: str
    programs: Mapping[str, str]
    copies: Mapping[str, tuple[str, str]]
    tags: str = ""
    """Build tags."""
    stamps: Mapping[str, str] = field(default_factory=dict)
    """Variables that the linker sets, each to the release of a dependency: what a program says that it is."""

    @property
    def folder(self) -> Path:
        """Where its ``go.mod`` is."""
        return _GO / self.name

    def key(self) -> str:
        """A digest of everything it is built from; tests do not count."""
        stamps = str(self.stamps) if self.stamps else ""
        digest = hashlib.sha256(f"{self.programs}{self.copies}{self.tags}{stamps}".encode())
        for path in sorted({path for pattern in _SOURCES for path in self.folder.glob(pattern)}):
            if not path.name.endswith("_test.go"):
                digest.update(f"{path.name}\0".encode() + path.read_bytes() + b"\0")
        return digest.hexdigest()[:16]


_KUBERNETES: Final = "k8s.io/kubernetes/cmd"
_PROMETHEUS: Final = "github.com/prometheus/prometheus/cmd"
_RAY_OPERATOR: Final = "github.com/ray-project/kuberay/ray-operator"

MODULES: Final = (
    Module("faultproxy", {"faultproxy": "."}, {}),
    Module("operator-priority", {"operator-priority": "."}, {"crds": (_RAY_OPERATOR, "config/crd/bases/*.yaml")}),
    Module("operator-classic", {"operator-classic": _RAY_OPERATOR}, {}),
    Module(
        "controlplane",
        {
            "etcd": "go.etcd.io/etcd/server/v3",
            "kube-scheduler": f"{_KUBERNETES}/kube-scheduler",
            "kube-controller-manager": f"{_KUBERNETES}/kube-controller-manager",
            "kwok": "sigs.k8s.io/kwok/cmd/kwok",
            "kube-apiserver": f"{_KUBERNETES}/kube-apiserver",
        },
        {"stages": ("sigs.k8s.io/kwok", "kustomize/stage/*/fast/*.yaml")},
        # Else it says v0.0.0, and helm takes it for older than any chart asks for.
        stamps={"k8s.io/component-base/version.gitVersion": "k8s.io/kubernetes"},
    ),
    Module("helm", {"helm": "helm.sh/helm/v4/cmd/helm"}, {}),
    # Without the clients of every cloud that it could discover targets in.
    Module(
        "prometheus",
        {"promtool": f"{_PROMETHEUS}/promtool", "prometheus": f"{_PROMETHEUS}/prometheus"},
        {},
        "remove_all_sd",
    ),
)


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Where built programs are kept: KUBERAY_LAB_CACHE, or a folder of the user's cache."""
    given = environ.get("KUBERAY_LAB_CACHE")
    return Path(given) if given else Path(environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kuberay-lab"


def _place(module: Module, cache: Path) -> Path:
    return cache / f"{module.name}-{module.key()}"


@dataclass(frozen=True, slots=True)
class Toolbox:
    """Where each built program and copied folder is."""

    places: Mapping[str, Path]

    def path(self, name: str) -> Path:
        """A program, or a folder of copied files.

        Raises:
            BuildError: it is not built.
        """
        if name not in self.places:
            raise BuildError(f"{name} is not built; run: make lab-build")
        return self.places[name]

    def missing(self, needed: Iterable[str] | None = None) -> list[str]:
        """What is not built: of these, or of all programs."""
        names = [program for module in MODULES for program in module.programs] if needed is None else needed
        return [name for name in names if name not in self.places]


def toolbox(cache: Path | None = None) -> Toolbox:
    """What is built from today's sources."""
    cache = cache or cache_folder()
    found: dict[str, Path] = {}
    for module in MODULES:
        place = _place(module, cache)
        if place.is_dir():
            found |= {name: place / name for name in (*module.programs, *module.copies)}
    return Toolbox(found)


def build(say: Callable[[str], None], cache: Path | None = None, only: Collection[str] = ()) -> Toolbox:
    """Build whatever is not built yet, and remove what older sources were built into.

    Args:
        say: told what is built.
        cache: where programs are kept.
        only: names of the modules to build; all where none is named.

    Raises:
        BuildError: there is no Go, no module of a name, or one does not build.
    """
    cache = cache or cache_folder()
    if shutil.which("go") is None:
        raise BuildError("there is no go on PATH; the lab's programs are built with Go 1.26 or newer")
    if unknown := set(only) - {module.name for module in MODULES}:
        known = ", ".join(module.name for module in MODULES)
        raise BuildError(f"there is no module {', '.join(sorted(unknown))}; known are {known}")
    for module in MODULES:
        if only and module.name not in only:
            continue
        place = _place(module, cache)
        if place.is_dir():
            say(f"{module.name}: built before, in {place}")
            continue
        begin = time.monotonic()
        say(f"{module.name}: building {', '.join(module.programs)}")
        _build_module(module, place)
        for old in cache.glob(f"{module.name}-*"):
            if old != place and old.name.removeprefix(f"{module.name}-").isalnum():
                shutil.rmtree(old)
        say(f"{module.name}: built in {time.monotonic() - begin:.0f} s, in {place}")
    return toolbox(cache)


def _build_module(module: Module, place: Path) -> None:
    """Build into a folder beside the place, which then takes its name: a place that exists is whole."""
    part = place.with_name(f"{place.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    stamps = "".join(f" -X {name}={release(module.name, path)}" for name, path in module.stamps.items())
    for program, package in module.programs.items():
        linked = f"-ldflags=-s -w{stamps}"
        _go(module, "build", "-trimpath", f"-tags={module.tags}", linked, "-o", str(part / program), package)
    for folder, (dependency, pattern) in module.copies.items():
        _copy(Path(_directory(module, dependency)), pattern, part / folder)
    part.rename(place)


def _go(module: Module, *arguments: str) -> str:
    # No C: the programs run wherever they are copied to.
    environ = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "GOWORK": "off"}
    done = subprocess.run(
        ["go", *arguments], cwd=module.folder, env=environ, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise BuildError(f"{module.name}: go {' '.join(arguments)}: {done.stderr.strip()[-2000:]}")
    return done.stdout


def _directory(module: Module, dependency: str) -> str:
    return str(json.loads(_go(module, "list", "-m", "-json", dependency))["Dir"])


def _copy(source: Path, pattern: str, target: Path) -> None:
    target.mkdir()
    for path in sorted(source.glob(pattern)):
        if path.name != "kustomization.yaml":
            shutil.copyfile(path, target / "-".join(path.relative_to(source).parts))


def release(module: str, path: str) -> str:
    """The release of a dependency that a module's ``go.mod`` names.

    Raises:
        BuildError: it names none.
    """
    named = _GO / module / "go.mod"
    for line in named.read_text(encoding="utf-8").splitlines():
        words = line.split()
        # The same path stands without a release among the tools.
        if words[:1] == [path] and words[1:2]:
            return words[1]
    raise BuildError(f"{named} names no release of {path}")


def versions() -> Iterator[tuple[str, str]]:
    """The release of each program's module, as its ``go.mod`` names it, for reports of runs."""
    wanted = {
        "Kubernetes": ("controlplane", "k8s.io/kubernetes"),
        "etcd": ("controlplane", "go.etcd.io/etcd/server/v3"),
        "kwok": ("controlplane", "sigs.k8s.io/kwok"),
        "KubeRay controllers": ("operator-priority", _RAY_OPERATOR),
        "controller-runtime (priority)": ("operator-priority", "sigs.k8s.io/controller-runtime"),
        "controller-runtime (classic)": ("operator-classic", "sigs.k8s.io/controller-runtime"),
    }
    for name, (module, path) in wanted.items():
        yield name, release(module, path)
