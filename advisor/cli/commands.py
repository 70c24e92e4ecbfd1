"""The group of commands; each command is a function in a module of its own and its line here.

Only the command that runs is imported: what the others stand on would more than double the start-up.
"""

import gc
from importlib import import_module
from types import ModuleType

import click

from advisor import __version__
from advisor.errors import nearest

__all__ = ["cli"]

_MODULES = {
    "analyze": "advisor.cli.analyze",
    "backtest": "advisor.cli.backtest",
    "compare": "advisor.cli.compare",
    "completion": "advisor.cli.completion",
    "demo": "advisor.cli.demo",
    "explain": "advisor.cli.reference",
    "inject": "advisor.cli.inject",
    "metrics": "advisor.cli.reference",
    "profiles": "advisor.cli.profiles",
    "record": "advisor.cli.record",
    "serve": "advisor.cli.serve",
    "sidecar": "advisor.cli.sidecar",
    "whatif": "advisor.cli.whatif",
    "simulate": "advisor.cli.simulate",
}
_ELSEWHERE = {
    "help": "write --help behind any command, or alone",
    "version": "write kuberay-advisor --version",
}
"""What other programs have as commands."""
_WHOLE = 1000
_EPILOG = """\
\b
First steps:
  kuberay-advisor demo               # needs nothing else
  kuberay-advisor analyze --help     # the ways in
  kuberay-advisor completion --help  # for your shell
"""


class _Commands(click.Group):
    """A group that imports a command when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Names of all commands."""
        return sorted(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - click's
        """The command of that name, None where there is none."""
        if cmd_name not in _MODULES:
            return None
        command = getattr(_import(_MODULES[cmd_name]), cmd_name)
        assert isinstance(command, click.Command)  # noqa: S101 - the table above says so
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first word names; what else it may have been, where it names none."""
        word = args[0]
        if word in _MODULES or word.startswith("-"):
            return super().resolve_command(ctx, args)
        otherwise = f"commands are {', '.join(self.list_commands(ctx))}"
        hint = _ELSEWHERE.get(word) or nearest(word, self.list_commands(ctx), otherwise)
        raise click.UsageError(f"No such command {word!r}; {hint}", ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Each command with its whole first sentence, on as many lines as the terminal needs."""
        commands = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        rows = [(name, command.get_short_help_str(_WHOLE)) for name, command in commands if command is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def _import(name: str) -> ModuleType:
    """A module, imported without collecting garbage meanwhile: importing makes much that stays, and no garbage."""
    gc.disable()
    try:
        return import_module(name)
    finally:
        gc.freeze()
        gc.enable()


@click.group(cls=_Commands, epilog=_EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="kuberay-advisor")
def cli() -> None:
    """Tell what holds a KubeRay operator back, what to set, and why.

    Exit codes: 0 done; 1 what --fail-on or --fail-on-worse asks for is the case, a check of the demo failed, or inject
    --check found something to change; 2 wrong use; 3 input cannot be read or output cannot be written; 4 nothing to
    analyse; 70 fault of this program; 130 interrupted; 141 whoever read the output has left; 143 told to end.
    """
