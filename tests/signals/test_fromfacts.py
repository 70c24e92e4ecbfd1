from functools import partial
from typing import Final

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.analysis import Options, load_facts, report_of
from advisor.model.facts import (
    ClientFacts,
    ControllerFacts,
    DemandFacts,
    ExternalFacts,
    Facts,
    OperatorFacts,
    ProcessFacts,
    ScalingPoint,
)
from advisor.model.settings import Setting, SettingSource
from advisor.model.signal import Quality, Signal, Window
from advisor.model.signals import (
    ClientSignals,
    ControllerSignals,
    DemandSignals,
    EpisodeKind,
    ExternalSignals,
    KeyLoad,
    OperatorSignals,
    PriorityDepth,
    ProcessSignals,
    TimeBudget,
)
from advisor.signals.episodes import CutRules
from advisor.signals.fromfacts import FactsObservation

HOUR: Final = 3600.0
UNTOLD: Final = "not in the facts file"
Group = ControllerSignals | ClientSignals | ProcessSignals | DemandSignals | ExternalSignals | TimeBudget


def signals(facts: Facts) -> OperatorSignals:
    """All signals of a facts file."""
    observation = FactsObservation(facts)
    return observation.signals(observation.window)


def controller(facts: ControllerFacts, name: str = "raycluster") -> ControllerSignals:
    """The signals of one controller."""
    return signals(Facts(controllers={name: facts})).controllers[0]


def client(**given: object) -> ClientSignals:
    """The signals of a client of which so much is known."""
    return signals(Facts(client=msgspec.convert(given, ClientFacts))).client


def known(group: Group) -> dict[str, float]:
    """Values of the signals that are known; of each other one the reason is checked."""
    values: dict[str, float] = {}
    for name in group.__struct_fields__:
        found = getattr(group, name)
        if not isinstance(found, Signal):
            continue
        if found.value is None:
            assert found.missing
        else:
            assert found.origin
            values[name] = found.value
    return values


def test_nothing_told_is_nothing_known() -> None:
    """Every signal of an empty file is missing, with its reason; nothing is zero, nothing is a default."""
    made = signals(Facts())
    assert (made.controllers, made.keys, made.namespaces, made.absent_series, made.queue) == ((), (), (), (), "unknown")
    for group in (made.client, made.process, made.demand, made.external, made.log):
        found = [getattr(group, name) for name in group.__struct_fields__]
        reasons = {one.missing for one in found if isinstance(one, Signal)}
        assert reasons <= {UNTOLD, "no write and busy worker of a controller without external calls"}
    unknown = Setting(None, SettingSource.UNKNOWN, UNTOLD)
    assert (made.settings.qps, made.settings.burst) == (unknown, unknown)
    assert made.settings.concurrency == Setting(None, SettingSource.UNKNOWN, "max_concurrent_reconciles")
    assert made.settings.version is None


def test_a_controller_without_figures_has_none() -> None:
    """Not even those that could be derived."""
    made = controller(ControllerFacts())
    assert known(made) == {}
    assert (made.depth_by_priority, made.scaling) == ((), ())


def test_each_figure_of_a_controller() -> None:
    """Those told and those that follow, by hand; amounts are over an hour."""
    points = (ScalingPoint(workers=4.0, items_per_second=0.3),)
    made = controller(
        ControllerFacts(
            max_concurrent_reconciles=4.0,
            configured_concurrency=5.0,
            active_workers_mean=3.0,
            utilisation=0.8,
            depth_mean=10.0,
            depth_max=40.0,
            depth_by_priority={"0": 3.0, "-100": 7.0},
            depth_trend_per_second=-0.1,
            adds_per_second=2.0,
            reconciles_per_second=2.5,
            queue_wait_seconds_mean=6.0,
            queue_wait_seconds_p99=30.0,
            reconcile_seconds_mean=1.5,
            reconcile_seconds_p99=4.0,
            longest_running_seconds=550.0,
            error_ratio=0.2,
            terminal_error_ratio=0.1,
            requeue_after_ratio=0.9,
            retries_per_second=1.8,
            hottest_key_share=0.95,
            distinct_keys=2,
            api_calls_per_reconcile=3.0,
            scaling=points,
        )
    )
    assert known(made) == {
        "max_concurrent_reconciles": 4.0,
        "configured_concurrency": 5.0,
        "busy_worker_seconds": 3.0 * HOUR,
        "busy_workers_mean": 3.0,
        "utilisation": 0.8,
        "depth_mean": 10.0,
        "depth_peak": 40.0,
        "depth_trend_per_second": -0.1,
        "backlog_mean": 7.0,  # 10 keys less 3 busy workers
        "backlog_peak": 36.0,  # 40 keys less 4 workers
        "blocked_ratio": 0.0,
        "adds_per_second": 2.0,
        "reconciles": 2.5 * HOUR,
        "reconciles_per_second": 2.5,
        "queue_wait_seconds_mean": 6.0,
        "queue_wait_seconds_p99": 30.0,
        "waiting_key_seconds": 10.0 * HOUR,
        "oldest_wait_seconds_peak": 10.0,  # 30 lies in the bucket from 10 to 100 s
        "work_seconds_mean": 1.5,
        "reconcile_seconds_mean": 1.5,
        "reconcile_seconds_p99": 4.0,
        "longest_running_seconds": 550.0,
        "error_ratio": 0.2,
        "errors_per_second": 0.5,
        "terminal_error_ratio": 0.1,
        "requeue_after_ratio": 0.9,
        "delayed_adds_per_second": 1.8,
        "hottest_key_share": 0.95,
        "distinct_keys": 2.0,
        "api_calls_per_reconcile": 3.0,
    }
    assert made.scaling == points
    assert [(one.priority, one.mean.value, one.peak.value, one.peak.quality) for one in made.depth_by_priority] == [
        ("0", 3.0, 3.0, Quality.LOWER_BOUND),
        ("-100", 7.0, 7.0, Quality.LOWER_BOUND),
    ]
    assert isinstance(made.depth_by_priority[0], PriorityDepth)
    assert made.adds_per_second.origin == "controllers.raycluster.adds_per_second [facts file]"
    assert (made.backlog_mean.quality, made.blocked_ratio.quality) == (Quality.LOWER_BOUND, Quality.ESTIMATED)


@pytest.mark.parametrize(
    ("facts", "active", "utilisation"),
    [
        ({"active_workers_mean": 3.0, "max_concurrent_reconciles": 4}, 3.0, 0.75),
        ({"active_workers_mean": 6.0, "max_concurrent_reconciles": 4}, 6.0, 1.0),
        ({"active_workers_mean": 3.0}, 3.0, None),
        ({"utilisation": 0.5, "max_concurrent_reconciles": 4}, 2.0, 0.5),
        ({"utilisation": 0.5}, None, 0.5),
        ({"reconciles_per_second": 2.0, "reconcile_seconds_mean": 0.5, "max_concurrent_reconciles": 4}, 1.0, 0.25),
        ({"reconciles_per_second": 2.0}, None, None),
        ({"utilisation": 0.5, "reconciles_per_second": 2.0, "reconcile_seconds_mean": 0.5}, 1.0, 0.5),
    ],
)
def test_busy_workers_are_derived_where_an_identity_allows_it(
    facts: dict[str, float], active: float | None, utilisation: float | None
) -> None:
    """From their share of the workers, else from rate x time; and the share from them."""
    made = controller(msgspec.convert(facts, ControllerFacts))
    assert (made.busy_workers_mean.value, made.utilisation.value) == (active, utilisation)


@pytest.mark.parametrize(
    ("facts", "mean", "peak"),
    [
        ({"depth_mean": 5.0, "active_workers_mean": 2.0}, 3.0, 3.0),
        ({"depth_mean": 1.0, "active_workers_mean": 2.0}, 0.0, 0.0),
        ({"depth_mean": 5.0}, None, None),
        ({"depth_max": 9.0, "max_concurrent_reconciles": 4}, None, 5.0),
        ({"depth_max": 9.0, "active_workers_mean": 2.0}, None, 7.0),
        ({"depth_max": 3.0, "max_concurrent_reconciles": 4}, None, 0.0),
        ({"depth_mean": 8.0, "depth_max": 9.0, "active_workers_mean": 2.0, "max_concurrent_reconciles": 4}, 6.0, 6.0),
        ({"depth_max": 9.0}, None, None),
    ],
)
def test_the_backlog_is_what_no_worker_has(facts: dict[str, float], mean: float | None, peak: float | None) -> None:
    """Depth less busy workers, at its largest less all workers; nothing without both."""
    made = controller(msgspec.convert(facts, ControllerFacts))
    assert (made.backlog_mean.value, made.backlog_peak.value) == (mean, peak)


@pytest.mark.parametrize(
    ("depth", "active", "workers", "blocked"),
    [
        (0.5, 2.0, 4.0, 1.0),
        (0.49, 2.0, 4.0, 0.0),
        (0.5, 2.1, 4.0, 0.0),
        (5.0, 0.5, 1.0, 0.0),
        (None, 2.0, 4.0, None),
        (5.0, None, 4.0, None),
        (5.0, 2.0, None, None),
    ],
)
def test_keys_beside_idle_workers_wait_for_themselves(
    depth: float | None, active: float | None, workers: float | None, blocked: float | None
) -> None:
    """Half of several workers idle on average; a single one tells nothing."""
    facts = ControllerFacts(depth_mean=depth, active_workers_mean=active, max_concurrent_reconciles=workers)
    assert controller(facts).blocked_ratio.value == blocked


@pytest.mark.parametrize(
    ("mean", "quantile", "longest"),
    [
        (None, None, None),
        (6.0, None, 6.0),
        (0.05, 7.0, 1.0),
        (0.05, 99.0, 10.0),
        (None, 10.0, 10.0),
        (20.0, 30.0, 20.0),
        (None, 1e-9, 0.0),
    ],
)
def test_the_longest_wait_is_what_is_certain(mean: float | None, quantile: float | None, longest: float | None) -> None:
    """The mean, or where the quantile's decade begins: its place inside is interpolated."""
    facts = ControllerFacts(queue_wait_seconds_mean=mean, queue_wait_seconds_p99=quantile)
    assert controller(facts).oldest_wait_seconds_peak.value == longest


def test_the_hottest_keys_are_nameless_and_in_order() -> None:
    """The share of the controller's time becomes one of all time; the one that takes most comes first."""
    made = signals(
        Facts(
            controllers={
                "raycluster": ControllerFacts(
                    hottest_key_share=0.9, active_workers_mean=1.0, reconciles_per_second=1.0
                ),
                "rayjob": ControllerFacts(hottest_key_share=0.5, active_workers_mean=3.0),
                "rayservice": ControllerFacts(active_workers_mean=0.0),
            }
        )
    )
    assert made.keys == (
        KeyLoad(
            controller="rayjob",
            namespace="",
            name="",
            reconciles=0,
            busy_seconds=1.5 * HOUR,
            busy_share=0.375,
            errors=0,
            conflicts=0,
            pods_created=0,
        ),
        KeyLoad(
            controller="raycluster",
            namespace="",
            name="",
            reconciles=3240,
            busy_seconds=0.9 * HOUR,
            busy_share=0.9 * HOUR / (4.0 * HOUR),
            errors=0,
            conflicts=0,
            pods_created=0,
        ),
    )


@pytest.mark.parametrize(("active", "share"), [(None, 0.9), (0.0, 0.0), (2.0, 0.9)])
def test_the_share_of_a_single_controller(active: float | None, share: float) -> None:
    """It is as told where nothing else is known to work; of no time at all it is nothing."""
    facts = ControllerFacts(hottest_key_share=0.9, active_workers_mean=active)
    assert signals(Facts(controllers={"raycluster": facts})).keys[0].busy_share == share


def test_each_figure_of_the_client() -> None:
    """Those told and those that follow; the request's own time is without the limiter's wait."""
    made = client(
        qps=20.0,
        burst=30.0,
        requests_per_second=40.0,
        requests_per_second_by_code={"200": 30.0, "201": 5.0, "409": 1.0, "429": 2.0, "503": 1.0, "403": 1.0},
        write_requests_per_second=12.0,
        limiter_wait_seconds_mean=0.25,
        limiter_wait_seconds_p99=1.0,
        limited_share=0.3,
        request_seconds_mean=0.75,
        request_seconds_p99=2.0,
        conflict_ratio=0.25,
        in_flight=10.0,
    )
    assert known(made) == {
        "requests_per_second": 40.0,
        "write_requests_per_second": 12.0,
        "post_requests_per_second": 5.0,
        "request_seconds_mean": 0.75,
        "limiter_wait_seconds_mean": 0.25,
        "limiter_wait_seconds": 0.25 * 40.0 * HOUR,
        "api_seconds_mean": 0.5,
        "write_api_seconds_mean": 0.5,
        "api_seconds": 0.5 * 40.0 * HOUR,
        "limited_share": 0.3,
        "in_flight": 10.0,
        "conflict_ratio": 0.25,
        "conflicts_per_second": 3.0,
        "too_many_requests_ratio": 0.05,
        "server_error_ratio": 0.025,
        "refused_ratio": 0.025,
    }
    assert {code: one.value for code, one in made.requests_per_second_by_code.items()}["429"] == 2.0


@pytest.mark.parametrize(
    ("facts", "net"),
    [
        ({"request_seconds_mean": 0.5, "limiter_wait_seconds_mean": 0.2}, 0.3),
        ({"request_seconds_mean": 0.5, "limiter_wait_seconds_mean": 0.9}, 0.0),
        ({"request_seconds_mean": 0.5, "qps": -1}, 0.5),
        ({"request_seconds_mean": 0.5, "qps": -1, "limiter_wait_seconds_mean": 0.2}, 0.5),
        ({"request_seconds_mean": 0.5}, None),
        ({"limiter_wait_seconds_mean": 0.2}, None),
    ],
)
def test_the_servers_time_needs_the_limiters(facts: dict[str, float], net: float | None) -> None:
    """What is exported contains the wait; with the limiter off there is none, else it has to be known."""
    made = client(**facts)
    assert made.api_seconds_mean.value == net
    assert made.write_api_seconds_mean.value == net


@pytest.mark.parametrize(
    ("facts", "conflicts", "in_flight"),
    [
        ({"conflict_ratio": 0.5, "write_requests_per_second": 4.0}, 2.0, None),
        ({"conflict_ratio": 0.5}, None, None),
        ({"requests_per_second_by_code": {"409": 3.0}}, 3.0, None),
        ({"requests_per_second": 4.0, "request_seconds_mean": 0.5}, None, 2.0),
        ({"requests_per_second": 4.0}, None, None),
    ],
)
def test_conflicts_and_requests_under_way(
    facts: dict[str, object], conflicts: float | None, in_flight: float | None
) -> None:
    """From ratio and writes, else from the answers 409; from rate and time."""
    made = client(**facts)
    assert (made.conflicts_per_second.value, made.in_flight.value) == (conflicts, in_flight)


def test_a_limiter_that_is_off_makes_nobody_wait() -> None:
    """Its wait is zero in all, whatever the number of requests."""
    made = client(qps=-1.0)
    assert (made.limiter_wait_seconds_mean.value, made.limiter_wait_seconds.value) == (0.0, 0.0)


def test_each_figure_of_the_process() -> None:
    """As told; CPU time over an hour."""
    facts = ProcessFacts(
        cpu_cores=0.1,
        cpu_limit_cores=0.2,
        cpu_throttled_ratio=0.4,
        memory_bytes=480.0,
        memory_limit_bytes=512.0,
        restarts=3,
        oom_kills=1,
        replicas=2,
        leader=True,
        lease_errors_per_hour=0.5,
    )
    made = signals(Facts(process=facts))
    assert known(made.process) == {
        "cpu_seconds": 360.0,
        "cpu_cores": 0.1,
        "cpu_limit_cores": 0.2,
        "cpu_throttled_ratio": 0.4,
        "memory_bytes": 480.0,
        "memory_limit_bytes": 512.0,
        "restarts": 3.0,
        "oom_kills": 1.0,
        "replicas": 2.0,
        "leader": 1.0,
        "lease_errors_per_hour": 0.5,
    }
    assert made.settings.cpu_limit_cores == Setting(0.2, SettingSource.STATED, "process.cpu_limit_cores")
    assert made.settings.memory_limit_bytes == Setting(512.0, SettingSource.STATED, "process.memory_limit_bytes")
    assert signals(Facts(process=ProcessFacts(leader=False))).process.leader.value == 0.0


def test_each_figure_of_demand_and_calls() -> None:
    """As told."""
    demand = DemandFacts(
        objects={"pod": 3}, resync_seconds=300.0, items_in_burst=9.0, drain_seconds=4.0, api_calls_per_item=2.0
    )
    made = signals(
        Facts(
            demand=demand,
            external=ExternalFacts(call_seconds_mean=2.0, timeouts_per_second=0.1),
            missing_metrics=("x",),
        )
    )
    assert known(made.demand) == {
        "resync_seconds": 300.0,
        "items_in_burst": 9.0,
        "drain_seconds": 4.0,
        "api_calls_per_item": 2.0,
    }
    assert {kind: one.value for kind, one in made.demand.objects.items()} == {"pod": 3.0}
    assert known(made.external) == {"call_seconds_mean": 2.0, "timeouts_per_second": 0.1}
    assert made.absent_series == ("x",)


@pytest.mark.parametrize(
    ("version", "qps", "expected"),
    [
        (None, 50.0, Setting(50.0, SettingSource.STATED, "client.qps")),
        ("1.4.0", None, Setting(-1.0, SettingSource.VERSION_DEFAULT, "default of KubeRay 1.4")),
        ("1.7.0", None, Setting(None, SettingSource.UNKNOWN, UNTOLD)),
        (None, None, Setting(None, SettingSource.UNKNOWN, UNTOLD)),
        (
            "1.7.0",
            0.0,
            Setting(5.0, SettingSource.STATED, "client.qps of 0, for which client-go takes its own default"),
        ),
    ],
)
def test_qps_is_told_or_fixed_by_the_release(version: str | None, qps: float | None, expected: Setting) -> None:
    """A release without the flag has its own value; one with the flag may have any."""
    made = signals(Facts(operator=OperatorFacts(version=version), client=ClientFacts(qps=qps)))
    assert made.settings.qps == expected
    assert made.settings.version == version


def test_burst_goes_the_same_way() -> None:
    """A release without the flag, and client-go's own for 0."""
    fixed = signals(Facts(operator=OperatorFacts(version="1.4.0")))
    assert fixed.settings.burst == Setting(0.0, SettingSource.VERSION_DEFAULT, "default of KubeRay 1.4")
    assert signals(Facts(client=ClientFacts(burst=0.0))).settings.burst.value == 10.0


def test_the_setting_is_the_fewest_workers() -> None:
    """One flag serves all; a controller with fewer was not reached or is fixed."""
    one, other = ControllerFacts(max_concurrent_reconciles=10.0), ControllerFacts(max_concurrent_reconciles=2.0)
    made = signals(Facts(controllers={"raycluster": one, "rayjob": other, "x": ControllerFacts()}))
    assert made.settings.concurrency == Setting(2.0, SettingSource.STATED, "max_concurrent_reconciles")


@pytest.mark.parametrize(
    ("name", "call", "share"),
    [("rayjob", 1.5, 0.75), ("spark", 1.5, 0.75), ("spark", 9.0, 1.0), ("raycluster", 1.5, 0.0)],
)
def test_told_calls_are_their_part_of_a_reconcile(name: str, call: float, share: float) -> None:
    """1.5 of 2 s; RayClusters call nobody, of other controllers a person has to know."""
    facts = ControllerFacts(active_workers_mean=2.0, reconcile_seconds_mean=2.0)
    made = signals(Facts(controllers={name: facts}, external=ExternalFacts(call_seconds_mean=call))).budget.external
    assert (made.value, made.low, made.high) == (share, share, share)


def test_without_busy_workers_calls_have_no_share() -> None:
    """No time, no part of it; without the time of a reconcile no call explains any."""
    told = ExternalFacts(call_seconds_mean=1.0)
    idle = signals(Facts(controllers={"rayjob": ControllerFacts()}, external=told))
    assert idle.budget.external.missing == "no worker was busy in the window"
    unknown = signals(Facts(controllers={"rayjob": ControllerFacts(active_workers_mean=1.0)}, external=told))
    assert unknown.budget.external.value == 0.0


def test_it_is_one_episode_that_nobody_scraped() -> None:
    """A nominal hour of load."""
    made = FactsObservation(Facts())
    (episode,) = made.episodes(CutRules())
    assert (episode.kind, episode.window) == (EpisodeKind.LOAD, Window(0.0, HOUR))
    assert (made.scrapes, made.window) == (None, Window(0.0, HOUR))


def test_a_drained_queue_after_the_fact_is_not_read_as_healthy() -> None:
    """The queue is empty when somebody looks, and keys had waited half a minute on average."""
    facts = ControllerFacts(
        max_concurrent_reconciles=4.0,
        depth_mean=0.0,
        active_workers_mean=0.1,
        queue_wait_seconds_mean=30.0,
        reconciles_per_second=1.0,
    )
    report = report_of(load_facts(Facts(controllers={"raycluster": facts})), Options())
    assert [(one.code.value, one.severity.value) for one in report.findings] == [("insufficient-data", "critical")]


def test_a_quantile_made_up_by_decades_is_no_trouble() -> None:
    """7 s beside a mean of 50 ms is a wrong reading, not a wait."""
    facts = ControllerFacts(
        max_concurrent_reconciles=4.0,
        depth_mean=0.0,
        active_workers_mean=0.1,
        queue_wait_seconds_mean=0.05,
        queue_wait_seconds_p99=7.0,
        reconciles_per_second=1.0,
    )
    report = report_of(load_facts(Facts(controllers={"raycluster": facts})), Options())
    assert [one.code.value for one in report.findings] == ["healthy", "metrics-misread"]


NUMBERS: Final = st.sampled_from((0.0, 1e-9, 0.01, 0.5, 1.0, 2.0, 10.0, 90.0, 1e4, 1e15))
_OF: Final = {
    int: st.sampled_from((0, 1, 3, 500, 10**15)),
    bool: st.booleans(),
    str: st.sampled_from(("1.1.0", "1.7.0", "name")),
}


def _in_range(kind: msgspec.inspect.FloatType, value: float) -> bool:
    return (
        (kind.ge is None or value >= kind.ge)
        and (kind.le is None or value <= kind.le)
        and (kind.gt is None or value > kind.gt)
    )


def parts(kind: type[msgspec.Struct]) -> st.SearchStrategy[dict[str, object]]:
    """Facts of one part, each there or not, with numbers of all sizes in the field's range."""
    optional: dict[str, st.SearchStrategy[object]] = {}
    for field in msgspec.inspect.type_info(kind).fields:  # type: ignore[attr-defined]
        types = getattr(field.type, "types", (field.type,))
        found = next(one for one in types if not isinstance(one, msgspec.inspect.NoneType))
        match found:
            case msgspec.inspect.FloatType():
                optional[field.encode_name] = NUMBERS.filter(partial(_in_range, found))
            case msgspec.inspect.IntType():
                optional[field.encode_name] = _OF[int]
            case msgspec.inspect.BoolType():
                optional[field.encode_name] = _OF[bool]
            case msgspec.inspect.StrType():
                optional[field.encode_name] = _OF[str]
            case msgspec.inspect.DictType():
                key = {"objects": "raycluster", "depth_by_priority": "-100"}.get(field.name, "429")
                number = _OF[int] if field.name == "objects" else NUMBERS
                optional[field.encode_name] = st.dictionaries(st.sampled_from((key, "0", "201")), number, max_size=3)
            case msgspec.inspect.LiteralType():
                optional[field.encode_name] = st.sampled_from(found.values)
            case _:
                points = st.fixed_dictionaries(
                    {"workers": NUMBERS.filter(lambda value: value >= 1.0), "items_per_second": NUMBERS}
                )
                optional[field.encode_name] = st.lists(points, max_size=3)
    return st.fixed_dictionaries({}, optional=optional)


@settings(deadline=None)
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "operator": parts(OperatorFacts),
            "controllers": st.dictionaries(
                st.sampled_from(("raycluster", "rayjob", "spark")), parts(ControllerFacts), max_size=2
            ),
            "client": parts(ClientFacts),
            "external": parts(ExternalFacts),
            "process": parts(ProcessFacts),
            "demand": parts(DemandFacts),
            "missing_metrics": st.lists(st.sampled_from(("workqueue_depth", "x")), max_size=2),
        },
    )
)
def test_any_facts_give_a_report(given_facts: dict[str, object]) -> None:
    """Whatever is known or not, and however large: findings, advice with a reason for each setting, finite figures."""
    report = report_of(load_facts(msgspec.convert(given_facts, Facts)), Options())
    assert report.findings
    assert all(knob.reason for _, knob in report.advice.knobs())
    assert b"null" not in msgspec.json.encode([one.value for one in report.figures.values()])


@pytest.mark.parametrize(
    ("name", "version"), [(None, "1.4.0"), ("kuberay", "1.4.0"), ("KubeRay-Operator", "1.4.0"), ("spark", None)]
)
def test_a_version_is_of_kuberay_alone(name: str | None, version: str | None) -> None:
    """Another operator's release tells nothing about flags and defaults of KubeRay."""
    made = signals(Facts(operator=OperatorFacts(name=name, version="1.4.0"))).settings
    assert (made.version, made.is_kuberay, made.qps.known) == (version, version is not None, version is not None)
