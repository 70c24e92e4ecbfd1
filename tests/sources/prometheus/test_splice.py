"""Samples read closely in the place of those read coarsely."""

from array import array

from advisor.model.raw import Series
from advisor.model.signal import Window
from advisor.sources.prometheus.splice import splice


def series(name: str, samples: dict[float, float], **labels: str) -> Series:
    """A series of these samples."""
    return Series(name, labels, array("d", samples), array("d", samples.values()))


def test_fine_samples_stand_in_their_span() -> None:
    """Inside the span only fine samples are left, outside only coarse ones, in order of time."""
    coarse = series("a", {0: 1, 60: 2, 120: 3, 180: 4}, x="1")
    fine = series("a", {70: 2.1, 100: 2.5, 115: 2.9}, x="1")
    (joined,) = splice([coarse], [fine], Window(60, 120))
    assert list(joined.times) == [0, 70, 100, 115, 180]
    assert list(joined.values) == [1, 2.1, 2.5, 2.9, 4]


def test_series_are_joined_by_name_and_all_labels() -> None:
    """Another label value is another series; what only one side has stays as it is."""
    found = splice([series("a", {0: 1}, x="1")], [series("a", {5: 1}, x="2"), series("b", {5: 1})], Window(0, 10))
    assert {(one.name, tuple(one.labels.items()), tuple(one.times)) for one in found} == {
        ("a", (("x", "1"),), (0,)),
        ("a", (("x", "2"),), (5,)),
        ("b", (), (5,)),
    }


def test_several_spans_follow_each_other() -> None:
    """What one span put in is kept by the next, for series that only fine readings have."""
    first = splice([], [series("b", {1: 1, 2: 2})], Window(0, 3))
    (joined,) = splice(first, [series("b", {11: 5, 12: 6})], Window(10, 13))
    assert list(joined.times) == [1, 2, 11, 12]
