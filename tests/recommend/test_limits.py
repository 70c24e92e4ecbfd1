import msgspec
import pytest

from advisor.model.advice import Direction, KnobAdvice
from advisor.model.finding import FindingCode, Severity
from advisor.recommend.limits import bucket_demand_per_second, burst_advice, qps_advice
from advisor.recommend.policy import Policy
from tests.diagnosis.builders import (
    Given,
    a_finding,
    case,
    classic_client,
    client,
    controller,
    demand,
    diagnosis_of,
    settings,
    signals,
)

POLICY = Policy()
THROTTLED = a_finding(FindingCode.CLIENT_THROTTLED, Severity.CRITICAL)
KEPT = KnobAdvice(direction=Direction.KEEP, current=4.0, value=4.0, reason="")


def policy(**values: float) -> Policy:
    """The default policy but for the given values."""
    return msgspec.structs.replace(POLICY, **values)


def raised(current: float, value: float) -> KnobAdvice:
    """Advice to raise concurrency."""
    return KnobAdvice(direction=Direction.RAISE, current=current, value=value, reason="")


def throttled_qps(
    *, current: float | None, workers: float | None, seconds: float | None, version: str = "1.7.0", **options: Given
) -> KnobAdvice:
    """QPS advice where the limiter binds."""
    known = settings(version=version, concurrency=workers, qps=current)
    one = case(controller(), client(write_api_seconds_mean=seconds), known)
    return qps_advice(diagnosis_of(THROTTLED, of=one), KEPT, options.get("policy", POLICY))


def test_the_demand_on_one_bucket() -> None:
    """Sixteen workers whose writes take 20 ms ask for 800/s; unknown or no time gives no demand."""
    busy = signals(settings(concurrency=16.0), client(write_api_seconds_mean=0.02))
    assert bucket_demand_per_second(busy) == pytest.approx(800.0)
    assert bucket_demand_per_second(signals(settings(concurrency=16.0), classic_client())) is None
    assert bucket_demand_per_second(signals(settings(concurrency=16.0), client(write_api_seconds_mean=0.0))) is None
    assert bucket_demand_per_second(signals(settings(concurrency=None))) is None


@pytest.mark.parametrize(
    ("current", "workers", "seconds", "value"),
    [
        (5.0, 1.0, 0.02, 65.0),  # 50/s x 1.3
        (20.0, 16.0, 0.02, 100.0),  # up to KubeRay's own default
        (100.0, 64.0, 0.02, 400.0),  # at most fourfold
        (27.0, 64.0, 0.02, 108.0),  # at most fourfold, not rounded beyond it
        (100.0, 2.0, 0.02, 130.0),  # 100/s x 1.3
        (100.0, 2.1, 0.02, 140.0),  # 136.5 rounded up
        (100.0, 1.0, 0.02, 110.0),  # less than now: the smallest step up
        (60.0, 4.0, None, 240.0),  # unknown time of a write
    ],
)
def test_qps_where_the_limiter_binds(current: float, workers: float, seconds: float | None, value: float) -> None:
    """The demand with headroom, rounded up, within fourfold or KubeRay's own default."""
    made = throttled_qps(current=current, workers=workers, seconds=seconds)
    assert (made.direction, made.current, made.value) == (Direction.RAISE, current, value)
    assert made.reason


def test_its_bounds_are_settings() -> None:
    """Headroom and step."""
    assert throttled_qps(current=5.0, workers=1.0, seconds=0.02, policy=policy(qps_headroom=1.0)).value == 50.0
    assert throttled_qps(current=100.0, workers=99.0, seconds=0.02, policy=policy(largest_step=2.0)).value == 200.0


def test_the_reason_tells_what_bounds_it() -> None:
    """Demand or step."""
    assert "ask one kind's bucket for 50/s" in throttled_qps(current=5.0, workers=1.0, seconds=0.02).reason
    assert "in one step" in throttled_qps(current=100.0, workers=99.0, seconds=0.02).reason


def test_an_unknown_qps_gives_a_direction_only() -> None:
    """It is in no metric."""
    made = throttled_qps(current=None, workers=4.0, seconds=0.02)
    assert (made.direction, made.value) == (Direction.RAISE, None)
    assert "arguments" in made.reason


def test_a_release_without_the_flag_gives_a_direction_only() -> None:
    """An operator before 1.5 ends at once when it is given --qps."""
    made = throttled_qps(current=20.0, workers=4.0, seconds=None, version="1.3.0")
    assert (made.direction, made.value) == (Direction.RAISE, None)
    assert "fixed in KubeRay 1.3.0" in made.reason
    assert "1.5" in made.reason


@pytest.mark.parametrize("version", ["1.7.0", "9.9", "1.4.0"])
def test_unknown_and_unlimited_releases_go_up_to_the_usual_default(version: str) -> None:
    """Where the release's own default is no number, KubeRay's usual 100 is."""
    known = settings(version=version, concurrency=16.0, qps=20.0)
    one = case(controller(), client(write_api_seconds_mean=0.02), known)
    made = qps_advice(diagnosis_of(THROTTLED, of=one), KEPT, POLICY)
    assert made.value == (None if version == "1.4.0" else 100.0)


@pytest.mark.parametrize(
    ("known", "requests", "reason"),
    [
        (settings(qps=-1.0, burst=0.0), client(), "the client limiter is off"),
        (settings(version="1.4.0", qps=-1.0, burst=0.0), classic_client(), "the client limiter is off"),
        (settings(), client(), "do not wait in the client limiter"),
        (settings(version="1.6.1"), classic_client(), "is inferred"),
        (settings(version="1.6.1", qps=None, burst=None), classic_client(), "is inferred"),
    ],
)
def test_a_limiter_that_does_not_bind_is_kept(known: object, requests: object, reason: str) -> None:
    """Off, measured without wait, or not shown."""
    diagnosis = diagnosis_of(a_finding(FindingCode.HOT_KEY), of=case(controller(), known, requests))
    qps = qps_advice(diagnosis, KEPT, POLICY)
    burst = burst_advice(diagnosis, qps, POLICY)
    for knob in (qps, burst):
        assert knob.direction is Direction.KEEP
        assert knob.value == knob.current
        assert reason in knob.reason


def test_a_note_about_the_limiter_asks_for_nothing() -> None:
    """Waits that nobody notices leave the setting."""
    note = a_finding(FindingCode.CLIENT_THROTTLED, Severity.INFO)
    diagnosis = diagnosis_of(a_finding(FindingCode.HEALTHY, Severity.INFO), note)
    assert qps_advice(diagnosis, KEPT, POLICY).direction is Direction.KEEP


@pytest.mark.parametrize("code", [FindingCode.INSUFFICIENT_DATA, FindingCode.NOT_LEADER])
def test_a_refusal_gives_no_number(code: FindingCode) -> None:
    """Nothing may rest on it."""
    diagnosis = diagnosis_of(a_finding(code, refuses=True))
    qps = qps_advice(diagnosis, KEPT, POLICY)
    assert (qps.direction, qps.value) == (Direction.NO_NUMBER, None)
    burst = burst_advice(diagnosis, qps, POLICY)
    assert (burst.direction, burst.value) == (Direction.NO_NUMBER, None)


SATURATED = a_finding(FindingCode.WORKERS_SATURATED, Severity.CRITICAL)


def along(
    rate: float | None, qps: float | None, *, workers: KnobAdvice | None = None, version: str = "1.7.0"
) -> KnobAdvice:
    """QPS advice beside more workers, Pods being created at ``rate``."""
    one = case(controller(), settings(version=version, qps=qps), demand(sustained_pods_per_second=rate))
    return qps_advice(diagnosis_of(SATURATED, of=one), workers or raised(1.0, 4.0), POLICY)


@pytest.mark.parametrize(
    ("rate", "qps", "value"),
    [(8.5, 10.0, 45.0), (10.0, 10.0, 55.0), (100.0, 100.0, 400.0), (30.0, 30.0, 120.0)],
)
def test_a_full_bucket_is_raised_along_with_the_workers(rate: float, qps: float, value: float) -> None:
    """Four times the workers need four times the rate, with headroom, within the same bounds."""
    made = along(rate, qps)
    assert (made.direction, made.value) == (Direction.RAISE, value)
    assert "more workers need more" in made.reason


@pytest.mark.parametrize(("rate", "qps"), [(8.4, 10.0), (None, 10.0), (10.0, None), (10.0, -1.0)])
def test_a_bucket_with_room_is_kept(rate: float | None, qps: float | None) -> None:
    """Below 85 % of QPS, or where either is not known or there is no limit."""
    assert along(rate, qps).direction is Direction.KEEP


def test_how_full_is_a_setting() -> None:
    """A lower ratio raises earlier."""
    one = case(controller(), settings(qps=10.0), demand(sustained_pods_per_second=5.0))
    diagnosis = diagnosis_of(SATURATED, of=one)
    assert qps_advice(diagnosis, raised(1.0, 4.0), policy(bucket_full_ratio=0.5)).direction is Direction.RAISE


def test_it_is_raised_only_along_with_workers_and_where_it_can_be() -> None:
    """Workers that stay, an unknown number of them, a rise that needs no more, a release without the flag."""
    assert along(10.0, 10.0, workers=KEPT).direction is Direction.KEEP
    unknown = KnobAdvice(direction=Direction.RAISE, current=None, value=None, reason="")
    assert along(10.0, 10.0, workers=unknown).direction is Direction.KEEP
    assert along(8.6, 12.0, version="1.3.0").direction is Direction.KEEP
    assert along(20.0, 20.0, version="1.3.0").direction is Direction.KEEP
    little = policy(qps_headroom=0.5)
    one = case(controller(), settings(qps=10.0), demand(sustained_pods_per_second=9.0))
    assert qps_advice(diagnosis_of(SATURATED, of=one), raised(4.0, 5.0), little).direction is Direction.KEEP


def burst_for(qps: float, *, burst: float | None, fanout: float | None, **values: float) -> KnobAdvice:
    """Burst advice beside a raised QPS."""
    one = case(controller(), settings(qps=20.0, burst=burst), demand(largest_fanout_pods=fanout))
    knob = KnobAdvice(direction=Direction.RAISE, current=20.0, value=qps, reason="")
    return burst_advice(diagnosis_of(THROTTLED, of=one), knob, policy(**values))


@pytest.mark.parametrize(
    ("fanout", "value", "reason"),
    [
        (None, 200.0, "2 x the advised QPS"),
        (150.0, 200.0, "2 x the advised QPS"),
        (350.5, 351.0, "largest fan-out"),
        (9000.0, 1000.0, "largest fan-out"),
    ],
)
def test_burst_goes_with_qps(fanout: float | None, value: float, reason: str) -> None:
    """Twice QPS or the largest fan-out, at most ten seconds of QPS."""
    made = burst_for(100.0, burst=30.0, fanout=fanout)
    assert (made.direction, made.value, made.reason) == (Direction.RAISE, value, reason)


def test_burst_bounds_are_settings() -> None:
    """Multiple and largest multiple of QPS."""
    assert burst_for(100.0, burst=30.0, fanout=None, burst_of_qps=3.0).value == 300.0
    assert burst_for(100.0, burst=30.0, fanout=9000.0, largest_burst_of_qps=5.0).value == 500.0


def test_a_burst_that_covers_it_is_kept() -> None:
    """No smaller than before."""
    made = burst_for(100.0, burst=500.0, fanout=300.0)
    assert (made.direction, made.value) == (Direction.KEEP, 500.0)


def test_unknown_settings_give_a_direction_only() -> None:
    """An unknown Burst, or an unknown QPS."""
    assert burst_for(100.0, burst=None, fanout=None).value is None
    one = case(controller(), settings(qps=None, burst=30.0))
    unknown = KnobAdvice(direction=Direction.RAISE, current=None, value=None, reason="")
    made = burst_advice(diagnosis_of(THROTTLED, of=one), unknown, POLICY)
    assert (made.direction, made.value) == (Direction.RAISE, None)


@pytest.mark.parametrize(
    ("ratio", "direction"), [(0.0, Direction.RAISE), (0.009, Direction.RAISE), (0.01, Direction.KEEP)]
)
def test_qps_is_not_raised_where_the_api_server_refuses_already(ratio: float, direction: Direction) -> None:
    """What the client limiter would let through comes back with 429: neither QPS nor Burst is raised then."""
    busy = client(write_api_seconds_mean=0.02, requests_per_second=20.0, too_many_requests_ratio=ratio)
    one = diagnosis_of(THROTTLED, of=case(controller(), busy, settings(concurrency=4.0, qps=20.0, burst=40.0)))
    qps = qps_advice(one, KEPT, POLICY)
    burst = burst_advice(one, qps, POLICY)
    assert (qps.direction, burst.direction) == (direction, direction)
    assert ("429" in qps.reason) == ("429" in burst.reason) == (direction is Direction.KEEP)


def test_a_few_refusals_are_chance() -> None:
    """Four answers 429 of a hundred say nothing about what the server bears."""
    rare = client(write_api_seconds_mean=0.02, requests_per_second=1.0, too_many_requests_ratio=0.04)
    one = case(controller(), rare, settings(concurrency=4.0, qps=20.0))
    assert qps_advice(diagnosis_of(THROTTLED, of=one), KEPT, POLICY).direction is Direction.RAISE
