"""A simulated recording is read like a real one, and says what happened in the run."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from advisor.analysis import Options, analyse, load_source
from advisor.analysis.compare import compare
from advisor.analysis.comparisonrules import ComparisonRules
from advisor.analysis.points import point_of
from advisor.analysis.simulated import (
    DEFAULT_START,
    RecordingPlan,
    arguments_of,
    operator_of,
    record_simulation,
    version_of,
)
from advisor.analysis.simulatedlive import LiveOperator
from advisor.errors import OutputError
from advisor.model.comparison import Outcome
from advisor.model.report import Report
from advisor.sources.recording import RecordingSource
from advisor.sources.workloadfile import WorkloadFile
from advisor.twin.parameters import Faults, OperatorSettings, QueueKind, WorldParameters
from advisor.twin.result import RunResult
from advisor.twin.workload import Arrival, Existing, Restart, Workload, Writer

SETTINGS = OperatorSettings()
WORLD = WorldParameters()
BURST = Workload(
    arrivals=tuple(Arrival(6.0 + index / 100, f"team-{index % 3}/rc-{index}", 5) for index in range(60)),
    tail_seconds=5.0,
)
EXISTING = tuple(Existing(f"a/old-{index}", 2) for index in range(30))


def file_of(
    workload: Workload = BURST, settings: OperatorSettings = SETTINGS, world: WorldParameters = WORLD
) -> WorkloadFile:
    """What a workload file would say."""
    return WorkloadFile(workload, world, settings, 1)


def recorded(folder: Path, file: WorkloadFile, plan: RecordingPlan | None = None) -> tuple[RunResult, Report]:
    """A run, and what an analysis of its recording says."""
    result = record_simulation(file, folder, plan or RecordingPlan())
    report = analyse(RecordingSource(folder), Options())
    assert [note for note in report.source.notes if "no samples for" not in note.message] == []
    return result, report


VERDICTS = {
    "workers-saturated": file_of(),
    "client-throttled": file_of(settings=OperatorSettings(concurrency=16, qps=10.0, burst=20)),
    "hot-key": file_of(
        Workload(existing=EXISTING, arrivals=(Arrival(6.0, "a/big", 400),), tail_seconds=5.0),
        OperatorSettings(concurrency=4),
    ),
    "healthy": file_of(
        Workload(
            existing=EXISTING,
            arrivals=tuple(Arrival(3.0 + 2.0 * index, f"a/rc-{index}", 2) for index in range(20)),
            duration_seconds=50.0,
        ),
        OperatorSettings(concurrency=4),
    ),
    "cpu-limited": file_of(
        settings=OperatorSettings(concurrency=10, cpu_limit_cores=0.1),
        world=replace(WORLD, reconcile_seconds=0.006, request_cpu_seconds=0.001),
    ),
    "api-server-slow": file_of(
        settings=OperatorSettings(concurrency=4), world=replace(WORLD, request_seconds={"POST": 1.5})
    ),
    "error-retries": file_of(world=replace(WORLD, faults=Faults(pod_refused_ratio=0.5))),
    "resync-load": file_of(
        Workload(
            existing=tuple(Existing(f"a/old-{index}", 2) for index in range(400)),
            restarts=(Restart(20.0, 6.0),),
            duration_seconds=60.0,
        ),
        world=replace(WORLD, reconcile_seconds=0.05),
    ),
}


@pytest.mark.parametrize("code", VERDICTS)
def test_the_analysis_finds_what_was_put_in(code: str, tmp_path: Path) -> None:
    """Each situation gets its verdict, as from a real operator."""
    _, report = recorded(tmp_path, VERDICTS[code])
    assert report.findings[0].code == code


def test_a_writer_that_nobody_asked_for(tmp_path: Path) -> None:
    """One cluster is written all the time: it is named."""
    writer = Writer(("a/old-3",), 40.0, 5.0, 55.0)
    file = file_of(
        Workload(existing=EXISTING, writers=(writer,), duration_seconds=60.0), OperatorSettings(concurrency=4)
    )
    _, report = recorded(tmp_path, file)
    assert report.findings[0].code == "hot-key"
    assert report.findings[0].subject == "a/old-3"


def test_conflicts(tmp_path: Path) -> None:
    """Many workers and a cache that lags: the operator is in its own way."""
    file = file_of(settings=OperatorSettings(concurrency=16), world=replace(WORLD, watch_lag_seconds=0.2))
    result, report = recorded(tmp_path, file)
    assert result.conflicts > 20
    assert any(finding.code == "write-conflicts" for finding in report.findings)


class TestFigures:
    @pytest.mark.parametrize("queue", list(QueueKind))
    @pytest.mark.parametrize("limited", [False, True])
    def test_they_are_those_of_the_run(self, queue: QueueKind, limited: bool, tmp_path: Path) -> None:
        """Sums and counts are exact; what a log at info level tells is at most that."""
        settings = OperatorSettings(4, qps=10.0 if limited else 100.0, burst=20, queue=queue)
        result = record_simulation(file_of(settings=settings), tmp_path, RecordingPlan())
        loaded = load_source(RecordingSource(tmp_path))
        signals = loaded.observed.signals(loaded.info.window)
        assert loaded.info.window.seconds == pytest.approx(result.run_seconds, abs=0.002)
        main, shown = result.controller("raycluster"), signals.controller("raycluster")
        assert main is not None
        assert shown is not None
        assert shown.reconciles.value == sum(main.reconciles.values())
        assert shown.queue_wait_seconds_mean.value == pytest.approx(main.queue_wait_seconds_mean, rel=1e-9)
        assert shown.reconcile_seconds_mean.value == pytest.approx(main.reconcile_seconds_mean, rel=1e-9)
        busy = main.utilisation * settings.concurrency * result.run_seconds
        assert shown.busy_worker_seconds.value == pytest.approx(busy, rel=1e-6)
        by_key = sum(key.busy_seconds for key in signals.keys)
        assert 0.0 < by_key <= busy
        if queue is QueueKind.PRIORITY:
            # The lease's first write was before the first scrape.
            assert signals.client.limiter_wait_seconds_mean.value == pytest.approx(
                result.limiter_wait_seconds_mean, rel=0.01, abs=1e-9
            )
        else:
            assert signals.client.limiter_wait_seconds_mean.value is None
        assert (signals.settings.version, signals.settings.concurrency.value) == (version_of(settings), 4.0)
        assert (signals.settings.qps.value, signals.settings.burst.value) == (settings.qps, 20.0)

    def test_the_load_can_be_run_again(self, tmp_path: Path) -> None:
        """What arrived when and when it was ready is in the objects."""
        result = record_simulation(file_of(), tmp_path, RecordingPlan())
        point = point_of("again", load_source(RecordingSource(tmp_path))).point
        assert len(point.workload.arrivals) == len(BURST.arrivals)
        assert {one.workers for one in point.workload.arrivals} == {5}
        assert point.measured.makespan_seconds == pytest.approx(result.makespan_seconds, abs=0.01)
        assert point.measured.ready_seconds_mean == pytest.approx(result.ready_seconds_mean, abs=0.01)

    def test_two_settings_can_be_compared(self, tmp_path: Path) -> None:
        """More workers were better, and the comparison says so."""
        _, before = recorded(tmp_path / "before", file_of())
        _, after = recorded(tmp_path / "after", file_of(settings=replace(SETTINGS, concurrency=4)))
        assert compare(before, after, ComparisonRules()).outcome is Outcome.BETTER


class TestFiles:
    def test_the_same_bytes_each_time(self, tmp_path: Path) -> None:
        """Nothing of the clock or of chance is in a recording."""
        for name in ("one", "two"):
            record_simulation(file_of(), tmp_path / name, RecordingPlan())
        files = sorted(path.name for path in (tmp_path / "one").iterdir())
        assert files == ["metrics.om.gz", "objects.jsonl.gz", "operator.log.gz", "setup.json"]
        for name in files:
            assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()

    def test_what_the_setup_says(self, tmp_path: Path) -> None:
        """Version, arguments and times; not what was put in."""
        start = 1_700_000_000.0
        result, report = recorded(tmp_path, file_of(), RecordingPlan(interval_seconds=1.0, start=start))
        setup = json.loads((tmp_path / "setup.json").read_bytes())
        assert setup == {
            "operator": "kuberay",
            "version": "1.7.0",
            "args": arguments_of(SETTINGS),
            "simulated": True,
            "start": start,
            "end": pytest.approx(start + result.run_seconds, abs=0.001),
            "scrape_interval_seconds": 1.0,
        }
        assert report.source.window.start == start

    def test_all_series(self, tmp_path: Path) -> None:
        """As upstream one for each object, or one in all."""
        some = RecordingPlan()
        for name, plan in (("all", replace(some, selection=None)), ("some", some)):
            record_simulation(file_of(), tmp_path / name, plan)
        stores = {name: RecordingSource(tmp_path / name) for name in ("all", "some")}
        whole = {name: analyse(source, Options()) for name, source in stores.items()}
        assert whole["all"].findings == whole["some"].findings
        assert (tmp_path / "all" / "metrics.om.gz").stat().st_size > (
            tmp_path / "some" / "metrics.om.gz"
        ).stat().st_size

    def test_a_folder_that_holds_something(self, tmp_path: Path) -> None:
        """It is left as it is."""
        (tmp_path / "mine").write_text("keep", encoding="utf-8")
        with pytest.raises(OutputError, match="not empty"):
            record_simulation(file_of(), tmp_path, RecordingPlan())
        assert [path.name for path in tmp_path.iterdir()] == ["mine"]

    def test_a_folder_that_cannot_be_made(self, tmp_path: Path) -> None:
        """The error names it."""
        (tmp_path / "file").touch()
        with pytest.raises(OutputError, match="cannot be written"):
            record_simulation(file_of(), tmp_path / "file" / "folder", RecordingPlan())

    @pytest.mark.parametrize("is_new", [True, False])
    def test_an_end_in_the_middle(self, is_new: bool, tmp_path: Path) -> None:
        """What was written is taken back; a folder that was there stays."""

        def interrupt(text: str) -> None:
            if "10 s" in text:
                raise KeyboardInterrupt

        folder = tmp_path / "recording"
        if not is_new:
            folder.mkdir()
        with pytest.raises(KeyboardInterrupt):
            record_simulation(file_of(), folder, RecordingPlan(), interrupt)
        assert folder.exists() != is_new
        assert not is_new or list(tmp_path.iterdir()) == []


class TestLive:
    def test_it_follows_the_clock(self) -> None:
        """At its pace, and beyond the end of its workload."""
        clock = [100.0]
        operator = operator_of(file_of(), DEFAULT_START)
        live = LiveOperator(operator, 2.0, lambda: clock[0])
        assert live.log.read(0)[0][0].endswith('"lock":"kuberay/ray-operator-leader"}')
        clock[0] += 5.0
        assert live.catch_up() == 0.0
        assert live.seconds == 10.0
        assert not live.is_over
        lines, position = live.objects.read(0)
        assert len(lines) > len(BURST.arrivals)
        clock[0] += 60.0
        assert live.catch_up() == 0.0
        assert live.seconds == 130.0
        assert operator.is_over
        assert live.objects.read(position)[0]

    def test_whoever_scrapes_sees_the_present(self) -> None:
        """A scrape goes on to its own time."""
        clock = [0.0]
        live = LiveOperator(
            operator_of(file_of(settings=replace(SETTINGS, cpu_limit_cores=1.0)), 0.0), 1.0, lambda: clock[0]
        )
        clock[0] = 7.5
        names = {family.name for family in live.metrics()}
        assert live.seconds == 7.5
        assert "workqueue_depth" in names
        assert "kube_pod_container_resource_limits" in {family.name for family in live.container_metrics()}

    def test_one_that_has_begun(self) -> None:
        """It goes on from where it is, and after a restart its log tells the workers that it is then started with."""
        workload = Workload(existing=EXISTING, restarts=(Restart(30.0, 2.0, replace(SETTINGS, concurrency=7)),))
        operator = operator_of(file_of(replace(workload, duration_seconds=60.0)), DEFAULT_START)
        operator.live(20_000_000_000)
        clock = [100.0]
        live = LiveOperator(operator, 2.0, lambda: clock[0])
        assert live.seconds == 20.0
        clock[0] += 10.0
        live.catch_up()
        assert live.seconds == 40.0
        workers = [line for line in live.log.read(0)[0] if "worker count" in line]
        assert ['"worker count":1}' in line for line in workers] == [True] * 3 + [False] * 3
        assert all('"worker count":7}' in line for line in workers[3:])

    def test_a_machine_that_is_too_slow(self) -> None:
        """It says how far behind it is, and lets nobody wait for long."""
        times = iter(range(1000))
        live = LiveOperator(operator_of(file_of(), 0.0), 1000.0, lambda: float(next(times)))
        assert live.catch_up() > 900.0
        assert live.seconds < 1.0
