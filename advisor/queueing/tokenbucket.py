"""The client's token bucket: reservations in arrival order, as golang.org/x/time/rate makes them.

Every request takes its token at once; the balance may go negative, and then the request is told when it may go. All
arithmetic is that of the Go package on amd64, operation by operation, so that ready times are the same to the
nanosecond (research: controller-runtime 5.1).
"""

import math
import struct
from collections.abc import Iterator

from advisor.queueing.types import NANOSECONDS_PER_SECOND

__all__ = ["DEFAULT_CLIENT_BURST", "DEFAULT_CLIENT_QPS", "ClientBuckets", "TokenBucket", "client_bucket"]

DEFAULT_CLIENT_QPS = 5.0
DEFAULT_CLIENT_BURST = 10

_LONGEST_WAIT_NS = 2**63 - 1


def _seconds(nanoseconds: int) -> float:
    """Seconds as Go's Duration.Seconds rounds them: whole and broken part apart, both cut towards zero."""
    if nanoseconds < 0:
        return -_seconds(-nanoseconds)
    whole, rest = divmod(nanoseconds, NANOSECONDS_PER_SECOND)
    return whole + rest / 1e9


class TokenBucket:
    """A bucket that starts full, is refilled continuously and never holds more than `burst` tokens.

    In any interval of T seconds at most burst + qps x T requests pass. A clock that steps back credits nothing for the
    step, but the time after it counts again.

    Attributes:
        waits: requests that asked, those that did not wait or were refused included.
        wait_sum_ns: what they wait in all, counted when they ask and corrected when they are cancelled.
    """

    __slots__ = ("_balance", "_burst", "_last_ns", "_last_ready_ns", "_qps", "wait_sum_ns", "waits")

    def __init__(self, qps: float, burst: int) -> None:
        """Fill a bucket.

        Args:
            qps: tokens a second, above zero and finite; taken as it is (`client_bucket` rounds as client-go does).
            burst: the most tokens that it holds; at least 1, as a smaller one refuses every request for good.

        Raises:
            ValueError: one of them is outside its range.
        """
        if not 0.0 < qps < math.inf:
            raise ValueError(f"qps must be finite and above 0, not {qps}")
        if burst < 1:
            raise ValueError(f"burst must be at least 1, not {burst}")
        self._qps = float(qps)
        self._burst = float(burst)
        self._balance = self._burst
        self._last_ns = 0
        self._last_ready_ns = 0
        self.waits = 0
        self.wait_sum_ns = 0

    @property
    def qps(self) -> float:
        """Tokens a second."""
        return self._qps

    @property
    def burst(self) -> int:
        """The most tokens that the bucket holds."""
        return int(self._burst)

    def reserve(self, now_ns: int) -> int:
        """Take a token and return when the request may go: `now_ns` or later."""
        balance = self._balance
        elapsed_ns = now_ns - self._last_ns
        if elapsed_ns > 0:
            balance += (elapsed_ns / 1e9 if elapsed_ns < NANOSECONDS_PER_SECOND else _seconds(elapsed_ns)) * self._qps
            if balance > self._burst:  # noqa: PLR1730 - min() takes a tenth of the whole call
                balance = self._burst
        balance -= 1.0
        ready_ns = now_ns
        if balance < 0.0:
            wait_ns = -balance / self._qps * 1e9
            whole_ns = int(wait_ns) if wait_ns < _LONGEST_WAIT_NS else _LONGEST_WAIT_NS
            ready_ns += whole_ns
            self.wait_sum_ns += whole_ns
        self.waits += 1
        self._balance = balance
        self._last_ns = now_ns
        self._last_ready_ns = ready_ns
        return ready_ns

    def reserve_until(self, now_ns: int, deadline_ns: int) -> int | None:
        """As `reserve` for a request with a deadline; None, and no token taken, where the wait would pass it.

        A request whose deadline has come is refused; one that becomes ready exactly at its deadline is not.
        """
        wait_ns = self._wait_ns(1.0 - self.tokens(now_ns))
        if deadline_ns <= now_ns or wait_ns > deadline_ns - now_ns:
            self.waits += 1
            return None
        return self.reserve(now_ns)

    def cancel(self, ready_ns: int, now_ns: int) -> None:
        """Give back the token of a request that stops waiting; call it once for each.

        It comes back only as far as no later reservation exists: each one made since takes its share of the delay, so
        with one or more at full rate nothing comes back, and later requests pay the debt.

        Args:
            ready_ns: what `reserve` or `reserve_until` returned; nothing happens where that time is past.
            now_ns: when the request stops waiting.
        """
        if ready_ns < now_ns:
            return
        self.wait_sum_ns -= ready_ns - now_ns
        restored = 1.0 - _seconds(self._last_ready_ns - ready_ns) * self._qps
        if restored <= 0.0:
            return
        self._balance = min(self.tokens(now_ns) + restored, self._burst)
        self._last_ns = now_ns
        if ready_ns == self._last_ready_ns:
            previous_ns = ready_ns - self._wait_ns(1.0)
            if previous_ns >= now_ns:
                self._last_ready_ns = previous_ns

    def tokens(self, now_ns: int) -> float:
        """The balance at a time; negative while requests wait. Changes nothing."""
        if now_ns <= self._last_ns:
            return self._balance
        return min(self._balance + _seconds(now_ns - self._last_ns) * self._qps, self._burst)

    def waiting(self, now_ns: int) -> int:
        """Requests that wait at a time; what was cancelled without getting its token back still counts.

        Ready times are cut to whole nanoseconds, so one that is due within two of them counts as ready.
        """
        return max(0, math.ceil(-self.tokens(now_ns) - 2e-9 * self._qps - 1e-9))

    def _wait_ns(self, tokens: float) -> int:
        """How long the bucket takes for so many tokens, cut to whole nanoseconds; 0 for none or fewer."""
        if tokens <= 0.0:
            return 0
        wait_ns = tokens / self._qps * 1e9
        return int(wait_ns) if wait_ns < _LONGEST_WAIT_NS else _LONGEST_WAIT_NS


def client_bucket(qps: float, burst: int) -> TokenBucket | None:
    """The bucket that client-go makes for a REST client (research: controller-runtime 5.3).

    Args:
        qps: 0 is client-go's default, a negative one no limiter; rounded to single precision as client-go's field is.
        burst: 0 is client-go's default.

    Returns:
        A full bucket; None for a client without a limiter, which observes no waits either.

    Raises:
        ValueError: `burst` is negative, or `qps` is not finite or beyond single precision.
    """
    # Native format: what is beyond single precision becomes infinite, as in Go.
    (rounded,) = struct.unpack("@f", struct.pack("@f", qps))
    if rounded < 0.0:
        return None
    return TokenBucket(rounded or DEFAULT_CLIENT_QPS, burst or DEFAULT_CLIENT_BURST)


class ClientBuckets:
    """One bucket for each client and kind, made on first use: there is no limit over all kinds."""

    __slots__ = ("_buckets", "_burst", "_qps", "_seen")

    def __init__(self, qps: float, burst: int) -> None:
        """Settings of every bucket, as for `client_bucket`.

        Raises:
            ValueError: as `client_bucket`.
        """
        client_bucket(qps, burst)
        self._qps = qps
        self._burst = burst
        self._buckets: dict[tuple[str, str], TokenBucket] = {}
        self._seen: dict[tuple[str, str], TokenBucket | None] = {}

    def bucket(self, client: str, kind: str) -> TokenBucket | None:
        """The bucket that a request goes through; None where there is no limiter.

        Args:
            client: which of the process's clients sends it (typed, unstructured, events, ...).
            kind: what it is about; a subresource after a slash ("Pod/status") shares its kind's bucket.
        """
        try:
            return self._seen[client, kind]
        except KeyError:
            return self._first_use(client, kind)

    def items(self) -> Iterator[tuple[tuple[str, str], TokenBucket]]:
        """Client and kind of each bucket made so far, and the bucket, in order of first use."""
        yield from self._buckets.items()

    def _first_use(self, client: str, kind: str) -> TokenBucket | None:
        identity = (client, kind.partition("/")[0])
        made = self._buckets.get(identity) or client_bucket(self._qps, self._burst)
        if made is not None:
            self._buckets[identity] = made
        self._seen[client, kind] = made
        return made
