"""The command line's entry: runs a command and maps what goes wrong to an exit code.

Exit codes: 0 done; 1 what ``--fail-on`` or ``--fail-on-worse`` asks for is the case; 2 wrong use; 3 the input cannot
be read or the output cannot be written; 4 the input holds nothing to analyse; 70 a fault of this program; 130
interrupted.
"""

import sys

import click

from advisor.errors import AdvisorError

__all__ = ["FOUND", "INTERRUPTED", "main"]

FOUND = 1
"""What ``--fail-on`` asks for is the case."""
INTERRUPTED = 130


def main(args: list[str] | None = None) -> None:
    """Run the command line and exit.

    Raises:
        SystemExit: always, with the exit code.
    """
    sys.exit(_run(args))


def _run(args: list[str] | None) -> int:
    try:
        # Imported here so that Ctrl-C is minded from the first moment: all the rest of the program comes with it.
        from advisor.cli.commands import cli

        result = cli.main(args=args, prog_name="kuberay-advisor", standalone_mode=False)
    except click.exceptions.Exit as request:
        return request.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except AdvisorError as error:
        click.echo(f"error: {error.where + ': ' if error.where else ''}{error.message}", err=True)
        if error.hint:
            click.echo(f"hint: {error.hint}", err=True)
        return error.exit_code
    return result if isinstance(result, int) else 0
