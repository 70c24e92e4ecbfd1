"""The sidecar's way of a log of 120 000 lines, from the file to the heaviest keys, against decoding its lines alone.

``python -m benchmarks.sidecarlog [RUNS]``. Times are the processor's.

``python -m benchmarks.sidecarlog --torture [MEGABYTES]`` follows a log of 2 000 MB instead, that another process writes
and rotates twenty times meanwhile, and counts its lines.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from advisor.sidecar.budget import CpuBudget
from advisor.sidecar.follower import FileFollower
from advisor.sidecar.logreader import LogReader
from advisor.sidecar.observer import Observer, ObserverSettings
from benchmarks.material import log_lines

LINES = 120_000
RUNS = 5
TORTURE_MEGABYTES = 2_000
ROTATIONS = 20
LINE_BYTES = 400
_WRITER = Path(__file__).resolve().parent.parent / "tests" / "sidecar" / "followwriter.py"


def _polled(path: Path) -> Iterable[list[bytes]]:
    follower = FileFollower(path, from_start=True)
    while lines := follower.poll():
        yield lines
    follower.close()


def follow(path: Path) -> float:
    """Follow the file alone."""
    begin = time.process_time()
    for _ in _polled(path):
        pass
    return time.process_time() - begin


def ours(path: Path) -> float:
    """The whole way through the sidecar: follow the file, read it, join it, and tell the heaviest keys."""
    begin = time.process_time()
    observer = Observer(ObserverSettings(has_watches=False))
    reader = LogReader(lambda: FileFollower(path, from_start=True), [observer.logged], CpuBudget(4.0))
    now = 0.0
    for lines in _polled(path):
        reader.read(lines)
        now = reader.figures().last_time or now
        observer.advance(now)
    found = observer.look(now + 60.0)
    taken = time.process_time() - begin
    if found.keys is None or not found.keys.totals:
        raise RuntimeError("the log shows no reconcile")
    return taken


def decode(path: Path) -> float:
    """Decode each line, nothing more."""
    begin = time.process_time()
    with path.open("rb") as file:
        for line in file:
            json.loads(line)
    return time.process_time() - begin


def measure(runs: int) -> None:
    """Measure in turn, and print medians and the ratio."""
    lines = log_lines(LINES)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "operator.log"
        path.write_bytes(b"\n".join(lines) + b"\n")
        ways: tuple[tuple[str, Callable[[Path], float]], ...] = (
            ("file to heaviest keys", ours),
            ("of that, following", follow),
            ("json.loads", decode),
        )
        rounds = [[way(path) for _, way in ways] for _ in range(runs)]
    print(f"{len(lines):,} lines, {runs} runs, medians")
    for column, (name, _) in enumerate(ways):
        print(f"{name:28} {statistics.median(row[column] for row in rounds) / len(lines) * 1e6:6.2f} us a line")
    print(f"time as a ratio to json.loads: {statistics.median(row[0] / row[2] for row in rounds):.2f}")


def torture(megabytes: int) -> None:
    """Follow a log while it is written and rotated, and print what came through."""
    lines = megabytes * 1_000_000 // LINE_BYTES
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "operator.log"
        follower = FileFollower(path, from_start=False)
        follower.poll()
        command = [sys.executable, str(_WRITER), str(path), "--bytes", str(lines * LINE_BYTES)]
        command += ["--rotations", str(ROTATIONS), "--line-bytes", str(LINE_BYTES)]
        expected = wrong = 0
        begin, begin_cpu = time.perf_counter(), time.process_time()
        with subprocess.Popen(command) as writer:
            while True:
                ended = writer.poll() is not None
                got = follower.poll()
                for line in got:
                    wrong += int(line[:11]) != expected
                    expected += 1
                if not got and ended:
                    break
        wall, cpu = time.perf_counter() - begin, time.process_time() - begin_cpu
        follower.close()
    print(f"{megabytes:,} MB in {wall:.1f} s, {cpu:.1f} s of processor time, {follower.rotations} rotations")
    print(f"lines written {lines:,}, read {expected:,}, not in their place {wrong:,}")


def main() -> None:
    """Measure, or follow."""
    if "--torture" in sys.argv:
        torture(int(sys.argv[2]) if len(sys.argv) > 2 else TORTURE_MEGABYTES)  # noqa: PLR2004 - after the option
    else:
        measure(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)


if __name__ == "__main__":
    main()
