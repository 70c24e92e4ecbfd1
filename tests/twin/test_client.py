from dataclasses import replace
from random import Random

import pytest

from advisor.queueing.tokenbucket import ClientBuckets
from advisor.twin.client import MAX_ATTEMPTS, Client, Refusal, Request, Status
from advisor.twin.engine import Engine
from advisor.twin.parameters import Faults, WorldParameters
from advisor.twin.workload import Workload
from advisor.twin.world import CpuQuota, ServiceLine
from tests.twin.worlds import SETTINGS, arrivals, attempts, controller, requests, run, world

MS = 1_000_000


class Caller:
    """Waits for one answer."""

    def __init__(self, engine: Engine, request: Request) -> None:
        self.engine = engine
        self.request = request
        self.sent_ns = engine.now_ns
        self.limited_ns = 0
        self.cpu_ns = 0
        self.attempt = 0
        self.answers: list[tuple[int, int]] = []

    def answered(self, status: int) -> None:
        """Keep when and what."""
        self.answers.append((self.engine.now_ns, status))


def client(
    parameters: WorldParameters | None = None, *, qps: float = -1.0, burst: int = 1, cores: float | None = None
) -> tuple[Client, Engine]:
    """A client of a new process, and its time."""
    engine = Engine()
    one = Client(engine, ServiceLine(), CpuQuota(cores), parameters or world(server_work_seconds=0.001), Random(1))
    one.start(ClientBuckets(qps, burst))
    return one, engine


def test_time_of_a_request() -> None:
    """Work in the server's line and a delay outside it."""
    one, engine = client()
    caller = Caller(engine, one.request("POST", "Pod"))
    one.send(caller)
    engine.run(20 * MS)
    assert caller.answers == [(11 * MS, Status.OK)]
    assert caller.request.counts.api_ns == 11 * MS


def test_time_by_verb_and_kind() -> None:
    """A time told for a verb on a kind goes before that of the verb, and that before the one of POST."""
    told = {"POST": 0.01, "PUT": 0.02, "PUT RayCluster": 0.03}
    one, _ = client(WorldParameters(request_seconds=told))
    delays = [one.request(*of).delays_ns[0] // MS for of in (("PUT", "RayCluster"), ("PUT", "Pod"), ("DELETE", "Pod"))]
    assert delays == [30, 20, 10]


def test_line_is_served_in_order() -> None:
    """Requests at once wait for each other's work, not for each other's delay."""
    one, engine = client()
    callers = [Caller(engine, one.request("POST", kind)) for kind in ("Pod", "Service", "Event")]
    for caller in callers:
        one.send(caller)
    engine.run(20 * MS)
    assert [caller.answers[0][0] for caller in callers] == [11 * MS, 12 * MS, 13 * MS]


def test_buckets_by_kind() -> None:
    """Requests of one kind wait for tokens of its bucket, those of other kinds do not."""
    one, engine = client(qps=10.0)
    callers = [Caller(engine, one.request("POST", kind)) for kind in ("Pod", "Pod", "Service", "Pod/status")]
    for caller in callers:
        one.send(caller)
    engine.run(1000 * MS)
    assert [caller.limited_ns // MS for caller in callers] == [0, 100, 0, 200]
    assert callers[1].request.counts.limiter_ns == 100 * MS


def test_delays_are_drawn_from_the_spread() -> None:
    """Each request gets one of the quantiles."""
    one, engine = client(replace(world(server_work_seconds=0.0), request_spread=(0.5, 1.5)))
    request = one.request("POST", "Pod")
    callers = [Caller(engine, request) for _ in range(40)]
    for caller in callers:
        one.send(caller)
    engine.run(1000 * MS)
    assert {caller.answers[0][0] for caller in callers} == {5 * MS, 15 * MS}


def test_retries_after_429() -> None:
    """A throttled request sleeps, passes the limiter again, and is given up after ten retries."""
    faults = Faults(throttled_ratio=1.0, retry_after_seconds=1.0)
    one, engine = client(world(server_work_seconds=0.001, faults=faults), qps=100.0, burst=MAX_ATTEMPTS)
    caller = Caller(engine, one.request("POST", "Pod"))
    one.send(caller)
    engine.run(60_000 * MS)
    assert caller.answers == [(MAX_ATTEMPTS * 11 * MS + (MAX_ATTEMPTS - 1) * 1000 * MS, Status.TOO_MANY_REQUESTS)]
    counts = caller.request.counts
    assert (counts.requests, counts.attempts) == (1, MAX_ATTEMPTS)
    assert caller.request.bucket is not None
    assert caller.request.bucket.waits == MAX_ATTEMPTS


def test_retries_wait_in_the_limiter() -> None:
    """Each retry takes a token, so that a slow bucket adds to the sleep; the two are told apart."""
    faults = Faults(throttled_ratio=1.0, retry_after_seconds=1.0)
    one, engine = client(world(server_work_seconds=0.001, faults=faults), qps=0.5, burst=1)
    caller = Caller(engine, one.request("POST", "Pod"))
    one.send(caller)
    engine.run(60_000 * MS)
    (answer,) = caller.answers
    assert caller.limited_ns == caller.request.counts.limiter_ns > 9_000 * MS
    assert caller.request.counts.api_ns == answer[0] - caller.limited_ns


def test_throttled_kinds_and_times() -> None:
    """Only requests of the kinds, and only within the time, are throttled."""
    faults = Faults(throttled_ratio=1.0, throttled_kinds=("Pod",), from_seconds=1.0, to_seconds=2.0)
    one, engine = client(world(server_work_seconds=0.001, faults=faults))
    pod, service = one.request("POST", "Pod"), one.request("POST", "Service")
    for at_ms in (0, 1000, 2000):
        engine.run(at_ms * MS)
        for request in (pod, service):
            one.send(Caller(engine, request))
    engine.run(10_000 * MS)
    assert (pod.counts.attempts, pod.counts.requests) == (4, 3)
    assert (service.counts.attempts, service.counts.requests) == (3, 3)


def test_refusals() -> None:
    """A refused request is answered at once, and counted with those that are not."""
    one, engine = client(world(faults=Faults(pod_refused_ratio=1.0)))
    request = one.request("POST", "Pod")
    callers = [Caller(engine, request), Caller(engine, one.refused(request, Refusal(1.0, 403)))]
    for caller in callers:
        one.send(caller)
    engine.run(100 * MS)
    assert [caller.answers[0][1] for caller in callers] == [Status.OK, 403]
    assert request.counts.requests == 2
    assert one.requests == [request]


@pytest.mark.parametrize(("cores", "expected_ms"), [(None, 31), (1.0, 31), (0.1, 111)])
def test_cpu_of_a_request(cores: float | None, expected_ms: int) -> None:
    """Reading an answer takes CPU time, for which a quota makes it wait."""
    one, engine = client(replace(world(server_work_seconds=0.001), request_cpu_seconds=0.020), cores=cores)
    caller = Caller(engine, one.request("POST", "Pod"))
    one.send(caller)
    engine.run(1000 * MS)
    assert caller.answers == [((expected_ms - (cores == 0.1)) * MS, Status.OK)]


def test_new_process_has_full_buckets() -> None:
    """A restart fills the buckets and keeps the counts."""
    one, engine = client(qps=1.0, burst=2)
    request = one.request("POST", "Pod")
    for _ in range(2):
        one.send(Caller(engine, request))
    one.start(ClientBuckets(1.0, 2))
    one.send(Caller(engine, request))
    assert request.counts.limiter_ns == 0
    assert request.counts.attempts == 3


class TestInRuns:
    def test_budget_tells_the_parts_apart(self) -> None:
        """Worker time is limiter, API server and CPU, and nothing else; 429s are the API server's."""
        faults = Faults(throttled_ratio=0.3, retry_after_seconds=0.5)
        result = run(
            Workload(arrivals=arrivals(10, 3)),
            replace(SETTINGS, concurrency=3, qps=5.0, burst=2),
            replace(world(faults=faults), request_cpu_seconds=0.001),
        )
        one = controller(result)
        count = sum(one.reconciles.values())
        assert one.reconcile_seconds_mean is not None
        assert sum(one.budget_seconds.values()) == pytest.approx(one.reconcile_seconds_mean * count)
        assert all(one.budget_seconds[part] > 0.0 for part in ("api_server", "client_limiter", "cpu"))
        assert one.budget_seconds["external"] == 0.0
        assert attempts(result, "POST", "Pod") > requests(result, "POST", "Pod") == 40

    def test_throughput_is_bounded_by_qps(self) -> None:
        """In any run at most burst + QPS x time requests of a kind pass, and the makespan follows."""
        result = run(Workload(arrivals=arrivals(10, 9)), replace(SETTINGS, concurrency=8, qps=10.0, burst=20))
        assert result.makespan_seconds is not None
        assert result.makespan_seconds > (100 - 20) / 10.0
        assert result.limiter_wait_seconds_mean is not None
        assert result.limiter_wait_seconds_mean > 0.1

    def test_one_worker_hides_the_limiter(self) -> None:
        """With one worker no wait exceeds the time of one token."""
        result = run(Workload(arrivals=arrivals(4, 9)), replace(SETTINGS, qps=5.0, burst=1))
        pods = next(one for one in result.requests if one.kind == "Pod")
        assert pods.limiter_seconds / pods.attempts < 0.2
        assert controller(result).budget_seconds["client_limiter"] > 0.8 * (result.makespan_seconds or 0.0)

    def test_no_limiter_no_waits(self) -> None:
        """Without a limiter there is no mean of its waits."""
        assert run(Workload(arrivals=arrivals(2, 1))).limiter_wait_seconds_mean is None
