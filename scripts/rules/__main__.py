"""Write rules/, or check that it is up to date: ``python -m scripts.rules [--check]`` from the repository's root."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from scripts.rules.alertmanager import example
from scripts.rules.rendering import Settings, manifest, plain
from scripts.rules.sources import ALERT_GROUPS, RECORDING_GROUPS
from scripts.writing import renewed

_ROOT = Path(__file__).resolve().parents[2]


def files(settings: Settings) -> Iterator[tuple[str, str]]:
    """Name and text of each file of rules/."""
    yield "recording.yaml", plain(RECORDING_GROUPS, settings)
    yield "alerts.yaml", plain(ALERT_GROUPS, settings)
    yield "prometheusrule.yaml", manifest((*RECORDING_GROUPS, *ALERT_GROUPS), settings)
    yield "alertmanager-example.yaml", example()


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check; 1 when ``--check`` finds a file missing or stale."""
    usual = Settings()
    parser = argparse.ArgumentParser(description="Write the recording rules and alerts.")
    parser.add_argument("--check", action="store_true", help="change nothing; fail when something is stale")
    parser.add_argument("--out", type=Path, default=_ROOT / "rules", help="folder to write to")
    parser.add_argument("--job", default=usual.job, help="regular expression of operators' scrape jobs")
    parser.add_argument("--container", default=usual.container, help="name of the operator's container")
    parser.add_argument("--advisor-job", default=usual.advisor_job, help="regular expression of the advisor's jobs")
    parser.add_argument("--runbooks", default=usual.runbooks, help="where docs/ is served")
    parser.add_argument("--interval", default=usual.interval, help="from one evaluation to the next")
    parser.add_argument("--scale", type=float, default=usual.scale, help="so many seconds become one, for short runs")
    told = parser.parse_args(arguments)
    settings = Settings(told.job, told.container, told.advisor_job, told.runbooks, told.interval, told.scale)
    stale = renewed(files(settings), told.out, check=told.check)
    for name in stale:
        sys.stderr.write(f"{name}: {'stale, run make rules' if told.check else 'written'}\n")
    return 1 if told.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
