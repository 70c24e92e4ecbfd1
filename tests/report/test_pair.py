from advisor.report.pair import Interval, draw_pair
from tests.report.test_html import Document


def bars(before: float | None, after: float | None, predicted: Interval | None = None) -> list[dict[str, str]]:
    """Its bars and lines."""
    document = Document(draw_pair(before, after, predicted))
    return [attributes for tag, attributes in document.elements if tag in ("rect", "line")]


def test_the_longer_one_is_whole() -> None:
    """Bars are in proportion, before above after."""
    was, now = bars(4.0, 1.0)
    assert (was["class"], was["width"], now["class"], now["width"]) == ("was", "100", "is", "25")
    assert float(was["y"]) < float(now["y"])


def test_what_was_predicted() -> None:
    """A bracket from one end to the other, which fits in too."""
    _, now, across, low, high = bars(2.0, 1.0, Interval(1.5, 4.0))
    assert now["width"] == "25"
    assert (across["x1"], across["x2"], low["x1"], high["x1"]) == ("37.5", "100", "37.5", "100")


def test_nothing_to_show() -> None:
    """A side that is not known has no picture; zeros have empty bars."""
    assert draw_pair(None, 1.0) == draw_pair(1.0, None) == ""
    assert [one["width"] for one in bars(0.0, 0.0)] == ["0", "0"]
