"""The decision table of the article, row by row: situation, primary finding, direction of each setting."""

from typing import Final

import msgspec
import pytest

from advisor.diagnosis.case import Case
from advisor.diagnosis.engine import diagnose
from advisor.model.advice import Direction
from advisor.model.finding import FindingCode
from advisor.model.signals import EpisodeKind
from advisor.recommend.advise import advise
from advisor.recommend.policy import Policy
from tests.diagnosis.builders import (
    NO_CONTROLLERS,
    budget,
    case,
    classic_client,
    client,
    controller,
    demand,
    estimated,
    key,
    loaded_client,
    log,
    points,
    priorities,
    process,
    saturated,
    settings,
)

RAISE, KEEP, LOWER, NO_NUMBER = Direction.RAISE, Direction.KEEP, Direction.LOWER, Direction.NO_NUMBER
STARTUP: Final = EpisodeKind.STARTUP
QUIET: Final = EpisodeKind.QUIET


class Row(msgspec.Struct, frozen=True):
    """One row; directions are of concurrency, QPS and Burst."""

    situation: str
    case: Case
    primary: FindingCode
    directions: tuple[Direction, Direction, Direction]


CLASSIC_SETTINGS: Final = settings(version="1.6.1", concurrency=1.0, qps=20.0, burst=30.0)
BESIDE_ITSELF: Final = controller(
    workers=8.0,
    busy_workers_mean=0.95,
    blocked_ratio=0.8,
    depth_mean=1.0,
    queue_wait_seconds_mean=6.0,
    longest_running_seconds=18.0,
)

ROWS: Final = (
    Row(
        "workers busy, many keys waiting, API latency and limiter fine",
        case(saturated(), loaded_client(), key(share=0.02)),
        FindingCode.WORKERS_SATURATED,
        (RAISE, KEEP, KEEP),
    ),
    Row(
        "the same on the classic queue with metrics alone",
        case(saturated(), classic_client(write_requests_per_second=35.0), settings(version="1.6.1", concurrency=1.0)),
        FindingCode.WORKERS_SATURATED,
        (RAISE, KEEP, KEEP),
    ),
    Row(
        "the same with the limiter off and 32 workers",
        case(saturated(workers=32.0), loaded_client(), settings(concurrency=32.0, qps=-1.0, burst=0.0)),
        FindingCode.WORKERS_SATURATED,
        (RAISE, KEEP, KEEP),
    ),
    Row(
        "the backlog is one key in process",
        case(BESIDE_ITSELF, client(), key(share=0.95)),
        FindingCode.HOT_KEY,
        (KEEP, KEEP, KEEP),
    ),
    Row(
        "one key is written to all the time",
        case(controller(), client(), key(share=0.95, reconciles=2000)),
        FindingCode.HOT_KEY,
        (KEEP, KEEP, KEEP),
    ),
    Row(
        "the API server has become slow",
        case(saturated(workers=10.0), loaded_client(write_api_seconds_mean=0.25, api_seconds=950.0)),
        FindingCode.API_SERVER_SLOW,
        (KEEP, KEEP, KEEP),
    ),
    Row(
        "the API server sheds load",
        case(saturated(workers=10.0), loaded_client(too_many_requests_ratio=0.3)),
        FindingCode.API_SERVER_SLOW,
        (KEEP, KEEP, KEEP),
    ),
    Row(
        "limiter wait grows",
        case(
            saturated(workers=16.0),
            loaded_client(limiter_wait_seconds=1100.0, limited_share=0.95, limiter_wait_seconds_mean=0.8),
            settings(concurrency=16.0, qps=20.0, burst=30.0),
        ),
        FindingCode.CLIENT_THROTTLED,
        (KEEP, RAISE, RAISE),
    ),
    Row(
        "one worker at QPS 5",
        case(
            saturated(),
            loaded_client(limiter_wait_seconds=76.0, limited_share=0.95, limiter_wait_seconds_mean=0.15),
            settings(concurrency=1.0, qps=5.0, burst=5.0),
        ),
        FindingCode.CLIENT_THROTTLED,
        (KEEP, RAISE, RAISE),
    ),
    Row(
        "Pods come at just the rate of QPS on the classic queue",
        case(saturated(), classic_client(), CLASSIC_SETTINGS, demand(sustained_pods_per_second=20.0)),
        FindingCode.CLIENT_THROTTLED,
        (KEEP, RAISE, RAISE),
    ),
    Row(
        "reconciles fail",
        case(saturated(errors_per_second=2.0), loaded_client(), log(control_flow_errors=0.0, conflicts=0.0)),
        FindingCode.ERROR_RETRIES,
        (KEEP, KEEP, KEEP),
    ),
    Row(
        "updates conflict with another writer",
        case(
            controller(errors_per_second=0.3),
            client(conflict_ratio=0.4, conflicts_per_second=0.3, write_requests_per_second=0.7),
        ),
        FindingCode.WRITE_CONFLICTS,
        (KEEP, KEEP, KEEP),
    ),
    Row(
        "updates conflict with another writer while keys wait",
        case(
            saturated(errors_per_second=1.0),
            loaded_client(conflict_ratio=0.7, conflicts_per_second=1.0, write_requests_per_second=1.5),
        ),
        FindingCode.WRITE_CONFLICTS,
        (KEEP, KEEP, KEEP),
    ),
    Row(
        "a CPU quota stops the operator",
        case(
            saturated(workers=10.0),
            loaded_client(),
            process(cpu_cores=0.1, cpu_limit_cores=0.1, cpu_throttled_ratio=0.8),
        ),
        FindingCode.CPU_LIMITED,
        (KEEP, KEEP, KEEP),
    ),
    Row(
        "workers wait for dashboards and keys for workers",
        case(
            saturated("rayjob", workers=2.0, work_seconds_mean=2.0, reconciles_per_second=1.0),
            client(),
            budget(external=estimated("external", 0.95, low=0.9, high=1.0)),
        ),
        FindingCode.EXTERNAL_CALL_SLOW,
        (RAISE, KEEP, KEEP),
    ),
    Row(
        "workers idle, clusters wait for their Pods",
        case(controller(), demand(unready_cluster_seconds=3000.0, missing_pod_cluster_seconds=10.0), kind=QUIET),
        FindingCode.BOTTLENECK_ELSEWHERE,
        (KEEP, KEEP, KEEP),
    ),
    Row(
        "workers idle, groups skipped until the cache catches up",
        case(
            controller(),
            demand(unready_cluster_seconds=3000.0, missing_pod_cluster_seconds=2900.0),
            log(blocked_groups=1.0, blocked_seconds_peak=200.0),
            kind=QUIET,
        ),
        FindingCode.CACHE_LAG,
        (KEEP, KEEP, KEEP),
    ),
    Row(
        "a standby replica",
        case(NO_CONTROLLERS, process(leader=0.0), settings()),
        FindingCode.NOT_LEADER,
        (NO_NUMBER, NO_NUMBER, NO_NUMBER),
    ),
    Row(
        "three scrapes",
        case(saturated(), loaded_client(), scrapes=3),
        FindingCode.INSUFFICIENT_DATA,
        (NO_NUMBER, NO_NUMBER, NO_NUMBER),
    ),
    Row(
        "keys wait and what would tell why is not exposed",
        case(
            saturated(),
            classic_client(write_requests_per_second=5.0),
            settings(version="1.6.1", concurrency=1.0, qps=None, burst=None),
        ),
        FindingCode.INSUFFICIENT_DATA,
        (NO_NUMBER, NO_NUMBER, NO_NUMBER),
    ),
    Row(
        "far more workers than were ever busy",
        case(controller(workers=64.0), client(), kind=QUIET),
        FindingCode.OVER_PROVISIONED,
        (LOWER, KEEP, KEEP),
    ),
    Row(
        "the initial list after a start",
        case(saturated(depth_by_priority=priorities(m100=300.0)), loaded_client(), kind=STARTUP),
        FindingCode.RESYNC_LOAD,
        (KEEP, KEEP, KEEP),
    ),
    Row(
        "more workers got less done",
        case(saturated(workers=8.0, scaling=points(w4=0.3, w8=0.2)), loaded_client()),
        FindingCode.CONTENTION,
        (LOWER, KEEP, KEEP),
    ),
    Row(
        "half of the workers got as much done",
        case(saturated(workers=8.0, scaling=points(w4=0.3, w8=0.3)), loaded_client()),
        FindingCode.WORKERS_SATURATED,
        (KEEP, KEEP, KEEP),
    ),
    Row(
        "killed for memory with several workers busy",
        case(
            controller(workers=10.0, busy_workers_mean=3.5),
            client(),
            process(memory_bytes=5e8, memory_limit_bytes=5.3e8, oom_kills=2.0),
        ),
        FindingCode.MEMORY_LIMITED,
        (LOWER, KEEP, KEEP),
    ),
    Row(
        "memory nearly used up",
        case(controller(), client(), process(memory_bytes=5e8, memory_limit_bytes=5.3e8)),
        FindingCode.MEMORY_LIMITED,
        (KEEP, KEEP, KEEP),
    ),
    Row(
        "keys wait and memory is nearly used up",
        case(saturated(), loaded_client(), process(memory_bytes=5e8, memory_limit_bytes=5.3e8)),
        FindingCode.WORKERS_SATURATED,
        (KEEP, KEEP, KEEP),
    ),
    Row(
        "the flag did not take effect",
        case(saturated(configured_concurrency=10.0), loaded_client()),
        FindingCode.SETTING_NOT_APPLIED,
        (KEEP, KEEP, KEEP),
    ),
    Row(
        "changes starve the initial list",
        case(saturated(depth_by_priority=priorities(p0=10.0, m100=300.0)), loaded_client()),
        FindingCode.PRIORITY_STARVATION,
        (KEEP, KEEP, KEEP),
    ),
    Row(
        "the classic queue's retry bucket is full",
        case(
            controller(adds_per_second=10.0, delayed_adds_per_second=10.0, requeue_after_ratio=0.0),
            client(),
            queue="classic",
        ),
        FindingCode.QUEUE_LIMITER_BOUND,
        (KEEP, KEEP, KEEP),
    ),
    Row(
        "the leader keeps losing its lease",
        case(controller(), client(), process(lease_errors_per_hour=5.0, restarts=3.0)),
        FindingCode.NOT_LEADER,
        (KEEP, KEEP, KEEP),
    ),
    Row(
        "workers are held by calls that never end",
        case(
            saturated("rayjob", workers=8.0, reconciles_per_second=0.5, longest_running_seconds=900.0),
            client(),
            budget(external=estimated("external", 0.95, low=0.9, high=1.0)),
        ),
        FindingCode.EXTERNAL_CALL_SLOW,
        (KEEP, KEEP, KEEP),
    ),
    Row(
        "one worker waits for a slow API server",
        case(saturated(), loaded_client(write_api_seconds_mean=0.25, api_seconds=95.0)),
        FindingCode.WORKERS_SATURATED,
        (RAISE, KEEP, KEEP),
    ),
    Row(
        "a queue that has drained since",
        case(controller(depth_mean=0.0, queue_wait_seconds_mean=30.0), client()),
        FindingCode.INSUFFICIENT_DATA,
        (NO_NUMBER, NO_NUMBER, NO_NUMBER),
    ),
    Row(
        "keys are taken up at once",
        case(controller(), client()),
        FindingCode.HEALTHY,
        (KEEP, KEEP, KEEP),
    ),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.situation)
def test_row(row: Row) -> None:
    """Each situation leads to its finding first, and to its directions."""
    diagnosis = diagnose(row.case)
    assert diagnosis.primary.code is row.primary
    advice, basis = advise([diagnosis], diagnosis, Policy(), ())
    assert basis is diagnosis
    knobs = (advice.concurrency, advice.qps, advice.burst)
    assert tuple(knob.direction for knob in knobs) == row.directions
    assert all(knob.reason for knob in knobs)


def test_each_finding_is_in_the_table() -> None:
    """Every finding leads a row, but for the state of the data and a wrong reading, which never come alone."""
    missing = {code for code in FindingCode if code not in {row.primary for row in ROWS}}
    assert missing == {FindingCode.METRICS_MISSING, FindingCode.METRICS_MISREAD}
