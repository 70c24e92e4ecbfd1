"""Helm as tests call it: the lab's real one, on the chart of this tree."""

import functools
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from tests.lab.binaries import BuildError, toolbox
from tests.support import ROOT, leave_out

__all__ = ["CHART", "SETS", "Helm", "Manifest", "find_helm", "named", "values_of"]

CHART: Final = ROOT / "helm" / "kuberay-advisor"
SETS: Final = tuple(sorted(path.name.removesuffix("-values.yaml") for path in (CHART / "ci").glob("*-values.yaml")))
"""Names of the values sets: one for each mode, and some more."""

Manifest = dict[str, Any]


def find_helm() -> Path:
    """The lab's helm, or the end of the test."""
    try:
        return toolbox().path("helm")
    except BuildError:
        leave_out(os.environ, "helm is not built; run: make chart-tools")


def values_of(name: str) -> Path:
    """The file of a values set."""
    return CHART / "ci" / f"{name}-values.yaml"


class Helm:
    """Runs helm without a cluster, and without the user's settings.

    Args:
        program: where it is.
        folder: for its caches and settings.
    """

    def __init__(self, program: Path, folder: Path) -> None:
        self._program, self._folder = program, folder
        self._rendered: dict[str, tuple[Manifest, ...]] = {}

    def run(self, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Run it; its exit code has to be as expected."""
        environ = {"PATH": os.environ["PATH"]} | {
            f"HELM_{what}_HOME": str(self._folder / what.lower()) for what in ("CACHE", "CONFIG", "DATA")
        }
        done = subprocess.run(
            [self._program, *arguments], env=environ, cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def text(self, name: str, *more: str, release: str = "advisor", namespace: str = "ray") -> str:
        """What ``helm template`` writes for a values set."""
        return self.run(
            "template", release, str(CHART), f"--namespace={namespace}", f"--values={values_of(name)}", *more
        ).stdout

    def manifests(self, name: str) -> tuple[Manifest, ...]:
        """The objects of a values set; rendered once."""
        if name not in self._rendered:
            self._rendered[name] = parsed(self.text(name))
        return self._rendered[name]

    def rendered(self, values: Mapping[str, object], **where: str) -> tuple[Manifest, ...]:
        """The objects of the default values with some changed."""
        return parsed(self.text("default", *_set(values), **where))

    def refused(self, values: Mapping[str, object]) -> str:
        """What helm says of values that it does not take."""
        return self.run("template", "advisor", str(CHART), *_set(values), code=1).stderr

    def notes(self, name: str, *more: str) -> str:
        """What a user reads after an installation."""
        done = self.run(
            *("install", "advisor", str(CHART), "--namespace=ray", f"--values={values_of(name)}", "--dry-run=client"),
            *more,
        )
        return done.stdout.partition("\nNOTES:\n")[2]


def _set(values: Mapping[str, object]) -> list[str]:
    return [f"--set-json={name}={json.dumps(value)}" for name, value in values.items()]


def parsed(text: str) -> tuple[Manifest, ...]:
    """The objects of a stream of YAML."""
    # In C where there is one.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return tuple(one for one in yaml.load_all(text, Loader=loader) if one)


def named(manifests: tuple[Manifest, ...], kind: str, name: str | None = None) -> Manifest:
    """The one object of a kind, or of a kind and a name."""
    found = [one for one in manifests if one["kind"] == kind and name in (None, one["metadata"]["name"])]
    assert len(found) == 1, [one["metadata"]["name"] for one in found]
    return found[0]


@functools.cache
def plain_values() -> Any:  # noqa: ANN401 - as read
    """``values.yaml``."""
    return yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
