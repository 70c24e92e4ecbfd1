"""Several threads read while others write."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from advisor.model.signal import Window
from advisor.store import Store
from tests.store.storemade import HOUR, NOW, document_of, samples_of, verdict

REPORTS = 60


@pytest.mark.parametrize("path", ["history.db", None])
def test_readers_see_whole_reports_while_others_write(tmp_path: Path, path: str | None) -> None:
    """No reader waits for an error, sees half a report, or one that is older than what it saw before."""
    with Store.open(None if path is None else tmp_path / path, now=NOW) as store:
        done = threading.Event()

        def write(operator: str) -> int:
            for number in range(REPORTS):
                store.add_report(operator, NOW + number, verdict(wait_seconds=number), document_of(number))
                store.add_samples(operator, NOW - 4 * HOUR + number * 15, samples_of(number, 1.0))
            return REPORTS

        def read() -> int:
            newest, seen = 0, 0
            while not done.is_set():
                for status in store.statuses():
                    assert status.report is not None
                    number = round(status.report.time - NOW)
                    assert status.report.verdict.queue_wait_seconds == number
                    assert store.document(status.report.id) == document_of(number)
                    seen += 1
                latest = store.latest("a")
                assert (latest.id if latest else 0) >= newest
                newest = latest.id if latest else 0
                store.series("b", Window(NOW - 5 * HOUR, NOW))
            return seen

        def prune() -> int:
            while not done.is_set():
                store.prune(NOW)
            return 1

        tasks = (read, read, read, read, prune, prune)
        with ThreadPoolExecutor(10) as pool:
            readers = [pool.submit(task) for task in tasks]
            written = [pool.submit(write, operator) for operator in ("a", "b")]
            try:
                assert [one.result() for one in written] == [REPORTS, REPORTS]
            finally:
                done.set()
            assert all(one.result() > 0 for one in readers)
        assert len(store.reports("a", limit=1000)) == REPORTS
        assert store.series("a", Window(NOW - 5 * HOUR, NOW))[0].values[-1] == REPORTS - 1
