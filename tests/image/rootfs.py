"""Follows a Dockerfile where no container engine is: each stage is this machine's root below an overlay of its own.

Everything is mounted in a private mount namespace that goes with the process, so nothing is left on the machine. The
overlay at ``/usr/local`` is over a Python installation, which is where the base image has its own. What a real base
image has otherwise, this cannot show: the rest of the root is this machine's.
"""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.image.dockerfile import Copy, Run, Stage, sources_of

__all__ = ["Machine", "StepError", "base_python", "why_not"]

_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_PASSED_ON: Final = ("PIP_", "SSL_CERT_", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
"""How this machine reaches an index, which an engine is told by build arguments."""
_MOUNTS: Final = """
set -e
mount -t overlay overlay -o "lowerdir=/,upperdir=$LAYER/root,workdir=$LAYER/root.work" "$ROOT"
mount -t overlay overlay -o "lowerdir=$PYTHON,upperdir=$LAYER/local,workdir=$LAYER/local.work" "$ROOT/usr/local"
mount --rbind /proc "$ROOT/proc"
mount --rbind /dev "$ROOT/dev"
for hidden in $HIDDEN; do mount -t tmpfs tmpfs "$ROOT$hidden"; done
mount -t tmpfs -o mode=1777 tmpfs "$ROOT/tmp"
# As the base image has done for its Python's library.
[ -e "$LAYER/root/etc/ld.so.cache" ] || chroot "$ROOT" ldconfig
"""
_BUILDS: Final = """
mkdir -p "$ROOT/root/.cache/pip"
if [ -d "$WHEELS" ]; then mount --bind "$WHEELS" "$ROOT/root/.cache/pip"; fi
exec chroot "$ROOT" env --ignore-environment "$@"
"""
_RUNS: Final = """
mount -t tmpfs -o "uid=$USER_ID,gid=$GROUP_ID,mode=0770" tmpfs "$ROOT$VOLUME"
mount -o remount,ro "$ROOT/usr/local"
mount -o remount,ro "$ROOT"
exec chroot "$ROOT" setpriv --reuid "$USER_ID" --regid "$GROUP_ID" --clear-groups --no-new-privs --bounding-set=-all \
  env --ignore-environment "$@"
"""


class StepError(Exception):
    """A step failed; the text is what it wrote."""


def why_not() -> str:
    """Why stages cannot be followed here, or ""."""
    if sys.platform != "linux":
        return "mount namespaces are Linux's"
    if os.geteuid() != 0:
        return "only root may mount an overlay and run a process as the image's user"
    missing = [name for name in ("unshare", "mount", "chroot", "setpriv", "env") if shutil.which(name) is None]
    return f"there is no {', '.join(missing)} here" if missing else ""


def base_python(release: str) -> Path:
    """The installation of a Python of this release beside this one, as pyenv keeps them; else this one's own."""
    own = Path(sys.base_prefix)
    beside = sorted(path for path in own.parent.glob(f"{release}.*") if (path / "bin" / f"python{release}").exists())
    return beside[-1] if beside else own


class Machine:
    """Stages of one Dockerfile, each with its layer in a folder; ``root`` is what COPY takes files from."""

    def __init__(self, folder: Path, python: Path, root: Path, patterns: str) -> None:
        self._folder = folder
        self._python = python
        self._root = root
        self._patterns = patterns

    def layer(self, stage: Stage) -> Path:
        """What a stage has written, as it lies below ``/``; ``/usr/local`` has a layer of its own."""
        return self._folder / (stage.name or "image") / "root"

    def is_able(self) -> str:
        """Why the overlays cannot be mounted here, or ""."""
        stage = Stage("probe", "")
        try:
            self._step(stage, Run("true", "/", {}))
        except StepError as error:
            return f"no overlay can be mounted here: {error}"
        return ""

    def build(self, stages: Sequence[Stage]) -> None:
        """Follow all steps of all stages.

        Raises:
            StepError: a RUN fails, or a COPY has nothing to copy.
        """
        names = {stage.name: stage for stage in stages if stage.name}
        for stage in stages:
            for step in stage.steps:
                if isinstance(step, Run):
                    self._step(stage, step)
                else:
                    self._copy(stage, step, names)
            # WORKDIR makes what is not there.
            self._below(stage, stage.folder).mkdir(parents=True, exist_ok=True)

    def started(self, image: Stage, arguments: Sequence[str], volume: str) -> tuple[list[str], dict[str, str]]:
        """A command, and the environment for it, that is the image's entry point with these arguments.

        As its user, without any right, below a root that nobody can write to but at ``/tmp`` and the volume; with the
        image's variables and no others. It replaces itself all the way, so signals reach the program.
        """
        assert image.user is not None
        words = [f"{name}={value}" for name, value in image.environ.items()]
        environ = self._environ(image) | {
            "USER_ID": str(image.user[0]),
            "GROUP_ID": str(image.user[1]),
            "VOLUME": volume,
        }
        script = _MOUNTS + _RUNS
        inside = ["sh", "-c", f'cd {shlex.quote(image.folder)} && exec "$@"', "sh", *arguments]
        return (["unshare", "--mount", "sh", "-c", script, "sh", *words, *inside], environ)

    def _environ(self, stage: Stage) -> dict[str, str]:
        layer = self._folder / (stage.name or "image")
        for name in ("root", "root.work", "local", "local.work", "mount"):
            (layer / name).mkdir(parents=True, exist_ok=True)
        own = {Path("/", *path.resolve().parts[1:2]) for path in (self._root, Path.home(), self._python)}
        hidden = sorted(str(path) for path in own if path.name not in {"tmp", "usr", "opt", "var", "etc"})
        return {
            "PATH": _PATH,
            "LAYER": str(layer),
            "ROOT": str(layer / "mount"),
            "PYTHON": str(self._python),
            "HIDDEN": " ".join(hidden),
        }

    def _step(self, stage: Stage, run: Run) -> None:
        environ = self._environ(stage) | {"WHEELS": str(Path.home() / ".cache" / "pip")}
        passed = {name: value for name, value in os.environ.items() if name.upper().startswith(_PASSED_ON)}
        inside = {"PATH": _PATH, "HOME": "/root"} | passed | dict(run.environ)
        words = [f"{name}={value}" for name, value in inside.items()]
        shell = ["sh", "-c", 'mkdir -p "$0" && cd "$0" && exec sh -c "$1"', run.folder, run.command]
        command = ["unshare", "--mount", "sh", "-c", _MOUNTS + _BUILDS, "sh", *words, *shell]
        done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
        if done.returncode:
            raise StepError(f"{run.command}: {done.returncode}\n{done.stdout}{done.stderr}"[-4000:])

    def _copy(self, stage: Stage, step: Copy, names: Mapping[str, Stage]) -> None:
        self._environ(stage)
        target = self._below(stage, os.path.join(step.folder, step.target))  # noqa: PTH118 - joins as COPY does
        if step.stage:
            (source,) = step.sources
            shutil.copytree(self._below(names[step.stage], source), target, symlinks=True, dirs_exist_ok=True)
            return
        for source in step.sources:
            files = sources_of(self._root, source, self._patterns)
            if not files:
                raise StepError(f"COPY {source}: nothing of it goes to the engine")
            for name in files:
                # A folder's content goes into the target; a file into it under its own name.
                below = Path(name).relative_to(source) if Path(name) != Path(source) else Path(Path(name).name)
                place = target / below
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(self._root / name, place)

    def _below(self, stage: Stage, path: str) -> Path:
        return self.layer(stage) / path.lstrip("/")
