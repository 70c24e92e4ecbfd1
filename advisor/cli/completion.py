"""The command ``completion``: what makes a shell complete this program's words."""

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

__all__ = ["completion"]

_PROGRAM = "kuberay-advisor"
_VARIABLE = "_KUBERAY_ADVISOR_COMPLETE"
"""What click looks for in the environment, by the program's name."""
_SHELLS: dict[str, type[ShellComplete]] = {"bash": BashComplete, "fish": FishComplete, "zsh": ZshComplete}


@click.command()
@click.argument("shell", type=click.Choice(sorted(_SHELLS)))
def completion(shell: str) -> None:
    """Print a script that makes a shell complete commands, options, files, finding codes and metrics.

    Put it where the shell looks for such, and begin a new shell:

    \b
    bash (4.4 or newer, with the package bash-completion):
      mkdir -p ~/.local/share/bash-completion/completions
      kuberay-advisor completion bash > ~/.local/share/bash-completion/completions/kuberay-advisor
    zsh, with ~/.zfunc in fpath before compinit runs:
      mkdir -p ~/.zfunc
      kuberay-advisor completion zsh > ~/.zfunc/_kuberay-advisor
    fish:
      mkdir -p ~/.config/fish/completions
      kuberay-advisor completion fish > ~/.config/fish/completions/kuberay-advisor.fish
    """  # noqa: D301 - click's mark for lines that stay as they are
    asked = _SHELLS[shell](click.get_current_context().find_root().command, {}, _PROGRAM, _VARIABLE)
    # Not asked.source(): for bash that runs one to see how old it is, and here may be none.
    click.echo(asked.source_template % asked.source_vars(), nl=False)
