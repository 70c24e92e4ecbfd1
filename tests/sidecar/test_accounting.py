"""How much reconcile time the log does not show."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.sidecar.accounting import Accounting
from advisor.sidecar.gauges import Gauges
from advisor.sidecar.reconciles import Began, Ended


def span(seconds: float, *, late: bool = False) -> Ended:
    """A reconcile whose lines span so long."""
    return Ended(Began(10.0, "raycluster", "ns/a", exact=False), 10.0 + seconds, 10.0 + seconds, exact=False, late=late)


def scrape(seconds: float | None) -> Gauges:
    """A scrape of the operator's own sum."""
    return Gauges(reconcile_seconds=seconds)


class TestUnattributed:
    def test_it_takes_two_scrapes(self) -> None:
        """One total alone says nothing of a time."""
        found = Accounting()
        assert found.unattributed_seconds is None
        found.scraped(scrape(100.0))
        assert found.unattributed_seconds is None
        found.scraped(scrape(100.0))
        assert found.unattributed_seconds == 0.0

    def test_what_the_spans_do_not_cover(self) -> None:
        """The growth of the operator's own sum, less all spans."""
        found = Accounting()
        found.scraped(scrape(100.0))
        found.ended(span(2.0))
        found.ended(span(1.0))
        found.scraped(scrape(105.0))
        assert found.unattributed_seconds == pytest.approx(2.0)

    def test_what_was_before_the_first_scrape(self) -> None:
        """It is in neither sum."""
        found = Accounting()
        found.ended(span(50.0))
        found.scraped(scrape(100.0))
        found.scraped(scrape(101.0))
        assert found.unattributed_seconds == pytest.approx(1.0)

    def test_a_late_word_is_not_counted_twice(self) -> None:
        """Its reconcile has been counted when it was taken to have ended."""
        found = Accounting()
        found.scraped(scrape(0.0))
        found.ended(span(2.0))
        found.ended(span(3.0, late=True))
        found.scraped(scrape(3.0))
        assert found.unattributed_seconds == pytest.approx(1.0)

    def test_a_new_process_counts_from_zero(self) -> None:
        """What it has by its first scrape is all new."""
        found = Accounting()
        for total in (100.0, 110.0, 4.0, 5.0):
            found.scraped(scrape(total))
        assert found.unattributed_seconds == pytest.approx(15.0)

    def test_a_scrape_without_the_sum(self) -> None:
        """It is passed over."""
        found = Accounting()
        for total in (100.0, None, 110.0):
            found.scraped(scrape(total))
        assert found.unattributed_seconds == pytest.approx(10.0)

    def test_never_below_zero(self) -> None:
        """A reconcile that ended after the last scrape is in the spans already."""
        found = Accounting()
        found.scraped(scrape(100.0))
        found.scraped(scrape(101.0))
        found.ended(span(5.0))
        assert found.unattributed_seconds == 0.0

    def test_a_span_that_goes_back(self) -> None:
        """Lines may be a little out of order; no time is taken away for it."""
        found = Accounting()
        found.scraped(scrape(100.0))
        found.ended(span(-1.0))
        found.scraped(scrape(101.0))
        assert found.unattributed_seconds == pytest.approx(1.0)

    @given(
        reconciles=st.lists(st.tuples(st.floats(0.0, 50.0), st.floats(0.0, 1.0), st.booleans()), max_size=30),
        restart=st.none() | st.integers(0, 30),
    )
    def test_it_is_all_that_is_missing(self, reconciles: list[tuple[float, float, bool]], restart: int | None) -> None:
        """Where each reconcile's lines span a part of it, what is unattributed is the sum of all other parts, however
        often it was scraped; a restart right before a scrape makes no difference.
        """
        found, total, missing = Accounting(), 0.0, 0.0
        found.scraped(scrape(total))
        for number, (seconds, share, is_scraped) in enumerate(reconciles):
            if number == restart:
                found.scraped(scrape(total))
                total = 0.0
                found.scraped(scrape(total))
            total += seconds
            missing += seconds * (1.0 - share)
            found.ended(span(seconds * share))
            if is_scraped:
                found.scraped(scrape(total))
        found.scraped(scrape(total))
        assert found.unattributed_seconds == pytest.approx(missing, abs=1e-6)
