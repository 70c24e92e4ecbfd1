import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.model.settings import Setting, Settings, SettingSource
from advisor.model.signal import Quality, Signal, Unit, Window, measured, missing

WINDOW = Window(10.0, 30.0)


class TestSignal:
    def test_has_a_value_or_a_reason(self) -> None:
        """A signal is either known or missing for a reason; both or neither is refused."""
        assert Signal(unit=Unit.COUNT, value=0.0).known
        assert not Signal(unit=Unit.COUNT, missing="off").known
        for value, reason in ((None, None), (1.0, "off")):
            with pytest.raises(ValueError, match="either a value or a reason"):
                Signal(unit=Unit.COUNT, value=value, missing=reason)

    @pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
    def test_is_a_finite_number(self, value: float) -> None:
        """What is not a finite number is no value."""
        for number, low, high in ((value, None, None), (1.0, value, None), (1.0, None, value)):
            with pytest.raises(ValueError, match=f"finite numbers, not {value}"):
                Signal(unit=Unit.COUNT, value=number, low=low, high=high)

    @given(st.floats(allow_nan=False, allow_infinity=False))
    def test_every_finite_number_will_do(self, value: float) -> None:
        """Any finite number is a value, and comes back as it is."""
        assert Signal(unit=Unit.COUNT, value=value).or_else(1.0) == value

    def test_missing_is_never_zero(self) -> None:
        """A missing signal answers no comparison, and stands for nothing but what the reader chooses."""
        gone = missing(Unit.COUNT, "off", window=WINDOW)
        assert gone == Signal(unit=Unit.COUNT, missing="off", window=WINDOW)
        assert (gone.at_least(-1.0), gone.below(1.0), gone.or_else(7.0)) == (False, False, 7.0)

    @pytest.mark.parametrize(
        ("value", "at_least", "below"), [(1.9, False, True), (2.0, True, False), (2.1, True, False)]
    )
    def test_comparisons(self, value: float, at_least: bool, below: bool) -> None:
        """The threshold itself is at least the threshold."""
        signal = measured(value, Unit.COUNT, origin="x")
        assert (signal.at_least(2.0), signal.below(2.0)) == (at_least, below)

    def test_measured_keeps_all_that_is_known(self) -> None:
        """Bounds, quality, window and origin stay with the value."""
        assert measured(
            2.0, Unit.SECONDS, origin="x", window=WINDOW, quality=Quality.ESTIMATED, low=1.0, high=3.0
        ) == Signal(
            unit=Unit.SECONDS, value=2.0, low=1.0, high=3.0, quality=Quality.ESTIMATED, window=WINDOW, origin="x"
        )

    def test_map_takes_bounds_along(self) -> None:
        """A derived signal has derived bounds; what is not bounded stays so, and so does the quality."""
        signal = measured(2.0, Unit.SECONDS, origin="x", window=WINDOW, quality=Quality.ESTIMATED, low=1.0)
        assert signal.map(lambda value: value * 10.0, unit=Unit.RATIO, origin="10 x") == Signal(
            unit=Unit.RATIO, value=20.0, low=10.0, quality=Quality.ESTIMATED, window=WINDOW, origin="10 x"
        )

    def test_map_of_a_missing_one_is_missing_for_the_same_reason(self) -> None:
        """What is not known stays unknown, in the new unit."""
        assert missing(Unit.SECONDS, "off").map(lambda value: value + 1.0, unit=Unit.RATIO, origin="y") == missing(
            Unit.RATIO, "off"
        )


class TestWindow:
    def test_seconds(self) -> None:
        """A window is as long as from its start to its end."""
        assert WINDOW.seconds == 20.0

    @pytest.mark.parametrize(
        ("start", "end", "seconds"),
        [
            (0, 5, 0.0),
            (0, 10, 0.0),
            (0, 15, 5.0),
            (12, 15, 3.0),
            (25, 99, 5.0),
            (0, 99, 20.0),
            (30, 40, 0.0),
            (20, 15, 0.0),
        ],
    )
    def test_overlap(self, start: float, end: float, seconds: float) -> None:
        """Two stretches share what lies in both, and never less than nothing."""
        assert WINDOW.overlap(start, end) == seconds

    @pytest.mark.parametrize(("time", "inside"), [(9.9, False), (10.0, True), (30.0, True), (30.1, False)])
    def test_ends_are_inside(self, time: float, inside: bool) -> None:
        """Both ends belong to the window."""
        assert (time in WINDOW) is inside


class TestSettings:
    @pytest.mark.parametrize(("qps", "off"), [(-1.0, True), (0.0, False), (100.0, False), (None, False)])
    def test_limiter_off(self, qps: float | None, off: bool) -> None:
        """The limiter is off where QPS is known to be below zero."""
        other = Setting(None, SettingSource.UNKNOWN)
        settings = Settings(
            version=None,
            concurrency=other,
            qps=Setting(qps, SettingSource.ARGUMENT),
            burst=other,
            cpu_limit_cores=other,
            memory_limit_bytes=other,
        )
        assert settings.limiter_off is off
        assert settings.qps.known is (qps is not None)
