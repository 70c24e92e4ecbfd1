"""The operator's container, as far as a lab without containers has one: a cgroup with a CPU quota, and its figures.

The figures come in the names of cAdvisor and kube-state-metrics, over HTTP, so that the product's own ``record``
takes them as it would take the operator's.
"""

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Protocol

__all__ = ["Container", "NoContainer", "make_container", "serve_container"]

_PERIOD_MICROSECONDS: Final = 100_000
_LABELS: Final = 'container="kuberay-operator",namespace="kuberay",pod="kuberay-operator-0"'


class Container(Protocol):
    """What limits the operator and counts what it uses."""

    def entrances(self) -> tuple[Path, ...]:
        """Files that take the id of a process that is to be inside."""
        ...

    def limit_cpu(self, cores: float | None) -> None:
        """Set the quota; None is no limit."""
        ...

    def samples(self) -> Iterator[tuple[str, str, float]]:
        """Name, labels and value of each figure."""
        ...

    def remove(self) -> None:
        """Remove it; everything in it has ended."""
        ...


class NoContainer:
    """Where cgroups cannot be written: no limit and no figures."""

    def entrances(self) -> tuple[Path, ...]:
        """None."""
        return ()

    def limit_cpu(self, cores: float | None) -> None:
        """Refuse a limit.

        Raises:
            OSError: there is one to set.
        """
        if cores is not None:
            raise OSError("a CPU limit needs a writable cgroup: run the lab as root, with cgroups mounted")

    def samples(self) -> Iterator[tuple[str, str, float]]:
        """None."""
        return iter(())

    def remove(self) -> None:
        """There is nothing."""


def _pairs(path: Path) -> dict[str, int]:
    return {key: int(value) for key, value in (line.split() for line in path.read_text().splitlines())}


def _figures(
    *,
    periods: int,
    throttled: int,
    throttled_seconds: float,
    cpu_seconds: float,
    memory_bytes: int,
    cores: float | None,
) -> Iterator[tuple[str, str, float]]:
    yield "container_cpu_cfs_periods_total", _LABELS, periods
    yield "container_cpu_cfs_throttled_periods_total", _LABELS, throttled
    yield "container_cpu_cfs_throttled_seconds_total", _LABELS, throttled_seconds
    yield "container_cpu_usage_seconds_total", _LABELS, cpu_seconds
    yield "container_memory_working_set_bytes", _LABELS, memory_bytes
    if cores is not None:
        yield "kube_pod_container_resource_limits", f'{_LABELS},resource="cpu",unit="core"', cores


class _Version1:
    """Three hierarchies with a folder each; two of them may be mounted as one, and share it."""

    def __init__(self, root: Path, name: str) -> None:
        folders = [(root / kind).resolve() / name for kind in ("cpu", "cpuacct", "memory")]
        self._cpu, self._account, self._memory = folders
        self._folders = tuple(dict.fromkeys(folders))
        for folder in self._folders:
            folder.mkdir()

    def entrances(self) -> tuple[Path, ...]:
        return tuple(folder / "cgroup.procs" for folder in self._folders)

    def limit_cpu(self, cores: float | None) -> None:
        quota = -1 if cores is None else round(cores * _PERIOD_MICROSECONDS)
        (self._cpu / "cpu.cfs_quota_us").write_text(str(quota))

    def samples(self) -> Iterator[tuple[str, str, float]]:
        cpu, memory = _pairs(self._cpu / "cpu.stat"), _pairs(self._memory / "memory.stat")
        quota = int((self._cpu / "cpu.cfs_quota_us").read_text())
        return _figures(
            periods=cpu["nr_periods"],
            throttled=cpu["nr_throttled"],
            throttled_seconds=cpu["throttled_time"] / 1e9,
            cpu_seconds=int((self._account / "cpuacct.usage").read_text()) / 1e9,
            memory_bytes=int((self._memory / "memory.usage_in_bytes").read_text())
            - memory.get("total_inactive_file", 0),
            cores=quota / _PERIOD_MICROSECONDS if quota > 0 else None,
        )

    def remove(self) -> None:
        for folder in self._folders:
            folder.rmdir()


class _Version2:
    """One folder in the one hierarchy, where the cpu and memory controllers are passed on."""

    def __init__(self, root: Path, name: str) -> None:
        self._folder = root / name
        self._folder.mkdir()
        if not (self._folder / "cpu.max").exists():
            self._folder.rmdir()
            raise OSError("the cpu controller is not passed on to child cgroups")

    def entrances(self) -> tuple[Path, ...]:
        return (self._folder / "cgroup.procs",)

    def limit_cpu(self, cores: float | None) -> None:
        quota = "max" if cores is None else str(round(cores * _PERIOD_MICROSECONDS))
        (self._folder / "cpu.max").write_text(f"{quota} {_PERIOD_MICROSECONDS}")

    def samples(self) -> Iterator[tuple[str, str, float]]:
        cpu, memory = _pairs(self._folder / "cpu.stat"), _pairs(self._folder / "memory.stat")
        quota, period = (self._folder / "cpu.max").read_text().split()
        return _figures(
            periods=cpu.get("nr_periods", 0),
            throttled=cpu.get("nr_throttled", 0),
            throttled_seconds=cpu.get("throttled_usec", 0) / 1e6,
            cpu_seconds=cpu["usage_usec"] / 1e6,
            memory_bytes=int((self._folder / "memory.current").read_text()) - memory.get("inactive_file", 0),
            cores=None if quota == "max" else int(quota) / int(period),
        )

    def remove(self) -> None:
        self._folder.rmdir()


def make_container(name: str, root: Path = Path("/sys/fs/cgroup")) -> Container:
    """A cgroup of this name, of whichever version this machine has; none where it may not be made."""
    try:
        if (root / "cgroup.controllers").exists():
            return _Version2(root, name)
        return _Version1(root, name)
    except OSError:
        return NoContainer()


def _exposition(container: Container) -> str:
    lines = []
    for name, labels, value in container.samples():
        lines.append(f"# TYPE {name} {'counter' if name.endswith('_total') else 'gauge'}")
        lines.append(f"{name}{{{labels}}} {value}")
    return "\n".join(lines) + "\n"


def serve_container(container: Container) -> http.server.ThreadingHTTPServer:
    """Serve the figures on a free port of loopback, until ``shutdown``."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = _exposition(container).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, name="container", daemon=True).start()
    return server
