"""Starting the command line and answering from facts, against importing what it stands on, click and rich.

``python -m benchmarks.startup [RUNS]``. Each measurement is a process of its own, from its start to its end.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 15

_FACTS = """
controllers:
  raycluster:
    max_concurrent_reconciles: 1
    utilisation: 0.99
    depth_mean: 40
    reconciles_per_second: 4
    reconcile_seconds_mean: 0.25
    queue_wait_seconds_mean: 10
client: {qps: 100, burst: 200, limiter_wait_seconds_mean: 0}
"""
_WITH_BYTECODE = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""As where the package is installed."""
_MAIN = "from advisor.cli import main; main()"


def seconds(*arguments: str) -> float:
    """Wall time of one process of this interpreter."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, env=_WITH_BYTECODE, check=True)
    return time.perf_counter() - begin


def main() -> None:
    """Measure all in turn and print medians and ratios."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    with tempfile.TemporaryDirectory() as folder:
        facts = Path(folder) / "operator.facts.yaml"
        facts.write_text(_FACTS, encoding="utf-8")
        measured = {
            "an empty program": ("-c", "pass"),
            "import click, rich.console": ("-c", "import click, rich.console"),
            "import advisor.cli": ("-c", "import advisor.cli"),
            "kuberay-advisor --version": ("-c", _MAIN, "--version"),
            "analyze --facts, to the report": ("-c", _MAIN, "analyze", "--facts", str(facts)),
        }
        for arguments in measured.values():
            seconds(*arguments)  # compiles what is not compiled yet
        rows = [{name: seconds(*arguments) for name, arguments in measured.items()} for _ in range(runs)]
    print(f"{runs} runs, medians; the ratio is to importing click and rich.console")
    for name in measured:
        median = statistics.median(row[name] for row in rows)
        ratio = statistics.median(row[name] / row["import click, rich.console"] for row in rows)
        print(f"{name:32} {1000 * median:6.0f} ms  ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
