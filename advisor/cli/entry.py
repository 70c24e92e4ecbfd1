"""The command line's entry: runs a command and maps what goes wrong to an exit code.

Exit codes: 0 done; 1 what ``--fail-on`` or ``--fail-on-worse`` asks for is the case; 2 wrong use; 3 the input cannot
be read or the output cannot be written; 4 the input holds nothing to analyse; 70 a fault of this program; 130
interrupted; 141 whoever read the output has left; 143 told to end.
"""

import errno
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

import click

from advisor import __version__
from advisor.errors import AdvisorError, OutputError

__all__ = ["FOUND", "INTERRUPTED", "main"]

FOUND = 1
"""What ``--fail-on`` asks for is the case."""
FAULT = AdvisorError.exit_code
INTERRUPTED = 130
READER_LEFT = 141
"""What a shell shows for a program whose reader has left; ``| head`` is the usual one."""
TERMINATED = 143
_UNWRITTEN = frozenset((errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC))
"""What standard output fails with, where errors of files have been told as such already."""


def main(args: list[str] | None = None) -> None:
    """Run the command line and exit.

    Raises:
        SystemExit: always, with the exit code.
    """
    with _ending_on_request() as asked:
        code = _flushed(_run(args))
    sys.exit(TERMINATED if asked and code == INTERRUPTED else code)


def _run(args: list[str] | None) -> int:
    """The exit code, whatever happens."""
    try:
        return _called(args)
    except SystemExit as request:
        # What click and rich do where the reader has left; nothing else here does it.
        return READER_LEFT if request.code == 1 else int(request.code or 0)
    except OSError as error:
        return _unwritten(error) if error.filename is None and error.errno in _UNWRITTEN else _fault()
    except Exception as error:  # noqa: BLE001 - told whole, and as what it is
        return _interrupted() if _came_of_an_interrupt(error) else _fault()


def _came_of_an_interrupt(error: BaseException) -> bool:
    """Whether something was being closed for an interrupt, and failed since it was half made."""
    before = error.__context__
    return before is not None and (isinstance(before, KeyboardInterrupt) or _came_of_an_interrupt(before))


def _interrupted() -> int:
    _say("interrupted")
    return INTERRUPTED


def _called(args: list[str] | None) -> int:
    """The exit code of the command, and of what it refuses."""
    try:
        # Imported here so that Ctrl-C is minded from the first moment: all the rest of the program comes with it.
        from advisor.cli.commands import cli

        result = cli.main(args=args, prog_name="kuberay-advisor", standalone_mode=False)
    except click.exceptions.Exit as request:
        return request.exit_code
    except click.ClickException as error:
        with suppress(OSError):
            error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _interrupted()
    except AdvisorError as error:
        return _tell(error)
    return result if isinstance(result, int) else 0


def _flushed(code: int) -> int:
    """The exit code once everything is written; that of a failure where it cannot be."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except BrokenPipeError:
            code = code or READER_LEFT
            _drop(stream)
        except OSError as error:
            code = code or _unwritten(error)
            _drop(stream)
    return code


def _drop(stream: TextIO) -> None:
    """Let what a stream still holds go nowhere, since Python writes it again at the very end."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _unwritten(error: OSError) -> int:
    return _tell(
        OutputError(
            f"cannot be written: {error.strerror}", where="standard output", hint="the disk that it goes to may be full"
        )
    )


def _fault() -> int:
    import traceback

    _say(traceback.format_exc().rstrip("\n"))
    _say(f"error: this is a fault of kuberay-advisor {__version__}; please report it with the lines above")
    return FAULT


def _tell(error: AdvisorError) -> int:
    _say(f"error: {error.where + ': ' if error.where else ''}{error.message}")
    if error.hint:
        _say(f"hint: {error.hint}")
    return error.exit_code


def _say(text: str) -> None:
    """A line on standard error, if that takes one."""
    with suppress(OSError):
        click.echo(text, err=True)


@contextmanager
def _ending_on_request() -> Iterator[list[int]]:
    """While inside, SIGTERM does what Ctrl-C does, so that nothing stays behind; a list that then has it in it.

    Commands that serve handle both themselves. Who ignores the signal goes on to.
    """
    asked: list[int] = []

    def end(number: int, _: object) -> None:
        asked.append(number)
        raise KeyboardInterrupt

    try:
        handled = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
        if handled:
            signal.signal(signal.SIGTERM, end)
    except ValueError:  # not in the main thread, which alone gets signals
        handled = False
    try:
        yield asked
    finally:
        if handled:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
