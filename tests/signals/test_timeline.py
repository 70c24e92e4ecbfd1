from itertools import pairwise

import pytest

from advisor.model.raw import Series, Setup
from advisor.model.signal import Window
from advisor.model.timeline import Timeline
from tests.signals.builders import controller, every, histogram, observations, series


def timeline_of(*found: Series) -> Timeline:
    """The timeline of these series."""
    timeline = observations(found).timeline()
    assert timeline is not None
    return timeline


def values(timeline: Timeline, quantity: str, name: str = "raycluster") -> tuple[float | None, ...]:
    """The values of one quantity."""
    found = timeline.find(quantity, name)
    assert found is not None
    return found.values


def test_each_pause_between_scrapes_is_an_interval() -> None:
    """Counters give means over the interval, gauges the largest sample since the interval before."""
    timeline = timeline_of(
        *controller(
            workers=[2, 2, 4],
            depth=[5, 3, 0],
            adds=[10, 13, 13],
            work=[0, 10, 30],
            unfinished=[0, 0, 0],
            wait=[0, 6, 7],
            gets=[0, 3, 5],
        )
    )
    assert timeline.bounds == (0.0, 10.0, 20.0)
    assert values(timeline, "depth_peak") == (5.0, 0.0)
    assert values(timeline, "busy_workers_mean") == (1.0, 2.0)
    assert values(timeline, "max_concurrent_reconciles") == (2.0, 4.0)
    assert values(timeline, "queue_wait_seconds_mean") == (2.0, 0.5)
    assert values(timeline, "oldest_wait_seconds_peak") == (6.667, 0.0)
    assert {one.unit for one in timeline.series if "seconds" in one.quantity} == {"seconds"}


def test_what_is_not_known_is_none_and_not_zero() -> None:
    """Where no key was handed out there is no wait; a quantity that is known nowhere has no series."""
    timeline = timeline_of(*controller(workers=[1, 1, 1], wait=[0, 6, 6], gets=[0, 3, 3]))
    assert values(timeline, "queue_wait_seconds_mean") == (2.0, None)
    assert timeline.find("depth_peak", "raycluster") is None


def test_long_inputs_are_thinned_out_and_keep_their_peaks() -> None:
    """1,000 scrapes become at most 240 intervals of equal length, and a single high sample is still there."""
    depths = [0.0] * 1000
    depths[777] = 50.0
    timeline = timeline_of(*controller(times=[2.0 * index for index in range(1000)], depth=depths))
    assert len(timeline.bounds) - 1 == 200
    assert timeline.bounds[-1] == 1998.0
    lengths = [end - start for start, end in pairwise(timeline.bounds)]
    assert set(lengths[:-1]) == {10.0}
    assert max(value or 0.0 for value in values(timeline, "depth_peak")) == 50.0


@pytest.mark.parametrize(
    ("times", "bounds", "known"),
    [
        ([0, 10, 20, 100, 110], (0.0, 10.0, 20.0, 100.0, 110.0), (True, True, False, True)),
        ([0, 10, 20, 30, 40, 100], (0.0, 10.0, 20.0, 30.0, 40.0, 100.0), (True, True, True, True, False)),
    ],
)
def test_a_pause_in_scraping_leaves_a_gap(
    times: list[float], bounds: tuple[float, ...], known: tuple[bool, ...]
) -> None:
    """Nothing is assumed where nothing was scraped for several times the usual pause."""
    timeline = timeline_of(*controller(times=times, depth=[1.0] * len(times)))
    assert timeline.bounds == bounds
    assert tuple(value is not None for value in values(timeline, "depth_peak")) == known


def test_each_sample_counts_once_and_none_is_lost() -> None:
    """A sample belongs to the interval that it ends; the first one, and the first after a gap, to the next."""
    timeline = timeline_of(*controller(times=[0, 10, 20, 100, 110, 120], depth=[9, 2, 3, 8, 4, 5]))
    assert values(timeline, "depth_peak") == (9.0, 3.0, None, 8.0, 5.0)


def test_a_pause_ends_a_thinned_out_interval() -> None:
    """The samples before a pause and those after it are not put into one interval."""
    times = [*(2.0 * index for index in range(500)), *(2000.0 + 2.0 * index for index in range(500))]
    timeline = timeline_of(*controller(times=times, depth=[1.0] * len(times)))
    assert {998.0, 2000.0} <= set(timeline.bounds)
    gap = timeline.bounds.index(998.0)
    depth = values(timeline, "depth_peak")
    assert depth[gap] is None
    assert None not in depth[:gap] + depth[gap + 1 :]


def test_request_times_are_split_into_server_and_limiter() -> None:
    """With both histograms the client's own wait is taken out of the request time."""
    timeline = timeline_of(
        *histogram(
            "rest_client_request_duration_seconds",
            {"verb": "GET"},
            total=every(10, 0, 5, 5),
            count=every(10, 0, 10, 10),
        ),
        *histogram(
            "rest_client_rate_limiter_duration_seconds",
            {"verb": "GET"},
            total=every(10, 0, 3, 3),
            count=every(10, 0, 10, 10),
        ),
    )
    assert values(timeline, "request_seconds_mean", "") == (0.5, None)
    assert values(timeline, "limiter_wait_seconds_mean", "") == (0.3, None)
    assert values(timeline, "api_seconds_mean", "") == (0.2, None)


@pytest.mark.parametrize(
    ("args", "quantities"),
    [
        ((), ["request_seconds_mean"]),
        (("--qps=-1",), ["api_seconds_mean", "limiter_wait_seconds_mean", "request_seconds_mean"]),
    ],
)
def test_without_limiter_samples_the_parts_are_known_only_if_it_is_off(
    args: tuple[str, ...], quantities: list[str]
) -> None:
    """A limiter that is off waits for nothing; what is not exposed is not made up."""
    times = histogram(
        "rest_client_request_duration_seconds", {"verb": "GET"}, total=every(10, 0, 5), count=every(10, 0, 10)
    )
    timeline = observations(times, setup=Setup(args=args)).timeline()
    assert timeline is not None
    assert [one.quantity for one in timeline.series] == quantities


def test_the_timeline_of_the_leader_has_its_own_scrape_times() -> None:
    """A standby that is scraped at other times makes no empty intervals."""
    standby = series("process_start_time_seconds", {"instance": "b"}, every(10, 1, 1, 1, start=5.0))
    timeline = timeline_of(*controller(depth=[1, 2, 3], instance="a"), standby)
    assert timeline.bounds == (0.0, 10.0, 20.0)


def test_no_timeline_without_two_scrapes() -> None:
    """One scrape shows nothing over time."""
    assert observations(controller(times=[0.0], depth=[1.0])).timeline() is None


def test_values_are_those_of_the_curves() -> None:
    """Over the intervals, busy time adds up to that of the whole window."""
    found = controller(times=[0.0, 7.0, 20.0], workers=[2, 2, 2], work=[0, 3, 9], unfinished=[1, 2, 0], depth=[0, 0, 0])
    observed = observations(found)
    timeline = observed.timeline()
    assert timeline is not None
    parts = zip(values(timeline, "busy_workers_mean"), pairwise(timeline.bounds), strict=True)
    total = sum((value or 0.0) * (end - start) for value, (start, end) in parts)
    (busy,) = (one.busy_seconds(Window(0.0, 20.0)) for one in observed.controllers)
    assert total == pytest.approx(busy, rel=1e-3)
