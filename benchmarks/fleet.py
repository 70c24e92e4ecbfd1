"""A thousand operators, one hour at 30 s each, from recordings to a report of each and the summary.

``python -m benchmarks.fleet [OPERATORS] [RUNS]``. Each run is a process of its own, so that time and memory are its
own; those of its workers are counted too. The alternative does the same work in one process, one operator after the
other, and keeps nothing: what the engine, the state and the summary add is the ratio.
"""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.material import write_hour

OPERATORS = 1000
RUNS = 3

_MEASURE = """
import json, resource, sys, time
from pathlib import Path
from advisor.analysis import Options
{setup}
folder, out, operators = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
begin = time.perf_counter()
{work}
seconds = time.perf_counter() - begin
own, workers = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
cpu = sum(one.ru_utime + one.ru_stime for one in (own, workers))
print(json.dumps([seconds, cpu, own.ru_maxrss / 1024, workers.ru_maxrss / 1024]))
"""
_FLEET = _MEASURE.format(
    setup="from advisor.analysis.fleet import FleetPlan, analyse_fleet\n"
    "from advisor.engines.local import LocalEngine\n"
    "from advisor.report.fleettext import plain_fleet\n"
    "from advisor.sources.fleetfile import read_fleet",
    work="run = analyse_fleet(FleetPlan(read_fleet(folder / 'fleet.yaml'), out, Options()), LocalEngine())\n"
    "assert len(run.fleet.analysed()) == operators\n"
    "plain_fleet(run.fleet, width=120)",
)
_ALONE = _MEASURE.format(
    setup="from advisor.analysis import analyse\n"
    "from advisor.report.jsonreport import render_json\n"
    "from advisor.sources.recording import RecordingSource",
    work="for number in range(operators):\n"
    "    report = analyse(RecordingSource(folder / 'hour.om.gz'), Options())\n"
    "    (out / f'op-{number}.json').write_text(render_json(report))",
)


def measure(program: str, folder: Path, operators: int) -> tuple[float, ...]:
    """Seconds, CPU seconds, and peak memory in MiB of one run and of its largest worker."""
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run(
            [sys.executable, "-c", program, str(folder), out, str(operators)],
            capture_output=True,
            text=True,
            check=True,
        )
    return tuple(json.loads(done.stdout))


def main() -> None:
    """Measure both in turn and print medians and ratios."""
    operators = int(sys.argv[1]) if len(sys.argv) > 1 else OPERATORS
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else RUNS  # noqa: PLR2004 - the second argument
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        samples = write_hour(folder / "hour.om.gz")
        lines = "".join(f"- {{name: op-{number}, recording: hour.om.gz}}\n" for number in range(operators))
        (folder / "fleet.yaml").write_text(f"operators:\n{lines}", encoding="utf-8")
        pairs = [(measure(_FLEET, folder, operators), measure(_ALONE, folder, operators)) for _ in range(runs)]
    print(f"{operators:,} operators of {samples:,} samples, {runs} runs, medians")
    for name, place in (("fleet", 0), ("one after the other", 1)):
        seconds, cpu, own, worker = (statistics.median(pair[place][column] for pair in pairs) for column in range(4))
        print(
            f"{name:20} {seconds:7.1f} s {cpu:7.1f} s of CPU, {cpu / operators * 1e3:6.1f} ms for one; "
            f"{own:.0f} MiB, a worker {worker:.0f} MiB"
        )
    for name, column in (("time", 0), ("CPU", 1)):
        ratio = statistics.median(fleet[column] / alone[column] for fleet, alone in pairs)
        print(f"{name} as a ratio to one after the other: {ratio:.2f}")


if __name__ == "__main__":
    main()
