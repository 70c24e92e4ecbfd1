"""The command ``backtest``: how well does the twin predict what is known already?"""

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from advisor.analysis.loading import Progress
from advisor.cli.progress import late_progress

if TYPE_CHECKING:
    from advisor.twin.point import OperatingPoint

__all__ = ["backtest"]

_PATH = click.Path(path_type=Path)


@click.command()
@click.argument("targets", nargs=-1, required=True, type=_PATH, metavar="DIR...")
@click.option(
    "--calibrate",
    "calibration",
    multiple=True,
    required=True,
    type=_PATH,
    metavar="DIR",
    help="A recording to calibrate on; one option for each.",
)
@click.option("--draws", type=click.IntRange(1, 1000), default=16, show_default=True, help="Runs for each interval.")
@click.option(
    "--output",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
    help="Form of the result.",
)
def backtest(targets: tuple[Path, ...], calibration: tuple[Path, ...], draws: int, output: str) -> None:
    """Predict recordings whose outcome is known, and tell how far the predictions are off.

    The twin is calibrated on the recordings after --calibrate. Of each DIR only the settings and the demand are used:
    which clusters of which size were created when.
    """
    from advisor.analysis.backtest import backtest as rows_of
    from advisor.report.backtesttext import backtest_json, backtest_markdown, backtest_parts
    from advisor.report.layout import PIPE_WIDTH, plain

    with late_progress("reading") as progress:
        calibrated_on = [_point(path, progress) for path in calibration]
        points = [_point(path, progress) for path in targets]
        rows = list(rows_of(calibrated_on, points, draws=draws, progress=progress))
    console = Console(highlight=False)
    if output == "json":
        click.echo(backtest_json(rows), nl=False)
    elif output == "markdown":
        click.echo(backtest_markdown(rows), nl=False)
    elif console.is_terminal:
        for part in backtest_parts(rows):
            console.print(part)
    else:
        click.echo(plain(backtest_parts(rows), width=PIPE_WIDTH), nl=False)


def _point(path: Path, progress: Progress) -> "OperatingPoint":
    from advisor.analysis.loading import load_source
    from advisor.analysis.points import point_of
    from advisor.sources.recording import RecordingSource

    progress(f"reading {path.name}")
    return point_of(path.resolve().name, load_source(RecordingSource(path))).point
