import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.queueing.tokenbucket import ClientBuckets, TokenBucket, client_bucket

SECOND = 1_000_000_000
MILLISECOND = 1_000_000


def drained(qps: float, burst: int, now_ns: int = 0) -> TokenBucket:
    """A bucket that has given all its tokens away at one moment."""
    bucket = TokenBucket(qps, burst)
    for _ in range(burst):
        assert bucket.reserve(now_ns) == now_ns
    return bucket


class TestReserve:
    def test_starts_full(self) -> None:
        """A new bucket lets its burst pass at once."""
        bucket = TokenBucket(10.0, 3)
        assert [bucket.reserve(0) for _ in range(4)] == [0, 0, 0, 100 * MILLISECOND]

    def test_balance_goes_negative(self) -> None:
        """Each request without a token waits one interval longer than the one before."""
        bucket = drained(20.0, 1)
        assert [bucket.reserve(0) for _ in range(3)] == [50 * MILLISECOND, 100 * MILLISECOND, 150 * MILLISECOND]
        assert bucket.tokens(0) == -3.0

    def test_refills_continuously(self) -> None:
        """Half an interval brings half a token, and the next request waits for the other half only."""
        bucket = drained(10.0, 1)
        assert bucket.tokens(50 * MILLISECOND) == 0.5
        assert bucket.reserve(50 * MILLISECOND) == 100 * MILLISECOND

    def test_holds_at_most_its_burst(self) -> None:
        """However long nobody asks, no more than the burst is saved up."""
        bucket = drained(10.0, 2)
        assert bucket.tokens(3600 * SECOND) == 2.0
        assert [bucket.reserve(3600 * SECOND) - 3600 * SECOND for _ in range(3)] == [0, 0, 100 * MILLISECOND]

    def test_tokens_changes_nothing(self) -> None:
        """To look at the balance is no request."""
        bucket = drained(10.0, 1)
        assert [bucket.tokens(SECOND), bucket.tokens(0), bucket.tokens(SECOND)] == [1.0, 0.0, 1.0]
        assert bucket.waits == 1

    def test_waits_are_cut_to_whole_nanoseconds(self) -> None:
        """A third of a second is 333333333 ns, as in Go."""
        assert drained(3.0, 1).reserve(0) == 333_333_333

    def test_a_clock_that_steps_back_credits_nothing(self) -> None:
        """The step itself brings no tokens, though the time that then passes once more counts again."""
        bucket = drained(1.0, 1, now_ns=10 * SECOND)
        assert bucket.tokens(5 * SECOND) == 0.0
        assert bucket.reserve(5 * SECOND) == 6 * SECOND
        assert bucket.tokens(10 * SECOND) == 1.0

    def test_closed_loop_of_one_worker_waits_at_most_one_interval(self) -> None:
        """At QPS 100 a worker that sends one request after the other never waits for more than 10 ms."""
        bucket = drained(100.0, 200)
        now_ns = 0
        for _ in range(50):
            ready_ns = bucket.reserve(now_ns)
            assert ready_ns - now_ns <= 10 * MILLISECOND
            now_ns = ready_ns + 3 * MILLISECOND

    def test_longest_wait_is_what_a_duration_holds(self) -> None:
        """A wait that Go's Duration cannot hold is its largest value, some 292 years."""
        bucket = drained(1e-12, 1)
        assert bucket.reserve(0) == 2**63 - 1
        assert bucket.reserve_until(0, 2**63) == 2**63 - 1

    @pytest.mark.parametrize(("qps", "burst"), [(0.0, 1), (-1.0, 1), (math.inf, 1), (math.nan, 1), (1.0, 0), (1.0, -1)])
    def test_refuses_settings_without_a_meaning(self, qps: float, burst: int) -> None:
        """A bucket that never fills, never empties or holds nothing is an error."""
        with pytest.raises(ValueError, match="must be"):
            TokenBucket(qps, burst)

    def test_tells_its_settings(self) -> None:
        """QPS and burst can be read back."""
        bucket = TokenBucket(7.5, 20)
        assert (bucket.qps, bucket.burst) == (7.5, 20)


class TestDeadline:
    def test_a_wait_past_the_deadline_is_refused_and_takes_no_token(self) -> None:
        """Who cannot be served in time hears so at once, and the next request is not delayed by it."""
        bucket = drained(10.0, 1)
        assert bucket.reserve_until(0, 100 * MILLISECOND - 1) is None
        assert bucket.reserve(0) == 100 * MILLISECOND

    def test_a_wait_that_ends_at_the_deadline_is_granted(self) -> None:
        """Ready exactly at the deadline is in time."""
        assert drained(10.0, 1).reserve_until(0, 100 * MILLISECOND) == 100 * MILLISECOND

    @pytest.mark.parametrize("deadline_ns", [SECOND, SECOND - 1])
    def test_a_deadline_that_has_come_is_refused(self, deadline_ns: int) -> None:
        """Where the deadline has come, even a full bucket gives nothing."""
        bucket = TokenBucket(10.0, 1)
        assert bucket.reserve_until(SECOND, deadline_ns) is None
        assert bucket.tokens(SECOND) == 1.0


class TestCancel:
    def test_the_last_reservation_comes_back_whole(self) -> None:
        """With no later reservation the token is there for the next one, at the same time."""
        bucket = drained(10.0, 1)
        ready_ns = bucket.reserve(0)
        bucket.cancel(ready_ns, 20 * MILLISECOND)
        assert bucket.tokens(20 * MILLISECOND) == pytest.approx(0.2)
        assert bucket.reserve(20 * MILLISECOND) == ready_ns

    def test_with_a_later_reservation_nothing_comes_back(self) -> None:
        """A later reservation keeps its ready time, so the cancelled one's token is lost."""
        bucket = drained(10.0, 1)
        first_ns, second_ns = bucket.reserve(0), bucket.reserve(0)
        bucket.cancel(first_ns, 0)
        assert bucket.tokens(0) == -2.0
        assert bucket.reserve(0) == second_ns + 100 * MILLISECOND

    def test_cancelled_one_after_the_other_from_the_last(self) -> None:
        """Cancelled in reverse order, all tokens come back."""
        bucket = drained(10.0, 1)
        for ready_ns in reversed([bucket.reserve(0) for _ in range(5)]):
            bucket.cancel(ready_ns, 0)
        assert bucket.tokens(0) == 0.0

    def test_many_cancelled_waiters_leave_a_debt(self) -> None:
        """Cancelled in order of arrival, all but the last of 100 leave a debt that the next request waits for."""
        bucket = drained(10.0, 1)
        for ready_ns in [bucket.reserve(0) for _ in range(100)]:
            bucket.cancel(ready_ns, 0)
        assert bucket.reserve(0) == 10 * SECOND

    def test_a_reservation_that_is_past_cannot_be_cancelled(self) -> None:
        """Who was ready before has used the token."""
        bucket = drained(10.0, 1)
        bucket.cancel(bucket.reserve(0), 100 * MILLISECOND + 1)
        assert bucket.tokens(100 * MILLISECOND) == pytest.approx(0.0)
        assert bucket.wait_sum_ns == 100 * MILLISECOND

    def test_a_token_not_waited_for_comes_back_at_the_same_moment(self) -> None:
        """A reservation that was ready at once can be given back until time passes."""
        bucket = TokenBucket(10.0, 5)
        bucket.cancel(bucket.reserve(0), 0)
        assert bucket.tokens(0) == 5.0

    def test_a_full_bucket_stays_at_its_burst(self) -> None:
        """What comes back never lifts the balance above the burst."""
        bucket = TokenBucket(1.0, 2)
        early_ns = bucket.reserve(5 * SECOND)
        bucket.reserve(0)
        bucket.cancel(early_ns, 0)
        assert bucket.tokens(0) == 2.0

    def test_clock_behind_the_last_reservation(self) -> None:
        """Where the clock stepped back in between, a cancelled reservation counts for more than one token, as in Go."""
        bucket = TokenBucket(1.0, 10)
        early_ns = bucket.reserve(2 * SECOND)
        for _ in range(5):
            bucket.reserve(SECOND)
        assert bucket.tokens(SECOND) == 4.0
        bucket.cancel(early_ns, SECOND)
        assert bucket.tokens(SECOND) == 6.0


class TestCounters:
    def test_waits_of_zero_count(self) -> None:
        """Each request is one observation, whether it waits or not."""
        bucket = drained(10.0, 3)
        bucket.reserve(0)
        assert (bucket.waits, bucket.wait_sum_ns) == (4, 100 * MILLISECOND)

    def test_refused_requests_count_as_zero(self) -> None:
        """A request that is refused is observed as well; it did not wait."""
        bucket = drained(10.0, 1)
        bucket.reserve_until(0, 1)
        assert (bucket.waits, bucket.wait_sum_ns) == (2, 0)

    def test_cancelled_requests_count_until_they_are_cancelled(self) -> None:
        """The sum holds what was waited, not what would have been."""
        bucket = drained(10.0, 1)
        bucket.cancel(bucket.reserve(0), 30 * MILLISECOND)
        assert (bucket.waits, bucket.wait_sum_ns) == (2, 30 * MILLISECOND)

    def test_waiting_follows_from_the_balance(self) -> None:
        """Nobody waits that is ready; each of the others is one token of debt."""
        bucket = drained(3.0, 1)
        ready = [bucket.reserve(0) for _ in range(4)]
        assert bucket.waiting(0) == 4
        assert [bucket.waiting(ready_ns) for ready_ns in ready] == [3, 2, 1, 0]
        assert bucket.waiting(ready[1] - 10) == 3


class TestClient:
    @pytest.mark.parametrize(
        ("qps", "burst", "expected"), [(0.0, 0, (5.0, 10)), (0.0, 7, (5.0, 7)), (9.0, 0, (9.0, 10))]
    )
    def test_zero_is_the_default_of_client_go(self, qps: float, burst: int, expected: tuple[float, int]) -> None:
        """Unset QPS and burst are 5 and 10, each for itself."""
        bucket = client_bucket(qps, burst)
        assert bucket is not None
        assert (bucket.qps, bucket.burst) == expected

    def test_negative_qps_is_no_limiter(self) -> None:
        """With QPS -1 a client has no bucket at all."""
        assert client_bucket(-1.0, 10) is None

    def test_qps_has_single_precision(self) -> None:
        """0.1 is what a 32-bit float makes of it, and so is the wait."""
        bucket = client_bucket(0.1, 1)
        assert bucket is not None
        assert bucket.qps == 0.10000000149011612
        bucket.reserve(0)
        assert bucket.reserve(0) == 9_999_999_850

    def test_qps_too_small_for_single_precision_is_the_default(self) -> None:
        """What a 32-bit float cannot tell from zero is zero, and that is the default."""
        bucket = client_bucket(1e-60, 1)
        assert bucket is not None
        assert bucket.qps == 5.0

    @pytest.mark.parametrize(("qps", "burst"), [(1e39, 1), (math.inf, 1), (math.nan, 1), (1.0, -1)])
    def test_refuses_settings_without_a_meaning(self, qps: float, burst: int) -> None:
        """QPS beyond single precision and a negative burst are errors."""
        with pytest.raises(ValueError, match="must"):
            client_bucket(qps, burst)


class TestClientBuckets:
    def test_one_bucket_for_each_client_and_kind(self) -> None:
        """Buckets are shared by neither clients nor kinds; the same two get the same bucket."""
        buckets = ClientBuckets(100.0, 200)
        pods = buckets.bucket("typed", "Pod")
        assert pods is not None
        assert buckets.bucket("typed", "Pod") is pods
        assert buckets.bucket("typed", "RayCluster") is not pods
        assert buckets.bucket("unstructured", "Pod") is not pods
        assert (pods.qps, pods.burst) == (100.0, 200)

    def test_a_subresource_shares_its_kinds_bucket(self) -> None:
        """Status goes through the kind's bucket, whichever of the two is used first."""
        buckets = ClientBuckets(100.0, 200)
        status = buckets.bucket("typed", "RayCluster/status")
        assert status is buckets.bucket("typed", "RayCluster")
        assert status is buckets.bucket("typed", "RayCluster/status")
        assert [identity for identity, _ in buckets.items()] == [("typed", "RayCluster")]

    def test_lists_the_buckets_in_use(self) -> None:
        """Only buckets that were used exist, in order of first use."""
        buckets = ClientBuckets(0.0, 0)
        assert not list(buckets.items())
        pods, events = buckets.bucket("typed", "Pod"), buckets.bucket("events", "Event")
        assert list(buckets.items()) == [(("typed", "Pod"), pods), (("events", "Event"), events)]

    def test_without_limiter_there_are_no_buckets(self) -> None:
        """With negative QPS no request goes through a bucket."""
        buckets = ClientBuckets(-1.0, 0)
        assert buckets.bucket("typed", "Pod") is None
        assert not list(buckets.items())

    def test_refuses_settings_without_a_meaning(self) -> None:
        """Settings are checked before the first request."""
        with pytest.raises(ValueError, match="burst must be"):
            ClientBuckets(1.0, -1)


# QPS, burst, and steps played on golang.org/x/time/rate v0.14.0 (amd64): time, then either the ready time of a
# reservation or which one (by number) is cancelled, and the balance afterwards.
IN_GO = {
    "cancelled from the last": (
        (100.0, 1),
        [
            (11709183, "ready", 11709183, 0.0),
            (11709183, "ready", 21709183, -1.0),
            (11709183, "ready", 31709183, -2.0),
            (19083449, "cancel", 2, -0.26257339999999996),
            (19083449, "cancel", 1, 0.7374266),
        ],
    ),
    "cancelled at the moment of the one before": (
        (1000000.0, 1),
        [(0, "ready", 0, 0.0), (0, "ready", 1000, -1.0), (0, "cancel", 1, 0.0), (0, "cancel", 0, 1.0)],
    ),
    "cancelled before one that was cancelled": (
        (1000000.0, 1),
        [
            (0, "ready", 0, 0.0),
            (75, "ready", 1000, -0.925),
            (75, "ready", 2000, -1.925),
            (144, "ready", 3000, -2.856),
            (249, "ready", 3999, -3.751),
            (249, "cancel", 3, -3.75),
            (804, "cancel", 2, -3.1950000000000003),
        ],
    ),
    "clock steps back between": (
        (333.3299865722656, 6),
        [(2558640, "ready", 2558640, 5.0), (2239674, "ready", 2239674, 4.0), (2239674, "cancel", 0, 5.10632093249701)],
    ),
    "seconds and their fraction are rounded apart": (
        (0.10000000149011612, 1),
        [
            (0, "ready", 0, 0.0),
            (902329920, "ready", 9999999850, -0.9097670066554236),
            (2469990055, "ready", 19999999701, -1.753000990819428),
        ],
    ),
    "a past reservation is cancelled": (
        (0.10000000149011612, 1),
        [
            (0, "ready", 0, 0.0),
            (181878648, "cancel", 0, 0.018187865071020305),
            (1748368839, "ready", 9999999850, -0.8251631134947275),
        ],
    ),
    "the wait is cut": (
        (33.29999923706055, 1),
        [(0, "ready", 0, 0.0), (24394839, "ready", 30030030, -0.1876518799117851)],
    ),
}


class TestAsInGo:
    @pytest.mark.parametrize(("settings", "steps"), IN_GO.values(), ids=IN_GO.keys())
    def test_same_times_and_balances(
        self, settings: tuple[float, int], steps: list[tuple[int, str, int, float]]
    ) -> None:
        """Ready times and balances are those of the Go package, to the last bit."""
        bucket = TokenBucket(*settings)
        reserved: list[int] = []
        for now_ns, what, value, balance in steps:
            if what == "ready":
                reserved.append(bucket.reserve(now_ns))
                assert reserved[-1] == value
            else:
                bucket.cancel(reserved[value], now_ns)
            assert bucket.tokens(now_ns) == balance


QPS = st.sampled_from([0.5, 1.0, 3.0, 5.0, 7.7, 20.0, 100.0, 333.0, 5000.0])
BURST = st.integers(1, 30)
STEPS = st.lists(st.integers(0, 2 * SECOND) | st.just(0) | st.integers(0, 1000), min_size=1, max_size=60)


class TestProperties:
    @given(QPS, BURST, STEPS)
    def test_at_most_burst_and_qps_times_the_interval_pass(self, qps: float, burst: int, steps: list[int]) -> None:
        """Between any two requests no more pass than the burst and what is refilled meanwhile."""
        bucket = TokenBucket(qps, burst)
        now_ns = 0
        passed = []
        for step in steps:
            now_ns += step
            passed.append(bucket.reserve(now_ns))
        for first in range(len(passed)):
            for last in range(first, len(passed)):
                # Ready times are cut, each by less than a nanosecond.
                seconds = (passed[last] - passed[first] + 1) / SECOND
                assert last - first + 1 <= burst + qps * seconds + 1e-6

    @given(QPS, BURST, STEPS)
    def test_first_come_first_served_and_never_before_asked(self, qps: float, burst: int, steps: list[int]) -> None:
        """Nobody is ready before asking, nor before anybody who asked earlier."""
        bucket = TokenBucket(qps, burst)
        now_ns = previous_ns = 0
        for step in steps:
            now_ns += step
            ready_ns = bucket.reserve(now_ns)
            assert ready_ns >= max(now_ns, previous_ns)
            previous_ns = ready_ns

    @given(QPS, BURST, STEPS)
    def test_no_token_is_left_unused_while_somebody_waits(self, qps: float, burst: int, steps: list[int]) -> None:
        """Who has to wait gets exactly the token that comes next: the wait ends with the balance at zero."""
        bucket = TokenBucket(qps, burst)
        now_ns = 0
        for step in steps:
            now_ns += step
            ready_ns = bucket.reserve(now_ns)
            if ready_ns > now_ns:
                assert bucket.tokens(ready_ns) == pytest.approx(0.0, abs=1e-6 + 2e-9 * qps)

    @given(QPS, BURST, STEPS, st.data())
    def test_cancelling_never_harms_later_requests(
        self, qps: float, burst: int, steps: list[int], data: st.DataObject
    ) -> None:
        """With some of the requests cancelled, the next one waits no longer than without, and never less than zero."""
        with_cancels, without = TokenBucket(qps, burst), TokenBucket(qps, burst)
        now_ns = 0
        open_ns: list[int] = []
        for step in steps:
            now_ns += step
            open_ns.append(with_cancels.reserve(now_ns))
            without.reserve(now_ns)
            if data.draw(st.booleans()):
                with_cancels.cancel(open_ns.pop(data.draw(st.integers(0, len(open_ns) - 1))), now_ns)
            assert with_cancels.tokens(now_ns) <= burst
            assert with_cancels.wait_sum_ns >= 0
        assert now_ns <= with_cancels.reserve(now_ns) <= without.reserve(now_ns) + 2

    @given(QPS, BURST, STEPS, st.integers(0, SECOND))
    def test_refused_requests_leave_no_trace(self, qps: float, burst: int, steps: list[int], patience_ns: int) -> None:
        """A bucket that refused requests serves the others as if those had never come."""
        bucket, other = TokenBucket(qps, burst), TokenBucket(qps, burst)
        now_ns = 0
        for step in steps:
            now_ns += step
            ready_ns = bucket.reserve_until(now_ns, now_ns + patience_ns)
            if ready_ns is not None:
                assert ready_ns <= now_ns + patience_ns
                assert other.reserve(now_ns) == ready_ns
        assert bucket.waits == len(steps)
        assert bucket.wait_sum_ns == other.wait_sum_ns
