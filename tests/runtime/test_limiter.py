import threading

import pytest

from advisor.queueing.tokenbucket import ClientBuckets
from advisor.runtime.context import Cancellation, DeadlineExceededError, ReconcileCancelledError, ReconcileContext
from advisor.runtime.histogram import HistogramSnapshot
from advisor.runtime.limiter import ApiRequest, BucketState, ClientLimiter

MILLISECOND = 1_000_000
SECOND = 1_000_000_000
POD = ApiRequest("typed", "Pod", "POST")


class Time:
    """A clock that goes on by what its context sleeps."""

    def __init__(self) -> None:
        self.now_ns = 0
        self.cancellation = Cancellation()
        self.cancel_at_ns: int | None = None

    def __call__(self) -> int:
        """The time."""
        return self.now_ns

    def context(self, deadline_ns: int | None = None) -> ReconcileContext:
        """A context on this clock."""
        time = self

        class Sleeper(Cancellation):
            @property
            def is_set(self) -> bool:
                return time.cancellation.is_set

            def wait(self, seconds: float) -> bool:
                time.now_ns += round(seconds * SECOND)
                if time.cancel_at_ns is not None and time.now_ns >= time.cancel_at_ns:
                    time.now_ns = time.cancel_at_ns
                    time.cancellation.cancel(time.now_ns)
                return time.cancellation.is_set

        return ReconcileContext(self, Sleeper(), deadline_ns)


@pytest.fixture
def time() -> Time:
    """A clock at zero."""
    return Time()


def limiter(time: Time, qps: float = 10.0, burst: int = 2) -> ClientLimiter:
    """One for each client and kind."""
    return ClientLimiter(ClientBuckets(qps, burst), "10.0.0.1:443", time)


def test_requests_wait_for_their_token(time: Time) -> None:
    """The burst passes at once, then one request each interval; zero waits are observed as well."""
    made = limiter(time)
    assert [made.wait(POD, time.context()) for _ in range(4)] == [0.0, 0.0, 0.1, 0.1]
    snapshot = made.snapshot()
    histogram = snapshot.wait_by_verb["POST"]
    assert (sum(histogram.buckets), histogram.sum_ns) == (4, 200 * MILLISECOND)
    assert dict(histogram.cumulative())["0.1"] == 4
    assert dict(histogram.cumulative())["0.025"] == 2
    assert snapshot.wait_ns == {("Pod", "POST"): 200 * MILLISECOND}
    assert snapshot.buckets == (BucketState("typed", "Pod", 0.0, 0),)
    assert snapshot.host == "10.0.0.1:443"


def test_kinds_do_not_share_a_bucket(time: Time) -> None:
    """Each client and kind has its own; a subresource shares that of its kind."""
    made = limiter(time, burst=1)
    requests = [POD, ApiRequest("typed", "Service", "GET"), ApiRequest("cached", "Pod", "GET")]
    assert [made.wait(request, time.context()) for request in requests] == [0.0, 0.0, 0.0]
    assert made.wait(ApiRequest("typed", "Pod/status", "PUT"), time.context()) == 0.1
    assert [(one.client, one.kind) for one in made.snapshot().buckets] == [
        ("typed", "Pod"),
        ("typed", "Service"),
        ("cached", "Pod"),
    ]
    assert made.snapshot().wait_ns["Pod", "PUT"] == 100 * MILLISECOND


def test_without_a_limit_nothing_is_observed(time: Time) -> None:
    """A client without limiter has no samples at all, as in client-go."""
    made = limiter(time, qps=-1.0)
    assert made.wait(POD, time.context()) == 0.0
    assert made.snapshot().wait_by_verb == {}


def test_a_wait_beyond_the_deadline_is_refused(time: Time) -> None:
    """It fails at once and takes no token; one that ends in time is granted."""
    made = limiter(time, burst=1)
    made.wait(POD, time.context())
    with pytest.raises(DeadlineExceededError, match="the limiter of Pod would hold the request beyond its deadline"):
        made.wait(POD, time.context(deadline_ns=99 * MILLISECOND))
    assert time.now_ns == 0
    assert made.wait(POD, time.context(deadline_ns=100 * MILLISECOND)) == 0.1
    assert sum(made.snapshot().wait_by_verb["POST"].buckets) == 3


def test_a_stop_gives_the_token_back(time: Time) -> None:
    """A request that waits when the driver is stopped fails, and its token is there for others."""
    made = limiter(time, burst=1)
    made.wait(POD, time.context())
    time.cancel_at_ns = 40 * MILLISECOND
    with pytest.raises(ReconcileCancelledError):
        made.wait(POD, time.context())
    snapshot = made.snapshot()
    assert snapshot.wait_ns == {("Pod", "POST"): 40 * MILLISECOND}
    assert snapshot.buckets[0].tokens == pytest.approx(0.4)


def test_waiting_requests_are_seen() -> None:
    """While requests of other threads wait, tokens are below zero and the waiters counted."""
    now_ns = [0]
    made = ClientLimiter(ClientBuckets(0.001, 1), "host", lambda: now_ns[0])
    cancellation = Cancellation()
    context = ReconcileContext(lambda: now_ns[0], cancellation)
    made.wait(POD, context)
    errors: list[Exception] = []

    def request() -> None:
        try:
            made.wait(POD, context)
        except ReconcileCancelledError as error:
            errors.append(error)

    threads = [threading.Thread(target=request) for _ in range(3)]
    for thread in threads:
        thread.start()
    pause = threading.Event()
    while made.snapshot().buckets[0].waiting < 3:
        pause.wait(0.005)
    assert made.snapshot().buckets[0].tokens == -3.0
    cancellation.cancel(0)
    for thread in threads:
        thread.join()
    assert len(errors) == 3


def test_empty_histogram_of_totals() -> None:
    """A histogram of which only the totals are known has one bucket."""
    assert list(HistogramSnapshot.of_totals(3, 5).cumulative()) == [("+Inf", 3.0)]
