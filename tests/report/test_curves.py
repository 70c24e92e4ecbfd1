"""Curves over settings."""

import re
from xml.etree import ElementTree as ET

from advisor.model.whatif import Interval
from advisor.report.curves import Curve, Curves, draw_curves


def interval(value: float, low: float | None = None, high: float | None = None) -> Interval:
    """Seconds with bounds."""
    return Interval(quantity="x", unit="seconds", value=value, low=low, high=high)


def drawn(*curves: Curve) -> ET.Element:
    """A picture over three places, which is well-formed."""
    picture = draw_curves(Curves("Queue <wait>", "seconds", "workers", ("1", "2 now", "4"), curves), "c")
    return ET.fromstring(picture)  # noqa: S314 - our own


def test_values_and_bounds() -> None:
    """A dot for each value, a line through them, a bar for each interval; all within the picture."""
    values = [interval(8.0, 6.0, 14.0), interval(4.0, 4.0, 4.0), interval(2.0)]
    root = drawn(Curve("QPS 100", "first", values))
    dots = [one for one in root if one.tag == "circle"]
    assert [float(one.attrib["cx"]) for one in dots] == [121.0, 251.0, 381.0]
    heights = [float(one.attrib["cy"]) for one in dots]
    assert heights == sorted(heights)
    assert heights[0] < heights[1] < heights[2] < 164.0
    assert len([one for one in root if "reach" in one.attrib.get("class", "")]) == 3
    (line,) = (one.attrib["d"] for one in root if one.tag == "path")
    assert re.fullmatch(r"M[\d. ]+L[\d. ]+L[\d. ]+", line)
    bars = [float(one.attrib[y]) for one in root if "reach" in one.attrib.get("class", "") for y in ("y1", "y2")]
    assert all(14.0 <= y <= 164.0 for y in bars)


def test_gaps_and_two_curves() -> None:
    """Where no value is known the line is broken; two curves stand side by side."""
    root = drawn(
        Curve("a", "first", [interval(1.0), None, interval(3.0)]),
        Curve("b", "second", [interval(1.0), interval(1.0), None]),
    )
    lines = [one.attrib["d"] for one in root if one.tag == "path"]
    assert [line.count("M") for line in lines] == [2, 1]
    firsts = [float(one.attrib["cx"]) for one in root if one.tag == "circle"][::2]
    assert firsts[0] != firsts[1]


def test_in_words() -> None:
    """The values stand beside the picture for those who cannot see it, and no name is markup."""
    root = drawn(Curve("QPS <1>", "first", [interval(8.0), None, interval(2.0)]))
    title, words = root[0], root[1]
    assert title.text == "Queue <wait> by workers"
    assert words.text == "QPS <1>, by workers, 1: 8 s, 4: 2 s."


def test_nothing_known() -> None:
    """A picture without values is an empty one."""
    root = drawn(Curve("a", "first", [None, None, None]))
    assert not [one for one in root if one.tag == "circle"]
