import pytest

from advisor.report.settingwording import setting_move, setting_value


@pytest.mark.parametrize(
    ("name", "before", "after", "text"),
    [
        ("concurrency", 1.0, 4.0, "concurrency 1 -> 4"),
        ("qps", -1.0, 50.5, "qps off -> 50.5"),
        ("burst", None, 200.0, "burst - -> 200"),
        ("cpu_cores", 0.5, 2.0, "cpu 0.5 cores -> 2 cores"),
        ("memory_bytes", 2.0**29, 2.0**30, "memory 512 MiB -> 1 GiB"),
    ],
)
def test_a_move(name: str, before: float | None, after: float | None, text: str) -> None:
    """From what to what, with units; a limiter that is off, and a value that is not known, are no numbers."""
    assert setting_move(name, before, after) == text


def test_a_word_for_what_is_not_known() -> None:
    """Where a dash would be too little."""
    assert setting_value("qps", None, "unknown") == "unknown"
