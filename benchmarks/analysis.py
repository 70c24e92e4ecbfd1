"""A recording of 200 000 samples, from file to report, against prometheus_client's parser on the same file.

``python -m benchmarks.analysis [RUNS]``. Each measurement is a process of its own, so that peak memory is its own.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.material import write_metrics

SAMPLES = 200_000
RUNS = 5

_MEASURE = """
import json, resource, sys, time
{setup}
begin = time.perf_counter()
{work}
seconds = time.perf_counter() - begin
print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""
_OURS = _MEASURE.format(
    setup="from pathlib import Path\nfrom advisor.analysis import Options, analyse\n"
    "from advisor.sources.recording import RecordingSource",
    work="analyse(RecordingSource(Path(sys.argv[1])), Options())",
)
_PARSER = _MEASURE.format(
    setup="import gzip\nfrom prometheus_client.openmetrics.parser import text_fd_to_metric_families",
    work="for family in text_fd_to_metric_families(gzip.open(sys.argv[1], 'rt')):\n    len(family.samples)",
)


def measure(program: str, path: Path) -> tuple[float, float]:
    """Seconds of work and peak memory in MiB of one process."""
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    seconds, mebibytes = json.loads(done.stdout)
    return seconds, mebibytes


def main() -> None:
    """Measure both in turn and print medians and ratios."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "metrics.om.gz"
        samples = write_metrics(path, SAMPLES)
        pairs = [(measure(_OURS, path), measure(_PARSER, path)) for _ in range(runs)]
    print(f"{samples:,} samples, {runs} runs, medians")
    for name, column in (("file to report", 0), ("prometheus_client's parser", 1)):
        seconds = statistics.median(pair[column][0] for pair in pairs)
        mebibytes = statistics.median(pair[column][1] for pair in pairs)
        print(f"{name:28} {seconds:6.2f} s {mebibytes:7.1f} MiB")
    for name, index in (("time", 0), ("memory", 1)):
        ratio = statistics.median(ours[index] / theirs[index] for ours, theirs in pairs)
        print(f"{name} as a ratio to the parser: {ratio:.2f}")


if __name__ == "__main__":
    main()
