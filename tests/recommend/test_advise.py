from typing import Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.analysis.figures import figures_of
from advisor.diagnosis.case import Case
from advisor.diagnosis.engine import Diagnosis, diagnose
from advisor.model.advice import Direction
from advisor.model.finding import FindingCode, Severity
from advisor.model.signals import EpisodeKind
from advisor.recommend.advise import advise
from advisor.recommend.policy import Policy
from tests.diagnosis.builders import (
    NO_CONTROLLERS,
    Value,
    a_finding,
    budget,
    case,
    client,
    controller,
    demand,
    diagnosis_of,
    estimated,
    key,
    loaded_client,
    log,
    process,
    saturated,
    settings,
    unknown_controller,
)

POLICY: Final = Policy()
ARGS: Final = ("manager", "--reconcile-concurrency=1", "--qps=100", "--burst=200")
SATURATED: Final = diagnosis_of(
    a_finding(FindingCode.WORKERS_SATURATED, Severity.CRITICAL, next_steps=("raise it",)),
    of=case(saturated(), loaded_client()),
)


def verdict(
    code: FindingCode, severity: Severity = Severity.WARNING, kind: EpisodeKind = EpisodeKind.LOAD
) -> Diagnosis:
    """An episode with one finding."""
    return diagnosis_of(
        a_finding(code, severity, next_steps=(f"see to {code.value}",)), of=case(saturated(), kind=kind)
    )


@pytest.mark.parametrize(
    "code",
    [
        FindingCode.HEALTHY,
        FindingCode.OVER_PROVISIONED,
        FindingCode.BOTTLENECK_ELSEWHERE,
        FindingCode.CACHE_LAG,
        FindingCode.RESYNC_LOAD,
        FindingCode.HOT_KEY,
    ],
)
def test_another_episode_that_asks_for_a_change_is_heard(code: FindingCode) -> None:
    """A verdict that leaves the settings alone does not silence an episode in which keys waited for workers."""
    shown = verdict(code)
    advice, basis = advise([shown, SATURATED], shown, POLICY, ARGS)
    assert basis is SATURATED
    assert advice.concurrency.direction is Direction.RAISE
    assert advice.actions == (f"see to {code.value}",)
    assert advice.patches


@pytest.mark.parametrize(
    "code",
    [
        FindingCode.API_SERVER_SLOW,
        FindingCode.ERROR_RETRIES,
        FindingCode.WRITE_CONFLICTS,
        FindingCode.CLIENT_THROTTLED,
        FindingCode.INSUFFICIENT_DATA,
        FindingCode.NOT_LEADER,
    ],
)
def test_a_verdict_with_a_say_of_its_own_stands(code: FindingCode) -> None:
    """What must be mended first is not overruled by another episode."""
    shown = verdict(code)
    _, basis = advise([shown, SATURATED], shown, POLICY, ARGS)
    assert basis is shown


@pytest.mark.parametrize(
    "other",
    [
        verdict(FindingCode.WORKERS_SATURATED, Severity.INFO),
        verdict(FindingCode.WORKERS_SATURATED, kind=EpisodeKind.STARTUP),
        verdict(FindingCode.WORKERS_SATURATED, kind=EpisodeKind.QUIET),
        verdict(FindingCode.ERROR_RETRIES),
    ],
)
def test_notes_start_ups_and_other_findings_ask_for_nothing(other: Diagnosis) -> None:
    """Only a warning under load about settings is heard."""
    shown = verdict(FindingCode.HEALTHY, Severity.INFO)
    _, basis = advise([shown, other], shown, POLICY, ARGS)
    assert basis is shown


def test_of_several_the_worst_is_heard() -> None:
    """The one in which most time was lost."""
    mild = diagnosis_of(a_finding(FindingCode.WORKERS_SATURATED), of=case(saturated(backlog_mean=2.0), loaded_client()))
    shown = verdict(FindingCode.HEALTHY, Severity.INFO)
    _, basis = advise([shown, mild, SATURATED], shown, POLICY, ARGS)
    assert basis is SATURATED


def test_actions_come_once_and_are_few() -> None:
    """Six at most, each once, in the order of the findings."""
    steps = tuple(f"step {number}" for number in range(5))
    findings = [a_finding(code, next_steps=(*steps, code.value)) for code in list(FindingCode)[:4]]
    made = diagnosis_of(*findings)
    advice, _ = advise([made], made, POLICY, ())
    assert advice.actions == (*steps, "workers-saturated")


def test_nothing_to_change_gives_no_patch() -> None:
    """Advice that keeps everything."""
    made = diagnose(case())
    advice, _ = advise([made], made, POLICY, ARGS)
    assert {knob.direction for _, knob in advice.knobs()} == {Direction.KEEP}
    assert advice.patches == ()


def test_workers_cpu_and_qps_are_raised_together() -> None:
    """A saturated operator whose Pods come at QPS and whose CPU limit has no room."""
    made = diagnose(
        case(
            saturated(oldest_wait_seconds_peak=90.0),
            loaded_client(),
            process(cpu_cores=0.06, cpu_limit_cores=0.1, cpu_throttled_ratio=0.1),
            demand(sustained_pods_per_second=20.0, largest_fanout_pods=6.0),
            settings(concurrency=1.0, qps=20.0, burst=30.0),
        )
    )
    advice, _ = advise([made], made, POLICY, ("--qps=20", "--burst=30"))
    assert [knob.value for _, knob in advice.knobs()] == [4.0, 100.0, 200.0, 0.3, None]
    assert {one.kind for one in advice.patches} == {
        "helm-values",
        "deployment-args",
        "deployment-resources",
        "kustomize",
    }


def figures(most: float) -> st.SearchStrategy[float | None]:
    """A figure that may be missing."""
    return st.none() | st.just(0.0) | st.floats(min_value=1e-6, max_value=most)


RATIO: Final = figures(1.0)
MAYBE_WORKERS: Final = st.none() | st.integers(min_value=1, max_value=200).map(float)


class Sample:
    """A case that shows only what is known of it."""

    def __init__(self, one: Case) -> None:
        self.case = one

    def __repr__(self) -> str:
        known, _ = figures_of(self.case.signals, POLICY)
        numbers = {name: figure.value for name, figure in known.items() if figure.origin.startswith("series of ")}
        return f"{self.case.episode.kind} {self.case.scrapes} {self.case.signals.settings} {numbers}"


@st.composite
def cases(draw: st.DrawFn) -> Sample:
    """Any episode: signals of any size, any of them missing, nothing consistent with anything else."""

    def share(name: str) -> Value:
        value = draw(RATIO)
        return None if value is None else estimated(name, value, low=value * draw(st.floats(0.0, 1.0)), high=1.0)

    parts: list[object] = []
    names = draw(st.lists(st.sampled_from(["raycluster", "rayjob", "rayservice", "raycluster-mtls"]), unique=True))
    for name in names:
        fields = draw(
            st.fixed_dictionaries(
                {
                    "max_concurrent_reconciles": MAYBE_WORKERS,
                    "busy_workers_mean": figures(200.0),
                    "busy_worker_seconds": figures(20_000.0),
                    "active_workers_peak": figures(200.0),
                    "utilisation": RATIO,
                    "backlog_mean": figures(1e4),
                    "backlog_peak": figures(1e4),
                    "blocked_ratio": RATIO,
                    "waiting_key_seconds": figures(1e6),
                    "reconciles": figures(1e5),
                    "reconciles_per_second": figures(1e3),
                    "queue_wait_seconds_mean": figures(1e3),
                    "oldest_wait_seconds_peak": figures(1e4),
                    "work_seconds_mean": figures(100.0),
                    "longest_running_seconds": figures(1e3),
                    "reconcile_seconds_p99": figures(1e3),
                    "errors_per_second": figures(100.0),
                    "error_ratio": RATIO,
                    "adds_per_second": figures(1e3),
                }
            )
        )
        parts.append(unknown_controller(name, **fields))
    if not names:
        parts.append(NO_CONTROLLERS)
    parts.append(
        client(
            **draw(
                st.fixed_dictionaries(
                    {
                        "requests_per_second": figures(1e3),
                        "write_requests_per_second": figures(1e3),
                        "post_requests_per_second": figures(1e3),
                        "request_seconds_mean": figures(10.0),
                        "limiter_wait_seconds_mean": figures(10.0),
                        "limiter_wait_seconds": figures(1e4),
                        "write_api_seconds_mean": figures(10.0),
                        "api_seconds": figures(1e4),
                        "limited_share": RATIO,
                        "conflict_ratio": RATIO,
                        "conflicts_per_second": figures(100.0),
                        "too_many_requests_ratio": RATIO,
                    }
                )
            )
        )
    )
    parts.append(
        process(
            leader=draw(RATIO),
            cpu_cores=draw(figures(8.0)),
            cpu_limit_cores=draw(figures(8.0)),
            cpu_throttled_ratio=draw(RATIO),
            memory_bytes=draw(figures(1e10)),
            memory_limit_bytes=draw(figures(1e10)),
        )
    )
    parts.append(
        demand(
            unready_cluster_seconds=draw(figures(1e5)),
            missing_pod_cluster_seconds=draw(figures(1e5)),
            clusters_created=draw(figures(1e3)),
            sustained_pods_per_second=draw(figures(500.0)),
            largest_fanout_pods=draw(figures(1e4)),
        )
    )
    parts.append(
        log(
            throttle_lines=draw(figures(50.0)),
            conflicts=draw(figures(1e3)),
            control_flow_errors=draw(figures(1e3)),
            blocked_seconds_peak=draw(figures(1e3)),
        )
    )
    parts.append(
        settings(
            version=draw(st.sampled_from([None, "1.0.0", "1.1.1", "1.3.0", "1.4.0", "1.6.1", "1.7.0", "9.9"])),
            concurrency=draw(MAYBE_WORKERS),
            qps=draw(st.none() | st.just(-1.0) | st.floats(1.0, 1000.0)),
            burst=draw(st.none() | st.floats(0.0, 2000.0)),
        )
    )
    if draw(st.booleans()):
        parts.append(key(share=draw(st.floats(0.0, 1.0)), reconciles=draw(st.integers(0, 10_000))))
    if draw(st.booleans()):
        parts.append(
            budget(
                api_server=share("api_server"),
                client_limiter=share("client_limiter"),
                cpu=share("cpu"),
                external=share("external"),
            )
        )
    return Sample(case(*parts, kind=draw(st.sampled_from(EpisodeKind)), scrapes=draw(st.integers(2, 500))))


GUARDS: Final = frozenset(
    {
        FindingCode.CPU_LIMITED,
        FindingCode.CLIENT_THROTTLED,
        FindingCode.API_SERVER_SLOW,
        FindingCode.HOT_KEY,
        FindingCode.ERROR_RETRIES,
        FindingCode.WRITE_CONFLICTS,
    }
)


@given(sample=cases())
def test_advice_keeps_its_promises(sample: Sample) -> None:
    """Whatever the signals: values fit their directions, steps are bounded, guards hold, and it is the same twice."""
    one = sample.case
    diagnosis = diagnose(one)
    assert diagnosis.findings
    advice, basis = advise([diagnosis], diagnosis, POLICY, ARGS)
    assert basis is diagnosis
    assert advise([diagnose(one)], diagnose(one), POLICY, ARGS)[0] == advice
    for name, knob in advice.knobs():
        assert knob.reason, name
        match knob.direction:
            case Direction.KEEP:
                assert knob.value == knob.current
            case Direction.NO_NUMBER:
                assert knob.value is None
            case Direction.RAISE if knob.value is not None and knob.current is not None:
                assert knob.value > knob.current
            case Direction.LOWER:
                assert knob.value is not None
                assert knob.current is not None
                assert 0.0 < knob.value < knob.current
            case _:
                pass
    workers = advice.concurrency
    if workers.direction is Direction.RAISE:
        assert diagnosis.primary.code not in GUARDS
        assert workers.value is None or workers.current is None or workers.value <= 4.0 * workers.current
    if diagnosis.refuses:
        assert {knob.direction for _, knob in advice.knobs()} == {Direction.NO_NUMBER}
        assert advice.patches == ()
    qps = advice.qps
    if qps.value is not None and qps.current is not None and qps.direction is Direction.RAISE:
        assert qps.value <= max(4.0 * qps.current, 100.0)
    msgspec.json.encode(advice)


@given(sample=cases())
def test_findings_are_sound(sample: Sample) -> None:
    """Whatever the signals: ratios are ratios, losses are not negative, and no code comes twice."""
    findings = diagnose(sample.case).findings
    assert len({made.code for made in findings}) == len(findings)
    for made in findings:
        assert 0.0 <= made.lost_ratio <= 1.0
        assert made.lost_seconds >= 0.0
        assert made.summary
        assert made.title


@pytest.mark.parametrize("workers", [1.0, 3.0, 50.0])
def test_four_times_is_the_bound(workers: float) -> None:
    """Waits of hours do not lead further."""
    made = diagnose(case(saturated(workers=workers, oldest_wait_seconds_peak=9000.0), loaded_client()))
    advice, _ = advise([made], made, POLICY, ARGS)
    assert advice.concurrency.value == 4.0 * workers


def test_an_idle_operator_is_left_alone() -> None:
    """Nothing to do is advice as well."""
    made = diagnose(case(controller(), client()))
    advice, _ = advise([made], made, POLICY, ARGS)
    assert advice.actions == ()
