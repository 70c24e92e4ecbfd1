"""An operator log of 120 000 lines into spans by key, against ``json.loads`` of the same lines.

``python -m benchmarks.log [RUNS]``.
"""

import json
import statistics
import sys
import time

from advisor.signals.logdigest import LogDigest
from advisor.sources.operatorlog import LogParser
from benchmarks.material import log_lines

LINES = 120_000
RUNS = 5


def _ours(lines: list[bytes]) -> float:
    begin = time.perf_counter()
    digest = LogDigest()
    for record in LogParser().records(lines):
        digest.add(record)
    return time.perf_counter() - begin


def _json(lines: list[bytes]) -> float:
    begin = time.perf_counter()
    for line in lines:
        json.loads(line)
    return time.perf_counter() - begin


def main() -> None:
    """Measure both in turn and print medians and the ratio."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    lines = log_lines(LINES)
    pairs = [(_ours(lines), _json(lines)) for _ in range(runs)]
    ours, theirs = (statistics.median(pair[column] for pair in pairs) for column in (0, 1))
    print(f"{len(lines):,} lines, {runs} runs, medians")
    print(f"lines to spans               {ours / len(lines) * 1e6:6.2f} us a line")
    print(f"json.loads                   {theirs / len(lines) * 1e6:6.2f} us a line")
    print(f"time as a ratio to json.loads: {statistics.median(a / b for a, b in pairs):.2f}")


if __name__ == "__main__":
    main()
