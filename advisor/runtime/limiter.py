"""The client's limiter in real time: requests wait for tokens of a bucket (research: controller-runtime 5.1, 5.2)."""

import threading
import time
from dataclasses import dataclass

from advisor.queueing.metrics import DurationHistogram
from advisor.queueing.tokenbucket import ClientBuckets, TokenBucket
from advisor.queueing.types import NANOSECONDS_PER_SECOND
from advisor.runtime.context import Clock, DeadlineExceededError, ReconcileContext
from advisor.runtime.histogram import HistogramSnapshot

__all__ = ["RATE_LIMITER_BOUNDS_NS", "ApiRequest", "BucketState", "ClientLimiter", "LimiterSnapshot"]

# Research: controller-runtime 4.3, in milliseconds.
RATE_LIMITER_BOUNDS_NS = tuple(
    bound * 1_000_000 for bound in (5, 25, 100, 250, 500, 1000, 2000, 4000, 8000, 15_000, 30_000, 60_000)
)


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """What a request is, as far as limiting goes.

    Attributes:
        client: which of the process's clients sends it (typed, unstructured, events, ...).
        kind: what it is about; a subresource after a slash shares its kind's bucket.
        verb: its method, as in GET.
    """

    client: str
    kind: str
    verb: str


@dataclass(frozen=True, slots=True)
class BucketState:
    """One bucket at the time of a snapshot: tokens (below zero while requests wait), and requests that wait."""

    client: str
    kind: str
    tokens: float
    waiting: int


@dataclass(frozen=True, slots=True)
class LimiterSnapshot:
    """State of all buckets at one time.

    Attributes:
        host: the API server.
        buckets: one for each client and kind, in order of first use.
        wait_by_verb: how long requests waited, zero waits and failed ones included.
        wait_ns: time waited in all, by kind and verb.
    """

    host: str
    buckets: tuple[BucketState, ...]
    wait_by_verb: dict[str, HistogramSnapshot]
    wait_ns: dict[tuple[str, str], int]


class ClientLimiter:
    """Lets requests of any threads through as their buckets allow. Watches do not go through it.

    Args:
        buckets: nothing else may use them from now on.
        host: the API server, for the label `host`.
        clock: the time.
    """

    def __init__(self, buckets: ClientBuckets, host: str, clock: Clock = time.monotonic_ns) -> None:
        self._buckets = buckets
        self._host = host
        self._clock = clock
        self._lock = threading.Lock()
        self._wait_by_verb: dict[str, DurationHistogram] = {}
        self._wait_ns: dict[tuple[str, str], int] = {}

    def wait(self, request: ApiRequest, context: ReconcileContext) -> float:
        """Wait for a token; the seconds waited.

        Raises:
            DeadlineExceededError: the wait would pass the deadline of the reconcile; no token is taken.
            ReconcileCancelledError: the driver is being stopped; the token is given back as far as possible.
        """
        with self._lock:
            began_ns = self._clock()
            bucket = self._buckets.bucket(request.client, request.kind)
            if bucket is None:
                return 0.0
            ready_ns = _reserve(bucket, began_ns, context.deadline_ns)
            if ready_ns is not None and ready_ns <= began_ns:
                self._observe(request, 0)
                return 0.0
        if ready_ns is None:
            with self._lock:
                self._observe(request, 0)
            raise DeadlineExceededError(f"the limiter of {request.kind} would hold the request beyond its deadline")
        while (left_ns := ready_ns - self._clock()) > 0 and not context.wait(left_ns / NANOSECONDS_PER_SECOND):
            pass
        with self._lock:
            ended_ns = self._clock()
            self._observe(request, ended_ns - began_ns)
            if ended_ns < ready_ns:
                bucket.cancel(ready_ns, ended_ns)
        if ended_ns < ready_ns:
            context.check()
        return (ended_ns - began_ns) / NANOSECONDS_PER_SECOND

    def snapshot(self) -> LimiterSnapshot:
        """What it stands at, all as of one time."""
        with self._lock:
            now_ns = self._clock()
            buckets = tuple(
                BucketState(client, kind, bucket.tokens(now_ns), bucket.waiting(now_ns))
                for (client, kind), bucket in self._buckets.items()
            )
            histograms = {verb: HistogramSnapshot.of(histogram) for verb, histogram in self._wait_by_verb.items()}
            return LimiterSnapshot(self._host, buckets, histograms, dict(self._wait_ns))

    def _observe(self, request: ApiRequest, waited_ns: int) -> None:
        histogram = self._wait_by_verb.get(request.verb)
        if histogram is None:
            histogram = self._wait_by_verb[request.verb] = DurationHistogram(RATE_LIMITER_BOUNDS_NS)
        histogram.observe(waited_ns)
        identity = (request.kind.partition("/")[0], request.verb)
        self._wait_ns[identity] = self._wait_ns.get(identity, 0) + waited_ns


def _reserve(bucket: TokenBucket, now_ns: int, deadline_ns: int | None) -> int | None:
    return bucket.reserve(now_ns) if deadline_ns is None else bucket.reserve_until(now_ns, deadline_ns)
