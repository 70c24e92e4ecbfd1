"""Reports, failures and changes go when they are old, and never because a clock is wrong."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from advisor.model.finding import FindingCode
from advisor.store import Store
from tests.store.storemade import FAILURE, HOUR, document_of, verdict

DAY = 24 * HOUR
START = 1_799_971_200.0


@pytest.fixture
def store() -> Iterator[Store]:
    """A history in memory whose clock is known."""
    with Store.open(None, now=START) as opened:
        opened.prune(START)
        yield opened


def pass_days(store: Store, first: int, last: int) -> None:
    """Prune once a day."""
    for day in range(first, last + 1):
        store.prune(START + day * DAY)


def test_after_two_days_one_report_an_hour_stays(store: Store) -> None:
    """The last of each hour, and each that advises or finds something else than the one before."""
    for minute in range(0, 180, 5):
        finding = FindingCode.HOT_KEY if minute == 65 else FindingCode.HEALTHY
        advised = 4.0 if minute >= 130 else None
        store.add_report("a", START + minute * 60, verdict(finding, concurrency=advised), document_of(minute))
    pass_days(store, 1, 2)
    assert len(store.reports("a")) == 36
    pass_days(store, 3, 3)
    left = store.reports("a")
    assert [(row.time - START) / 60 for row in left] == [175, 130, 115, 70, 65, 55, 0]
    texts = [store.document(row.id) for row in left]
    assert texts == [document_of(round((row.time - START) / 60)) for row in left]


def test_verdicts_that_flap_are_bounded(store: Store) -> None:
    """Where each report says something else, twelve of an hour stay."""
    for number in range(120):
        store.add_report("a", START + number * 30, verdict(concurrency=float(number)), b"{}")
    pass_days(store, 1, 3)
    assert len(store.reports("a", limit=1000)) == 12


def test_after_thirty_days_reports_and_failures_go_and_changes_stay(store: Store) -> None:
    """Changes stay for a year; an operator of which nothing is left is no longer one."""
    report_id = store.add_report("a", START, verdict(), document_of(1))
    store.add_failure("gone", START, FAILURE)
    store.add_change("a", START, "qps", 1.0, 2.0)
    pass_days(store, 1, 30)
    assert store.document(report_id) == document_of(1)
    pass_days(store, 31, 31)
    assert store.document(report_id) is None
    assert store.reports("a") == []
    assert store.operators() == ["a"]
    assert len(store.changes("a")) == 1
    pass_days(store, 32, 366)
    assert store.changes(None) == []
    assert store.operators() == []


def test_a_document_stays_as_long_as_others_need_it(store: Store) -> None:
    """What later documents were compressed against goes with the last of them."""
    ids = [store.add_report("a", START + at * HOUR / 4, verdict(), document_of(at)) for at in range(4)]
    pass_days(store, 1, 3)
    assert [store.document(one) for one in ids[:3]] == [document_of(0), None, None]
    store.add_report("b", START, verdict(), document_of(9))
    b = [store.add_report("b", START + at, verdict(), document_of(at)) for at in (5, 6)]
    pass_days(store, 4, 31)
    with store._connections.read() as connection:
        (left,) = connection.execute("SELECT count(*) FROM documents").fetchone()
    assert left == 0
    assert store.document(b[1]) is None


def test_a_clock_that_leaps_drops_nothing(store: Store) -> None:
    """A year ahead for a while, and back: all is still there."""
    report_id = store.add_report("a", START, verdict(), b"{}")
    for minute in range(0, 59, 5):
        store.prune(START + 365 * DAY + minute * 60)
    store.prune(START + HOUR)
    store.prune(START + 400 * DAY)
    store.prune(START + 2 * HOUR)
    assert store.document(report_id) == b"{}"


def test_a_service_that_was_off_for_long_prunes_after_an_hour(store: Store) -> None:
    """What the clock says for an hour is believed."""
    store.add_report("a", START, verdict(), b"{}")
    store.prune(START + 60 * DAY)
    assert store.latest("a") is not None
    store.prune(START + 60 * DAY + HOUR)
    assert store.latest("a") is None


def test_room_is_given_back(tmp_path: Path) -> None:
    """The file shrinks after much has been dropped."""
    with Store.open(tmp_path / "h.db", now=START) as store:
        store.prune(START)
        for number in range(50):
            store.add_report("a", START + number, verdict(), os.urandom(20_000))
    before = (tmp_path / "h.db").stat().st_size
    with Store.open(tmp_path / "h.db", now=START) as store:
        pass_days(store, 1, 31)
    assert (tmp_path / "h.db").stat().st_size < before / 4
