import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.sidecar.ring import Peaks, Ring, RingBounds
from advisor.sidecar.views import PeaksView
from advisor.sources.exposition import Exposition, Sample


def exposition(*samples: tuple[str, dict[str, str], float]) -> Exposition:
    """One answer with some samples."""
    return Exposition(
        [Sample(name, tuple(sorted(labels.items())), value) for name, labels, value in samples], {}, 0, ended=True
    )


def gauges(**values: float) -> Exposition:
    """One answer with samples without labels."""
    return exposition(*((name, {}, value) for name, value in values.items()))


def held(ring: Ring) -> dict[str, list[tuple[float, float]]]:
    """Times and values by name."""
    return {one.name: list(zip(one.times, one.values, strict=True)) for one in ring.series()}


class TestRing:
    def test_it_gives_back_what_it_took(self) -> None:
        """Series come and go; each has the times at which it was there."""
        ring = Ring()
        ring.take(10.0, gauges(a=1.0, b=2.0))
        ring.take(15.0, gauges(a=3.0))
        ring.take(20.0, gauges(b=4.0, a=5.0))
        assert held(ring) == {"a": [(10.0, 1.0), (15.0, 3.0), (20.0, 5.0)], "b": [(10.0, 2.0), (20.0, 4.0)]}
        assert (ring.span(), ring.sample_count, ring.refused) == ((10.0, 20.0), 5, 0)

    def test_labels_tell_series_apart(self) -> None:
        """As in every store."""
        ring = Ring()
        ring.take(1.0, exposition(("depth", {"priority": "0"}, 1.0), ("depth", {"priority": "-100"}, 2.0)))
        assert [(one.labels, list(one.values)) for one in ring.series()] == [
            ({"priority": "0"}, [1.0]),
            ({"priority": "-100"}, [2.0]),
        ]

    def test_what_is_too_old_goes(self) -> None:
        """Scrapes that lie further back than the bound are dropped."""
        ring = Ring(RingBounds(seconds=10.0))
        for time in (0.0, 5.0, 10.0, 15.0):
            ring.take(time, gauges(a=time))
        assert ring.span() == (5.0, 15.0)

    @pytest.mark.parametrize(
        "bounds", [RingBounds(most_samples=20), RingBounds(most_bytes=20 * 8 + 10 * 808), RingBounds(seconds=1.0)]
    )
    def test_each_bound_holds(self, bounds: RingBounds) -> None:
        """By samples, by bytes and by time; two rows of ten are left."""
        ring = Ring(bounds)
        names = [f"s{number}" for number in range(10)]
        for time in range(50):
            ring.take(float(time), gauges(**dict.fromkeys(names, 1.0)))
        assert ring.span() == (48.0, 49.0)
        assert ring.sample_count == 20

    def test_the_last_scrape_stays(self) -> None:
        """However small the bounds are."""
        ring = Ring(RingBounds(most_samples=1))
        ring.take(1.0, gauges(a=1.0, b=2.0))
        assert held(ring) == {"a": [(1.0, 1.0)], "b": [(1.0, 2.0)]}

    def test_a_scrape_with_too_many_series_is_cut(self) -> None:
        """An operator that invents labels does not fill the memory; what was left out is counted."""
        ring = Ring(RingBounds(most_series=3))
        ring.take(1.0, gauges(a=1.0, b=1.0, c=1.0, d=1.0, e=1.0))
        assert set(held(ring)) == {"a", "b", "c"}
        assert ring.refused == 2

    def test_labels_that_change_each_time_are_bounded(self) -> None:
        """They are what takes most memory, and count for it."""
        ring = Ring(RingBounds(most_bytes=100_000))
        for time in range(1000):
            ring.take(float(time), exposition(*(("up", {"pod": f"{time}-{one}"}, 1.0) for one in range(10))))
        assert ring.size_bytes <= 100_000
        assert len(ring.series()) < 200

    def test_a_clock_that_was_set_back(self) -> None:
        """What the old clock saw after now is dropped, so that times always rise."""
        ring = Ring()
        for time in (100.0, 105.0, 110.0, 102.0, 107.0):
            ring.take(time, gauges(a=time))
        assert held(ring) == {"a": [(100.0, 100.0), (102.0, 102.0), (107.0, 107.0)]}

    def test_it_shrinks_and_grows_when_told(self) -> None:
        """At a half it holds half the time at once; later it fills again."""
        ring = Ring(RingBounds(seconds=100.0))
        for time in range(101):
            ring.take(float(time), gauges(a=1.0))
        ring.resize(0.5)
        assert ring.span() == (50.0, 100.0)
        ring.resize(1.0)
        for time in range(101, 201):
            ring.take(float(time), gauges(a=1.0))
        assert ring.span() == (100.0, 200.0)

    def test_an_empty_ring(self) -> None:
        """Holds nothing, and says so."""
        assert (Ring().series(), Ring().span()) == ([], None)

    @given(
        st.lists(
            st.tuples(st.floats(0.0, 1000.0), st.dictionaries(st.sampled_from("abcdef"), st.floats(0.0, 9.0))),
            max_size=40,
        )
    )
    def test_times_rise_and_counts_are_right(self, scrapes: list[tuple[float, dict[str, float]]]) -> None:
        """Whatever clock and operator do."""
        ring = Ring(RingBounds(seconds=300.0, most_samples=50))
        for time, values in scrapes:
            ring.take(time, gauges(**values))
        series = ring.series()
        assert all(list(one.times) == sorted(set(one.times)) for one in series)
        assert sum(map(len, series)) == ring.sample_count

    def test_it_is_read_while_it_is_written(self) -> None:
        """A reader sees whole scrapes."""
        ring = Ring(RingBounds(seconds=50.0))
        done = threading.Event()

        def write() -> None:
            for time in range(3000):
                ring.take(float(time), gauges(a=time, b=time))
            done.set()

        writer = threading.Thread(target=write)
        writer.start()
        while not done.is_set():
            found = held(ring)
            assert found.get("a") == found.get("b")
        writer.join()


class TestPeaks:
    def test_the_largest_of_the_last_minute(self) -> None:
        """By controller; a depth is the sum over its priorities at one time."""
        peaks = Peaks()
        for time, low, high, active in ((0.0, 99.0, 99.0, 9.0), (10.0, 5.0, 1.0, 1.0), (40.0, 1.0, 4.0, 3.0)):
            peaks.take(
                time,
                exposition(
                    ("workqueue_depth", {"name": "rc", "controller": "rc", "priority": "-100"}, low),
                    ("workqueue_depth", {"name": "rc", "controller": "rc", "priority": "0"}, high),
                    ("workqueue_depth", {"name": "rj", "controller": "rj"}, 0.0),
                    ("controller_runtime_active_workers", {"controller": "rc"}, active),
                    ("workqueue_longest_running_processor_seconds", {"name": "rc"}, time),
                    ("workqueue_adds_total", {"name": "rc"}, 1e6),
                ),
            )
        assert peaks.view(69.0) == PeaksView(
            depth={"rc": 6.0, "rj": 0.0}, active_workers={"rc": 3.0}, longest_running_seconds={"rc": 40.0}
        )

    def test_without_scrapes_for_a_minute_there_is_none(self) -> None:
        """An operator that is gone has no peak, and no zero."""
        peaks = Peaks()
        peaks.take(0.0, exposition(("workqueue_depth", {"name": "rc"}, 5.0)))
        assert peaks.view(61.0) == PeaksView()

    def test_a_clock_that_was_set_back(self) -> None:
        """What was seen by the old clock is dropped."""
        peaks = Peaks()
        peaks.take(1000.0, exposition(("workqueue_depth", {"name": "rc"}, 5.0)))
        peaks.take(500.0, exposition(("workqueue_depth", {"name": "rc"}, 1.0)))
        assert peaks.view(500.0).depth == {"rc": 1.0}
