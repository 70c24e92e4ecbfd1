"""The command ``simulate``: an operator that nobody had to install, as a recording or live over HTTP."""

import shlex
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from advisor.cli.durations import Duration
from advisor.cli.progress import late_progress
from advisor.errors import OutputError

if TYPE_CHECKING:
    from advisor.sources.workloadfile import WorkloadFile

__all__ = ["simulate"]

_DEFAULT_ADDRESS = "127.0.0.1:8080"
_LARGEST_PORT = 65_535
_TICK_SECONDS = 0.02
_BEHIND_SECONDS = 5.0


class _Start(click.ParamType[float]):
    """Unix seconds of an ISO 8601 time or of the word now."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401
        """Unix seconds; a time without a zone is UTC."""
        if value == "now":
            return time.time()
        try:
            moment = datetime.fromisoformat(value)
            seconds = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            seconds = -1.0
        if seconds < 0.0:
            self.fail(f"{value!r} is neither now nor a time such as 2026-01-01T12:00:00Z, from 1970 on", param, ctx)
        return seconds


class _Address(click.ParamType[tuple[str, int]]):
    """Host and port; without a host this machine's loopback."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:  # noqa: ANN401
        """Host and port."""
        host, _, port = value.rpartition(":")
        if not (port.isascii() and port.isdigit()) or int(port) > _LARGEST_PORT:
            self.fail(f"{value!r} is no address such as {_DEFAULT_ADDRESS}; write it behind WORKLOAD", param, ctx)
        return host or "127.0.0.1", int(port)


@click.command()
@click.argument("workload", type=click.Path(path_type=Path), metavar="WORKLOAD")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Write a recording: a new or empty folder.")
@click.option(
    "--interval", type=Duration(), metavar="DURATION", help="From one scrape of it to the next.  [default: 2s]"
)
@click.option("--all-series", is_flag=True, help="Keep every series in it, not only those that an analysis reads.")
@click.option(
    "--serve",
    "address",
    type=_Address(),
    is_flag=False,
    flag_value=_DEFAULT_ADDRESS,
    metavar="[ADDRESS]",
    help=f"Run live behind HTTP at an address; {_DEFAULT_ADDRESS} where none is given.",
)
@click.option(
    "--pace",
    type=click.FloatRange(min=0.01, max=1000.0),
    help="Seconds of the run for each real one; rates a second grow with it.  [default: 1]",
)
@click.option(
    "--for", "seconds", type=Duration(), metavar="DURATION", help="How long to serve; till Ctrl-C if not given."
)
@click.option(
    "--start",
    type=_Start(),
    metavar="TIME",
    help="When the run begins, or now.  [default: 2026-01-01T00:00:00Z; with --serve: now]",
)
def simulate(  # noqa: PLR0913 - one for each option
    *,
    workload: Path,
    out: Path | None,
    interval: float | None,
    all_series: bool,
    address: tuple[str, int] | None,
    pace: float | None,
    seconds: float | None,
    start: float | None,
) -> None:
    """Record or serve what a real operator would show under a workload file.

    A recording is read by analyze, compare and all other commands; the same file gives the same bytes. Served, it can
    be scraped: /metrics, /metrics/cadvisor, /log, /objects (with ?follow=true) and /healthz.
    """
    if (out is None) == (address is None):
        raise click.UsageError("Give either --out DIR or --serve.")
    recording_only = {"--interval": interval, "--all-series": all_series or None}
    serving_only = {"--pace": pace, "--for": seconds}
    for option, value in (serving_only if address is None else recording_only).items():
        if value is not None:
            raise click.UsageError(f"{option} belongs to {'--serve' if address is None else '--out DIR'}.")
    from advisor.sources.workloadfile import read_workload

    file = read_workload(workload)
    if address is not None:
        _serve(file, address, pace=pace or 1.0, seconds=seconds, start=time.time() if start is None else start)
    elif out is not None:
        _record(file, out, interval or 2.0, start, all_series=all_series)


def _record(file: "WorkloadFile", out: Path, interval: float, start: float | None, *, all_series: bool) -> None:
    from advisor.analysis.simulated import DEFAULT_START, RecordingPlan, record_simulation
    from advisor.signals.names import SELECTION

    plan = RecordingPlan(interval, DEFAULT_START if start is None else start, None if all_series else SELECTION)
    with late_progress("simulating") as progress:
        result = record_simulation(file, out, plan, progress)
    click.echo(
        f"recorded {result.run_seconds:.0f} s in {out}; "
        f"read it with: kuberay-advisor analyze --recording {shlex.quote(str(out))}"
    )


def _serve(file: "WorkloadFile", address: tuple[str, int], *, pace: float, seconds: float | None, start: float) -> None:
    from advisor.analysis.simulated import operator_of
    from advisor.analysis.simulatedlive import LiveOperator
    from advisor.sources.interruption import first_signal
    from advisor.sources.operatorserver import OperatorServer

    stop = threading.Event()
    with first_signal(stop.set):
        live = LiveOperator(operator_of(file, start), pace)
        try:
            server = OperatorServer(*address, live)
        except OSError as error:
            raise OutputError(
                f"cannot be served at: {error.strerror}",
                where=":".join(map(str, address)),
                hint="name another address with --serve ADDRESS",
            ) from error
        try:
            click.echo(f"serving {server.url}/metrics; Ctrl-C ends it", err=True)
            _keep_up(live.catch_up, lambda: live.is_over, stop, seconds)
        finally:
            server.end()
    click.echo(f"served until {live.seconds:.0f} s of the run", err=True)


def _keep_up(
    catch_up: Callable[[], float], is_over: Callable[[], bool], stop: threading.Event, seconds: float | None
) -> None:
    """Let the run follow the clock until it is told to stop, or for some seconds."""
    end = None if seconds is None else time.monotonic() + seconds
    told_behind = told_over = False
    while not stop.wait(_TICK_SECONDS):
        behind = catch_up()
        if behind > _BEHIND_SECONDS and not told_behind:
            told_behind = True
            click.echo(f"this machine is too slow for that pace: {behind:.0f} s behind", err=True)
        if not told_over and is_over():
            told_over = True
            click.echo("the workload has come to its end; the operator idles from now on", err=True)
        if end is not None and time.monotonic() >= end:
            return
