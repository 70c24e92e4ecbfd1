"""Thirty days of twenty operators in the history, and how long its status of two hundred takes.

``python -m benchmarks.store [OPERATORS] [PERIOD_SECONDS]``. Operators share nothing in the file, so two are put in and
the size is scaled to twenty; with 20 as the argument all are. What retention leaves is put in as the service does it:
an analysis in each period for two days and one an hour before, a scrape in five seconds for three hours, one a minute
for three days, and one in ten minutes before. Documents and samples are those of the recording that the package ships,
its counters growing on, gauges going up and down, and the report's figures changing with each analysis. The alternative
is the same rows in a plain table each: documents and verdicts as they are, and a sample of eight bytes, its time, and
the number of its series.
"""

import random
import sys
import tempfile
import time as clock
from collections.abc import Iterator
from pathlib import Path

from advisor.analysis import Options, analyse
from advisor.analysis.fleettask import verdict_of
from advisor.model.fleet import FleetVerdict
from advisor.model.raw import Series, SeriesStore
from advisor.model.signal import Window
from advisor.report.jsonreport import render_json
from advisor.signals.names import SELECTION
from advisor.sources.recording import RecordingSource
from advisor.store import Store
from benchmarks.material import EXAMPLE

OPERATORS = 20
MEASURED = 2
PERIOD_SECONDS = 60.0
STATUSES = 200
BAR_BYTES = 500e6
START = 1_799_971_200.0
DAY = 86_400.0
_VACUUMS = 20
PLAIN_SAMPLE_BYTES = 8 + 8 + 4
_GROWING = ("_total", "_sum", "_count", "_bucket")
_Sample = tuple[str, tuple[tuple[str, str], ...], float]


class Scrapes:
    """Scrapes of one operator without end, made from the recording's."""

    def __init__(self, series: list[Series]) -> None:
        self._series = [(one.name, tuple(sorted(one.labels.items())), one) for one in series]
        self._most = max(len(one) for one in series)

    def at(self, number: int) -> Iterator[_Sample]:
        """The scrape of that number; counters have grown by the whole recording each time it is over."""
        rounds, place = divmod(number, self._most)
        for name, labels, one in self._series:
            value = one.values[min(place, len(one) - 1)]
            grown = rounds * (one.values[-1] - one.values[0]) if name.endswith(_GROWING) else 0.0
            yield name, labels, value + grown


def analyses() -> list[tuple[FleetVerdict, bytes]]:
    """Reports on stretches of the recording of different length, as of an operator whose figures change."""

    class Part(RecordingSource):
        """The recording up to a time."""

        share = 1.0

        def series(self, selection: object) -> SeriesStore:  # noqa: ARG002 - always the same
            whole = super().series(SELECTION)
            parts = []
            for one in whole:
                most = max(2, int(len(one) * self.share))
                parts.append(Series(one.name, one.labels, one.times[:most], one.values[:most]))
            return SeriesStore(parts, origin=whole.origin)

    made = []
    for step in range(12):
        part = Part(EXAMPLE)
        part.share = 0.45 + 0.05 * step
        report = analyse(part, Options())
        made.append((verdict_of(report), render_json(report).encode()))
    return made


def times_kept(now: float, period_seconds: float) -> tuple[list[float], list[tuple[float, float]]]:
    """When reports and when scrapes were made of which something is kept; scrapes with the seconds between them."""
    hours = [now - 30 * DAY + hour * 3600 for hour in range(28 * 24)]
    reports = hours + [now - 2 * DAY + at * period_seconds for at in range(int(2 * DAY / period_seconds))]
    stretches = ((30 * DAY, 3 * DAY, 600.0), (3 * DAY, 3 * 3600.0, 60.0), (3 * 3600.0, 0.0, 5.0))
    scrapes = [
        (now - begin + at * pause, pause)
        for begin, end, pause in stretches
        for at in range(1, int((begin - end) / pause) + 1)
    ]
    return reports, scrapes


def fill(store: Store, operator: str, made: list[tuple[FleetVerdict, bytes]], period_seconds: float) -> int:
    """Put thirty days of one operator in; the bytes that the same takes in plain tables."""
    source = list(RecordingSource(EXAMPLE).series(SELECTION))
    scrapes, noise = Scrapes(source), random.Random(operator)  # noqa: S311 - test data
    reports, sampled = times_kept(START, period_seconds)
    plain = 0
    for number, time in enumerate(reports):
        verdict, text = made[noise.randrange(len(made))]
        # Figures that no two reports have alike.
        marks = (f'"seconds": {noise.random() * 100:.4f}' for _ in range(40))
        document = text.replace(b"\n}", f',\n "made": [{{{"}, {".join(marks)}}}], "number": {number}}}'.encode())
        plain += len(document) + 600
        store.add_report(operator, time, verdict, document)
    for number, (time, _) in enumerate(sampled):
        store.add_samples(operator, time, scrapes.at(number))
    return plain + len(sampled) * len(source) * PLAIN_SAMPLE_BYTES


def main() -> None:
    """Fill, prune, measure, print."""
    operators = int(sys.argv[1]) if len(sys.argv) > 1 else MEASURED
    period_seconds = float(sys.argv[2]) if len(sys.argv) > 2 else PERIOD_SECONDS  # noqa: PLR2004 - the second argument
    made = analyses()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.db"
        with Store.open(path, now=START) as store:
            begin = clock.perf_counter()
            plain = 0
            for number in range(operators):
                plain += fill(store, f"operator-{number}", made, period_seconds)
                store.prune(START)
            print(f"filled in {clock.perf_counter() - begin:.0f} s")
            for _ in range(_VACUUMS):
                store.prune(START)
        # Closed, so that no log of changes is beside the file: that one is as large for one operator as for many.
        size = path.stat().st_size
        print(f"{operators} operators, 30 days, an analysis in {period_seconds:.0f} s: {size:,} bytes", end="")
        print(f", for {OPERATORS}: {size * OPERATORS / operators / 1e6:.0f} MB of {BAR_BYTES / 1e6:.0f} MB")
        print(f"as a ratio to plain tables, {plain:,} bytes: {size / plain:.3f}")
        with Store.open(path, now=START) as store:
            for name, seconds in (("two hours", 7200.0), ("30 days", 30 * DAY)):
                begin = clock.perf_counter()
                series = store.series("operator-0", Window(START - seconds, START))
                taken = clock.perf_counter() - begin
                print(f"series of {name}: {sum(map(len, series)):,} samples in {taken * 1e3:.0f} ms")
            for number in range(STATUSES):
                for at in range(5):
                    store.add_report(f"other-{number}", START + at, *made[at])
            taken = min(_status_seconds(store) for _ in range(20))
            alone = min(_operators_seconds(store) for _ in range(20))
            print(f"statuses of {STATUSES + operators}: {taken * 1e3:.2f} ms, {taken / alone:.1f} x their names alone")


def _status_seconds(store: Store) -> float:
    begin = clock.perf_counter()
    store.statuses()
    return clock.perf_counter() - begin


def _operators_seconds(store: Store) -> float:
    begin = clock.perf_counter()
    store.operators()
    return clock.perf_counter() - begin


if __name__ == "__main__":
    main()
