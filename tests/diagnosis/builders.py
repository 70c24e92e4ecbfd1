"""Builds signals and cases from a few figures.

Every signal is missing unless a test gives it, except for a quiet, healthy operator's basics, so that a test names only
what matters. Values become real signals with an origin; nothing here is a stand-in for the product's own types.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias, TypeVar

import msgspec

from advisor.diagnosis.case import Case
from advisor.diagnosis.engine import Diagnosis, diagnose, rule_for
from advisor.diagnosis.thresholds import Thresholds
from advisor.model.facts import ScalingPoint
from advisor.model.finding import Confidence, Finding, FindingCode, Severity
from advisor.model.settings import Setting, Settings, SettingSource
from advisor.model.signal import Quality, Signal, Unit, Window, measured, missing
from advisor.model.signals import (
    ClientSignals,
    ControllerSignals,
    DemandSignals,
    Episode,
    EpisodeKind,
    ExternalSignals,
    KeyLoad,
    LogSignals,
    OperatorSignals,
    PriorityDepth,
    ProcessSignals,
    TimeBudget,
)
from advisor.signals.budget import inferred_write_seconds, time_budget

_S = TypeVar("_S", bound=msgspec.Struct)
Value: TypeAlias = float | Signal | None
"""What a test gives for a signal: a number, a whole signal, or None for one that is missing."""
Given: TypeAlias = Any
"""Figures by name: a :data:`Value`, or what the few fields hold that are no signals."""

WINDOW: Final = Window(1000.0, 1100.0)
EXTERNAL: Final = frozenset({"rayjob", "rayservice"})

_UNITS: Final = (
    ("_per_second", Unit.PER_SECOND),
    ("worker_seconds", Unit.WORKER_SECONDS),
    ("key_seconds", Unit.KEY_SECONDS),
    ("_cores", Unit.CORES),
    ("_bytes", Unit.BYTES),
    ("_ratio", Unit.RATIO),
    ("_share", Unit.RATIO),
    ("utilisation", Unit.RATIO),
    ("leader", Unit.RATIO),
    ("seconds", Unit.SECONDS),
)


def unit_of(name: str) -> Unit:
    """The unit that a field's name tells."""
    return next((unit for part, unit in _UNITS if part in name), Unit.COUNT)


def signal(name: str, value: Value, *, quality: Quality = Quality.EXACT) -> Signal:
    """A signal of that name: the value given, or missing with a reason."""
    if isinstance(value, Signal):
        return value
    if value is None:
        return missing(unit_of(name), f"{name} is not known here", window=WINDOW)
    return measured(float(value), unit_of(name), origin=f"series of {name}", window=WINDOW, quality=quality)


def estimated(name: str, value: float, *, low: float | None = None, high: float | None = None) -> Signal:
    """A signal that rests on an assumption, with bounds."""
    return measured(
        value, unit_of(name), origin=f"series of {name}", window=WINDOW, quality=Quality.ESTIMATED, low=low, high=high
    )


def _fill(kind: type[_S], values: Mapping[str, Any]) -> _S:
    """A struct whose signals are missing unless given; other fields have to be given."""
    names = {field.name: field.type for field in msgspec.structs.fields(kind)}
    unknown = set(values) - set(names)
    assert not unknown, f"{kind.__name__} has no {sorted(unknown)}"
    made = {name: signal(name, values.get(name)) if found is Signal else values[name] for name, found in names.items()}
    return kind(**made)


def controller(
    name: str = "raycluster", *, workers: float | None = 4.0, window: Window = WINDOW, **given: Given
) -> ControllerSignals:
    """A controller that works little and makes nobody wait; figures that follow from those given are filled in."""
    values: dict[str, Given] = {
        "max_concurrent_reconciles": workers,
        "busy_workers_mean": 0.04,
        "active_workers_peak": 1.0,
        "depth_mean": 0.0,
        "depth_peak": 0.0,
        "backlog_mean": 0.0,
        "backlog_peak": 0.0,
        "blocked_ratio": 0.0,
        "adds_per_second": 2.0,
        "reconciles_per_second": 2.0,
        "queue_wait_seconds_mean": 0.001,
        "oldest_wait_seconds_peak": 0.0,
        "work_seconds_mean": 0.02,
        "longest_running_seconds": 0.0,
        "reconcile_seconds_p99": 0.05,
        "errors_per_second": 0.0,
        "error_ratio": 0.0,
    }
    if "utilisation" in given and "busy_workers_mean" not in given and workers is not None:
        share = given["utilisation"]
        values["busy_workers_mean"] = workers * share if isinstance(share, float) else share
    values |= given
    seconds = window.seconds
    busy, rate, depth = (_number(values[name]) for name in ("busy_workers_mean", "reconciles_per_second", "depth_mean"))
    backlog = _number(values["backlog_mean"])
    if backlog and not depth:
        depth = values["depth_mean"] = backlog + (busy or 0.0)
    if busy is not None:
        values.setdefault("busy_worker_seconds", busy * seconds)
        values.setdefault("utilisation", min(1.0, busy / workers) if workers else None)
    if rate is not None:
        values.setdefault("reconciles", rate * seconds)
    if depth is not None:
        values.setdefault("waiting_key_seconds", depth * seconds)
    if backlog and not _number(values["backlog_peak"]):
        values["backlog_peak"] = 2.0 * backlog
    values.setdefault("error_ratio_net", values["error_ratio"])
    values.setdefault("depth_by_priority", ())
    values.setdefault("scaling", ())
    return _fill(ControllerSignals, {"controller": name, **values})


def unknown_controller(name: str = "raycluster", **given: Value) -> ControllerSignals:
    """A controller of which nothing is known but what is given."""
    return _fill(ControllerSignals, {"controller": name, "depth_by_priority": (), "scaling": (), **given})


def _number(value: Value) -> float | None:
    return value.value if isinstance(value, Signal) else value


def priorities(**peaks: float) -> tuple[PriorityDepth, ...]:
    """Depth by priority; ``p0`` is priority 0, ``m100`` is -100, ``none`` the classic queue's empty label."""
    names = {"p0": "0", "m100": "-100", "none": ""}
    return tuple(
        PriorityDepth(names[name], signal("depth_mean", peak / 2.0), signal("depth_peak", peak))
        for name, peak in peaks.items()
    )


def points(**throughputs: float) -> tuple[ScalingPoint, ...]:
    """Measured throughputs: ``points(w4=0.3)`` is 0.3 items a second with 4 workers."""
    return tuple(
        ScalingPoint(workers=float(name.removeprefix("w")), items_per_second=rate) for name, rate in throughputs.items()
    )


def client(**given: Given) -> ClientSignals:
    """A client with short requests, no limiter wait and no refusals."""
    values: dict[str, Given] = {
        "requests_per_second": 5.0,
        "write_requests_per_second": 4.0,
        "post_requests_per_second": 2.0,
        "request_seconds_mean": 0.01,
        "limiter_wait_seconds_mean": 0.0,
        "limiter_wait_seconds": 0.0,
        "api_seconds_mean": 0.01,
        "write_api_seconds_mean": 0.01,
        "api_seconds": 2.0,
        "limited_share": 0.0,
        "conflict_ratio": 0.0,
        "conflicts_per_second": 0.0,
        "too_many_requests_ratio": 0.0,
        "server_error_ratio": 0.0,
        "refused_ratio": 0.0,
        "requests_per_second_by_code": {},
        "verbs": (),
    }
    return _fill(ClientSignals, values | given)


def classic_client(**given: Given) -> ClientSignals:
    """A client of a release before 1.7: request counts, but neither durations nor limiter waits."""
    absent = (
        "request_seconds_mean",
        "limiter_wait_seconds_mean",
        "limiter_wait_seconds",
        "api_seconds_mean",
        "write_api_seconds_mean",
        "api_seconds",
        "limited_share",
    )
    return client(**(dict.fromkeys(absent) | given))


def process(**given: Value) -> ProcessSignals:
    """A process that leads and computes little; container figures are not known."""
    values: dict[str, Given] = {"cpu_cores": 0.01, "leader": 1.0, "restarts": 0.0, "uptime_seconds": 5000.0} | given
    cores = _number(values["cpu_cores"])
    if cores is not None:
        values.setdefault("cpu_seconds", cores * WINDOW.seconds)
    return _fill(ProcessSignals, values)


def demand(**given: Given) -> DemandSignals:
    """No object timeline, unless something is given."""
    return _fill(DemandSignals, {"objects": {}} | given)


def external(**given: Value) -> ExternalSignals:
    """Nobody told of calls to others, unless something is given."""
    return _fill(ExternalSignals, given)


def log(**given: Given) -> LogSignals:
    """No log, unless something is given."""
    return _fill(LogSignals, {"throttled_kind": "", "commonest_error": ""} | given)


def key(
    name: str = "big",
    share: float = 0.9,
    reconciles: int = 50,
    *,
    busy_seconds: float = 10.0,
    conflicts: int = 0,
    pods_created: int = 7,
) -> KeyLoad:
    """What one RayCluster cost, by the log."""
    return KeyLoad(
        controller="raycluster",
        namespace="team",
        name=name,
        reconciles=reconciles,
        busy_seconds=busy_seconds,
        busy_share=share,
        errors=0,
        conflicts=conflicts,
        pods_created=pods_created,
    )


def budget(
    *,
    api_server: Value = None,
    client_limiter: Value = None,
    cpu: Value = None,
    external: Value = None,
    busy_worker_seconds: Value = 100.0,
) -> TimeBudget:
    """Shares of the busy time that are given outright."""
    return _fill(
        TimeBudget,
        {
            "api_server": api_server,
            "client_limiter": client_limiter,
            "cpu": cpu,
            "external": external,
            "busy_worker_seconds": busy_worker_seconds,
        },
    )


def settings(
    *,
    version: str | None = "1.7.0",
    concurrency: float | None = 4.0,
    qps: float | None = 100.0,
    burst: float | None = 200.0,
    cpu_limit_cores: float | None = None,
    memory_limit_bytes: float | None = None,
) -> Settings:
    """Settings as a known command line gives them."""

    def setting(value: float | None) -> Setting:
        return Setting(value, SettingSource.UNKNOWN if value is None else SettingSource.ARGUMENT, "as given")

    return Settings(
        version=version,
        concurrency=setting(concurrency),
        qps=setting(qps),
        burst=setting(burst),
        cpu_limit_cores=setting(cpu_limit_cores),
        memory_limit_bytes=setting(memory_limit_bytes),
    )


def signals(
    *parts: object, window: Window = WINDOW, queue: str = "priority", absent: tuple[str, ...] = ()
) -> OperatorSignals:
    """An operator made of the given parts, in any order; healthy ones stand in for those that are not given.

    The time budget is computed from the others, as the product does, unless one is given. The settings' concurrency
    is the first controller's, unless settings are given.
    """
    controllers: tuple[ControllerSignals, ...] = tuple(_one(parts, ControllerSignals))
    if not controllers and NO_CONTROLLERS not in parts:
        controllers = (controller(),)
    one_client = next(_one(parts, ClientSignals), client())
    one_process = next(_one(parts, ProcessSignals), process())
    workers = controllers[0].max_concurrent_reconciles.value if controllers else None
    inferred = one_client.inferred_write_seconds_mean
    if not inferred.known:
        inferred = inferred_write_seconds(controllers, one_client, one_process, window, EXTERNAL)
    return OperatorSignals(
        window=window,
        settings=next(_one(parts, Settings), settings(concurrency=workers)),
        controllers=controllers,
        client=msgspec.structs.replace(one_client, inferred_write_seconds_mean=inferred),
        process=one_process,
        demand=next(_one(parts, DemandSignals), demand()),
        log=next(_one(parts, LogSignals), log()),
        external=next(_one(parts, ExternalSignals), external()),
        budget=next(_one(parts, TimeBudget), time_budget(controllers, one_client, one_process, window, EXTERNAL)),
        keys=tuple(part for part in parts if isinstance(part, KeyLoad)),
        namespaces=(),
        queue=queue,
        absent_series=absent,
    )


NO_CONTROLLERS: Final = "no controllers"
"""Given as a part: no controller and no work queue series at all."""


def _one(parts: tuple[object, ...], kind: type[_S]) -> Iterator[_S]:
    return (part for part in parts if isinstance(part, kind))


def case(
    *parts: object,
    kind: EpisodeKind = EpisodeKind.LOAD,
    scrapes: int | None = 50,
    thresholds: Thresholds | None = None,
    window: Window = WINDOW,
    whole: OperatorSignals | None = None,
    queue: str = "priority",
    absent: tuple[str, ...] = (),
) -> Case:
    """One episode; the whole observation is the same unless given."""
    made = signals(*parts, window=window, queue=queue, absent=absent)
    return Case(
        signals=made,
        whole=whole or made,
        episode=Episode(kind, window, "given by a test"),
        scrapes=scrapes,
        thresholds=thresholds or Thresholds(),
    )


def adjusted(**values: float) -> Thresholds:
    """Thresholds that differ from the defaults in the given ones."""
    return msgspec.structs.replace(Thresholds(), **values)


def saturated(name: str = "raycluster", *, workers: float = 1.0, **given: Given) -> ControllerSignals:
    """A controller whose workers are all busy while other keys wait for long."""
    values: dict[str, Given] = {
        "utilisation": 1.0,
        "active_workers_peak": workers,
        "backlog_mean": 20.0,
        "queue_wait_seconds_mean": 6.0,
        "oldest_wait_seconds_peak": 15.0,
        "work_seconds_mean": 0.3,
        "reconciles_per_second": workers / 0.3,
        "reconcile_seconds_p99": 0.6,
    }
    return controller(name, workers=workers, **(values | given))


def loaded_client(**given: Given) -> ClientSignals:
    """A client whose requests explain a saturated worker's time and are as quick as usual."""
    values: dict[str, Given] = {
        "requests_per_second": 36.0,
        "write_requests_per_second": 35.0,
        "post_requests_per_second": 20.0,
        "request_seconds_mean": 0.025,
        "api_seconds_mean": 0.025,
        "write_api_seconds_mean": 0.025,
        "api_seconds": 90.0,
    }
    return client(**(values | given))


def found(diagnosis: Diagnosis, code: FindingCode) -> Finding | None:
    """The finding of that code, if there is one."""
    return next((one for one in diagnosis.findings if one.code is code), None)


def codes(diagnosis: Diagnosis) -> list[str]:
    """Codes of all findings, in rank order."""
    return [one.code.value for one in diagnosis.findings]


def diagnosis_of(*findings: Finding, of: Case | None = None) -> Diagnosis:
    """A diagnosis with exactly these findings."""
    return Diagnosis(of or case(), findings)


def a_finding(
    code: FindingCode,
    severity: Severity = Severity.WARNING,
    *,
    refuses: bool = False,
    lost_seconds: float = 0.0,
    next_steps: tuple[str, ...] = (),
) -> Finding:
    """A finding of which only the code, the severity and the lost time matter."""
    return Finding(
        code=code,
        severity=severity,
        confidence=Confidence.HIGH,
        title=f"title of {code.value}",
        summary=f"summary of {code.value}",
        evidence=(),
        next_steps=next_steps,
        refuses=refuses,
        lost_seconds=lost_seconds,
    )


def diagnosed(*parts: object, **options: Given) -> Diagnosis:
    """The diagnosis of one episode."""
    return diagnose(case(*parts, **options))


def examine(code: FindingCode, one: Case) -> Finding | None:
    """What the rule of that code says by itself, whatever the others say."""
    return rule_for(code.value).examine(one)


def must_find(code: FindingCode, one: Case) -> Finding:
    """The finding of that code, which the case must have."""
    made = examine(code, one)
    assert made is not None, f"{code.value} does not hold"
    assert_evident(made)
    return made


def assert_evident(one: Finding) -> None:
    """Evidence has texts, and a number with unit and origin wherever something was measured."""
    assert one.evidence
    assert all(shown.text for shown in one.evidence)
    numbers = [shown for shown in one.evidence if shown.value is not None]
    assert all(shown.origin and shown.unit for shown in numbers), one.evidence
    assert 0.0 <= one.lost_ratio <= 1.0
    assert one.lost_seconds >= 0.0


def checks_of(one: Finding) -> dict[str, bool | None]:
    """Question and whether it refutes the finding."""
    return {made.question: made.refuted for made in one.checks}
