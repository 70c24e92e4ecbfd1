"""Write docs/fidelity.md: what the twin predicts against what the real operator did, from recordings of it.

``python -m scripts.fidelity FOLDER`` from the root of the repository, where FOLDER holds the recordings.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path
from statistics import median

from advisor.analysis.backtest import backtest
from advisor.analysis.loading import load_source
from advisor.analysis.points import point_of
from advisor.model.backtest import BacktestRow
from advisor.report.backtesttext import backtest_markdown, counted, summary
from advisor.sources.recording import RecordingSource
from advisor.twin.point import OperatingPoint
from advisor.twin.predict import QUANTITIES

PAGE = Path(__file__).resolve().parent.parent / "docs" / "fidelity.md"
_DRAWS = 16
_WORST = 0.30
_MEDIAN = 0.15

_HEAD = """# How well the twin predicts

Every figure here is a prediction of the twin beside what a real KubeRay operator did on a real API server (recordings,
all on one machine of two cores). `kuberay-advisor backtest` makes the same tables from any recordings; `make fidelity`
writes this page.

The twin is calibrated on the recordings named in each head. Of the others it is told only the settings and the demand:
which clusters of which size were created when. No constant is fitted on what is predicted. Wanted are at most
{median:.0%} error in the median and {worst:.0%} at worst for figures above noise (0.2 s; 5 ms for limiter waits), and
an interval that holds the truth in four cases of five.

{noise}
"""


@dataclass(frozen=True)
class Table:
    """One set of predictions."""

    title: str
    about: str
    calibrated_on: tuple[str, ...]
    targets: str
    but_not: str = "nothing"
    why: str = ""


TABLES = (
    Table(
        "From one worker, up to four times as many",
        "What a user has before the first change.",
        ("grid-1.7.0-c1-q100",),
        "grid-1.7.0-c*",
        "-c16-",
        "The wait is a mean over all reconciles, and chance decides how many of the short last ones still fall into "
        "the observation: equal runs have 104 to 144 reconciles.",
    ),
    Table(
        "From one worker, sixteen times as many",
        "Beyond four times the workers a prediction is a guess about contention, which one worker does not show: the "
        "value assumes that the API server has room, the interval reaches to the most work that a write can be.",
        ("grid-1.7.0-c1-q100",),
        "grid-1.7.0-c16-*",
        why="Without a throttled client the API server is the limit at sixteen workers; one worker does not show it.",
    ),
    Table(
        "From two points",
        "What a user has after one change.",
        ("grid-1.7.0-c1-q100", "grid-1.7.0-c16-q100"),
        "grid-1.7.0-c*",
        why="With sixteen workers neither QPS 100 nor none is a limit, so the two runs are equal; they differ "
        "by a quarter in makespan, and the twin is calibrated on the slower one.",
    ),
    Table(
        "The classic queue, from two points",
        "KubeRay 1.6.1 has no series of request times: the delay of a request follows from the busy time.",
        ("grid-1.6.1-c1-q100", "grid-1.6.1-c16-q100"),
        "grid-1.6.1-*",
    ),
    Table(
        "Before and after a change",
        "A hundred clusters with one worker and with ten.",
        ("saturated-one-worker", "after-ten-workers"),
        "saturated-one-worker|after-ten-workers",
    ),
    Table(
        "Another shape: a steady pace",
        "Calibrated on bursts of 50 clusters with 8 workers; predicted are clusters with 4 workers, one by one.",
        ("grid-1.7.0-c1-q100", "grid-1.7.0-c16-q100"),
        "paced-*",
    ),
    Table(
        "Another shape: other bursts on the same server",
        "Calibrated on a hundred clusters with 5 workers; predicted are throttled clients, a CPU quota, a small burst.",
        ("saturated-one-worker", "after-ten-workers"),
        "verbose-log|throttled-client|throttled-one-worker|cpu-limited",
        why="Which clusters are ready early hangs on whether their second pass comes a few milliseconds too soon.",
    ),
    Table("A throttled client, from itself", "", ("throttled-client",), "throttled-client"),
    Table("A throttled worker, from itself", "", ("throttled-one-worker",), "throttled-one-worker"),
    Table(
        "A throttled client on the classic queue, from itself",
        "",
        ("throttled-classic-queue",),
        "throttled-classic-queue",
    ),
    Table(
        "A hot key, from itself",
        "One cluster scaled to 500 workers.",
        ("hot-key-big-scale-up",),
        "hot-key-big-scale-up",
    ),
    Table("A slow API server, from itself", "", ("api-server-slow",), "api-server-slow"),
)


def page(folder: Path) -> str:
    """The whole page."""

    @cache
    def point(name: str) -> OperatingPoint:
        return point_of(name, load_source(RecordingSource(folder / name))).point

    repeats = [point(path.name) for path in sorted(folder.glob("grid-1.7.0-c4-q100*"))]
    parts = [_HEAD.format(median=_MEDIAN, worst=_WORST, noise=noise_floor(repeats))]
    for table in TABLES:
        sys.stderr.write(f"{table.title}\n")
        targets = [point(name) for name in names(folder, table)]
        rows = list(backtest([point(name) for name in table.calibrated_on], targets, draws=_DRAWS))
        parts.append(section(table, rows))
    return "\n".join(parts)


def names(folder: Path, table: Table) -> Iterator[str]:
    """Names of the recordings to be predicted."""
    for pattern in table.targets.split("|"):
        yield from (path.name for path in sorted(folder.glob(pattern)) if table.but_not not in path.name)


def section(table: Table, rows: Sequence[BacktestRow]) -> str:
    """One table with its head and the cells that fail."""
    failed = [row for row in counted(rows) if abs(row.relative_error or 0.0) > _WORST or not row.holds]
    lines = [f"## {table.title}", ""]
    if table.about:
        lines += [table.about, ""]
    lines += [f"Calibrated on {' and '.join(table.calibrated_on)}. {summary(rows)}", ""]
    if failed:
        cells = ", ".join(f"{row.recording} {row.quantity} ({row.relative_error or 0.0:+.0%})" for row in failed)
        lines += [f"Off by more than {_WORST:.0%}, or outside the interval: {cells}. {table.why}".rstrip(), ""]
    table_text = backtest_markdown(rows).rpartition("\n\n")[0]
    return "\n".join([*lines, table_text, ""])


def noise_floor(points: Sequence[OperatingPoint]) -> str:
    """How far equal runs of the real operator lie apart."""
    if len(points) < 2:  # noqa: PLR2004 - a difference needs two
        return ""
    parts = []
    for quantity in QUANTITIES:
        values = [value for one in points if (value := getattr(one.measured, quantity)) is not None]
        ratios = [max(pair) / min(pair) - 1.0 for pair in combinations(values, 2) if min(pair) > 0.005]  # noqa: PLR2004
        if ratios:
            parts.append(f"{quantity} by {median(ratios):.0%} (median) and {max(ratios):.0%} (most)")
    return f"The noise floor: {len(points)} equal runs of the real operator differ in {', in '.join(parts)}."


if __name__ == "__main__":
    PAGE.write_text(page(Path(sys.argv[1])), encoding="utf-8")
