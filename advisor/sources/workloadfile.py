"""A workload file: what happens to an operator, as YAML that is checked strictly (docs/workload-format.md)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Final

import msgspec

from advisor.errors import InputFormatError
from advisor.sources.strictyaml import load_document, refusal, refuse_unreal
from advisor.sources.workloadspec import (
    ArrivalSpec,
    CronJobSpec,
    ExistingSpec,
    FaultSpec,
    JobSpec,
    Paced,
    Verb,
    WorkloadSpec,
    WorldSpec,
)
from advisor.twin.parameters import Faults, OperatorSettings, QueueKind, WorldParameters
from advisor.twin.workload import Arrival, CronJob, Deletion, Existing, Restart, Scaling, Workload, Writer

__all__ = ["WorkloadFile", "read_workload"]

_LARGEST_BYTES = 256 * 1024
"""A workload file is written by a person; anything larger is something else."""
_MOST_OBJECTS, _MOST_PODS, _MOST_WRITES = 50_000, 500_000, 1_000_000
"""More than any operator has seen, and what a run still holds in memory."""
_LIMIT_SECONDS = 7200.0
"""How long a run without a stated end may go on after the last thing that happens from outside."""
_KINDS = {"clusters": "RayCluster", "jobs": "RayJob", "services": "RayService"}
_VERBS: Final[tuple[Verb, ...]] = ("POST", "PUT", "PATCH", "DELETE")
_MEAN_TOLERANCE = 0.01


@dataclass(frozen=True, slots=True)
class WorkloadFile:
    """What a workload file says.

    Attributes:
        workload: what happens.
        world: the times around the operator.
        settings: of the operator.
        seed: of the random numbers of a run.
    """

    workload: Workload
    world: WorldParameters
    settings: OperatorSettings
    seed: int


@dataclass(frozen=True, slots=True)
class _Object:
    """One object under a name of the file; it is there from ``at_seconds`` on."""

    key: str
    kind: str
    at_seconds: float


def read_workload(path: Path) -> WorkloadFile:
    """Read and check a workload file.

    Raises:
        InputNotFoundError: the file cannot be opened.
        InputFormatError: it is not YAML, has an unknown key or an impossible value; the error names the path in it.
    """
    document = load_document(path, kind="workload file", largest_bytes=_LARGEST_BYTES, instead="was a recording meant?")
    if not isinstance(document, dict):
        raise InputFormatError("holds no mapping", where=str(path), hint="see docs/workload-format.md")
    try:
        refuse_unreal(document)
        return _Builder(msgspec.convert(document, WorkloadSpec)).build()
    except msgspec.ValidationError as error:
        raise refusal(error, path, WorkloadSpec, "docs/workload-format.md") from error


def _refuse(message: str, place: str) -> msgspec.ValidationError:
    return msgspec.ValidationError(f"{message} - at `{place}`")


class _Builder:
    """From names and numbers to single objects and events."""

    def __init__(self, spec: WorkloadSpec) -> None:
        self.spec = spec
        self.random = Random(spec.seed)  # noqa: S311 - nothing secret
        self.objects: dict[str, list[_Object]] = {}
        self.existing: list[Existing] = []
        self.arrivals: list[Arrival] = []

    def build(self) -> WorkloadFile:
        """All of it.

        Raises:
            ValidationError: parts contradict each other; the message ends with the place.
        """
        spec = self.spec
        self._check_size()
        for name, one in spec.existing.items():
            self._add_existing(name, one)
        for section in _KINDS:
            for name, group in getattr(spec, section).items():
                self._add_arrivals(section, name, group)
        cron_jobs = self._cron_jobs()
        scalings, deletions, writers = self._scalings(), self._deletions(), self._writers()
        if spec.duration_seconds is None and not self.arrivals:
            raise _refuse("is needed where nothing is created, as the run would have no end", "$.duration_seconds")
        events: tuple[Arrival | Scaling | Deletion, ...] = (*self.arrivals, *scalings, *deletions)
        last = max((event.at_seconds for event in events), default=0.0)
        workload = Workload(
            existing=tuple(self.existing),
            arrivals=tuple(sorted(self.arrivals, key=lambda one: one.at_seconds)),
            scalings=tuple(scalings),
            deletions=tuple(deletions),
            writers=tuple(writers),
            restarts=tuple(Restart(one.at_seconds, one.down_seconds) for one in spec.restarts),
            cron_jobs=tuple(cron_jobs),
            duration_seconds=spec.duration_seconds,
            tail_seconds=spec.tail_seconds,
            limit_seconds=max(last + _LIMIT_SECONDS, spec.duration_seconds or 0.0),
        )
        return WorkloadFile(workload, _world(spec), self._settings(), spec.seed)

    def _check_size(self) -> None:
        objects = pods = 0
        for section in ("existing", *_KINDS):
            for name, one in getattr(self.spec, section).items():
                objects += one.count
                pods += one.count * (1 + one.workers)
                if objects > _MOST_OBJECTS or pods > _MOST_PODS:
                    message = f"with all before it more than {_MOST_OBJECTS:,} objects or {_MOST_PODS:,} Pods"
                    raise _refuse(message, f"$.{section}.{name}.count")

    def _settings(self) -> OperatorSettings:
        operator = self.spec.operator
        if operator.qps == 0:
            raise _refuse("0 lets nothing through; below 0 there is no limiter", "$.operator.qps")
        queue = QueueKind(operator.queue)
        if queue is QueueKind.CLASSIC and (newer := operator.gates - {"raycronjob"}):
            message = f"{min(newer)} came with KubeRay 1.7, whose queue is priority"
            raise _refuse(message, "$.operator.gates")
        return OperatorSettings(
            concurrency=operator.concurrency,
            qps=-1.0 if operator.qps < 0 else operator.qps,
            burst=operator.burst,
            cpu_limit_cores=operator.cpu_limit_cores,
            queue=queue,
            # Both came with the same release (controller-runtime 0.23).
            events_as_series=queue is QueueKind.PRIORITY,
            resync_seconds=operator.resync_seconds,
            replicas=operator.replicas,
            gates=frozenset(operator.gates),
        )

    def _cron_jobs(self) -> list[CronJob]:
        found: list[CronJob] = []
        for name, one in self.spec.cron_jobs.items():
            place = f"$.cron_jobs.{name}"
            if "raycronjob" not in self.spec.operator.gates:
                raise _refuse("nobody runs these without raycronjob in $.operator.gates", place)
            keys = self._keys("cron_jobs", name, one)
            self.objects[name] = []
            ends = self.spec.duration_seconds or _LIMIT_SECONDS
            runs = max(0.0, ends - one.from_seconds) / one.every_seconds * len(keys)
            if runs > _MOST_OBJECTS or runs * (1 + one.workers) > _MOST_PODS:
                raise _refuse(f"more than {_MOST_OBJECTS:,} RayJobs or {_MOST_PODS:,} Pods", f"{place}.every_seconds")
            found.extend(
                CronJob(
                    key,
                    period_seconds=one.every_seconds,
                    from_seconds=one.from_seconds,
                    workers=one.workers,
                    groups=one.groups,
                    run_seconds=one.run_seconds,
                    makes_job=one.makes_job,
                    is_shut_down=one.is_shut_down,
                )
                for key in keys
            )
        return found

    def _keys(self, section: str, name: str, one: ExistingSpec | ArrivalSpec | CronJobSpec) -> list[str]:
        if name in self.objects:
            raise _refuse("the name stands for other objects already", f"$.{section}.{name}")
        spaces = one.namespaces
        return [f"{spaces[index % len(spaces)]}/{name}-{index}" for index in range(one.count)]

    def _add_existing(self, name: str, one: ExistingSpec) -> None:
        keys = self._keys("existing", name, one)
        self.objects[name] = [_Object(key, one.kind, 0.0) for key in keys]
        if one.run_seconds is not None and one.kind != "RayJob":
            raise _refuse(f"belongs to RayJobs, not to a {one.kind}", f"$.existing.{name}.run_seconds")
        self.existing.extend(Existing(key, one.workers, one.groups, one.kind, one.run_seconds) for key in keys)

    def _add_arrivals(self, section: str, name: str, one: ArrivalSpec) -> None:
        keys = self._keys(section, name, one)
        times = self._times(one, one.count, f"$.{section}.{name}")
        kind = _KINDS[section]
        self.objects[name] = [_Object(key, kind, at) for at, key in zip(times, keys, strict=True)]
        arrivals = [Arrival(each.at_seconds, each.key, one.workers, one.groups, kind) for each in self.objects[name]]
        if isinstance(one, JobSpec):
            arrivals = [
                replace(each, run_seconds=one.run_seconds, makes_job=one.makes_job, is_shut_down=one.is_shut_down)
                for each in arrivals
            ]
        self.arrivals.extend(arrivals)

    def _times(self, paced: Paced, count: int, place: str) -> list[float]:
        """When each of so many happens."""
        start, rate, over = paced.from_seconds, paced.per_second, paced.over_seconds
        by_chance = paced.spacing == "random"
        if rate is not None and over is not None:
            raise _refuse("per_second and over_seconds exclude each other", f"{place}.over_seconds")
        if rate is not None:
            gaps = [self.random.expovariate(rate) if by_chance else 1.0 / rate for _ in range(count - 1)]
            return [start + at for at in accumulate(gaps, initial=0.0)]
        if over is not None:
            shares = sorted(self.random.random() if by_chance else index / count for index in range(count))
            return [start + over * share for share in shares]
        return [start] * count

    def _named(self, name: str, count: int | None, place: str) -> list[_Object]:
        if not self.objects.get(name):
            raise _refuse(f"{name!r} names no objects of this file", f"{place}.of")
        objects = self.objects[name]
        if count is not None and count > len(objects):
            raise _refuse(f"{name!r} has {len(objects)} objects", f"{place}.count")
        return objects[:count]

    def _scalings(self) -> list[Scaling]:
        found = []
        for index, one in enumerate(self.spec.scale):
            place = f"$.scale[{index}]"
            objects = _only_clusters(self._named(one.of, one.count, place), place)
            for at, each in self._when(one, objects, place):
                found.append(Scaling(at, each.key, one.workers))
        return sorted(found, key=lambda one: one.at_seconds)

    def _deletions(self) -> list[Deletion]:
        found: list[Deletion] = []
        for index, one in enumerate(self.spec.delete):
            place = f"$.delete[{index}]"
            gone = {deletion.key for deletion in found}
            for at, each in self._when(one, self._named(one.of, one.count, place), place):
                if each.key in gone:
                    raise _refuse(f"{each.key} is deleted already", f"{place}.of")
                found.append(Deletion(at, each.key, each.kind))
        return sorted(found, key=lambda one: one.at_seconds)

    def _when(self, paced: Paced, objects: Sequence[_Object], place: str) -> Iterator[tuple[float, _Object]]:
        times = self._times(paced, len(objects), place)
        for at, each in zip(times, objects, strict=True):
            if at < each.at_seconds:
                message = f"{each.key} is created at {each.at_seconds:g} s, after {at:g} s"
                raise _refuse(message, f"{place}.from_seconds")
            yield at, each

    def _writers(self) -> list[Writer]:
        found = []
        for index, one in enumerate(self.spec.writers):
            place = f"$.writers[{index}]"
            objects = _only_clusters(self._named(one.of, one.count, place), place)
            seconds = one.to_seconds - one.from_seconds
            if seconds <= 0:
                raise _refuse(f"not after from_seconds ({one.from_seconds:g})", f"{place}.to_seconds")
            if seconds * one.writes_per_second > _MOST_WRITES:
                raise _refuse(f"more than {_MOST_WRITES:,} writes in all", f"{place}.writes_per_second")
            keys = tuple(each.key for each in objects)
            found.append(Writer(keys, one.writes_per_second, one.from_seconds, one.to_seconds))
        return found


def _only_clusters(objects: list[_Object], place: str) -> list[_Object]:
    if objects[0].kind != "RayCluster":
        raise _refuse(f"names a {objects[0].kind}; only RayClusters can be", f"{place}.of")
    return objects


def _world(spec: WorkloadSpec) -> WorldParameters:
    world = spec.world
    for name in ("request_spread", "pod_start_spread"):
        factors: tuple[float, ...] = getattr(world, name)
        mean = sum(factors) / len(factors)
        if abs(mean - 1.0) > _MEAN_TOLERANCE:
            raise _refuse(f"the factors have a mean of {mean:.3g}, not 1", f"$.world.{name}")
    work = 1.0 / world.server_requests_per_second
    return WorldParameters(
        request_seconds=_delays(world, work),
        request_spread=world.request_spread,
        server_work_seconds=work,
        pod_work_seconds=work,
        pod_start_seconds=world.pod_start_seconds,
        pod_start_spread=world.pod_start_spread,
        pod_starters=world.pod_starters,
        pod_stop_seconds=world.pod_stop_seconds,
        watch_lag_seconds=world.watch_lag_seconds,
        watch_share=world.watch_share,
        reconcile_seconds=world.reconcile_seconds,
        request_cpu_seconds=world.request_cpu_seconds,
        event_cpu_seconds=world.event_cpu_seconds,
        dashboard_seconds=world.dashboard_seconds,
        dashboard_timeout_seconds=world.dashboard_timeout_seconds,
        certificate_seconds=world.certificate_seconds,
        faults=_faults(spec.faults),
    )


def _faults(faults: FaultSpec) -> Faults:
    if faults.to_seconds is not None and faults.to_seconds <= faults.from_seconds:
        raise _refuse(f"not after from_seconds ({faults.from_seconds:g})", "$.faults.to_seconds")
    return Faults(
        throttled_ratio=faults.throttled_ratio,
        retry_after_seconds=faults.retry_after_seconds,
        pod_refused_ratio=faults.pod_refused_ratio,
        pod_refused_status=faults.pod_refused_status,
        pod_refused_namespace=faults.pod_refused_namespace or "",
        pod_pending_ratio=faults.pod_pending_ratio,
        pod_stuck_ratio=faults.pod_stuck_ratio,
        dashboard_timeout_ratio=faults.dashboard_timeout_ratio,
        from_seconds=faults.from_seconds,
        to_seconds=faults.to_seconds,
    )


def _delays(world: WorldSpec, work: float) -> dict[str, float]:
    """Time of a request apart from the server's own work, by verb."""
    told = world.request_seconds_by_verb
    found: dict[str, float] = {}
    for verb in _VERBS:
        seconds = told.get(verb, world.request_seconds)
        if seconds <= work:
            message = f"{seconds:g} s is no more than the server's own work on a request ({work:g} s)"
            raise _refuse(message, f"$.world.request_seconds{f'_by_verb.{verb}' if verb in told else ''}")
        found[verb] = seconds - work
    return found
