from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from advisor.report.axes import Scale, time_ticks, value_ticks

BEGIN = 1795980685.0  # 2026-11-29 19:31:25 UTC


@pytest.mark.parametrize(
    ("highest", "unit", "labels"),
    [
        (0.0, "count", ["0", "1"]),
        (0.3, "count", ["0", "1"]),
        (3.0, "count", ["0", "1", "2", "3"]),
        (100.0, "count", ["0", "50", "100"]),
        (9000.0, "count", ["0", "5,000", "10,000"]),
        (0.0, "seconds", ["0", "0.5 s", "1 s"]),
        (0.000003, "seconds", ["0", "1 us", "2 us", "3 us"]),
        (0.033, "seconds", ["0", "10 ms", "20 ms", "30 ms", "40 ms"]),
        (0.82, "seconds", ["0", "0.5 s", "1 s"]),
        (22.0, "seconds", ["0", "10 s", "20 s", "30 s"]),
        (50.0, "seconds", ["0", "15 s", "30 s", "45 s", "60 s"]),
        (300.0, "seconds", ["0", "2 min", "4 min", "6 min"]),
        (30000.0, "seconds", ["0", "3 h", "6 h", "9 h"]),
        (400000.0, "seconds", ["0", "48 h", "96 h", "144 h"]),
        (0.0, "ratio", ["0", "50%", "100%"]),
        (0.004, "ratio", ["0", "1%"]),
        (0.17, "ratio", ["0", "5%", "10%", "15%", "20%"]),
        (1.0, "ratio", ["0", "50%", "100%"]),
    ],
)
def test_values_have_round_ticks(highest: float, unit: str, labels: list[str]) -> None:
    """Few lines, at numbers that people count in."""
    assert [label for _, label in value_ticks(highest, unit)] == labels


@pytest.mark.parametrize(
    ("seconds", "labels"),
    [
        (2, ["19:31:25", "19:31:26", "19:31:27"]),
        (36, ["19:31:30", "19:31:40", "19:31:50", "19:32:00"]),
        (600, ["19:32", "19:34", "19:36", "19:38", "19:40"]),
        (86400, ["00:00", "06:00", "12:00", "18:00"]),
        (86400 * 10, ["01 Dec", "03 Dec", "05 Dec", "07 Dec", "09 Dec"]),
    ],
)
def test_times_have_round_ticks(seconds: float, labels: list[str]) -> None:
    """Ticks are at round UTC times, labelled as finely as they lie."""
    assert [label for _, label in time_ticks(BEGIN, BEGIN + seconds)] == labels


@given(st.floats(0.0, 1e9), st.sampled_from(["seconds", "count", "ratio"]))
def test_the_axis_holds_every_value(highest: float, unit: str) -> None:
    """The last tick is not below the highest value, and there are at most five, each with a label of its own."""
    ticks = value_ticks(highest, unit)
    assert ticks[0] == (0.0, "0")
    assert ticks[-1][0] >= highest * (1 - 1e-6)
    assert 2 <= len(ticks) <= 6
    assert len({label for _, label in ticks}) == len(ticks)


@given(st.floats(1.0, 1e8), st.floats(0.0, 2e9))
@example(77_760_001.0, 0.015625)
def test_ticks_lie_inside_and_apart(seconds: float, start: float) -> None:
    """Ticks of time lie between the ends, at equal distance."""
    ticks = [time for time, _ in time_ticks(start, start + seconds)]
    assert len(ticks) <= 6
    assert all(start - 1e-3 <= time <= start + seconds + 1e-3 for time in ticks)
    assert len({round(later - earlier, 3) for earlier, later in pairwise(ticks)}) <= 1


def test_a_scale_is_linear() -> None:
    """It may run backwards, as the vertical one does."""
    scale = Scale(0.0, 10.0, 100.0, 0.0)
    assert [scale(value) for value in (0.0, 5.0, 10.0)] == [100.0, 50.0, 0.0]
