"""Samples, log records and object changes from short descriptions, for every test that starts from raw data."""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from advisor.model.raw import LogRecord, ObjectChange, Series, SeriesStore, Setup, Subject
from advisor.model.signal import Signal
from advisor.signals.instances import Instances
from advisor.signals.logdigest import LogDigest
from advisor.signals.objecttimeline import ObjectTimeline
from advisor.signals.observations import Observations

ORIGIN: Final = "metrics.om.gz"

_COLUMNS: Final[Mapping[str, tuple[str, Mapping[str, str]]]] = {
    "workers": ("controller_runtime_max_concurrent_reconciles", {}),
    "active": ("controller_runtime_active_workers", {}),
    "success": ("controller_runtime_reconcile_total", {"result": "success"}),
    "error": ("controller_runtime_reconcile_total", {"result": "error"}),
    "requeue": ("controller_runtime_reconcile_total", {"result": "requeue"}),
    "requeue_after": ("controller_runtime_reconcile_total", {"result": "requeue_after"}),
    "errors": ("controller_runtime_reconcile_errors_total", {}),
    "terminal": ("controller_runtime_terminal_reconcile_errors_total", {}),
    "time_sum": ("controller_runtime_reconcile_time_seconds_sum", {}),
    "time_count": ("controller_runtime_reconcile_time_seconds_count", {}),
    "depth": ("workqueue_depth", {"priority": "0"}),
    "initial": ("workqueue_depth", {"priority": "-100"}),
    "classic": ("workqueue_depth", {"priority": ""}),
    "adds": ("workqueue_adds_total", {}),
    "retries": ("workqueue_retries_total", {}),
    "wait": ("workqueue_queue_duration_seconds_sum", {}),
    "gets": ("workqueue_queue_duration_seconds_count", {}),
    "work": ("workqueue_work_duration_seconds_sum", {}),
    "done": ("workqueue_work_duration_seconds_count", {}),
    "unfinished": ("workqueue_unfinished_work_seconds", {}),
    "longest": ("workqueue_longest_running_processor_seconds", {}),
}


def series(name: str, labels: Mapping[str, str], samples: Mapping[float, float]) -> Series:
    """One series: ``series("up", {}, {0: 1, 10: 1})``."""
    return Series(name, dict(labels), array("d", samples), array("d", samples.values()))


def every(step: float, *values: float, start: float = 0.0) -> dict[float, float]:
    """Samples at equal distance: ``every(10, 1, 2)`` is ``{0: 1, 10: 2}``."""
    return {start + step * index: value for index, value in enumerate(values)}


def store(*found: Series, origin: str = ORIGIN) -> SeriesStore:
    """A store of these series."""
    return SeriesStore(found, origin=origin)


def instances(*found: Series) -> Instances:
    """What these series tell about processes."""
    return Instances(store(*found))


def controller(
    name: str = "raycluster",
    times: Sequence[float] = (0.0, 10.0, 20.0),
    *,
    instance: str = "",
    given: Mapping[str, Sequence[float]] | None = None,
    **columns: Sequence[float],
) -> list[Series]:
    """Series of one controller, one column a series; a column shorter than ``times`` begins later.

    Columns: workers, active, success, error, requeue, requeue_after, errors, terminal, time_sum, time_count, depth
    (priority 0), initial (priority -100), classic (no priority), adds, retries, wait, gets, work, done, unfinished,
    longest; ``given`` are more of them.
    """
    found = []
    for column, numbers in {**(given or {}), **columns}.items():
        metric, labels = _COLUMNS[column]
        every_label = {"controller": name, **labels, **({"instance": instance} if instance else {})}
        taken = times[len(times) - len(numbers) :]
        found.append(series(metric, every_label, dict(zip(taken, numbers, strict=True))))
    return found


def buckets(
    name: str,
    labels: Mapping[str, str],
    bounds: Mapping[str, Mapping[float, float]],
) -> list[Series]:
    """The ``_bucket`` series of a histogram: cumulative samples by the text of the bound."""
    return [series(f"{name}_bucket", {**labels, "le": bound}, samples) for bound, samples in bounds.items()]


def histogram(
    name: str,
    labels: Mapping[str, str],
    *,
    total: Mapping[float, float],
    count: Mapping[float, float],
    bounds: Mapping[str, Mapping[float, float]] | None = None,
) -> list[Series]:
    """All series of a histogram."""
    return [
        *buckets(name, labels, bounds or {}),
        series(f"{name}_sum", labels, total),
        series(f"{name}_count", labels, count),
    ]


def requests(code: str, method: str, samples: Mapping[float, float], **labels: str) -> Series:
    """One ``rest_client_requests_total`` series."""
    return series("rest_client_requests_total", {"code": code, "method": method, **labels}, samples)


def record(
    time: float,
    subject: Subject = Subject.LINE,
    name: str = "a",
    reconcile_id: str = "1",
    *,
    controller: str = "raycluster",
    namespace: str = "team",
    delay_seconds: float | None = None,
    detail: str = "",
    exact: bool = False,
) -> LogRecord:
    """One log record of a key."""
    return LogRecord(
        time=time,
        subject=subject,
        controller=controller,
        namespace=namespace,
        name=name,
        reconcile_id=reconcile_id,
        delay_seconds=delay_seconds,
        detail=detail,
        exact=exact,
    )


def digest(*records: LogRecord) -> LogDigest:
    """The condensed log of these records."""
    result = LogDigest()
    for one in records:
        result.add(one)
    return result


def cluster(
    t: float,
    event: str,
    name: str = "a",
    *,
    state: str | None = None,
    desired: int | None = None,
    ready_workers: int | None = None,
    generation: int | None = None,
    observed: int | None = None,
) -> ObjectChange:
    """One change of a RayCluster."""
    return ObjectChange(
        t=t,
        event=event,
        kind="RayCluster",
        namespace="team",
        name=name,
        state=state,
        desired=desired,
        ready_workers=ready_workers,
        generation=generation,
        observed=observed,
    )


def pod(t: float, event: str, name: str, *, of: str | None = "a", ready: bool | None = None) -> ObjectChange:
    """One change of a Pod of a RayCluster."""
    return ObjectChange(t=t, event=event, kind="Pod", namespace="team", name=name, ready=ready, cluster=of)


def timeline(*changes: ObjectChange) -> ObjectTimeline:
    """The object timeline of these changes."""
    result = ObjectTimeline()
    for one in changes:
        result.add(one)
    return result


def observations(
    found: Iterable[Series] = (),
    *,
    log: Iterable[LogRecord] = (),
    changes: Iterable[ObjectChange] = (),
    setup: Setup | None = None,
    origin: str = ORIGIN,
) -> Observations:
    """Everything that was observed of one operator."""
    return Observations(store(*found, origin=origin), digest(*log), timeline(*changes), setup or Setup())


def signals_in(value: object, path: str = "") -> dict[str, Signal]:
    """Every signal of a structure by its dotted path, for example ``client.verbs.0.api_seconds_mean``."""
    if isinstance(value, Signal):
        return {path: value}
    if isinstance(value, msgspec.Struct):
        items: Iterable[tuple[str, object]] = [(name, getattr(value, name)) for name in value.__struct_fields__]
    elif isinstance(value, dict):
        items = [(str(key), each) for key, each in value.items()]
    elif isinstance(value, tuple):
        items = [(str(index), each) for index, each in enumerate(value)]
    else:
        return {}
    found: dict[str, Signal] = {}
    for name, each in items:
        found.update(signals_in(each, f"{path}.{name}" if path else name))
    return found


def values(value: object) -> dict[str, float | None]:
    """Every signal's value by its dotted path; None where it is missing."""
    return {path: signal.value for path, signal in signals_in(value).items()}


def reasons(value: object) -> dict[str, str]:
    """Why each missing signal is missing, by its dotted path."""
    return {path: signal.missing for path, signal in signals_in(value).items() if signal.missing is not None}
