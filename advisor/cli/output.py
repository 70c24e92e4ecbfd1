"""Where a report goes and in which form, as one argument of the command."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from advisor.model.report import Report
from advisor.report.layout import PIPE_WIDTH
from advisor.report.renderers import FORMS, render
from advisor.report.textreport import plain_report, print_report
from advisor.report.wholefile import write_whole

__all__ = ["ReportOutput", "output_options", "write_whole"]

_Command = Callable[..., object]


@dataclass(frozen=True, slots=True)
class ReportOutput:
    """The form of a report, and the file it goes to; standard output where there is none."""

    form: str
    file: Path | None
    verbose: bool

    def show(self, report: Report) -> None:
        """Write or print the report: text is rich on a terminal (NO_COLOR is honoured), plain lines elsewhere.

        Raises:
            OutputError: the file cannot be written; what was there before still is.
            UsageError: it is a folder.
        """
        if self.file is not None and self.file.is_dir():
            raise click.UsageError(f"--out: {self.file} is a folder; name a file in it.")
        console = Console(highlight=False)
        if self.form == "text" and self.file is None and console.is_terminal:
            print_report(report, console, verbose=self.verbose)
            return
        if self.form == "text":
            text = plain_report(report, width=PIPE_WIDTH, verbose=self.verbose)
        else:
            text = render(report, self.form)
        if self.file is None:
            click.echo(text, nl=False)
        else:
            write_whole(self.file, text)


_OPTIONS = (
    click.option(
        "--output",
        "form",
        type=click.Choice(["text", *FORMS]),
        default="text",
        show_default=True,
        help="Form of the report.",
    ),
    click.option(
        "--out",
        "file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Write the report to a file, whole or not at all, instead of standard output; a folder for many.",
    ),
    click.option("--verbose", "-v", is_flag=True, help="Show where each figure comes from, and what is not known."),
)


def output_options(command: _Command) -> _Command:
    """Options that become the argument ``output``."""

    @functools.wraps(command)
    def with_output(form: str, file: Path | None, *, verbose: bool, **others: Any) -> object:  # noqa: ANN401 - as given
        if file is not None and not file.absolute().parent.is_dir():
            raise click.UsageError(f"--out: there is no folder {file.absolute().parent}.")
        # Of many operators each report is a file in a folder.
        if file is not None and file.is_dir() and others.get("fleet") is None:
            raise click.UsageError(f"--out: {file} is a directory.")
        return command(output=ReportOutput(form, file, verbose), **others)

    wrapped: _Command = with_output
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped
