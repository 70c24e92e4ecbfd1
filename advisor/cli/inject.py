"""The command ``inject``: puts the sidecar into the manifest of a KubeRay operator, or takes it out."""

import functools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from advisor import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

    from advisor.inject.injection import Outcome

__all__ = ["inject"]

_LARGEST_BYTES = 64 * 1024**2
"""KubeRay's chart with all its CRDs has two megabytes."""
_option = functools.partial(click.option, show_default=True)


@click.command(context_settings={"auto_envvar_prefix": "KUBERAY_ADVISOR_INJECT"})
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write to a file, whole or not at all, instead of standard output.",
)
@click.option("--remove", is_flag=True, help="Take out what an earlier run has put in.")
@click.option("--check", is_flag=True, help="Write nothing; exit code 1 if something would change.")
@click.option("--quiet", "-q", is_flag=True, help="Do not explain the changes on standard error; warnings stay.")
@_option("--image", default=f"kuberay-advisor:{__version__}", metavar="IMAGE", help="With registry, and tag or digest.")
@click.option(
    "--native",
    is_flag=True,
    help="An init container that is restarted (Kubernetes 1.29 on): started first and ended last. One whose image "
    "cannot be pulled keeps the operator from starting.",
)
@click.option("--name", metavar="NAME", help="The operator's Deployment, where it is not recognised.")
@click.option("--namespace", metavar="NAME", help="Its namespace.")
@click.option("--container", metavar="NAME", help="The operator's container in it.")
@_option("--port", type=click.IntRange(1, 65_535), default=8090, help="Where the sidecar serves.")
@_option("--cpu", default="100m", metavar="QUANTITY", help="CPU of the sidecar, requested and at most.")
@_option("--memory", default="192Mi", metavar="QUANTITY", help="Memory likewise.")
@click.option(
    "--log-dir",
    "log_folder",
    metavar="DIR",
    help="Where the operator is to log, if it writes no log file yet.  [default: /var/log/kuberay]",
)
@click.option("--log-file-name", "log_name", metavar="NAME", help="The file there.  [default: operator.log]")
@click.option(
    "--sidecar-arg",
    "arguments",
    multiple=True,
    metavar="ARG",
    help="One more argument of the sidecar; may be repeated.",
)
@click.pass_context
def inject(
    ctx: click.Context,
    /,
    file: Path | None,
    out: Path | None,
    *,
    remove: bool,
    check: bool,
    quiet: bool,
    **asked: Any,  # noqa: ANN401 - the options of the sidecar
) -> int:
    """Put the sidecar into the manifest of a KubeRay operator.

    FILE, or standard input, is a stream of YAML or JSON such as `helm template` prints. It comes out as it was, apart
    from the operator's Deployment, to which the sidecar is added, and its configuration file, if it has one. Doing so
    twice changes nothing more, and --remove gives the input back, byte by byte. Nothing is asked of a cluster.

    Applying the result restarts the operator.
    """
    from advisor.cli.entry import FOUND
    from advisor.inject.injection import inject as put_in
    from advisor.inject.injection import remove as take_out
    from advisor.inject.options import Options
    from advisor.report.wholefile import write_whole

    if file is None and sys.stdin.isatty():
        click.echo(ctx.get_help())
        return 0
    if check and out is not None:
        raise click.UsageError("--check writes nothing: leave out --out.")
    if out is not None and out.is_dir():
        raise click.UsageError(f"--out: {out} is a folder; name a file in it.")
    text, where = _read(file)
    options = Options(**asked)
    outcome = _at(where, functools.partial(take_out if remove else put_in, text, options))
    _explain(outcome, quiet=quiet, remove=remove)
    if check:
        return FOUND if outcome.changed else 0
    if out is not None:
        write_whole(out, outcome.text)
    else:
        sys.stdout.buffer.write(outcome.text.encode())
    return 0


def _read(file: Path | None) -> tuple[str, str]:
    """The input, and what it is called.

    Raises:
        InputNotFoundError: it cannot be read.
        InputFormatError: it is too long, or no UTF-8.
    """
    from advisor.errors import InputFormatError, InputNotFoundError

    where = "standard input" if file is None or str(file) == "-" else str(file)
    try:
        if file is None or str(file) == "-":
            data = sys.stdin.buffer.read(_LARGEST_BYTES + 1)
        else:
            with file.open("rb") as stream:
                data = stream.read(_LARGEST_BYTES + 1)
    except OSError as error:
        raise InputNotFoundError(
            f"cannot be read: {error.strerror}", where=where, hint="check the path and its permissions"
        ) from error
    if len(data) > _LARGEST_BYTES:
        raise InputFormatError(f"is longer than {_LARGEST_BYTES >> 20} MiB, which no manifest is", where=where)
    try:
        return data.decode(), where
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputFormatError(f"is not UTF-8, line {line}", where=where, hint="convert it first") from error


def _at(where: str, call: "Callable[[], Outcome]") -> "Outcome":
    """What the call gives; an error of the input names the input."""
    from advisor.errors import InputError

    try:
        return call()
    except InputError as error:
        error.where = f"{where}, {error.where}" if error.where else where
        raise


def _explain(outcome: "Outcome", *, quiet: bool, remove: bool) -> None:
    if not quiet:
        state = (
            "" if outcome.changed else ": nothing to remove" if remove else ": unchanged, it has all of this already"
        )
        click.echo(f"Deployment {outcome.title}{state}", err=True)
        sign = "-" if remove else "+"
        for change in outcome.changes:
            click.echo(f"{sign} {change.where}: {change.what}\n    {change.why}", err=True)
        if outcome.changed:
            click.echo(
                "Applying this restarts the operator, after which all its keys are handled anew, at low priority.",
                err=True,
            )
    for warning in outcome.warnings:
        click.echo(f"warning: {warning}", err=True)
