"""Signals from what somebody knows: the same structures, filled from a facts file instead of samples.

Nothing is invented: an absent fact is a missing signal. Counts are taken over one hour of the given rates, since a
facts file knows rates and means, and no window.
"""

from collections.abc import Sequence

import msgspec

from advisor.knowledge.defaults import ZERO_BURST_MEANS, ZERO_QPS_MEANS
from advisor.knowledge.profile import Profile
from advisor.knowledge.recognise import Choice, Seen, recognise
from advisor.knowledge.versions import controller_of, lookup
from advisor.model.facts import ClientFacts, Facts
from advisor.model.settings import Setting, Settings, SettingSource
from advisor.model.signal import Quality, Signal, Unit, Window
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
    ProcessSignals,
    TimeBudget,
)
from advisor.model.trace import DemandTrace
from advisor.signals.budget import inferred_write_seconds, time_budget
from advisor.signals.episodes import CutRules
from advisor.signals.making import Maker
from advisor.signals.telling import HOUR, NOT_TOLD, ORIGIN, Told, product
from advisor.signals.toldcontroller import told_controller

__all__ = ["FactsObservation"]


class FactsObservation:
    """One facts file, asked like any observation: a single load episode of nominal length."""

    scrapes: Sequence[float] | None = None
    """A facts file was not scraped."""
    ended: float | None = None
    usual_pause_seconds: float = 0.0

    def __init__(self, facts: Facts, chosen: Choice | None = None) -> None:
        self._facts = facts
        seen = Seen(operator=facts.operator.name, controllers=tuple(facts.controllers))
        self.choice = chosen or recognise(seen)
        """What kind of operator it is, and why."""
        self._signals = _operator(facts, self.choice.profile)

    def episodes(self, rules: CutRules) -> tuple[Episode, ...]:  # noqa: ARG002 - there is nothing to cut
        """The one episode that the facts are about."""
        return (Episode(EpisodeKind.LOAD, HOUR, "what the facts file describes, over one hour of its rates"),)

    def signals(self, window: Window) -> OperatorSignals:  # noqa: ARG002 - the facts have one window
        """All signals."""
        return self._signals

    def trace(self, window: Window) -> DemandTrace | None:  # noqa: ARG002 - facts have no timeline
        """No load that could be run again is told."""
        return None

    def first_demand(self, window: Window) -> float | None:  # noqa: ARG002 - facts have no timeline
        """No time of any object is told."""
        return None

    @property
    def window(self) -> Window:
        """The nominal window."""
        return HOUR


def _operator(facts: Facts, profile: Profile) -> OperatorSignals:
    controllers = tuple(told_controller(name, one) for name, one in facts.controllers.items())
    client = _client(facts.client)
    process = _process(facts)
    callers = _external_callers(facts, profile)
    budget = time_budget(controllers, client, process, HOUR, callers)
    inferring = frozenset(one.controller for one in controllers if not _known_inside(one.controller, profile))
    return OperatorSignals(
        window=HOUR,
        settings=_settings(facts, profile),
        controllers=controllers,
        client=msgspec.structs.replace(
            client, inferred_write_seconds_mean=inferred_write_seconds(controllers, client, process, HOUR, inferring)
        ),
        process=process,
        demand=_demand(facts),
        log=_no_log(),
        external=_external(facts),
        budget=_with_told_calls(budget, facts, controllers, callers),
        keys=_keys(facts, controllers),
        namespaces=(),
        queue=facts.operator.queue,
        absent_series=facts.missing_metrics,
        profile=profile,
    )


def _known_inside(controller: str, profile: Profile) -> bool:
    """Whether a controller is known to call nothing but the API server; others may call anything."""
    return profile.stays_inside(controller_of(controller))


def _external_callers(facts: Facts, profile: Profile) -> frozenset[str]:
    """Controllers whose time may go into calls to others: those known for it, and unknown ones with such calls told."""
    callers = profile.external_callers
    if facts.external.call_seconds_mean is None:
        return callers
    return callers | frozenset(name for name in facts.controllers if not _known_inside(name, profile))


def _with_told_calls(
    budget: TimeBudget, facts: Facts, controllers: tuple[ControllerSignals, ...], callers: frozenset[str]
) -> TimeBudget:
    """The budget with the external calls as told: their time over that of a reconcile, of those that make them."""
    calls = facts.external.call_seconds_mean
    if calls is None or not budget.busy_worker_seconds.known:
        return budget
    spent = sum(
        one.busy_worker_seconds.or_else(0.0) * min(1.0, calls / work)
        for one in controllers
        if one.controller in callers and (work := one.work_seconds_mean.value)
    )
    share = min(1.0, spent / budget.busy_worker_seconds.or_else(1.0))
    told = Maker(HOUR, ORIGIN).of(
        share, Unit.RATIO, "external.call_seconds_mean / reconcile_seconds_mean", low=share, high=share
    )
    return msgspec.structs.replace(budget, external=told)


def _settings(facts: Facts, profile: Profile) -> Settings:
    stated = SettingSource.STATED
    workers = [
        one.max_concurrent_reconciles for one in facts.controllers.values() if one.max_concurrent_reconciles is not None
    ]
    told_version = facts.operator.version if profile.is_kuberay else None
    version = lookup(told_version) if told_version else None

    def client(name: str, value: float | None, default: float | None, zero: float) -> Setting:
        if value == 0.0:
            return Setting(zero, stated, f"client.{name} of 0, for which client-go takes its own default")
        if value is not None:
            return Setting(value, stated, f"client.{name}")
        if default is not None and version is not None:
            return Setting(default, SettingSource.VERSION_DEFAULT, f"default of KubeRay {version.series}")
        return Setting(None, SettingSource.UNKNOWN, NOT_TOLD)

    def other(value: float | None, detail: str) -> Setting:
        return Setting(value, stated if value is not None else SettingSource.UNKNOWN, detail)

    fixed = version if version is not None and not version.has_qps_flags else None
    return Settings(
        version=told_version,
        is_kuberay=profile.is_kuberay,
        concurrency=other(min(workers, default=None), "max_concurrent_reconciles"),
        qps=client("qps", facts.client.qps, fixed.default_qps if fixed else None, ZERO_QPS_MEANS),
        burst=client(
            "burst", facts.client.burst, float(fixed.default_burst) if fixed else None, float(ZERO_BURST_MEANS)
        ),
        cpu_limit_cores=other(facts.process.cpu_limit_cores, "process.cpu_limit_cores"),
        memory_limit_bytes=other(facts.process.memory_limit_bytes, "process.memory_limit_bytes"),
    )


def _keys(facts: Facts, controllers: tuple[ControllerSignals, ...]) -> tuple[KeyLoad, ...]:
    """A nameless key for each controller whose hottest key's share was told, the one that takes most time first.

    What was told is the share of its controller's time; of all time it is less where others work as well.
    """
    total = sum(one.busy_worker_seconds.or_else(0.0) for one in controllers)
    keys = []
    for one in controllers:
        share = facts.controllers[one.controller].hottest_key_share
        if share is None:
            continue
        busy = one.busy_worker_seconds.value
        keys.append(
            KeyLoad(
                controller=one.controller,
                namespace="",
                name="",
                reconciles=round(share * one.reconciles.or_else(0.0)),
                busy_seconds=share * (busy or 0.0),
                busy_share=share if busy is None else share * busy / total if total else 0.0,
                errors=0,
                conflicts=0,
                pods_created=0,
            )
        )
    return tuple(sorted(keys, key=lambda key: -key.busy_seconds))


def _client(facts: ClientFacts) -> ClientSignals:
    told, hour = Told("client"), HOUR.seconds
    rate, writes = facts.requests_per_second, facts.write_requests_per_second
    limiter = 0.0 if facts.qps is not None and facts.qps < 0 else facts.limiter_wait_seconds_mean
    net = None
    if facts.request_seconds_mean is not None and limiter is not None:
        net = max(0.0, facts.request_seconds_mean - limiter)
    codes = facts.requests_per_second_by_code
    counted = sum(codes.values())
    conflicts = product(facts.conflict_ratio, writes)
    if conflicts is None:
        conflicts = codes.get("409")

    def part(*wanted: str) -> float | None:
        return sum(one for code, one in codes.items() if code.startswith(wanted)) / counted if counted else None

    request = facts.request_seconds_mean
    in_flight = facts.in_flight if facts.in_flight is not None else product(request, rate)
    return ClientSignals(
        requests_per_second=told.of(rate, Unit.PER_SECOND, "requests_per_second"),
        requests_per_second_by_code={
            code: told.of(one, Unit.PER_SECOND, f"requests_per_second_by_code.{code}") for code, one in codes.items()
        },
        write_requests_per_second=told.of(writes, Unit.PER_SECOND, "write_requests_per_second"),
        post_requests_per_second=told.of(codes.get("201"), Unit.PER_SECOND, "requests_per_second_by_code.201"),
        peak_post_per_second=told.none(Unit.PER_SECOND),
        request_seconds_mean=told.of(request, Unit.SECONDS, "request_seconds_mean"),
        limiter_wait_seconds_mean=told.of(limiter, Unit.SECONDS, "limiter_wait_seconds_mean"),
        limiter_wait_seconds=told.of(
            0.0 if limiter == 0.0 else product(limiter, rate, hour),
            Unit.SECONDS,
            "limiter_wait_seconds_mean x requests",
        ),
        api_seconds_mean=told.of(net, Unit.SECONDS, "request_seconds_mean less limiter_wait_seconds_mean"),
        write_api_seconds_mean=told.of(net, Unit.SECONDS, "request_seconds_mean less limiter_wait_seconds_mean"),
        inferred_write_seconds_mean=told.none(Unit.SECONDS),
        api_seconds=told.of(product(net, rate, hour), Unit.SECONDS, "net request time x requests over an hour"),
        limited_share=told.of(facts.limited_share, Unit.RATIO, "limited_share"),
        in_flight=told.of(in_flight, Unit.COUNT, "in_flight", quality=Quality.ESTIMATED),
        conflict_ratio=told.of(facts.conflict_ratio, Unit.RATIO, "conflict_ratio"),
        conflicts_per_second=told.of(conflicts, Unit.PER_SECOND, "conflict_ratio x write_requests_per_second"),
        too_many_requests_ratio=told.of(part("429"), Unit.RATIO, "requests_per_second_by_code.429"),
        server_error_ratio=told.of(part("5"), Unit.RATIO, "requests_per_second_by_code.5xx"),
        refused_ratio=told.of(part("403", "422"), Unit.RATIO, "requests_per_second_by_code.403 and 422"),
        verbs=(),
    )


def _process(facts: Facts) -> ProcessSignals:
    told, process = Told("process"), facts.process

    def count(value: int | None, key: str) -> Signal:
        return told.of(None if value is None else float(value), Unit.COUNT, key)

    return ProcessSignals(
        cpu_seconds=told.of(product(process.cpu_cores, HOUR.seconds), Unit.SECONDS, "cpu_cores over an hour"),
        cpu_cores=told.of(process.cpu_cores, Unit.CORES, "cpu_cores"),
        cpu_limit_cores=told.of(process.cpu_limit_cores, Unit.CORES, "cpu_limit_cores"),
        cpu_throttled_ratio=told.of(process.cpu_throttled_ratio, Unit.RATIO, "cpu_throttled_ratio"),
        cpu_throttled_seconds=told.none(Unit.SECONDS),
        memory_bytes=told.of(process.memory_bytes, Unit.BYTES, "memory_bytes"),
        memory_limit_bytes=told.of(process.memory_limit_bytes, Unit.BYTES, "memory_limit_bytes"),
        restarts=count(process.restarts, "restarts"),
        oom_kills=count(process.oom_kills, "oom_kills"),
        replicas=count(process.replicas, "replicas"),
        leader=told.of(None if process.leader is None else float(process.leader), Unit.RATIO, "leader"),
        lease_errors_per_hour=told.of(process.lease_errors_per_hour, Unit.COUNT, "lease_errors_per_hour"),
        uptime_seconds=told.none(Unit.SECONDS),
    )


def _demand(facts: Facts) -> DemandSignals:
    told, demand = Told("demand"), facts.demand
    return DemandSignals(
        objects={kind: told.of(float(count), Unit.COUNT, f"objects.{kind}") for kind, count in demand.objects.items()},
        clusters_created=told.none(Unit.COUNT),
        ready_seconds_mean=told.none(Unit.SECONDS),
        ready_seconds_p95=told.none(Unit.SECONDS),
        unready_cluster_seconds=told.none(Unit.SECONDS),
        unready_clusters_peak=told.none(Unit.COUNT),
        pods_created=told.none(Unit.COUNT),
        peak_pods_created_per_second=told.none(Unit.PER_SECOND),
        sustained_pods_per_second=told.none(Unit.PER_SECOND),
        largest_fanout_pods=told.none(Unit.COUNT),
        pending_pod_seconds=told.none(Unit.SECONDS),
        missing_pod_cluster_seconds=told.none(Unit.SECONDS),
        resync_seconds=told.of(demand.resync_seconds, Unit.SECONDS, "resync_seconds"),
        items_in_burst=told.of(demand.items_in_burst, Unit.COUNT, "items_in_burst"),
        drain_seconds=told.of(demand.drain_seconds, Unit.SECONDS, "drain_seconds"),
        api_calls_per_item=told.of(demand.api_calls_per_item, Unit.COUNT, "api_calls_per_item"),
    )


def _external(facts: Facts) -> ExternalSignals:
    told = Told("external")
    return ExternalSignals(
        call_seconds_mean=told.of(facts.external.call_seconds_mean, Unit.SECONDS, "call_seconds_mean"),
        timeouts_per_second=told.of(facts.external.timeouts_per_second, Unit.PER_SECOND, "timeouts_per_second"),
    )


def _no_log() -> LogSignals:
    told = Told("log")
    return LogSignals(
        throttle_lines=told.none(Unit.COUNT),
        throttle_wait_seconds_peak=told.none(Unit.SECONDS),
        throttled_kind="",
        blocked_groups=told.none(Unit.COUNT),
        blocked_seconds_peak=told.none(Unit.SECONDS),
        control_flow_errors=told.none(Unit.COUNT),
        conflicts=told.none(Unit.COUNT),
        commonest_error="",
        lease_losses=told.none(Unit.COUNT),
    )
