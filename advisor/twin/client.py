"""The operator's client: one token bucket for each kind, then the API server, with retries after 429."""

from dataclasses import dataclass
from heapq import heappush
from typing import Protocol

from advisor.queueing.tokenbucket import ClientBuckets, TokenBucket
from advisor.twin.engine import Engine
from advisor.twin.parameters import WorldParameters
from advisor.twin.world import CpuQuota, ServiceLine

__all__ = ["MAX_ATTEMPTS", "Call", "Client", "Random", "Refusal", "Request", "RequestCounts", "Status"]

# client-go sends a request again at most ten times (research: controller-runtime 5.2).
MAX_ATTEMPTS = 11


class Random(Protocol):
    """A source of uniform numbers in [0, 1)."""

    def random(self) -> float:
        """The next one."""
        ...


class Status:
    """Answers that a reconcile program tells apart; conflicts are for whoever keeps the object to find."""

    OK = 200
    TOO_MANY_REQUESTS = 429


# A global name is quicker than an attribute.
_OK = Status.OK


@dataclass(frozen=True, slots=True)
class Refusal:
    """A share of requests that are answered with an error.

    Attributes:
        ratio: how many of them.
        status: with what.
    """

    ratio: float
    status: int


class RequestCounts:
    """What the requests of one verb on one kind came to.

    Attributes:
        requests: answered ones, each counted once however often it was sent.
        attempts: times sent.
        limiter_ns: time in the client's bucket, over all attempts.
        api_ns: the rest of their time: with the API server, in sleeps before retries, reading the answer.
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
        client: which of the operator's clients sends it.
        bucket: of that client and kind; None without a limiter.
        delays_ns: time outside the server's line, one of these at random.
        usual_ns: the same while the server is as usual.
        choices: how many these are.
        refusal: how many are refused; None for none.
        counts: shared by requests that differ in their refusal alone.
    """

    __slots__ = ("bucket", "choices", "client", "counts", "delays_ns", "kind", "refusal", "usual_ns", "verb")

    def __init__(self, verb: str, kind: str, client: str, delays_ns: tuple[int, ...]) -> None:
        self.verb = verb
        self.kind = kind
        self.client = client
        self.delays_ns = self.usual_ns = delays_ns
        self.choices = float(len(delays_ns))
        self.bucket: TokenBucket | None = None
        self.refusal: Refusal | None = None
        self.counts = RequestCounts()


class Call(Protocol):
    """Somebody who waits for an answer. The client keeps the request's progress on it.

    Attributes:
        request: what is sent.
        sent_ns: when; set by who sends it.
        limited_ns: time in the client's bucket so far; 0 when it is sent first.
        cpu_ns: time spent on reading the last answer.
        attempt: retries so far.
    """

    request: Request
    sent_ns: int
    limited_ns: int
    cpu_ns: int
    attempt: int

    def answered(self, status: int) -> None:
        """The request has been answered."""
        ...


class Client:
    """Sends requests in virtual time.

    Attributes:
        requests: all kinds of them, those with shared counts once.
        cpu_ns: CPU time of one request; without a quota it is a part of the delay.
    """

    def __init__(
        self, engine: Engine, line: ServiceLine, cpu: CpuQuota, world: WorldParameters, random: Random
    ) -> None:
        self._engine = engine
        self._heap = engine.heap()
        self._line = line
        self._cpu = cpu
        self._draw = random.random
        self._buckets: ClientBuckets | None = None
        self._work_ns = round(world.server_work_seconds * 1e9)
        self._request_seconds = world.request_seconds
        self._spread = world.request_spread
        self._faults = faults = world.faults
        self._retry_after_ns = round(faults.retry_after_seconds * 1e9)
        self.cpu_ns = round(world.request_cpu_seconds * 1e9)
        self._is_limited = cpu.limit_cores is not None and self.cpu_ns > 0
        self._after_reading = self._judge if faults.throttled_ratio or faults.pod_refused_ratio else self._accept
        self._on_answer = self._read if self._is_limited else self._after_reading
        self._on_ready = self._arrive
        self.requests: list[Request] = []
        self._variants: list[Request] = []

    def request(self, verb: str, kind: str, *, client: str = "typed") -> Request:
        """Prepare a kind of request."""
        known = self._request_seconds
        names = (f"{verb} {kind}", verb, "POST")
        seconds = next((known[name] for name in names if name in known), 0.0)
        own_ns = 0 if self._is_limited else self.cpu_ns
        request = Request(verb, kind, client, tuple(round(seconds * one * 1e9) + own_ns for one in self._spread))
        self.requests.append(request)
        self._connect(request)
        return request

    def refused(self, request: Request, refusal: Refusal) -> Request:
        """The same request, some of which are refused; counted with it."""
        variant = Request(request.verb, request.kind, request.client, request.usual_ns)
        variant.refusal = refusal
        variant.counts = request.counts
        self._variants.append(variant)
        self._connect(variant)
        return variant

    def start(self, buckets: ClientBuckets) -> None:
        """Begin as a new process with buckets that are full; what was sent before goes on being counted."""
        self._buckets = buckets
        for request in (*self.requests, *self._variants):
            self._connect(request)

    def stretch(self, factor: float) -> None:
        """Let requests take so many times as long as usual from now on, apart from their work in the server's line."""
        for request in (*self.requests, *self._variants):
            request.delays_ns = tuple(round(one * factor) for one in request.usual_ns)

    def send(self, call: Call) -> None:
        """Send the call's request; `answered` is called when it is through."""
        request = call.request
        request.counts.attempts += 1
        bucket = request.bucket
        engine = self._engine
        now_ns = engine.now_ns
        observer = engine.observer
        if observer is not None:
            observer.asked(now_ns, call)
        if bucket is not None:
            ready_ns = bucket.reserve(now_ns)
            if ready_ns > now_ns:
                request.counts.limiter_ns += ready_ns - now_ns
                call.limited_ns += ready_ns - now_ns
                engine.at(ready_ns, self._on_ready, call)
                return
        if observer is not None:
            observer.passed(now_ns, call, request.verb, is_limited=bucket is not None)
        # From here on as `_arrive`, without the cost of its call.
        draw, line, work_ns = self._draw, self._line, self._work_ns
        delay_ns = request.delays_ns[int(draw() * request.choices)]
        free_ns = line.free_ns
        line.free_ns = free_ns = (now_ns if free_ns < now_ns else free_ns) + work_ns  # noqa: FURB136 - max() is slower
        line.served += 1
        line.busy_ns += work_ns
        engine.asked = number = engine.asked + 1
        heappush(self._heap, (free_ns + delay_ns, number, self._on_answer, call))

    def _arrive(self, call: Call) -> None:
        request = call.request
        delay_ns = request.delays_ns[int(self._draw() * request.choices)]
        engine = self._engine
        if engine.observer is not None:
            engine.observer.passed(engine.now_ns, call, request.verb, is_limited=request.bucket is not None)
        engine.at(self._line.finish_ns(engine.now_ns, self._work_ns) + delay_ns, self._on_answer, call)

    def _connect(self, request: Request) -> None:
        if self._buckets is not None:
            request.bucket = self._buckets.bucket(request.client, request.kind)

    def _read(self, call: Call) -> None:
        """Spend the CPU time of a request under a quota."""
        engine = self._engine
        now_ns = engine.now_ns
        done_ns = self._cpu.finish_ns(now_ns, self.cpu_ns)
        call.cpu_ns = done_ns - now_ns
        engine.at(done_ns, self._after_reading, call)

    def _judge(self, call: Call) -> None:
        """Answer a request where answers may be wrong."""
        if self._is_throttled(call.request):
            call.attempt += 1
            if call.attempt < MAX_ATTEMPTS:
                self._show(call, Status.TOO_MANY_REQUESTS, is_final=False)
                self._engine.at(self._engine.now_ns + self._retry_after_ns, self.send, call)
                return
            self._finish(call, Status.TOO_MANY_REQUESTS)
            return
        refusal = call.request.refusal
        is_refused = refusal is not None and self._is_now() and self._draw() < refusal.ratio
        self._finish(call, refusal.status if refusal is not None and is_refused else Status.OK)

    def _finish(self, call: Call, status: int) -> None:
        counts = call.request.counts
        counts.requests += 1
        counts.api_ns += self._engine.now_ns - call.sent_ns - call.limited_ns
        call.attempt = 0
        self._show(call, status, is_final=True)
        call.answered(status)

    def _accept(self, call: Call) -> None:
        """Answer a request where all is well: `_finish` without what faults need."""
        counts = call.request.counts
        counts.requests += 1
        engine = self._engine
        counts.api_ns += engine.now_ns - call.sent_ns - call.limited_ns
        if engine.observer is not None:
            self._show(call, _OK, is_final=True)
        call.answered(_OK)

    def _show(self, call: Call, status: int, *, is_final: bool) -> None:
        engine = self._engine
        if engine.observer is not None:
            engine.observer.replied(engine.now_ns, call, call.request.verb, status, is_final=is_final)

    def _is_throttled(self, request: Request) -> bool:
        faults = self._faults
        if not faults.throttled_ratio or (faults.throttled_kinds and request.kind not in faults.throttled_kinds):
            return False
        return self._is_now() and self._draw() < faults.throttled_ratio

    def _is_now(self) -> bool:
        faults, now = self._faults, self._engine.now_ns / 1e9
        return now >= faults.from_seconds and (faults.to_seconds is None or now < faults.to_seconds)
