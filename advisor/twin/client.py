"""The operator's client: one token bucket for each kind, then the API server, with retries after 429."""

from typing import Protocol

from advisor.queueing.tokenbucket import ClientBuckets, TokenBucket
from advisor.twin.engine import Engine
from advisor.twin.parameters import WorldParameters
from advisor.twin.world import CpuQuota, ServiceLine

__all__ = ["MAX_ATTEMPTS", "Call", "Client", "Random", "Request", "RequestCounts", "Status"]

# client-go sends a request again at most ten times (research: controller-runtime 5.2).
MAX_ATTEMPTS = 11


class Random(Protocol):
    """A source of uniform numbers in [0, 1)."""

    def random(self) -> float:
        """The next one."""
        ...


class Status:
    """Answers that a reconcile program tells apart; conflicts are the store's to find."""

    OK = 200
    FORBIDDEN = 403
    TOO_MANY_REQUESTS = 429


class RequestCounts:
    """What the requests of one verb on one kind came to.

    Attributes:
        requests: answered ones, each counted once however often it was sent.
        attempts: times sent.
        limiter_ns: time in the client's bucket.
        api_ns: time with the API server, sleeps before retries included.
    """

    __slots__ = ("api_ns", "attempts", "limiter_ns", "requests")

    def __init__(self) -> None:
        self.requests = 0
        self.attempts = 0
        self.limiter_ns = 0
        self.api_ns = 0


class Request:
    """One kind of request; its figures are kept here, so that a request costs no look-up.

    Attributes:
        verb: HTTP method.
        kind: what it is about, which names its bucket.
        refused_ratio: share of them answered with 403.
    """

    __slots__ = ("bucket", "counts", "delays_ns", "kind", "refused_ratio", "verb")

    def __init__(
        self, verb: str, kind: str, bucket: TokenBucket | None, delays_ns: tuple[int, ...], refused_ratio: float
    ) -> None:
        self.verb = verb
        self.kind = kind
        self.bucket = bucket
        self.delays_ns = delays_ns
        self.refused_ratio = refused_ratio
        self.counts = RequestCounts()


class Call(Protocol):
    """Somebody who waits for an answer. The client keeps the request's progress on it."""

    request: Request
    ready_ns: int
    attempt: int

    def answered(self, status: int) -> None:
        """The request has been answered."""
        ...


class Client:
    """Sends requests in virtual time.

    Attributes:
        random: where all chance of a run comes from.
        requests: kinds of request prepared so far, with their counts.
    """

    def __init__(
        self,
        engine: Engine,
        line: ServiceLine,
        cpu: CpuQuota,
        world: WorldParameters,
        buckets: ClientBuckets,
        random: Random,
    ) -> None:
        self._engine = engine
        self._line = line
        self._cpu = cpu
        self._buckets = buckets
        self.random = random
        self._work_ns = round(world.server_work_seconds * 1e9)
        self._request_cpu_ns = round(world.request_cpu_seconds * 1e9)
        self._retry_after_ns = round(world.faults.retry_after_seconds * 1e9)
        self._throttled_ratio = world.faults.throttled_ratio
        self._world = world
        self.requests: list[Request] = []

    def request(self, verb: str, kind: str, *, client: str = "typed", refused_ratio: float = 0.0) -> Request:
        """Prepare a kind of request."""
        world = self._world
        seconds = world.request_seconds.get(verb, world.request_seconds.get("POST", 0.0))
        delays_ns = tuple(round(seconds * factor * 1e9) for factor in world.request_spread)
        request = Request(verb, kind, self._buckets.bucket(client, kind), delays_ns, refused_ratio)
        self.requests.append(request)
        return request

    def send(self, call: Call) -> None:
        """Send the call's request; `answered` is called when it is through."""
        engine = self._engine
        now_ns = engine.now_ns
        request = call.request
        if self._request_cpu_ns:
            now_ns = self._cpu.finish_ns(now_ns, self._request_cpu_ns)
        bucket = request.bucket
        ready_ns = now_ns if bucket is None else bucket.reserve(now_ns)
        counts = request.counts
        counts.attempts += 1
        counts.limiter_ns += ready_ns - now_ns
        call.ready_ns = ready_ns
        if engine.observer is not None:
            engine.observer.asked(now_ns, call)
        if ready_ns > engine.now_ns:
            engine.at(ready_ns, self._arrive, call)
        else:
            self._arrive(call)

    def _arrive(self, call: Call) -> None:
        engine = self._engine
        if engine.observer is not None:
            engine.observer.passed(call.ready_ns, call, call.request.verb, is_limited=call.request.bucket is not None)
        delays_ns = call.request.delays_ns
        delay_ns = delays_ns[int(self.random.random() * len(delays_ns))]
        engine.at(self._line.finish_ns(engine.now_ns, self._work_ns) + delay_ns, self._answer, call)

    def _answer(self, call: Call) -> None:
        request = call.request
        counts = request.counts
        now_ns = self._engine.now_ns
        counts.api_ns += now_ns - call.ready_ns
        status = Status.OK
        if self._throttled_ratio and self.random.random() < self._throttled_ratio:
            call.attempt += 1
            if call.attempt < MAX_ATTEMPTS:
                if self._engine.observer is not None:
                    self._engine.observer.replied(
                        now_ns, call, request.verb, Status.TOO_MANY_REQUESTS, is_final=False
                    )
                counts.api_ns += self._retry_after_ns
                self._engine.at(now_ns + self._retry_after_ns, self._again, call)
                return
            status = Status.TOO_MANY_REQUESTS
        elif request.refused_ratio and self.random.random() < request.refused_ratio:
            status = Status.FORBIDDEN
        counts.requests += 1
        call.attempt = 0
        if self._engine.observer is not None:
            self._engine.observer.replied(now_ns, call, request.verb, status, is_final=True)
        call.answered(status)

    def _again(self, call: Call) -> None:
        self.send(call)
