"""A week of one operator out of a real Prometheus, against fetching its series by the plain library's range calls.

``python -m benchmarks.prometheus [RUNS]``. Each measurement is a process of its own; what counts is its CPU time from
the first request on, so what the server takes is apart.
"""

import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.prometheusserver.server import create_tsdb, running
from tests.prometheusserver.synthetic import Week
from tests.prometheusserver.tools import MissingToolError, Tool, find

RUNS = 5
_OURS = """
import resource, sys, time
from advisor.analysis import Options, load_source, report_of
from advisor.sources.prometheus.client import PrometheusClient
from advisor.sources.prometheus.discovery import Where, find_operator
from advisor.model.signal import Window
from advisor.sources.prometheus.source import PrometheusSource
span = Window(float(sys.argv[2]), float(sys.argv[3]))
begin = time.process_time()
with PrometheusClient(sys.argv[1]) as client:
    source = PrometheusSource(client, find_operator(client, Where(), span), span)
    report = report_of(load_source(source), Options())
    requests = len(client.costs)
used = time.process_time() - begin
print(used, requests, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""
_PLAIN = """
import datetime as dt, resource, sys, time
from prometheus_api_client import PrometheusConnect
from advisor.signals.names import SELECTION
names = sorted(name for name in SELECTION.names if not name.endswith("_bucket"))
start, end = (dt.datetime.fromtimestamp(float(text), dt.UTC) for text in sys.argv[2:4])
begin = time.process_time()
store = PrometheusConnect(url=sys.argv[1])
found = [store.custom_query_range(name, start, end, "60") for name in names]
used = time.process_time() - begin
print(used, len(names), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


@dataclass(frozen=True, slots=True)
class _Measured:
    """CPU seconds, requests, and peak memory (MiB) of one process."""

    seconds: float
    requests: float
    mebibytes: float


def _measure(program: str, address: str, week: Week) -> _Measured:
    command = [sys.executable, "-c", program, address, str(week.start), str(week.end)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return _Measured(*map(float, done.stdout.split()))


def _tool() -> Tool:
    try:
        return find("lab")
    except MissingToolError:
        return find("system")


def main() -> None:
    """Measure both in turn and print medians and their ratio."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    tool, week = _tool(), Week()
    with tempfile.TemporaryDirectory() as folder:
        create_tsdb(tool, week.texts(), Path(folder))
        with running(tool, Path(folder)) as address:
            rows = [(_measure(_OURS, address, week), _measure(_PLAIN, address, week)) for _ in range(runs)]
    print(f"{tool}, {week.days} days at {week.step:.0f} s, {runs} runs, medians")
    for name, measured in (
        ("analysis, to the report", [ours for ours, _ in rows]),
        ("plain library, the same series without buckets, fetched only", [plain for _, plain in rows]),
    ):
        seconds = statistics.median(one.seconds for one in measured)
        mebibytes = statistics.median(one.mebibytes for one in measured)
        print(f"{name:62} {seconds:5.2f} s CPU  {measured[0].requests:3.0f} requests  {mebibytes:4.0f} MiB")
    print(f"ratio {statistics.median(ours.seconds / plain.seconds for ours, plain in rows):.2f}")


if __name__ == "__main__":
    main()
