import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.queueing.retrylimiters import (
    ExponentialLimiter,
    MaxOfLimiter,
    OverallBucketLimiter,
    default_classic_limiter,
    default_priority_limiter,
)

SECOND = 1_000_000_000
MILLISECOND = 1_000_000


class TestExponential:
    def test_doubles_from_5_ms_to_1000_s(self) -> None:
        """The n-th failure waits 5 ms x 2^n, and from n = 18 on 1000 s."""
        limiter = ExponentialLimiter()
        delays = [limiter.when_ns(0, "k") for _ in range(20)]
        assert delays[:18] == [5 * MILLISECOND * 2**n for n in range(18)]
        assert delays[18:] == [1000 * SECOND, 1000 * SECOND]

    def test_first_18_waits_are_about_1311_s(self) -> None:
        """A key that fails all the time reaches the cap after 22 minutes."""
        limiter = ExponentialLimiter()
        assert sum(limiter.when_ns(0, "k") for _ in range(18)) == 1_310_715 * MILLISECOND

    def test_failures_never_age(self) -> None:
        """A year later the next failure waits twice as long as the last."""
        limiter = ExponentialLimiter()
        assert limiter.when_ns(0, "k") == 5 * MILLISECOND
        assert limiter.when_ns(365 * 86400 * SECOND, "k") == 10 * MILLISECOND

    def test_keys_fail_apart(self) -> None:
        """Failures of one key do not delay another."""
        limiter = ExponentialLimiter()
        limiter.when_ns(0, "a")
        assert limiter.when_ns(0, "b") == 5 * MILLISECOND
        assert (limiter.num_requeues("a"), limiter.num_requeues("b"), limiter.num_requeues("c")) == (1, 1, 0)

    def test_forget_starts_again(self) -> None:
        """A forgotten key waits as after its first failure, and needs no memory."""
        limiter = ExponentialLimiter()
        for _ in range(5):
            limiter.when_ns(0, "k")
        assert (limiter.num_requeues("k"), len(limiter)) == (5, 1)
        limiter.forget("k")
        assert (limiter.num_requeues("k"), len(limiter)) == (0, 0)
        assert limiter.when_ns(0, "k") == 5 * MILLISECOND

    def test_forgetting_an_unknown_key_does_nothing(self) -> None:
        """Successes of keys that never failed are forgotten as well."""
        limiter = ExponentialLimiter()
        limiter.forget("k")
        assert len(limiter) == 0

    @pytest.mark.parametrize(
        ("base_ns", "max_ns", "delays"),
        [(1, 1, [1, 1]), (3, 10, [3, 6, 10, 10]), (8, 5, [5, 5]), (4, 16, [4, 8, 16, 16])],
    )
    def test_other_settings(self, base_ns: int, max_ns: int, delays: list[int]) -> None:
        """Whatever the settings, delays double up to the cap; a cap below the first delay holds at once."""
        limiter = ExponentialLimiter(base_ns, max_ns)
        assert [limiter.when_ns(0, "k") for _ in delays] == delays

    @pytest.mark.parametrize(("base_ns", "max_ns"), [(0, 1), (1, 0), (-5, 5)])
    def test_refuses_delays_of_nothing(self, base_ns: int, max_ns: int) -> None:
        """Delays above zero only."""
        with pytest.raises(ValueError, match="must be above 0"):
            ExponentialLimiter(base_ns, max_ns)

    @given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=80))
    def test_delay_follows_from_the_failures_since_forgotten(self, steps: list[tuple[str, bool]]) -> None:
        """Each delay is 5 ms x 2^failures, at most 1000 s, whatever happened to other keys."""
        limiter = ExponentialLimiter()
        failures = dict.fromkeys("abc", 0)
        for key, fails in steps:
            if fails:
                assert limiter.when_ns(0, key) == min(5 * MILLISECOND * 2 ** failures[key], 1000 * SECOND)
                failures[key] += 1
            else:
                limiter.forget(key)
                failures[key] = 0
            assert limiter.num_requeues(key) == failures[key]


class TestOverall:
    def test_10_a_second_after_a_burst_of_100(self) -> None:
        """The first 100 failures wait for nothing, then each 100 ms longer."""
        limiter = OverallBucketLimiter()
        delays = [limiter.when_ns(0, f"k{n}") for n in range(103)]
        assert delays == [0] * 100 + [100 * MILLISECOND, 200 * MILLISECOND, 300 * MILLISECOND]

    def test_ten_thousand_keys_push_the_last_out_by_a_quarter_of_an_hour(self) -> None:
        """10000 keys that fail together: the last one waits 990 s, though it failed only once."""
        limiter = OverallBucketLimiter()
        assert [limiter.when_ns(0, f"k{n}") for n in range(10_000)][-1] == 990 * SECOND

    def test_delay_counts_from_now(self) -> None:
        """Half of the wait is over: half is left."""
        limiter = OverallBucketLimiter(1.0, 1)
        limiter.when_ns(0, "a")
        assert limiter.when_ns(500 * MILLISECOND, "b") == 500 * MILLISECOND

    def test_knows_no_keys(self) -> None:
        """Failures are neither counted by key nor forgotten."""
        limiter = OverallBucketLimiter(1.0, 1)
        limiter.when_ns(0, "k")
        limiter.forget("k")
        assert limiter.num_requeues("k") == 0
        assert limiter.when_ns(0, "k") == SECOND


class TestMaxOf:
    def test_longest_delay_holds(self) -> None:
        """Whichever limiter delays longest decides."""
        limiter = MaxOfLimiter(ExponentialLimiter(), OverallBucketLimiter(100.0, 1))
        assert [limiter.when_ns(0, "k") for _ in range(4)] == [
            5 * MILLISECOND,
            10 * MILLISECOND,
            20 * MILLISECOND,
            40 * MILLISECOND,
        ]
        assert limiter.when_ns(0, "other") == 40 * MILLISECOND

    def test_all_are_asked(self) -> None:
        """A failure counts with every limiter, also with those whose delay does not hold."""
        short, long = ExponentialLimiter(1, 8), ExponentialLimiter(100, 800)
        limiter = MaxOfLimiter(long, short)
        assert limiter.when_ns(0, "k") == 100
        assert (short.num_requeues("k"), long.num_requeues("k"), limiter.num_requeues("k")) == (1, 1, 1)
        limiter.forget("k")
        assert (short.num_requeues("k"), long.num_requeues("k"), limiter.num_requeues("k")) == (0, 0, 0)

    def test_without_limiters_nothing_is_delayed(self) -> None:
        """No limiter, no delay and no count."""
        assert (MaxOfLimiter().when_ns(0, "k"), MaxOfLimiter().num_requeues("k")) == (0, 0)


class TestDefaults:
    def test_priority_queue_has_no_overall_bucket(self) -> None:
        """A thousand keys that fail at once all wait 5 ms."""
        limiter = default_priority_limiter()
        assert {limiter.when_ns(0, f"k{n}") for n in range(1000)} == {5 * MILLISECOND}

    def test_classic_queue_has_one(self) -> None:
        """Of a thousand keys that fail at once 100 wait 5 ms, the last one 90 s."""
        limiter = default_classic_limiter()
        delays = [limiter.when_ns(0, f"k{n}") for n in range(1000)]
        assert delays[:101] == [5 * MILLISECOND] * 100 + [100 * MILLISECOND]
        assert delays[-1] == 90 * SECOND
        assert limiter.num_requeues("k999") == 1

    def test_classic_queue_shares_it_among_all_keys_of_one_controller(self) -> None:
        """Each controller has its own bucket."""
        first, second = default_classic_limiter(), default_classic_limiter()
        for n in range(200):
            first.when_ns(0, f"k{n}")
        assert second.when_ns(0, "k0") == 5 * MILLISECOND
