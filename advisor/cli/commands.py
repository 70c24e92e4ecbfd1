"""The group of commands; each command is a module of its own and its line here."""

import click

from advisor import __version__
from advisor.cli.analyze import analyze
from advisor.cli.reference import explain, metrics

__all__ = ["cli"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="kuberay-advisor")
def cli() -> None:
    """Tell what holds a KubeRay operator back, what to set, and why.

    Exit codes: 0 done; 2 wrong use; 3 input cannot be read; 4 nothing to analyse; 70 fault of this program.
    """


for command in (analyze, explain, metrics):
    cli.add_command(command)
