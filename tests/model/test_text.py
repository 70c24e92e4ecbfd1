import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.model.signal import Quality, Signal, Unit, measured, missing
from advisor.model.text import format_change, format_signal, format_some, format_value


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0, Unit.SECONDS, "0 s"),
        (0.0000004, Unit.SECONDS, "0 us"),
        (0.000284, Unit.SECONDS, "284 us"),
        (0.001, Unit.SECONDS, "1 ms"),
        (0.0284, Unit.SECONDS, "28.4 ms"),
        (0.25, Unit.SECONDS, "250 ms"),
        (1.0, Unit.SECONDS, "1 s"),
        (6.125, Unit.SECONDS, "6.12 s"),
        (59.96, Unit.SECONDS, "60 s"),
        (119.9, Unit.SECONDS, "120 s"),
        (120.0, Unit.SECONDS, "2.0 min"),
        (5400.0, Unit.SECONDS, "90.0 min"),
        (7200.0, Unit.SECONDS, "2 h"),
        (18360.0, Unit.SECONDS, "5 h 6 min"),
        (7199.9, Unit.SECONDS, "120.0 min"),
        (172_799.0, Unit.SECONDS, "48 h"),
        (172_800.0, Unit.SECONDS, "2 d"),
        (337_170.0, Unit.SECONDS, "3 d 21.7 h"),
        (-18360.0, Unit.SECONDS, "-5 h 6 min"),
        (-0.5, Unit.SECONDS, "-500 ms"),
        (0.0, Unit.RATIO, "0%"),
        (0.961, Unit.RATIO, "96%"),
        (0.004, Unit.RATIO, "0.4%"),
        (0.00012, Unit.RATIO, "0.012%"),
        (1.0, Unit.RATIO, "100%"),
        (-0.25, Unit.RATIO, "-25%"),
        (0.0, Unit.COUNT, "0"),
        (3.0, Unit.COUNT, "3"),
        (9.994, Unit.COUNT, "9.99"),
        (12.34, Unit.COUNT, "12.3"),
        (40.0, Unit.COUNT, "40"),
        (1234567.0, Unit.COUNT, "1,234,567"),
        (0.05, Unit.COUNT, "0.05"),
        (1e-9, Unit.COUNT, "1e-09"),
        (2.5, Unit.PER_SECOND, "2.5/s"),
        (0.1, Unit.CORES, "0.1 cores"),
        (32.0, Unit.WORKER_SECONDS, "32 worker s"),
        (1990.0, Unit.KEY_SECONDS, "1,990 key s"),
        (0.0, Unit.BYTES, "0 B"),
        (1023.0, Unit.BYTES, "1023 B"),
        (2048.0, Unit.BYTES, "2 KiB"),
        (512.0 * 1024**2, Unit.BYTES, "512 MiB"),
        (3.0 * 1024**3, Unit.BYTES, "3 GiB"),
        (0.0284, "seconds", "28.4 ms"),
        (2.5, "furlongs", "2.5"),
    ],
)
def test_format_value(value: float, unit: Unit | str, text: str) -> None:
    """A figure in the unit that fits its size, with three digits at most."""
    assert format_value(value, unit) == text


@pytest.mark.parametrize(
    ("signal", "text"),
    [
        (missing(Unit.SECONDS, "off"), "unknown"),
        (measured(2.0, Unit.SECONDS, origin="x"), "2 s"),
        (measured(2.0, Unit.SECONDS, origin="x", quality=Quality.LOWER_BOUND, low=1.0, high=3.0), "at least 2 s"),
        (measured(0.5, Unit.RATIO, origin="x", quality=Quality.ESTIMATED, low=0.25, high=0.75), "50% (25% to 75%)"),
        (measured(0.5, Unit.RATIO, origin="x", low=0.5, high=0.5), "50%"),
        (measured(60.0, Unit.SECONDS, origin="x", low=60.0), "60 s"),
        (measured(60.0, Unit.SECONDS, origin="x", high=90.0), "60 s"),
    ],
)
def test_format_signal(signal: Signal, text: str) -> None:
    """A signal's value with its bounds where they say more; a missing one is unknown, never zero."""
    assert format_signal(signal) == text


@given(st.floats(-1e12, 1e12), st.sampled_from(list(Unit)))
def test_every_figure_has_a_text(value: float, unit: Unit) -> None:
    """Any number in any unit has a text with a digit in it, on one line, and the sign is kept."""
    text = format_value(value, unit)
    assert any(character.isdigit() for character in text)
    assert "\n" not in text
    assert text.startswith("-") or value >= 0.0 or float(text.split()[0].rstrip("%/s")) == 0.0


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (0.34, "-66%"),
        (0.0, "-100%"),
        (0.9999, "0%"),
        (1.0, "0%"),
        (1.004, "0%"),
        (1.12, "+12%"),
        (1.99, "+99%"),
        (2.0, "x 2"),
        (5.37, "x 5.37"),
        (1000.0, "x 1,000"),
        (258_962.0, "over x 1000"),
    ],
)
def test_a_change_is_a_percentage_or_from_a_doubling_on_a_factor(ratio: float, text: str) -> None:
    """Small changes read best as a percentage, large ones as a factor, and beyond a thousand the factor is idle."""
    assert format_change(ratio) == text


@pytest.mark.parametrize(
    ("most", "text"), [(3, "a, b, c"), (5, "a, b, c"), (2, "a, b and 1 more"), (1, "a and 2 more")]
)
def test_some_of_many_names(most: int, text: str) -> None:
    """As many as are wanted, and how many there are beside."""
    assert format_some(["a", "b", "c"], most) == text
