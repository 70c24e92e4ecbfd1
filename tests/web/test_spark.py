import re

from hypothesis import given
from hypothesis import strategies as st

from advisor.web.spark import draw_spark


def test_fewer_than_two_values_are_no_line() -> None:
    """Nothing is drawn of nothing, of one value, or of unknown ones."""
    assert [draw_spark(values, "x") for values in ([], [1.0], [None, 2.0, None])] == ["", "", ""]


def test_gaps() -> None:
    """Where a value is not known the line breaks off."""
    assert 'd="M0.0 10.0L33.3 0.5M100.0 19.5"' in draw_spark([1.0, 2.0, None, 0.0], "x")


@given(st.lists(st.floats(0.0, 1e9), min_size=2, max_size=50))
def test_every_point_is_inside(values: list[float]) -> None:
    """Whatever the values, the line stays in its box."""
    points = re.findall(r"[ML](\S+) (\S+?)(?=[ML\"])", draw_spark(values, "x"))
    assert len(points) == len(values)
    assert all(0.0 <= float(across) <= 100.0 and 0.0 <= float(down) <= 20.0 for across, down in points)


def test_the_label_is_text() -> None:
    """What it says to those who cannot see it is escaped."""
    assert 'aria-label="&lt;b&gt;"' in draw_spark([1.0, 2.0], "<b>")
