import pytest

from advisor.model.signal import Quality, Signal, Unit, Window
from advisor.signals.making import Maker

WINDOW = Window(0, 20)
MAKER = Maker(WINDOW, "m.om", "raycluster")


def test_a_figure_gets_window_and_origin() -> None:
    """A known figure says how it was made, of what and from where; quality and bounds stay with it."""
    assert MAKER.of(3.0, Unit.COUNT, "max of depth", quality=Quality.ESTIMATED, low=1.0, high=4.0) == Signal(
        unit=Unit.COUNT,
        value=3.0,
        low=1.0,
        high=4.0,
        quality=Quality.ESTIMATED,
        window=WINDOW,
        origin="max of depth of raycluster [m.om]",
    )


def test_without_a_subject() -> None:
    """Where the expression says it all, nothing is added."""
    assert Maker(WINDOW, "m.om").of(3.0, Unit.COUNT, "max of depth").origin == "max of depth [m.om]"


def test_an_absent_figure_gets_a_reason() -> None:
    """An absent figure is missing for the reason given, else for want of samples; never zero."""
    assert MAKER.of(None, Unit.COUNT, "depth") == Signal(
        unit=Unit.COUNT, window=WINDOW, missing="no sample in the window for: depth"
    )
    assert MAKER.of(None, Unit.COUNT, "depth", reason="off").missing == "off"


@pytest.mark.parametrize(
    ("amount", "window", "value"),
    [(10.0, WINDOW, 0.5), (0.0, WINDOW, 0.0), (None, WINDOW, None), (10.0, Window(5, 5), None)],
)
def test_rate(amount: float | None, window: Window, value: float | None) -> None:
    """A rate is the amount by the window's length; a window without length has none."""
    found = Maker(window, "m.om").rate(amount, "adds")
    assert (found.value, found.unit) == (value, Unit.PER_SECOND)


@pytest.mark.parametrize(
    ("part", "whole", "value", "missing"),
    [
        (1.0, 4.0, 0.25, None),
        (0.0, 4.0, 0.0, None),
        (0.0, 0.0, None, "nothing was counted in the window"),
        (None, 4.0, None, "nothing was counted in the window"),
        (1.0, None, None, "no sample in the window for: errors"),
    ],
)
def test_ratio(part: float | None, whole: float | None, value: float | None, missing: str | None) -> None:
    """A share of nothing is not known, and says so."""
    found = MAKER.ratio(part, whole, "errors")
    assert (found.value, found.missing, found.unit) == (value, missing, Unit.RATIO)
    assert MAKER.ratio(part, 0.0, "errors", reason="off").missing == "off"


@pytest.mark.parametrize(
    ("total", "count", "value", "missing"),
    [
        (6.0, 4.0, 1.5, None),
        (0.0, 4.0, 0.0, None),
        (0.0, 0.0, None, "none ended in the window"),
        (6.0, None, None, "no sample in the window for: time"),
    ],
)
def test_mean(total: float | None, count: float | None, value: float | None, missing: str | None) -> None:
    """A mean over nothing is not known, and says so."""
    found = MAKER.mean(total, count, "time")
    assert (found.value, found.missing, found.unit) == (value, missing, Unit.SECONDS)
    assert MAKER.mean(total, 0.0, "time", reason="off").missing == "off"
