"""The command ``whatif``: what would other settings do to the same load?"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import click

from advisor.analysis.options import Options
from advisor.cli.entry import INTERRUPTED
from advisor.cli.progress import late_progress
from advisor.cli.whatifinputs import WhatIfInputs, whatif_inputs

if TYPE_CHECKING:
    from advisor.model.whatif import WhatIf

__all__ = ["whatif"]

_Value = TypeVar("_Value")
_SHORTEST_TARGET = 0.001
_ENGINES = ("local", "ray")
"""As in advisor.engines.base, which is not imported to list the commands."""


class _List(click.ParamType[tuple[_Value, ...]], Generic[_Value]):
    """Values with commas between them."""

    name = "list"

    def __init__(self, one: Callable[[str], _Value], what: str) -> None:
        self._one = one
        self._what = what

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[_Value, ...]:  # noqa: ANN401
        """The values in the order given."""
        if isinstance(value, tuple):
            return value
        try:
            return tuple(self._one(part.strip()) for part in str(value).split(","))
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is no list of {self._what}", param, ctx)


def _qps(text: str) -> float:
    return -1.0 if text == "off" else _finite(text)


def _limit(text: str) -> float | None:
    return None if text == "off" else _finite(text)


def _finite(text: str) -> float:
    value = float(text)
    if not 0.0 < value < 1e9:  # noqa: PLR2004 - more than any client or machine has
        raise ValueError(text)
    return value


@click.command()
@whatif_inputs
@click.option(
    "--concurrency",
    type=_List(int, "whole numbers such as 1,2,4"),
    default="1,2,4,8,16",
    show_default=True,
    help="Workers to try.",
)
@click.option(
    "--qps",
    type=_List(_qps, "rates such as 20,100,off"),
    default="20,50,100,200,off",
    show_default=True,
    help="QPS to try; off is no limiter.",
)
@click.option("--burst", type=_List(int, "whole numbers such as 50,200"), help="Bursts.  [default: twice the QPS]")
@click.option("--cpu", type=_List(_limit, "cores such as 0.5,1,off"), help="CPU limits.  [default: the one set]")
@click.option("--draws", type=click.IntRange(0, 1000), default=12, show_default=True, help="Runs for each interval.")
@click.option("--seed", type=click.IntRange(0, 2**31), help="Of all random numbers.  [default: the workload's, or 1]")
@click.option(
    "--wait-target",
    type=click.FloatRange(_SHORTEST_TARGET, 1e6),
    default=Options().thresholds.wait_target_seconds,
    show_default=True,
    metavar="SECONDS",
    help="Mean queue wait that is good enough.",
)
@click.option("--engine", type=click.Choice(_ENGINES), default="local", show_default=True, help="Where forecasts run.")
@click.option("--workers", type=click.IntRange(1, 1024), help="Forecasts at a time.  [default: as many as cores]")
@click.option(
    "--output",
    "form",
    type=click.Choice(["text", "json", "markdown", "html"]),
    default="text",
    show_default=True,
    help="Form of the result.",
)
@click.option(
    "--out",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the result to a file, whole or not at all, instead of standard output.",
)
@click.option("--verbose", "-v", is_flag=True, help="Show what the model rests on.")
def whatif(
    *,
    inputs: WhatIfInputs,
    form: str,
    file: Path | None,
    verbose: bool,
    **asked: Any,  # noqa: ANN401 - the axes, and how forecasts run
) -> int:
    """Predict what other settings would do to the same load, with a model of the operator.

    The model is calibrated on recordings or on what a scrape shows, or takes load and times from a workload or facts
    file; a recording with --objects says most. Every combination of the settings is tried, with those in force for
    comparison. Ctrl-C shows what is finished.
    """
    if file is not None and not file.absolute().parent.is_dir():
        raise click.UsageError(f"--out: there is no folder {file.absolute().parent}.")
    from advisor.analysis.whatif import Question, WhatIfInterruptedError, what_if
    from advisor.engines.base import engine_named
    from advisor.twin.grid import GridAxes

    runner = engine_named(asked["engine"], workers=asked["workers"])
    axes = GridAxes(asked["concurrency"], asked["qps"], asked["burst"] or (), asked["cpu"] or ())
    code = 0
    with late_progress("reading") as progress:
        situation, own_seed = inputs.situation(progress)
        seed = own_seed if asked["seed"] is None else asked["seed"]
        question = Question(axes, asked["draws"], seed, asked["wait_target"])
        try:
            result = what_if(situation, question, runner, progress)
        except ValueError as error:
            raise click.UsageError(f"{error}.") from error
        except WhatIfInterruptedError as error:
            result, code = error.finished, INTERRUPTED
    _show(result, form, file, verbose=verbose)
    if code == INTERRUPTED:
        click.echo("interrupted", err=True)
    return code


def _show(result: "WhatIf", form: str, file: Path | None, *, verbose: bool) -> None:
    """Write or print the result: text is rich on a terminal, plain lines elsewhere."""
    from rich.console import Console

    console = Console(highlight=False)
    if form == "text" and file is None and console.is_terminal:
        from advisor.report.whatiftext import print_whatif

        print_whatif(result, console, verbose=verbose)
        return
    text = _rendered(result, form, verbose=verbose)
    if file is None:
        click.echo(text, nl=False)
    else:
        from advisor.cli.output import write_whole

        write_whole(file, text)


def _rendered(result: "WhatIf", form: str, *, verbose: bool) -> str:
    if form == "json":
        from advisor.report.whatifjson import render_whatif_json

        return render_whatif_json(result)
    if form == "html":
        from advisor.report.whatifhtml import render_whatif_html

        return render_whatif_html(result)
    from advisor.report.whatiftext import plain_whatif, render_whatif_markdown

    if form == "markdown":
        return render_whatif_markdown(result)
    from advisor.report.layout import PIPE_WIDTH

    return plain_whatif(result, width=PIPE_WIDTH, verbose=verbose)
