"""A workload to a recording: what a real operator would have shown under it, written as if it had been scraped."""

import random
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import msgspec

from advisor.analysis.loading import Progress, ignore_progress
from advisor.errors import OutputError
from advisor.knowledge.programs import FIXED_WORKERS, program_of
from advisor.model.raw import Selection
from advisor.signals.names import SELECTION
from advisor.sources.exposition import Exposition, Sample
from advisor.sources.openmetricswriter import GzipLines, SampleSpool
from advisor.sources.workloadfile import WorkloadFile
from advisor.twin.exposed import CONTROLLERS, Family, Labels, Operator, container_families, operator_families
from advisor.twin.parameters import OperatorSettings, QueueKind
from advisor.twin.result import RunResult
from advisor.twin.simulation import Simulation
from advisor.twin.watcher import Watcher

__all__ = [
    "DEFAULT_START",
    "RecordingPlan",
    "answer_of",
    "arguments_of",
    "operator_of",
    "record_simulation",
    "version_of",
]

DEFAULT_START = 1_767_225_600.0
"""2026-01-01 00:00 UTC: a run that is asked for twice is the same to the byte."""
_TARGET = (
    ("instance", "kuberay-operator-0:8080"),
    ("job", "kuberay-operator"),
    ("namespace", "kuberay"),
    ("pod", "kuberay-operator-0"),
)
"""What Prometheus adds to each series of the operator's own endpoint, unless it has such a label."""
_ALL = ("instance",)
_METRICS, _LOG, _OBJECTS, _SETUP = "metrics.om.gz", "operator.log.gz", "objects.jsonl.gz", "setup.json"


@dataclass(frozen=True, slots=True)
class RecordingPlan:
    """How to look at a run.

    Attributes:
        interval_seconds: from one scrape to the next.
        start: Unix seconds at which the run begins.
        selection: the samples to keep; None for all.
    """

    interval_seconds: float = 2.0
    start: float = DEFAULT_START
    selection: Selection | None = SELECTION


def operator_of(file: WorkloadFile, start: float, *, keeps_lines: bool = True) -> Operator:
    """The operator of a workload file, ready to run and looked at from the beginning.

    Args:
        file: what it says.
        start: Unix seconds at which the run begins.
        keeps_lines: whether it has a log and tells of changes of objects.
    """
    source = random.Random(file.seed)  # noqa: S311 - nothing secret
    watcher = Watcher(start_ms=round(start * 1000), keeps_lines=keeps_lines)
    operator = Operator(Simulation(file.workload, file.settings, file.world, source), watcher)
    workers = dict.fromkeys((*CONTROLLERS, *sorted(file.settings.gates)), file.settings.concurrency)
    operator.watcher.leads(0, workers | {name: FIXED_WORKERS[name] for name in workers.keys() & FIXED_WORKERS.keys()})
    return operator


def version_of(settings: OperatorSettings) -> str:
    """The release of KubeRay that is simulated: the newest with that work queue."""
    return "1.7.0" if settings.queue is QueueKind.PRIORITY else "1.6.1"


def arguments_of(settings: OperatorSettings) -> list[str]:
    """The operator's command line."""
    return [
        "kuberay-operator",
        f"--reconcile-concurrency={settings.concurrency}",
        f"--qps={settings.qps:g}",
        f"--burst={settings.burst}",
        "--enable-metrics=true",
        "--enable-leader-election=true",
        *_feature_gates(settings),
    ]


def _feature_gates(settings: OperatorSettings) -> list[str]:
    programs = (program_of(name) for name in sorted(settings.gates))
    gates = ",".join(f"{one.feature_gate}=true" for one in programs if one is not None)
    return [f"--feature-gates={gates}"] if gates else []


def record_simulation(
    file: WorkloadFile, folder: Path, plan: RecordingPlan, progress: Progress = ignore_progress
) -> RunResult:
    """Run a workload to its end and write a recording of it (docs/recording-format.md).

    Args:
        file: the workload with its world, settings and seed.
        folder: where to; new or empty.
        plan: how to look at it.
        progress: is told each step.

    Returns:
        What the run came to.

    Raises:
        OutputError: the folder holds something or cannot be written to; what was written before is taken back.
    """
    try:
        is_new = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise OutputError("the folder is not empty", where=str(folder), hint="name a new folder with --out")
        try:
            return _Writing(file, folder, plan).run(progress)
        except BaseException:
            _take_back(folder, is_new=is_new)
            raise
    except OSError as error:
        raise OutputError(
            f"cannot be written: {error.strerror}", where=str(folder), hint="check the place and its permissions"
        ) from error


def _take_back(folder: Path, *, is_new: bool) -> None:
    with suppress(OSError):
        for name in (_METRICS, _LOG, _OBJECTS, _SETUP):
            (folder / name).unlink(missing_ok=True)
        if is_new:
            folder.rmdir()


class _Writing:
    """One recording on its way."""

    def __init__(self, file: WorkloadFile, folder: Path, plan: RecordingPlan) -> None:
        self._file = file
        self._folder = folder
        self._plan = plan
        self._operator = operator_of(file, plan.start)
        self._spool = SampleSpool(folder / _METRICS)
        self._log = GzipLines(folder / _LOG)
        self._objects = GzipLines(folder / _OBJECTS)

    def run(self, progress: Progress) -> RunResult:
        """Write everything."""
        operator = self._operator
        engine = operator.simulation.engine
        try:
            for _ in operator.looks(round(self._plan.interval_seconds * 1e9)):
                progress(f"simulating: {engine.now_ns / 1e9:.0f} s")
                self._look()
            progress("sorting samples")
            self._spool.sort()
        finally:
            for target in (self._spool, self._log, self._objects):
                target.close()
        self._write_setup()
        return operator.simulation.result()

    def _look(self) -> None:
        watcher = self._operator.watcher
        now_ns = self._operator.simulation.engine.now_ns
        exposition = exposition_of(self._operator, self._plan.selection)
        self._spool.take(watcher.stamps.unix_seconds(now_ns), exposition)
        for lines, target in ((watcher.log.lines, self._log), (watcher.objects.lines, self._objects)):
            target.write(lines)
            lines.clear()

    def _write_setup(self) -> None:
        settings, stamps = self._file.settings, self._operator.watcher.stamps
        setup = {
            "operator": "kuberay",
            "version": version_of(settings),
            "args": arguments_of(settings),
            "simulated": True,
            "start": stamps.unix_seconds(0),
            "end": stamps.unix_seconds(self._operator.simulation.engine.now_ns),
            "scrape_interval_seconds": self._plan.interval_seconds,
        }
        (self._folder / _SETUP).write_bytes(msgspec.json.format(msgspec.json.encode(setup), indent=1) + b"\n")


def exposition_of(operator: Operator, selection: Selection | None) -> Exposition:
    """One scrape of the operator, and of what exposes its container, with the labels that Prometheus adds."""
    own, foreign = list(operator_families(operator)), list(container_families(operator))
    samples = [
        *(Sample(name, _with_target(labels), value) for name, labels, value in _selected(own, selection)),
        Sample("up", _TARGET, float(operator.is_up)),
        *(Sample(*sample) for family in foreign for sample in family.samples),
    ]
    types = {family.name: family.kind for family in (*own, *foreign)} | {"up": "gauge"}
    return Exposition(samples, types, 0, ended=True)


def answer_of(operator: Operator, selection: Selection, instance: str) -> Exposition:
    """What a scrape of the operator's own endpoint would come to, without writing and reading its text.

    Args:
        operator: that is up.
        selection: the samples to keep.
        instance: value of the label ``instance``, as the scraper gives it.
    """
    families, summed = list(operator_families(operator)), selection.aggregated
    samples = [
        Sample(name, _with_instance(labels, instance) if "instance" in summed.get(name, _ALL) else labels, value)
        for name, labels, value in _selected(families, selection)
    ]
    return Exposition(samples, {one.name: one.kind for one in families if one.samples}, 0, ended=True)


@lru_cache(maxsize=4096)
def _with_instance(labels: Labels, instance: str) -> Labels:
    return tuple(sorted((*labels, ("instance", instance))))


@lru_cache(maxsize=4096)
def _with_target(labels: Labels) -> Labels:
    own = {label for label, _ in labels}
    return tuple(sorted((*labels, *(each for each in _TARGET if each[0] not in own))))


def _selected(families: Iterable[Family], selection: Selection | None) -> Iterator[tuple[str, Labels, float]]:
    """Samples that are selected, those of single objects summed."""
    for family in families:
        kept = None if selection is None else selection.aggregated.get(family.name)
        if kept is None:
            yield from (one for one in family.samples if selection is None or one.name in selection.names)
            continue
        sums: dict[Labels, float] = {}
        for sample in family.samples:
            shown = tuple(label for label in sample.labels if label[0] in kept)
            sums[shown] = sums.get(shown, 0.0) + sample.value
        for labels, value in sums.items():
            # No label of single objects, and so no namespace of theirs, is left.
            yield family.name, labels, value
