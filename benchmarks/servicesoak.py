"""Twenty-four hours of the service's schedule, history and notices in a minute: does anything grow?

``python -m benchmarks.servicesoak [SECONDS]``. Scheduler, store and notifier are the service's own; their clock runs as
much faster as a day is longer than the run. Twenty operators are analysed every five minutes of it; reports are ready
made, every tenth analysis fails, and findings come and go. Reports are kept for two hours each and four in all, so that
after a sixth of the day as much is dropped as is added. What counts is at the end, as a ratio to what it was after a
third of the day: memory, threads, open files, the file of the history, and what the notifier remembers.
"""

import itertools
import os
import random
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from advisor.analysis import Options, analyse
from advisor.errors import InputError
from advisor.model.finding import FindingCode
from advisor.model.report import Report
from advisor.sources.recording import RecordingSource
from advisor.sources.scraping import Clock
from advisor.store import Store
from advisor.store.retention import Retention
from advisor.web.due import DueRules
from advisor.web.history import StoreSink
from advisor.web.notify import Notice, Notifier, NotifyRules
from advisor.web.scheduler import Scheduler
from benchmarks.material import EXAMPLE

DAY = 86_400.0
HOUR = 3600.0
SECONDS = 60.0
OPERATORS = 4
INTERVAL_SECONDS = 300.0
PRUNE_SECONDS = 1800.0
_FAILS = 0.1


class FastClock(Clock):
    """A clock that runs as many times faster as it is told."""

    def __init__(self, times: float) -> None:
        self._times = times
        self._began = time.monotonic()

    def monotonic(self) -> float:
        """Seconds of its own."""
        return (time.monotonic() - self._began) * self._times

    def wall(self) -> float:
        """A Unix time of its own."""
        return 1_799_971_200.0 + self.monotonic()

    def pause(self, stop: threading.Event, seconds: float) -> bool:
        """Wait for so many of its seconds."""
        return stop.wait(seconds / self._times)


class ReadyMade:
    """A target whose reports are ready made; findings come and go, and sometimes it fails."""

    limit_seconds = 3600.0

    def __init__(self, name: str, reports: Sequence[Report]) -> None:
        self.name = name
        self._reports = reports
        self._lot = random.Random(name)  # noqa: S311 - test data

    def analyse(self, stop: threading.Event) -> Report:  # noqa: ARG002 - as the scheduler calls it
        """One of its reports.

        Raises:
            InputError: it is time to fail.
        """
        if self._lot.random() < _FAILS:
            raise InputError("no answer", where=self.name)
        return msgspec.structs.replace(self._lot.choice(self._reports), operator=self.name)


def ready_made() -> list[Report]:
    """The report of the recording with one finding after the other."""
    report = analyse(RecordingSource(EXAMPLE), Options())
    first = report.findings[0]
    return [
        msgspec.structs.replace(report, findings=(msgspec.structs.replace(first, code=code),))
        for code in itertools.islice(FindingCode, 6)
    ]


def size(store: Store, path: Path, notifier: Notifier) -> dict[str, float]:
    """What may grow."""
    statm = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return {
        "resident MB": int(statm[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6,
        "threads": threading.active_count(),
        "open files": len(os.listdir("/proc/self/fd")),  # noqa: PTH208 - names are not needed
        "history MB": (path.stat().st_size + path.with_name(f"{path.name}-wal").stat().st_size) / 1e6,
        "reports": sum(len(store.reports(one, limit=10_000)) for one in store.operators()),
        "remembered": sum(map(len, notifier.known.values())),
    }


def main() -> None:
    """Run the day, measure at a third and at the end, print."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    reports = ready_made()
    clock = FastClock(DAY / seconds)
    sent: list[int] = []
    retention = Retention(each_report_seconds=2 * HOUR, reports_seconds=4 * HOUR, failures_seconds=4 * HOUR)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.db"
        with Store.open(path, now=clock.wall(), retention=retention) as store:
            notifier = Notifier(NotifyRules(cooldown_seconds=HOUR))

            def send(notices: Sequence[Notice]) -> None:
                sent.append(len(notices))

            sink = StoreSink(store, notifier, send)
            rules = DueRules(interval_seconds=INTERVAL_SECONDS)
            scheduler = Scheduler(rules, sink, random.Random(2).random, clock)  # noqa: S311 - test data
            scheduler.replace([ReadyMade(f"operator-{number}", reports) for number in range(OPERATORS)])
            scheduler.start()
            third: dict[str, float] = {}
            never = threading.Event()
            while clock.monotonic() < DAY:
                clock.pause(never, PRUNE_SECONDS)
                store.prune(clock.wall())
                sink.forget()
                if not third and clock.monotonic() >= DAY / 3:
                    third = size(store, path, notifier)
            states = scheduler.states()
            scheduler.stop(30.0)
            last = size(store, path, notifier)
            newest = max(one.report.id for one in store.statuses() if one.report is not None)
    failures = sum(one.failures_total for one in states)
    wanted = OPERATORS * DAY / INTERVAL_SECONDS
    print(f"{newest} reports and {failures} failures in a day, {(newest + failures) / wanted:.2f} x the schedule's")
    print(f"{sum(sent)} notices; {sink.write_failures} not kept, {scheduler.sink_errors} errors")
    for name, value in last.items():
        print(f"{name:12s} {third[name]:8.1f} after a third, {value:8.1f} at the end: {value / third[name]:.2f} x")
    print(f"load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
