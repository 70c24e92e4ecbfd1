from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.sources.logtime import LogClock, seconds_of, unix_seconds

TIME = datetime(2026, 8, 21, 9, 14, 2, 117_000, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("stamp", "wanted"),
    [
        ("2026-08-21T09:14:02.117Z", TIME),
        ("2026-08-21T17:14:02.117+0800", TIME),
        ("2026-08-21T17:14:02.117+08:00", TIME),
        ("2026-08-21T09:14:02.117", TIME),
        ("2026-08-21T09:14:02Z", TIME - 0.117),
        ("2026-08-21T09:14:02.117250Z", TIME + 0.00025),
        ("2026-08-21T09:14:02.117250999Z", TIME + 0.00025),
        (TIME, TIME),
        (TIME * 1e3, TIME),
        (int(TIME * 1e3) * 1_000_000, TIME),
    ],
)
def test_forms_of_a_time(stamp: object, wanted: float) -> None:
    """The log library writes times in several forms, by its encoder."""
    assert LogClock().seconds(stamp) == pytest.approx(wanted, abs=2e-6)


@given(
    st.lists(
        st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC)).map(  # noqa: DTZ001
            lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000)
        ),
        min_size=1,
    )
)
def test_times_do_not_depend_on_the_lines_before(moments: list[datetime]) -> None:
    """The second that is remembered from line to line never leaks into another one."""
    clock = LogClock()
    for moment in [*moments, *moments]:
        stamp = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        assert clock.seconds(stamp) == pytest.approx(moment.timestamp(), abs=1e-6)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1.384s", 1.384),
        ("523.4ms", 0.5234),
        ("1m2.5s", 62.5),
        ("1h2m3s", 3723.0),
        ("12µs", 12e-6),
        ("12μs", 12e-6),
        ("12us", 12e-6),
        ("5ns", 5e-9),
        ("0s", 0.0),
        (".5s", 0.5),
        (3, 3.0),
        (1.5, 1.5),
        ("", None),
        ("5", None),
        ("s", None),
        ("-5s", None),
        ("5s ", None),
        ("5 s", None),
        ("5x3s", None),
        (-1, None),
        (float("inf"), None),
        (float("nan"), None),
        (True, None),
        (None, None),
        ([1], None),
    ],
)
def test_delays(text: object, seconds: float | None) -> None:
    """All forms of a Go duration, and numbers of seconds; anything else is unknown."""
    assert seconds_of(text) == (None if seconds is None else pytest.approx(seconds))


def test_a_moment_without_a_zone_is_utc() -> None:
    """What a person names without a zone is not taken for this machine's time."""
    naive, aware = datetime(2026, 11, 30, 3), datetime(2026, 11, 30, 4, tzinfo=timezone(timedelta(hours=1)))  # noqa: DTZ001
    assert unix_seconds(naive) == unix_seconds(aware) == 1_796_007_600.0
