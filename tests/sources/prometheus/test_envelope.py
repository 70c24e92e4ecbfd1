"""Answers to queries, decoded: values that are no numbers, absent ones, histograms, and how fast."""

import json
import math
from array import array

import msgspec
import pytest

from advisor.sources.prometheus.answers import Bucket, Histogram, Result, joined
from advisor.sources.prometheus.envelope import data_of, envelope_of

RANGE, INSTANT = "/api/v1/query_range", "/api/v1/query"


def decoded(kind: str, result: object, path: str = RANGE) -> Result:
    """The result of an answer with this in it."""
    body = {"status": "success", "data": {"resultType": kind, "result": result, "stats": {"ignored": 1}}}
    found: Result = data_of(path, envelope_of(bytearray(json.dumps(body).encode())))["result"]
    return found


def matrix(*values: tuple[float, str], **labels: str) -> dict[str, object]:
    """One series of a matrix."""
    return {"metric": labels, "values": [list(value) for value in values]}


class TestValues:
    def test_a_matrix(self) -> None:
        """The name is apart from the labels; times and values are two arrays of one length."""
        result = decoded("matrix", [matrix((1.5, "2"), (2.5, "1e3"), __name__="a", le="+Inf"), matrix((3.0, "4"))])
        (one, other) = result.series
        assert (one.name, one.labels) == ("a", {"le": "+Inf"})
        assert (one.times, one.values) == (array("d", [1.5, 2.5]), array("d", [2.0, 1000.0]))
        assert (other.name, other.labels) == ("", {})
        assert (result.samples, result.histograms) == (3, ())

    def test_a_vector_and_a_scalar(self) -> None:
        """One sample each."""
        (one,) = decoded("vector", [{"metric": {"__name__": "a"}, "value": [1, "2"]}], INSTANT).series
        (scalar,) = decoded("scalar", [1, "2"], INSTANT).series
        assert list(one.values) == list(scalar.values) == [2.0]
        assert list(one.times) == list(scalar.times) == [1.0]
        assert (one.name, scalar.name) == ("a", "")

    @pytest.mark.parametrize("result", [[], None])
    @pytest.mark.parametrize("kind", ["matrix", "vector"])
    def test_nothing(self, kind: str, result: object) -> None:
        """Nothing found is a result, and none of the ways to write it an error."""
        assert decoded(kind, result) == Result()

    def test_what_is_no_number_is_left_out_and_counted(self) -> None:
        """NaN and infinite values cannot be added; the others of the series stay."""
        result = decoded(
            "matrix",
            [
                matrix((1, "1"), (2, "NaN"), (3, "+Inf"), (4, "2"), x="mixed"),
                matrix((1, "NaN"), (2, "NaN"), x="never a number"),
                matrix((1, "-Inf"), x="never finite"),
                matrix((1, "1.7e308"), (2, "1.7e308"), x="only its sum is too large"),
            ],
        )
        assert [(one.labels["x"], list(one.times)) for one in result.series] == [
            ("mixed", [1.0, 4.0]),
            ("only its sum is too large", [1.0, 2.0]),
        ]
        assert (result.nan_samples, result.infinite_samples) == (3, 2)

    def test_absent_points_are_absent(self) -> None:
        """A gap, as staleness leaves it, is no sample, and nothing is put in its place."""
        (one,) = decoded("matrix", [matrix((0, "1"), (15, "1"), (90, "1"))]).series
        assert list(one.times) == [0.0, 15.0, 90.0]

    @pytest.mark.parametrize(
        ("kind", "result"),
        [
            ("matrix", [{"metric": {}, "values": [[1, "x"]]}]),
            ("matrix", [{"metric": {}, "values": [[1, [2]]]}]),
            ("matrix", [{"values": []}]),
            ("matrix", [{"metric": {"a": None}}]),
            ("matrix", {"metric": {}}),
            ("vector", [{"metric": {}, "value": ["1"]}]),
            ("streams", []),
            ("scalar", [1]),
        ],
    )
    def test_other_forms_are_errors(self, kind: str, result: object) -> None:
        """Nothing is guessed."""
        with pytest.raises((msgspec.DecodeError, ValueError)):
            decoded(kind, result)

    def test_600_000_samples(self) -> None:
        """A week of sixty series at one minute comes out whole."""
        values = [[1.7e9 + 60 * number, str(number / 7)] for number in range(10_000)]
        result = decoded("matrix", [{"metric": {"x": str(one)}, "values": values} for one in range(60)])
        assert result.samples == 600_000
        assert result.series[59].values[9_999] == 9_999 / 7


BUCKETS = {
    "count": "6", "sum": "3.5",
    "buckets": [[3, "-0.001", "0.001", "1"], [0, "0.5", "1", "2"], [1, "1", "2", "1.5"], [2, "2", "+Inf", "1.5"]],
}  # fmt: skip


class TestHistograms:
    def test_in_both_forms_of_answers(self) -> None:
        """Count, sum and buckets with their bounds; which of them belong to the bucket is told."""
        expected = Histogram(
            6.0,
            3.5,
            (
                Bucket(-0.001, 0.001, 1.0, has_low=True, has_high=True),
                Bucket(0.5, 1.0, 2.0, has_low=False, has_high=True),
                Bucket(1.0, 2.0, 1.5, has_low=True, has_high=False),
                Bucket(2.0, math.inf, 1.5, has_low=False, has_high=False),
            ),
        )
        metric = {"__name__": "a", "x": "y"}
        (vector,) = decoded("vector", [{"metric": metric, "histogram": [1, BUCKETS]}], INSTANT).histograms
        (matrix,) = decoded("matrix", [{"metric": metric, "histograms": [[1, BUCKETS], [2, BUCKETS]]}]).histograms
        assert (vector.name, vector.labels, list(vector.times)) == ("a", {"x": "y"}, [1.0])
        assert vector.samples == [expected]
        assert (list(matrix.times), matrix.samples) == ([1.0, 2.0], [expected, expected])

    def test_numbers_alone(self) -> None:
        """One without buckets, and without anything that JSON has no number for."""
        (one,) = decoded("matrix", [{"metric": {}, "histograms": [[1, {"count": "0", "sum": "0"}]]}]).histograms
        assert one.samples == [Histogram(0.0, 0.0, ())]

    def test_beside_values(self) -> None:
        """A series that changed its form has both; each counts as a sample."""
        result = decoded("matrix", [{"metric": {}, "values": [[1, "1"]], "histograms": [[2, BUCKETS]]}])
        assert (len(result.series), len(result.histograms), result.samples) == (1, 1, 2)


class TestJoined:
    def test_chunks_of_one_query(self) -> None:
        """Series are joined by name and labels in whatever order they come; those of one chunk alone stay."""
        first = decoded("matrix", [matrix((1, "1"), __name__="a", x="1"), matrix((1, "NaN"), __name__="b")])
        second = decoded("matrix", [matrix((2, "5"), __name__="c"), matrix((2, "2"), x="1", __name__="a")])
        result = joined([first, second])
        assert [(one.name, list(one.times), list(one.values)) for one in result.series] == [
            ("a", [1.0, 2.0], [1.0, 2.0]),
            ("c", [2.0], [5.0]),
        ]
        assert result.nan_samples == 1

    def test_histograms(self) -> None:
        """They are joined likewise."""
        parts = [decoded("matrix", [{"metric": {"x": "1"}, "histograms": [[time, BUCKETS]]}]) for time in (1, 2)]
        (one,) = joined(parts).histograms
        assert (list(one.times), len(one.samples)) == ([1.0, 2.0], 2)

    def test_no_chunk(self) -> None:
        """A range without a time has an empty result."""
        assert joined([]) == Result()
