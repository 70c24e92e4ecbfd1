"""Workloads that cannot be: each is rejected with the field that is wrong and what it must be."""

import math
from collections.abc import Iterable

from advisor.twin.owners import OWNED_SUFFIX
from advisor.twin.workload import KINDS, Arrival, Existing, Workload

__all__ = ["WorkloadError", "check"]

_KEY_PARTS = 2


class WorkloadError(ValueError):
    """A workload that cannot be; the message names the field by its path."""


def check(workload: Workload) -> None:
    """Reject a workload that cannot be run, or that would not do what it says.

    Raises:
        WorkloadError: a time, number or kind is out of range, a key is malformed or given twice, something is to happen
            to an object that is not there, or the run has no end.
    """
    _check_objects("existing", workload.existing)
    _check_objects("arrivals", workload.arrivals)
    _Objects(workload).check()
    _check_restarts(workload)
    _check_cron_jobs(workload)
    _check_end(workload)


class _Objects:
    """Which objects are there, and from when."""

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        # From when each is there, by kind and key.
        self._since: dict[tuple[str, str], float] = {}

    def check(self) -> None:
        """Check all that refers to an object."""
        workload = self._workload
        for place, one in enumerate(workload.existing):
            self._add(f"existing[{place}]", one, -math.inf)
        for place, arrival in enumerate(workload.arrivals):
            self._add(f"arrivals[{place}]", arrival, arrival.at_seconds)
        self._check_owned()
        for place, scaling in enumerate(workload.scalings):
            path = f"scalings[{place}]"
            _at_least_zero(f"{path}.workers", scaling.workers)
            self._check_there(path, "RayCluster", scaling.key, scaling.at_seconds)
        for place, deletion in enumerate(workload.deletions):
            _one_of(f"deletions[{place}].kind", deletion.kind, KINDS)
            self._check_there(f"deletions[{place}]", deletion.kind, deletion.key, deletion.at_seconds)
        for place, writer in enumerate(workload.writers):
            self._check_writer(f"writers[{place}]", place)
            for number, key in enumerate(writer.keys):
                if ("RayCluster", key) not in self._since:
                    raise WorkloadError(f"writers[{place}].keys[{number}]: there is no RayCluster {key}")

    def _add(self, path: str, one: Existing | Arrival, since: float) -> None:
        identity = (one.kind, one.key)
        if identity in self._since:
            raise WorkloadError(f"{path}.key: there is another {one.kind} {one.key}")
        self._since[identity] = since

    def _check_owned(self) -> None:
        """RayJobs and RayServices bring RayClusters, whose names must be free."""
        owned: dict[str, str] = {}
        for kind, key in self._since:
            if kind == "RayCluster":
                continue
            cluster = f"{key}{OWNED_SUFFIX}"
            other = owned.get(key)
            if other is not None:
                raise WorkloadError(f"the {kind} and the {other} {key} would both have the RayCluster {cluster}")
            if ("RayCluster", cluster) in self._since:
                raise WorkloadError(f"the RayCluster {cluster} has the name of the one that the {kind} {key} has")
            owned[key] = kind

    def _check_there(self, path: str, kind: str, key: str, at_seconds: float) -> None:
        _at_least_zero(f"{path}.at_seconds", at_seconds)
        since = self._since.get((kind, key))
        if since is None:
            raise WorkloadError(f"{path}.key: there is no {kind} {key}")
        if at_seconds < since:
            raise WorkloadError(
                f"{path}.at_seconds is {at_seconds:g}, before the {kind} {key} is created at {since:g} seconds"
            )

    def _check_writer(self, path: str, place: int) -> None:
        writer = self._workload.writers[place]
        if not writer.keys:
            raise WorkloadError(f"{path}.keys must not be empty")
        if not 0.0 < writer.writes_per_second < math.inf:
            raise WorkloadError(f"{path}.writes_per_second must be above 0, not {writer.writes_per_second:g}")
        _at_least_zero(f"{path}.from_seconds", writer.from_seconds)
        if not writer.from_seconds < writer.to_seconds < math.inf:
            raise WorkloadError(f"{path}.to_seconds must be after from_seconds, not {writer.to_seconds:g}")


def _check_objects(name: str, objects: Iterable[Existing | Arrival]) -> None:
    for place, one in enumerate(objects):
        path = f"{name}[{place}]"
        _check_key(f"{path}.key", one.key)
        _one_of(f"{path}.kind", one.kind, KINDS)
        _at_least_zero(f"{path}.workers", one.workers)
        if one.groups < 1:
            raise WorkloadError(f"{path}.groups must be at least 1, not {one.groups}")
        if one.run_seconds is not None:
            _at_least_zero(f"{path}.run_seconds", one.run_seconds)
        if isinstance(one, Arrival):
            _at_least_zero(f"{path}.at_seconds", one.at_seconds)


def _check_restarts(workload: Workload) -> None:
    up_seconds = 0.0
    for place, restart in sorted(enumerate(workload.restarts), key=lambda entry: entry[1].at_seconds):
        path = f"restarts[{place}]"
        _at_least_zero(f"{path}.at_seconds", restart.at_seconds)
        _at_least_zero(f"{path}.down_seconds", restart.down_seconds)
        if restart.at_seconds < up_seconds:
            raise WorkloadError(f"{path}.at_seconds is {restart.at_seconds:g}, when the operator is still down")
        up_seconds = restart.at_seconds + restart.down_seconds


def _check_cron_jobs(workload: Workload) -> None:
    keys: set[str] = set()
    for place, job in enumerate(workload.cron_jobs):
        path = f"cron_jobs[{place}]"
        _check_key(f"{path}.key", job.key)
        if job.key in keys:
            raise WorkloadError(f"{path}.key: there is a RayCronJob {job.key} already")
        keys.add(job.key)
        if not 0.0 < job.period_seconds < math.inf:
            raise WorkloadError(f"{path}.period_seconds must be above 0, not {job.period_seconds:g}")
        _at_least_zero(f"{path}.from_seconds", job.from_seconds)
        _at_least_zero(f"{path}.workers", job.workers)


def _check_end(workload: Workload) -> None:
    _at_least_zero("tail_seconds", workload.tail_seconds)
    if not 0.0 < workload.limit_seconds < math.inf:
        raise WorkloadError(f"limit_seconds must be above 0, not {workload.limit_seconds:g}")
    if workload.duration_seconds is not None:
        if not 0.0 < workload.duration_seconds < math.inf:
            raise WorkloadError(f"duration_seconds must be above 0, not {workload.duration_seconds:g}")
        if workload.duration_seconds > workload.limit_seconds:
            raise WorkloadError(
                f"duration_seconds is {workload.duration_seconds:g}, above limit_seconds, {workload.limit_seconds:g}"
            )
    elif not workload.arrivals and not workload.scalings:
        raise WorkloadError("duration_seconds must be given where nothing arrives and nothing is scaled")


def _check_key(path: str, key: str) -> None:
    parts = key.split("/")
    if len(parts) != _KEY_PARTS or not all(parts):
        raise WorkloadError(f'{path} must be "namespace/name", not "{key}"')


def _one_of(path: str, value: str, values: tuple[str, ...]) -> None:
    if value not in values:
        raise WorkloadError(f'{path} must be one of {", ".join(values)}, not "{value}"')


def _at_least_zero(path: str, value: float) -> None:
    if not 0.0 <= value < math.inf:
        raise WorkloadError(f"{path} must be at least 0, not {value:g}")
