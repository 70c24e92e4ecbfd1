"""The Dockerfile's steps, followed on this machine, and the program that comes of them.

There is no container engine here: `rootfs` says what takes its place, and docs/image.md what that cannot show.
"""

import json
import os
import shutil
import signal
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

import advisor
from tests.image.dockerfile import Stage, read_dockerfile
from tests.image.rootfs import Machine, base_python, why_not
from tests.served import OPERATOR_METRICS, get, port_of
from tests.sources.servers import answer, serving
from tests.support import ROOT, until

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "can be followed here")

VOLUME: Final = "/var/lib/kuberay-advisor"
_MEMORY: Final = Path("/dev/shm")


@dataclass(frozen=True, slots=True)
class Built:
    """The image: its last stage, and what runs it."""

    machine: Machine
    stage: Stage

    @property
    def environment(self) -> Path:
        """The virtual environment."""
        return self.machine.layer(self.stage) / "opt" / "kuberay-advisor"

    def command(self, *words: str) -> tuple[list[str], dict[str, str]]:
        """Its entry point with these arguments, as its user; see `Machine.started`."""
        return self.machine.started(self.stage, [*self.stage.entrypoint, *words], VOLUME)

    def run(self, *words: str, entry: Sequence[str] | None = None) -> "subprocess.CompletedProcess[str]":
        """Run it, or something else in its place, to the end."""
        entry = self.stage.entrypoint if entry is None else entry
        command, environ = self.machine.started(self.stage, [*entry, *words], VOLUME)
        return subprocess.run(command, env=environ, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def built() -> Iterator[Built]:
    """All stages followed once, with the version as `make image` gives it."""
    stages = read_dockerfile((ROOT / "Dockerfile").read_text(encoding="utf-8"), {"VERSION": advisor.__version__})
    release = stages[-1].base.split(":")[1].split("-")[0]
    # Some 130 MiB of small files, quicker in memory.
    folder = Path(tempfile.mkdtemp(prefix="kuberay-advisor-image-", dir=_MEMORY if _MEMORY.is_dir() else None))
    patterns = (ROOT / ".dockerignore").read_text(encoding="utf-8")
    machine = Machine(folder, base_python(release), ROOT, patterns)
    try:
        if reason := machine.is_able():
            pytest.skip(reason)
        machine.build(stages)
        yield Built(machine, stages[-1])
    finally:
        shutil.rmtree(folder)


def test_the_program_runs_as_its_user_below_a_read_only_root(built: Built) -> None:
    """It starts with nothing but the image's variables, and tells its version."""
    done = built.run("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"kuberay-advisor, version {advisor.__version__}\n"


def test_who_it_runs_as(built: Built) -> None:
    """The user and group of the Dockerfile and no others, no capability, and a root that takes no writes."""
    look = (
        "import json, os, sys\n"
        "def refused(path):\n"
        "    try: open(path, 'w').close()\n"
        "    except OSError as error: return type(error).__name__ + ' ' + str(error.errno)\n"
        "    return ''\n"
        "status = dict(line.split(':', 1) for line in open('/proc/self/status'))\n"
        "print(json.dumps([os.getuid(), os.getgid(), os.getgroups(), int(status['CapEff'], 16), os.getcwd(),\n"
        "  refused('/etc/x'), refused(sys.prefix + '/x'), refused('/tmp/x'), refused('x'), sorted(os.environ)]))\n"
    )
    done = built.run("-c", look, entry=("/opt/kuberay-advisor/bin/python",))
    uid, gid, groups, rights, folder, etc, own, temporary, volume, environ = json.loads(done.stdout)
    assert (uid, gid, groups, rights, folder) == (65532, 65532, [], 0, VOLUME)
    assert (etc, own) == ("OSError 30", "OSError 30")
    assert (temporary, volume) == ("", "")
    # PWD and such come of the shell that changes to WORKDIR.
    assert set(environ) - {"PWD", "OLDPWD", "SHLVL", "_"} == set(built.stage.environ)


def test_a_command_of_each_kind(built: Built) -> None:
    """The sidecar's options, with the client of the API server installed, and the analysis of a shipped example."""
    assert "--log-pod" in built.run("sidecar", "--help").stdout
    found = built.run("-c", "import httpx2, lightkube", entry=("/opt/kuberay-advisor/bin/python",))
    assert found.stderr == ""
    (example,) = built.environment.glob("lib/python3.*/site-packages/advisor/examples/saturated-one-worker")
    done = built.run("analyze", "--recording", f"/{example.relative_to(built.machine.layer(built.stage))}")
    assert done.returncode == 0, done.stderr
    assert "Set concurrency 1 -> 4" in done.stdout


def test_the_service_keeps_its_history_on_the_volume_and_heeds_the_signal(built: Built, tmp_path: Path) -> None:
    """It scrapes, analyses in processes of its own, answers the probes, and ends when Kubernetes asks."""
    with serving(answer(OPERATOR_METRICS)) as operator:
        store = f"{VOLUME}/history.db"
        args = ("--listen-port", "0", "--store-path", store, "--scrape", operator.url, "--schedule-interval", "1s")
        command, environ = built.command("serve", *args)
        log = tmp_path / "log"
        with log.open("w") as file, subprocess.Popen(command, env=environ, stderr=file, text=True) as process:
            try:
                until(lambda: port_of(log) or process.poll() is not None)
                port = port_of(log)
                assert port is not None, log.read_text()
                assert get(port, "/healthz")[0] == 200
                until(lambda: get(port, "/readyz")[0] == 200)
                assert "kuberay" in get(port, "/")[1]
                process.send_signal(signal.Signals[built.stage.stop_signal])
                assert process.wait(30.0) == 0
            finally:
                process.kill()


def test_what_is_in_it(built: Built) -> None:
    """No installer and no build tools, in the environment or the base's Python; its files and licence."""
    for module in ("pip", "ensurepip", "setuptools", "hatchling", "build"):
        for python in ("/opt/kuberay-advisor/bin/python", "/usr/local/bin/python3"):
            assert "No module named" in built.run("-I", "-c", f"import {module}", entry=(python,)).stderr, module
    names = {path.name for path in (built.environment / "bin").iterdir()}
    assert not any(name.startswith("pip") for name in names)
    (packages,) = built.environment.glob("lib/python3.*/site-packages")
    files = {
        path.relative_to(packages).as_posix()
        for path in (packages / "advisor").rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    # What tools leave in the folders of a source tree is not part of it.
    wanted = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "advisor").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert files == wanted
    assert sorted(path.name for path in packages.glob("kuberay_advisor-*.dist-info/licenses/*")) == [
        "LICENSE",
        "NOTICE",
    ]


def test_byte_code_is_there_and_names_no_time(built: Built) -> None:
    """Each module is compiled, by the hash of its source: the next build gives the same bytes."""
    (packages,) = built.environment.glob("lib/python3.*/site-packages")
    compiled = list((packages / "advisor").rglob("*.pyc"))
    assert len(compiled) == len(list((packages / "advisor").rglob("*.py")))
    # The second word says how it is checked: 1 for by hash, and never (PEP 552).
    assert {path.read_bytes()[4:8] for path in compiled} == {(1).to_bytes(4, "little")}


def test_only_root_can_change_what_runs(built: Built) -> None:
    """No file of the environment belongs to the user or is writable for others; the volume's folder is its own."""
    wrong = [
        path
        for path in built.environment.rglob("*")
        if not path.is_symlink() and (path.stat().st_uid != 0 or path.stat().st_mode & (stat.S_IWOTH | stat.S_IWGRP))
    ]
    assert wrong == []
    volume = (built.machine.layer(built.stage) / VOLUME.lstrip("/")).stat()
    assert (volume.st_uid, volume.st_gid, stat.S_IMODE(volume.st_mode)) == (65532, 0, 0o770)


def test_nothing_of_this_is_left_mounted(built: Built) -> None:
    """The mounts were those of processes that have ended."""
    assert str(built.machine.layer(built.stage).parent) not in Path("/proc/self/mounts").read_text(encoding="utf-8")
    assert not os.path.ismount(built.machine.layer(built.stage).parent / "mount")
