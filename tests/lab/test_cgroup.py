import functools
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Final

import httpx
import pytest

from advisor.signals.names import SELECTION
from advisor.sources.exposition import Exposition, ExpositionParser, UnusableExpositionError
from tests.lab.cgroup import Container, NoContainer, make_container, serve_container

NAME: Final = "kuberay-lab-1"
POD: Final = (
    ("container", "kuberay-operator"),
    ("instance", "lab"),
    ("namespace", "kuberay"),
    ("pod", "kuberay-operator-0"),
)
FIRST: Final[Mapping[str, Mapping[str, str]]] = {
    "cpu": {"cpu.cfs_quota_us": "-1\n", "cpu.stat": "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n"},
    "cpuacct": {"cpuacct.usage": "0\n"},
    "memory": {"memory.usage_in_bytes": "0\n", "memory.stat": "cache 0\ntotal_inactive_file 0\n"},
}
SECOND: Final[Mapping[str, str]] = {
    "cpu.max": "max 100000\n",
    "cpu.stat": "usage_usec 0\nuser_usec 0\nsystem_usec 0\n",
    "memory.current": "0\n",
    "memory.stat": "anon 0\ninactive_file 0\n",
}

Populate = Callable[[Path], None]


@pytest.fixture(autouse=True)
def _quick_shutdown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server looks often whether it is to end."""
    serve = functools.partialmethod(ThreadingHTTPServer.serve_forever, 0.01)
    monkeypatch.setattr(ThreadingHTTPServer, "serve_forever", serve)


@contextmanager
def kernel(monkeypatch: pytest.MonkeyPatch, root: Path, populate: Populate) -> Iterator[None]:
    """Below ``root`` folders behave as the kernel's: made with files in them, and removed with these."""
    mkdir, rmdir = Path.mkdir, Path.rmdir

    def make(path: Path, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:  # noqa: FBT002
        mkdir(path, mode, parents, exist_ok)
        if path.is_relative_to(root):
            populate(path)

    def remove(path: Path) -> None:
        if path.is_relative_to(root):
            shutil.rmtree(path)
        else:
            rmdir(path)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", make)
        patch.setattr(Path, "rmdir", remove)
        yield


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Files of a cgroup, and the one that takes processes."""
    for name, text in {"cgroup.procs": "", **files}.items():
        (folder / name).write_text(text, encoding="utf-8")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Where cgroups are mounted."""
    root = tmp_path / "cgroup"
    root.mkdir()
    return root


@pytest.fixture
def first(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Container]:
    """A container on version 1: a hierarchy for each controller."""
    for kind in FIRST:
        (root / kind).mkdir()
    with kernel(monkeypatch, root, lambda path: write(path, FIRST[path.parent.name])):
        yield make_container(NAME, root)


@pytest.fixture
def second(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Container]:
    """A container on version 2: one hierarchy."""
    (root / "cgroup.controllers").write_text("cpu io memory pids\n", encoding="utf-8")
    with kernel(monkeypatch, root, lambda path: write(path, SECOND)):
        yield make_container(NAME, root)


def scraped(container: Container) -> Exposition:
    """What the product reads of a container over HTTP."""
    server = serve_container(container)
    try:
        answer = httpx.get(f"http://127.0.0.1:{server.server_address[1]}/metrics", trust_env=False)
    finally:
        server.shutdown()
        server.server_close()
    assert answer.status_code == 200
    parser = ExpositionParser(None, "lab")
    parser.feed(answer.content)
    return parser.finish()


def values(container: Container) -> dict[str, float]:
    """The figures by name, all of the operator's container."""
    found = scraped(container)
    assert found.malformed == 0
    for sample in found.samples:
        assert sample.name in found.types
        assert set(POD) <= set(sample.labels)
        assert sample.name in SELECTION.names | SELECTION.aggregated.keys()
    return {sample.name: sample.value for sample in found.samples}


class TestVersion1:
    def test_processes_enter_each_hierarchy(self, first: Container, root: Path) -> None:
        """CPU time, its limit and memory are counted in hierarchies of their own."""
        assert first.entrances() == tuple(root / kind / NAME / "cgroup.procs" for kind in FIRST)

    @pytest.mark.parametrize(("cores", "quota"), [(2.5, "250000"), (0.08, "8000"), (None, "-1")])
    def test_a_limit_is_a_quota_of_each_period(
        self, first: Container, root: Path, cores: float | None, quota: str
    ) -> None:
        """Microseconds of CPU time in 100 ms; -1 takes the limit away."""
        first.limit_cpu(0.5)
        first.limit_cpu(cores)
        assert (root / "cpu" / NAME / "cpu.cfs_quota_us").read_text(encoding="utf-8") == quota

    def test_figures(self, first: Container, root: Path) -> None:
        """In cAdvisor's names and units: seconds, and the working set without files that nobody uses."""
        (root / "cpu" / NAME / "cpu.stat").write_text("nr_periods 200\nnr_throttled 50\nthrottled_time 1250000000\n")
        (root / "cpuacct" / NAME / "cpuacct.usage").write_text("31500000000\n")
        (root / "memory" / NAME / "memory.usage_in_bytes").write_text("70000000\n")
        (root / "memory" / NAME / "memory.stat").write_text("cache 9\ninactive_file 1\ntotal_inactive_file 20000000\n")
        first.limit_cpu(0.3)
        assert values(first) == {
            "container_cpu_cfs_periods_total": 200.0,
            "container_cpu_cfs_throttled_periods_total": 50.0,
            "container_cpu_cfs_throttled_seconds_total": 1.25,
            "container_cpu_usage_seconds_total": 31.5,
            "container_memory_working_set_bytes": 50e6,
            "kube_pod_container_resource_limits": 0.3,
        }

    def test_without_a_limit_none_is_told(self, first: Container) -> None:
        """Neither before one is set nor after it is taken away."""
        assert "kube_pod_container_resource_limits" not in values(first)
        first.limit_cpu(1.0)
        assert values(first)["kube_pod_container_resource_limits"] == 1.0
        first.limit_cpu(None)
        assert "kube_pod_container_resource_limits" not in values(first)

    def test_it_can_be_removed(self, first: Container, root: Path) -> None:
        """Nothing of it is left in any hierarchy."""
        first.remove()
        assert list(root.rglob(NAME)) == []

    def test_hierarchies_may_be_one(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where cpu and cpuacct are mounted together, as systemd does, they share one folder."""
        (root / "cpu,cpuacct").mkdir()
        (root / "memory").mkdir()
        for kind in ("cpu", "cpuacct"):
            (root / kind).symlink_to("cpu,cpuacct")
        files = {"cpu,cpuacct": {**FIRST["cpu"], **FIRST["cpuacct"]}, "memory": FIRST["memory"]}
        with kernel(monkeypatch, root, lambda path: write(path, files[path.parent.resolve().name])):
            container = make_container(NAME, root)
            container.limit_cpu(0.5)
            assert (root / "cpu,cpuacct" / NAME / "cpu.cfs_quota_us").read_text(encoding="utf-8") == "50000"
            assert len(values(container)) == 6
            assert len(container.entrances()) == 2
            container.remove()
        assert list(root.rglob(NAME)) == []


class TestVersion2:
    def test_processes_enter_one_folder(self, second: Container, root: Path) -> None:
        """All controllers share it."""
        assert second.entrances() == (root / NAME / "cgroup.procs",)

    @pytest.mark.parametrize(("cores", "quota"), [(2.5, "250000 100000"), (0.08, "8000 100000"), (None, "max 100000")])
    def test_a_limit_is_a_quota_of_each_period(
        self, second: Container, root: Path, cores: float | None, quota: str
    ) -> None:
        """Microseconds of CPU time in 100 ms; max takes the limit away."""
        second.limit_cpu(0.5)
        second.limit_cpu(cores)
        assert (root / NAME / "cpu.max").read_text(encoding="utf-8") == quota

    def test_figures(self, second: Container, root: Path) -> None:
        """In cAdvisor's names and units: seconds, and the working set without files that nobody uses."""
        stat = (
            "usage_usec 31500000\nuser_usec 1\nsystem_usec 1\nnr_periods 200\nnr_throttled 50\nthrottled_usec 1250000\n"
        )
        (root / NAME / "cpu.stat").write_text(stat)
        (root / NAME / "memory.current").write_text("70000000\n")
        (root / NAME / "memory.stat").write_text("anon 9\ninactive_file 20000000\n")
        second.limit_cpu(0.3)
        assert values(second) == {
            "container_cpu_cfs_periods_total": 200.0,
            "container_cpu_cfs_throttled_periods_total": 50.0,
            "container_cpu_cfs_throttled_seconds_total": 1.25,
            "container_cpu_usage_seconds_total": 31.5,
            "container_memory_working_set_bytes": 50e6,
            "kube_pod_container_resource_limits": 0.3,
        }

    def test_without_a_limit_none_is_told(self, second: Container) -> None:
        """The kernel then counts no periods, which is none so far."""
        found = values(second)
        assert "kube_pod_container_resource_limits" not in found
        assert found["container_cpu_cfs_periods_total"] == 0.0

    def test_it_can_be_removed(self, second: Container, root: Path) -> None:
        """Nothing of it is left."""
        second.remove()
        assert [path.name for path in root.iterdir()] == ["cgroup.controllers"]

    def test_without_the_cpu_controller_there_is_no_container(
        self, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where it is not passed on to children a limit cannot be set; the folder made to see that is removed."""
        (root / "cgroup.controllers").write_text("memory pids\n", encoding="utf-8")
        files = {name: text for name, text in SECOND.items() if not name.startswith("cpu.max")}
        with kernel(monkeypatch, root, lambda path: write(path, files)):
            assert isinstance(make_container(NAME, root), NoContainer)
        assert [path.name for path in root.iterdir()] == ["cgroup.controllers"]


def test_figures_are_those_of_each_scrape(second: Container, root: Path) -> None:
    """They are read anew each time; the limit has its unit, and counters are told as such."""
    server = serve_container(second)
    try:
        for usec in (1_000_000, 2_500_000):
            (root / NAME / "cpu.stat").write_text(f"usage_usec {usec}\n", encoding="utf-8")
            text = httpx.get(f"http://127.0.0.1:{server.server_address[1]}/metrics", trust_env=False).text
            assert f"container_cpu_usage_seconds_total{{{_labels()}}} {usec / 1e6}\n" in text
    finally:
        server.shutdown()
        server.server_close()
    second.limit_cpu(0.5)
    found = scraped(second)
    assert [dict(one.labels).get("unit") for one in found.samples if one.name.startswith("kube_")] == ["core"]
    assert [dict(one.labels).get("resource") for one in found.samples if one.name.startswith("kube_")] == ["cpu"]
    assert {name for name, kind in found.types.items() if kind == "gauge"} == {
        "container_memory_working_set_bytes",
        "kube_pod_container_resource_limits",
    }


def _labels() -> str:
    return ",".join(f'{name}="{value}"' for name, value in POD if name != "instance")


class TestNoContainer:
    def test_a_limit_is_refused(self) -> None:
        """It says what is needed; to have no limit needs nothing."""
        container = NoContainer()
        container.limit_cpu(None)
        with pytest.raises(OSError, match="a CPU limit needs a writable cgroup: run the lab as root"):
            container.limit_cpu(0.3)

    def test_there_is_nothing_to_enter_or_to_read(self) -> None:
        """The product is told that there is no sample, not that all are zero."""
        container = NoContainer()
        assert container.entrances() == ()
        assert list(container.samples()) == []
        with pytest.raises(UnusableExpositionError, match="no sample"):
            scraped(container)
        container.remove()

    @pytest.mark.parametrize("version", [1, 2])
    def test_it_is_what_there_is_where_none_may_be_made(
        self, root: Path, monkeypatch: pytest.MonkeyPatch, version: int
    ) -> None:
        """As for anybody but root, or in a container whose cgroups are read-only."""
        for kind in FIRST:
            (root / kind).mkdir()
        if version == 2:
            (root / "cgroup.controllers").touch()

        def refuse(path: Path, *_: object, **__: object) -> None:
            raise PermissionError(13, "Permission denied", str(path))

        monkeypatch.setattr(Path, "mkdir", refuse)
        assert isinstance(make_container(NAME, root), NoContainer)

    def test_it_is_what_there_is_without_cgroups(self, root: Path) -> None:
        """Nothing is mounted there, or not even the folder is."""
        assert isinstance(make_container(NAME, root), NoContainer)
        assert isinstance(make_container(NAME, root / "missing"), NoContainer)
