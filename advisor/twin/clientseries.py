"""What the operator's client counts: requests by code and method, their durations, and waits in its buckets."""

from collections import defaultdict

from advisor.knowledge.catalogue_client import CLIENT_BUCKETS_SECONDS
from advisor.queueing.metrics import DurationHistogram

__all__ = ["ClientSeries"]

_BOUNDS_NS = tuple(round(bound * 1e9) for bound in CLIENT_BUCKETS_SECONDS)
_SUCCESS = 200
_CODES_OF_SUCCESS = {"POST": 201}
_CONFLICT = 409
# A status write is what can meet a newer version.
_CONFLICTING_VERB = "PUT"


def _histogram() -> DurationHistogram:
    return DurationHistogram(_BOUNDS_NS)


class _Progress:
    """One request between its first try and its last answer."""

    __slots__ = ("asked_ns", "attempt", "first_ns", "is_repeated", "under_way")

    def __init__(self, now_ns: int) -> None:
        self.first_ns = now_ns
        self.asked_ns = now_ns
        self.attempt = 0
        self.is_repeated = False
        self.under_way = 1


class ClientSeries:
    """Counts requests of one process.

    Attributes:
        requests: attempts by code and method.
        retries: those from the second on, likewise.
        durations: of whole requests by verb, with limiter, repetitions and pauses between these.
        limiter_waits: of attempts by verb; empty without a limiter.
    """

    def __init__(self) -> None:
        self.requests: dict[tuple[int, str], int] = {}
        self.retries: dict[tuple[int, str], int] = {}
        self.durations: dict[str, DurationHistogram] = defaultdict(_histogram)
        self.limiter_waits: dict[str, DurationHistogram] = defaultdict(_histogram)
        self._open: dict[object, _Progress] = {}

    def asked(self, now_ns: int, call: object) -> None:
        """A request, or a repetition of one, comes to its bucket."""
        progress = self._open.get(call)
        if progress is None:
            self._open[call] = _Progress(now_ns)
            return
        progress.asked_ns = now_ns
        if progress.is_repeated:
            progress.is_repeated = False
            progress.attempt += 1
        else:
            # Somebody who does not wait for answers, such as the lease, sends the next one already.
            progress.first_ns = now_ns
            progress.under_way += 1

    def passed(self, now_ns: int, call: object, verb: str, *, is_limited: bool) -> int:
        """It leaves its bucket; how long it was there, in nanoseconds."""
        progress = self._open.get(call)
        waited_ns = 0 if progress is None else now_ns - progress.asked_ns
        if is_limited:
            self.limiter_waits[verb].observe(waited_ns)
        return waited_ns

    def replied(self, now_ns: int, call: object, verb: str, status: int, *, is_final: bool) -> None:
        """It is answered."""
        code = _CODES_OF_SUCCESS.get(verb, status) if status == _SUCCESS else status
        _count(self.requests, (code, verb))
        progress = self._open.get(call)
        if progress is None:
            return
        if progress.attempt:
            _count(self.retries, (code, verb))
        if not is_final:
            progress.is_repeated = True
            return
        self.durations[verb].observe(now_ns - progress.first_ns)
        progress.attempt = 0
        progress.under_way -= 1
        if not progress.under_way:
            del self._open[call]

    def conflicted(self) -> None:
        """What has just been counted as a write that succeeded was none."""
        _count(self.requests, (_SUCCESS, _CONFLICTING_VERB), -1)
        _count(self.requests, (_CONFLICT, _CONFLICTING_VERB))

    def exists_already(self) -> None:
        """What has just been counted as a creation was none."""
        _count(self.requests, (_CODES_OF_SUCCESS["POST"], "POST"), -1)
        _count(self.requests, (_CONFLICT, "POST"))


def _count(counts: dict[tuple[int, str], int], identity: tuple[int, str], by: int = 1) -> None:
    counts[identity] = counts.get(identity, 0) + by
