from collections.abc import Mapping
from typing import Final

import pytest

from advisor.model.raw import Series
from advisor.model.signal import Quality, Signal, Unit, Window
from advisor.signals.client import ClientSeries
from advisor.signals.instances import Instances
from tests.signals.builders import ORIGIN, every, histogram, reasons, requests, store, values

WINDOW: Final = Window(0, 20)
DURATION: Final = "rest_client_request_duration_seconds"
LIMITER: Final = "rest_client_rate_limiter_duration_seconds"


def client(*found: Series) -> ClientSeries:
    """The client of these series."""
    samples = store(*found)
    return ClientSeries(samples, Instances(samples))


def duration(verb: str, total: Mapping[float, float], count: Mapping[float, float]) -> list[Series]:
    """Request durations of one verb, as exported: the client's own wait is in them."""
    return histogram(DURATION, {"verb": verb}, total=total, count=count)


def limiter(
    verb: str, total: Mapping[float, float], count: Mapping[float, float], quick: Mapping[float, float]
) -> list[Series]:
    """Limiter waits of one verb; ``quick`` counts those of at most 5 ms."""
    return histogram(LIMITER, {"verb": verb}, total=total, count=count, bounds={"0.005": quick, "+Inf": count})


def example() -> list[Series]:
    """A client for which each figure can be computed in the head."""
    return [
        requests("200", "GET", every(10, 100, 110, 120)),
        requests("200", "PUT", every(10, 10, 13, 16)),
        requests("409", "PUT", every(10, 1, 2, 3)),
        requests("200", "PATCH", every(10, 0, 1, 2)),
        requests("201", "POST", every(10, 5, 25, 30)),
        requests("409", "POST", every(10, 7, 12, 17)),
        requests("403", "POST", every(10, 0, 0, 2)),
        requests("429", "POST", every(10, 0, 0, 3)),
        requests("503", "GET", every(10, 0, 0, 5)),
        *duration("PUT", every(10, 1, 2, 5), every(10, 11, 15, 19)),
        *duration("POST", every(10, 3, 9, 21), every(10, 12, 32, 52)),
        *duration("GET", every(10, 2, 3, 4), every(10, 100, 106, 112)),
        *limiter("PUT", every(10, 0, 0, 1), every(10, 11, 15, 19), every(10, 11, 15, 17)),
        *limiter("POST", every(10, 1, 4, 11), every(10, 12, 32, 52), every(10, 10, 20, 34)),
        *limiter("GET", every(10, 0, 0, 0), every(10, 100, 106, 112), every(10, 100, 106, 112)),
    ]


class TestEverySignal:
    def test_has_the_value_computed_by_hand(self) -> None:
        """Each signal of the client, from the samples of ``example``."""
        found = client(*example()).signals(WINDOW, limiter_off=False)
        assert values(found) == {
            "requests_per_second": 3.75,  # 75 in 20 s
            "requests_per_second_by_code.200": 1.4,
            "requests_per_second_by_code.201": 1.25,
            "requests_per_second_by_code.403": 0.1,
            "requests_per_second_by_code.409": 0.6,
            "requests_per_second_by_code.429": 0.15,
            "requests_per_second_by_code.503": 0.25,
            "write_requests_per_second": 2.5,
            "post_requests_per_second": 2.0,
            "peak_post_per_second": 2.5,
            "request_seconds_mean": 24.0 / 60.0,
            "limiter_wait_seconds_mean": 11.0 / 60.0,
            "limiter_wait_seconds": 11.0,
            "api_seconds_mean": 13.0 / 60.0,
            "write_api_seconds_mean": 11.0 / 48.0,
            "inferred_write_seconds_mean": None,
            "api_seconds": 13.0,
            "limited_share": 1.0 - 42.0 / 60.0,
            "in_flight": 1.2,
            "conflict_ratio": 0.2,
            "conflicts_per_second": 0.1,
            "too_many_requests_ratio": 0.04,
            "server_error_ratio": 5.0 / 75.0,
            "refused_ratio": 0.04,
            "verbs.0.requests_per_second": 0.6,
            "verbs.0.request_seconds_mean": 2.0 / 12.0,
            "verbs.0.limiter_wait_seconds_mean": 0.0,
            "verbs.0.api_seconds_mean": 2.0 / 12.0,
            "verbs.1.requests_per_second": 2.0,
            "verbs.1.request_seconds_mean": 0.45,
            "verbs.1.limiter_wait_seconds_mean": 0.25,
            "verbs.1.api_seconds_mean": 0.2,
            "verbs.2.requests_per_second": 0.4,
            "verbs.2.request_seconds_mean": 0.5,
            "verbs.2.limiter_wait_seconds_mean": 0.125,
            "verbs.2.api_seconds_mean": 0.375,
        }
        assert [verb.verb for verb in found.verbs] == ["GET", "POST", "PUT"]

    def test_says_how_it_was_made(self) -> None:
        """Time at the API server names both series; what Little's law gives is an estimate."""
        found = client(*example()).signals(WINDOW, limiter_off=False)
        assert found.api_seconds == Signal(
            unit=Unit.SECONDS,
            value=13.0,
            window=WINDOW,
            origin=f"(delta {DURATION}_sum - delta {LIMITER}_sum) [{ORIGIN}]",
        )
        assert found.in_flight == Signal(
            unit=Unit.COUNT,
            value=1.2,
            quality=Quality.ESTIMATED,
            window=WINDOW,
            origin=f"rate of {DURATION}_sum (Little's law) [{ORIGIN}]",
        )


class TestConflicts:
    def test_already_exists_is_no_conflict(self) -> None:
        """409 on POST means that the object exists; only PUT and PATCH conflict, and only they are divided by."""
        found = client(
            requests("409", "POST", every(20, 0, 500)),
            requests("201", "POST", every(20, 0, 500)),
            requests("409", "PATCH", every(20, 0, 1)),
            requests("200", "PUT", every(20, 0, 3)),
        ).signals(WINDOW, limiter_off=False)
        assert (found.conflict_ratio.value, found.conflicts_per_second.value) == (0.25, 0.05)

    def test_without_updates_the_ratio_is_not_known(self) -> None:
        """No PUT and no PATCH: no share of them conflicted, and none is claimed."""
        found = client(requests("409", "POST", every(20, 0, 5))).signals(WINDOW, limiter_off=False)
        assert (found.conflict_ratio.missing, found.conflicts_per_second.value) == (
            "nothing was counted in the window",
            0.0,
        )


class TestLimiterOff:
    def test_waits_for_nothing(self) -> None:
        """A limiter that is off has no samples and no wait: zero is known, and all time is the API server's."""
        found = client(*duration("PUT", every(20, 0, 6), every(20, 0, 3))).signals(WINDOW, limiter_off=True)
        names = ("limiter_wait_seconds", "limiter_wait_seconds_mean", "limited_share", "api_seconds_mean")
        assert [getattr(found, name).value for name in (*names, "write_api_seconds_mean")] == [0.0, 0.0, 0.0, 2.0, 2.0]

    def test_without_durations_the_mean_needs_requests(self) -> None:
        """With the limiter off and no counted request there is no mean wait of a request."""
        found = client(requests("200", "PUT", every(20, 0, 3))).signals(WINDOW, limiter_off=True)
        assert (found.limiter_wait_seconds.value, found.limiter_wait_seconds_mean.value) == (0.0, None)


class TestAbsent:
    def test_without_any_series_all_is_missing(self) -> None:
        """No client series: every figure is missing, none is zero, and each says why."""
        found = client().signals(WINDOW, limiter_off=False)
        assert [name for name, value in values(found).items() if value is not None] == []
        absent = "is not exposed: KubeRay has it from 1.7, other operators only where they register it"
        why = reasons(found)
        assert {name for name, reason in why.items() if reason == f"{DURATION} {absent}"} == {
            "request_seconds_mean",
            "api_seconds_mean",
            "write_api_seconds_mean",
            "api_seconds",
            "in_flight",
        }
        assert {name for name, reason in why.items() if reason == f"{LIMITER} {absent}"} == {
            "limiter_wait_seconds_mean",
            "limiter_wait_seconds",
            "limited_share",
        }
        assert why["requests_per_second"] == "no sample in the window for: rate of rest_client_requests_total"

    def test_durations_without_the_limiter_are_not_the_api_servers(self) -> None:
        """Where the wait is not exposed it cannot be taken out, so no time is claimed to be the API server's."""
        found = client(*duration("PUT", every(20, 0, 6), every(20, 0, 3))).signals(WINDOW, limiter_off=False)
        assert found.request_seconds_mean.value == 2.0
        names = ("api_seconds", "api_seconds_mean", "write_api_seconds_mean", "limiter_wait_seconds", "limited_share")
        absent = f"{LIMITER} is not exposed: KubeRay has it from 1.7, other operators only where they register it"
        assert {getattr(found, name).missing for name in names} == {absent}
        assert found.verbs[0].api_seconds_mean.value is None

    def test_a_verb_that_was_never_limited_did_not_wait(self) -> None:
        """Where the limiter counts other verbs, one that it does not count never passed it."""
        found = client(
            *duration("PUT", every(20, 0, 6), every(20, 0, 3)),
            *duration("POST", every(20, 0, 8), every(20, 0, 4)),
            *limiter("POST", every(20, 0, 4), every(20, 0, 4), every(20, 0, 0)),
        ).signals(WINDOW, limiter_off=False)
        assert {verb.verb: verb.api_seconds_mean.value for verb in found.verbs} == {"POST": 1.0, "PUT": 2.0}
        assert found.write_api_seconds_mean.value == 10.0 / 7.0

    def test_a_window_without_samples_is_not_a_window_without_requests(self) -> None:
        """In a gap between scrapes no rate is known; it is not zero."""
        found = client(*example()).signals(Window(21, 29), limiter_off=False)
        assert [name for name, value in values(found).items() if value is not None] == []

    def test_no_request_in_a_scraped_window_is_zero(self) -> None:
        """Counters that stood still are known to have counted nothing."""
        found = client(requests("200", "PUT", every(10, 5, 5, 5))).signals(WINDOW, limiter_off=False)
        assert (found.requests_per_second.value, found.peak_post_per_second.value) == (0.0, 0.0)
        assert found.conflict_ratio.missing == "nothing was counted in the window"

    def test_one_scrape_has_no_peak(self) -> None:
        """A peak rate needs two scrapes."""
        assert client(*example()).signals(Window(5, 15), limiter_off=False).peak_post_per_second.value is None

    def test_no_limited_request_has_no_share(self) -> None:
        """Where no request passed the limiter in the window, no share of them waited."""
        idle = limiter("PUT", every(10, 3, 3, 3), every(10, 5, 5, 5), every(10, 5, 5, 5))
        found = client(*idle).signals(WINDOW, limiter_off=False)
        assert found.limited_share.missing == "no limited request in the window"
        assert found.limiter_wait_seconds.value == 0.0

    def test_writes_need_a_write(self) -> None:
        """Reads alone say nothing about the time of a write."""
        found = client(
            *duration("GET", every(20, 0, 6), every(20, 0, 3)),
            *limiter("GET", every(20, 0, 0), every(20, 0, 3), every(20, 0, 3)),
        ).signals(WINDOW, limiter_off=False)
        assert (found.api_seconds_mean.value, found.write_api_seconds_mean.value) == (2.0, None)


@pytest.mark.parametrize(
    ("found", "exposes"),
    [([], (False, False)), (duration("GET", {0: 0}, {0: 0}), (True, False)), (example(), (True, True))],
)
def test_what_is_exposed(found: list[Series], exposes: tuple[bool, bool]) -> None:
    """The two histograms are known to be there by their series."""
    one = client(*found)
    assert (one.exposes_durations, one.exposes_limiter) == exposes


def test_wait_longer_than_the_request_is_no_negative_time() -> None:
    """Streams are in the limiter and not in the durations; their wait cannot make the API server's time negative."""
    found = client(
        *duration("PUT", every(20, 0, 1), every(20, 0, 4)),
        *limiter("PUT", every(20, 0, 3), every(20, 0, 4), every(20, 0, 0)),
    ).signals(WINDOW, limiter_off=False)
    assert (found.api_seconds.value, found.verbs[0].api_seconds_mean.value) == (0.0, 0.0)
