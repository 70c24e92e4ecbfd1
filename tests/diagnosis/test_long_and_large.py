"""Observations of another size than a short recording: a day of one-minute scrapes, thousands of objects."""

from typing import Final

from advisor.diagnosis.engine import Diagnosis, diagnose
from advisor.model.advice import Direction
from advisor.model.finding import FindingCode, Severity
from advisor.model.signal import Window
from advisor.model.signals import ControllerSignals, EpisodeKind
from advisor.recommend.advise import advise
from advisor.recommend.policy import Policy
from tests.diagnosis.builders import (
    Given,
    budget,
    case,
    classic_client,
    client,
    codes,
    controller,
    demand,
    key,
    loaded_client,
    log,
    priorities,
    saturated,
    settings,
)

DAY: Final = Window(0.0, 86_400.0)


def over_a_day(*parts: object, **options: Given) -> Diagnosis:
    """The diagnosis of a day in one episode, scraped each minute."""
    return diagnose(case(*parts, window=DAY, scrapes=1440, **options))


def daily(**given: Given) -> ControllerSignals:
    """A controller's day."""
    return controller(window=DAY, **given)


def test_a_day_of_ordinary_starts_is_healthy() -> None:
    """Two hundred clusters, each a minute short of its Pods and a second of settling: nothing to warn about."""
    starts = demand(unready_cluster_seconds=8400.0, missing_pod_cluster_seconds=400.0, clusters_created=200.0)
    made = over_a_day(daily(), client(requests_per_second=1.0, write_requests_per_second=0.5), starts)
    assert codes(made) == ["healthy"]


def test_one_cluster_that_never_starts_shows_among_many() -> None:
    """A hundred ordinary starts and one cluster pending for ten hours."""
    starts = demand(unready_cluster_seconds=40_000.0, missing_pod_cluster_seconds=200.0, clusters_created=101.0)
    assert over_a_day(daily(), client(), starts).primary.code is FindingCode.BOTTLENECK_ELSEWHERE


def test_a_moment_of_backlog_in_a_day_is_healthy() -> None:
    """Thirty clusters created at once, gone within two seconds."""
    moment = daily(backlog_mean=0.001, backlog_peak=26.0, queue_wait_seconds_mean=0.02, oldest_wait_seconds_peak=2.0)
    assert codes(over_a_day(moment, client())) == ["healthy"]


def test_a_burst_does_not_hide_who_writes_all_day() -> None:
    """Twenty reconciles a second of one key, and once others waited for a moment."""
    moment = daily(backlog_mean=0.001, backlog_peak=26.0, oldest_wait_seconds_peak=2.0, reconciles_per_second=20.0)
    made = over_a_day(moment, client(write_requests_per_second=20.0), key(share=0.9, reconciles=1_700_000))
    assert codes(made) == ["hot-key"]


def test_one_throttling_line_in_a_day_is_no_full_bucket() -> None:
    """Saturated for the day; a single line about a burst does not make it the limiter."""
    busy = saturated(window=DAY, waiting_key_seconds=21.0 * DAY.seconds)
    made = over_a_day(
        busy,
        classic_client(write_requests_per_second=35.0),
        log(throttle_lines=1.0),
        settings(version="1.6.1", concurrency=1.0),
        queue="classic",
    )
    assert made.primary.code is FindingCode.WORKERS_SATURATED


def test_one_refused_request_in_a_quiet_day_is_nothing() -> None:
    """A 429 among ten requests."""
    quiet = daily(reconciles_per_second=0.01)
    requests = client(requests_per_second=10.0 / DAY.seconds, too_many_requests_ratio=0.1)
    assert codes(over_a_day(quiet, requests)) == ["healthy"]


def test_a_large_start_is_not_what_workers_are_sized_for() -> None:
    """Five thousand clusters after a restart: two minutes of waiting, then nobody waits again."""
    start = saturated(
        depth_by_priority=priorities(m100=5000.0),
        backlog_mean=2500.0,
        queue_wait_seconds_mean=60.0,
        oldest_wait_seconds_peak=120.0,
    )
    startup = diagnose(case(start, loaded_client(), kind=EpisodeKind.STARTUP))
    quiet = diagnose(case(kind=EpisodeKind.QUIET))
    assert startup.primary.code is FindingCode.RESYNC_LOAD
    advice, _ = advise([startup, quiet], startup, Policy(), ())
    assert advice.concurrency.direction is Direction.KEEP


def test_a_short_wait_in_the_limiter_of_an_idle_operator_is_a_note() -> None:
    """Half of hardly any time: nobody waits, so the setting stays."""
    made = diagnose(case(controller(), client(), budget(client_limiter=0.5)))
    assert codes(made) == ["healthy", "client-throttled"]
    assert made.findings[1].severity is Severity.INFO
    advice, _ = advise([made], made, Policy(), ())
    assert advice.qps.direction is Direction.KEEP


def test_pollers_alone_on_the_classic_queue() -> None:
    """Only RayJobs, no RayCluster at work, no durations: their dashboards hold the workers."""
    jobs = saturated("rayjob", workers=2.0, work_seconds_mean=2.0, reconciles_per_second=1.0)
    requests = classic_client(write_requests_per_second=0.2, post_requests_per_second=0.1)
    made = diagnose(case(jobs, requests, settings(version="1.6.1", concurrency=2.0), queue="classic"))
    assert made.primary.code is FindingCode.EXTERNAL_CALL_SLOW
    advice, _ = advise([made], made, Policy(), ())
    assert (advice.concurrency.direction, advice.concurrency.value) == (Direction.RAISE, 7.0)
