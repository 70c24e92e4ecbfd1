"""What the API server says of itself."""

from array import array

import pytest

from advisor.model.raw import Series, SeriesStore
from advisor.model.signal import Window
from advisor.signals.apiserver import ApiServerSeries

WINDOW = Window(0.0, 100.0)


def series(name: str, samples: dict[float, float], **labels: str) -> Series:
    """A series of these samples."""
    return Series(name, labels, array("d", samples), array("d", samples.values()))


def durations(verb: str, total: float, count: float, instance: str = "a") -> list[Series]:
    """Sum and count of one verb over the window."""
    return [
        series(
            f"apiserver_request_duration_seconds_{part}", {0.0: 10.0, 100.0: 10.0 + value}, verb=verb, instance=instance
        )
        for part, value in (("sum", total), ("count", count))
    ]


def test_writes_of_all_servers_count_and_reads_do_not() -> None:
    """The mean is over writes of every server."""
    store = SeriesStore(
        [*durations("POST", 30.0, 100.0), *durations("PUT", 10.0, 100.0, "b"), *durations("GET", 99.0, 1.0)]
    )
    signals = ApiServerSeries(store).signals(WINDOW)
    assert signals is not None
    assert signals.write_seconds_mean.value == pytest.approx(0.2)


def test_no_429_is_none_refused() -> None:
    """A code that never came has no series, and is zero."""
    signals = ApiServerSeries(SeriesStore(durations("POST", 1.0, 10.0))).signals(WINDOW)
    assert signals is not None
    assert signals.rejected_per_second.value == 0.0


def test_429_is_counted() -> None:
    """What the server refused for load, a second."""
    refused = series("apiserver_request_total", {0.0: 0.0, 100.0: 50.0}, code="429", instance="a")
    signals = ApiServerSeries(SeriesStore([*durations("POST", 1.0, 10.0), refused])).signals(WINDOW)
    assert signals is not None
    assert signals.rejected_per_second.value == pytest.approx(0.5)


def test_without_its_series_nothing_is_said() -> None:
    """An operator's own scrape holds none of them, and that is no gap in it."""
    assert ApiServerSeries(SeriesStore()).signals(WINDOW) is None
