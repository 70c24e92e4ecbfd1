"""Memory and CPU of the sidecar's core after an hour of simulated load with ten thousand keys.

``python -m benchmarks.sidecarmemory [KEYS]``. Each measurement is a process of its own. An hour passes in the
sidecar's own time: each second some keys are reconciled, as the log tells, and every five seconds the operator is
scraped. Once without watches, as with log and scrape alone, and once with the cache of ten thousand RayClusters and as
many Pods whose changes come by. The alternative is the interpreter with the same modules imported and nothing in them.
"""

import subprocess
import sys

KEYS = 10_000

_PROGRAM = """
import sys, time
from pathlib import Path
keys, mode = int(sys.argv[1]), sys.argv[2]
import advisor.sidecar.assembly
from benchmarks.sidecarload import hour
if mode == "watches":
    import lightkube.core.exceptions, lightkube.config.client_adapter, httpx2
begin = time.process_time()
held = None if mode == "nothing" else hour(keys, with_watches=mode == "watches")
used = time.process_time() - begin
pages = int(Path("/proc/self/statm").read_text().split()[1])
print(pages * 4096 / 2**20, used, 0 if held is None else held.series())
"""


def measure(keys: int, mode: str) -> tuple[float, float, float]:
    """Resident MiB, CPU seconds of the hour, and series of ``/metrics``."""
    done = subprocess.run([sys.executable, "-c", _PROGRAM, str(keys), mode], capture_output=True, text=True, check=True)
    mebibytes, seconds, series = map(float, done.stdout.split())
    return mebibytes, seconds, series


def main() -> None:
    """Measure each and print ratios to nothing."""
    keys = int(sys.argv[1]) if len(sys.argv) > 1 else KEYS
    nothing, _, _ = measure(keys, "nothing")
    print(f"{keys:,} keys, an hour; modules alone {nothing:.0f} MiB")
    for mode in ("log", "watches"):
        mebibytes, seconds, series = measure(keys, mode)
        print(
            f"{mode:8} {mebibytes:6.1f} MiB, {mebibytes / nothing:.2f} x; {seconds:6.1f} s of CPU, "
            f"{seconds / 3600 * 1000:.0f} mCPU; {series:.0f} series"
        )


if __name__ == "__main__":
    main()
