from array import array

import pytest

from advisor.model.raw import Series, SeriesStore
from tests.signals.builders import every, series, store


class TestSeries:
    @pytest.mark.parametrize(("time", "index"), [(-1, -1), (0, 0), (9, 0), (10, 1), (99, 2)])
    def test_index_at(self, time: float, index: int) -> None:
        """The index of the last sample up to a time; -1 before the first."""
        assert series("x", {}, every(10, 1, 2, 3)).index_at(time) == index

    def test_length(self) -> None:
        """A series is as long as it has samples; a new one is empty, and shares its samples with no other."""
        one, other = Series("x", {}), Series("x", {})
        one.times.append(1.0)
        assert (len(one), len(other), len(series("x", {}, every(10, 1, 2)))) == (1, 0, 2)

    def test_samples_are_packed(self) -> None:
        """Samples are arrays of doubles, not lists of objects."""
        assert series("x", {}, {1: 2}) == Series("x", {}, array("d", [1.0]), array("d", [2.0]))


class TestStore:
    def test_by_name(self) -> None:
        """Series are found by name, in the order in which they came; an unknown name has none."""
        first, second, other = series("x", {"a": "1"}, {0: 1}), series("x", {"a": "2"}, {0: 1}), series("y", {}, {})
        found = store(first, other, second)
        assert (found.get("x"), found.get("z")) == ((first, second), ())
        assert found.names() == {"x", "y"}
        assert list(found) == [first, second, other]
        assert found.sample_count() == 2

    def test_empty(self) -> None:
        """An empty store has nothing and comes from nowhere."""
        found = SeriesStore()
        assert (found.names(), list(found), found.sample_count(), found.origin) == (frozenset(), [], 0, "")

    def test_origin(self) -> None:
        """A store says where its samples come from."""
        assert SeriesStore(origin="metrics.om").origin == "metrics.om"
