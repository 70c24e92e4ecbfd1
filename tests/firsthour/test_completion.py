"""Completion in a real shell: the script is sourced, and bash is asked what it would offer."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from advisor.diagnosis.findings import RULES
from advisor.knowledge import METRICS
from tests.firsthour.program import COMMAND
from tests.support import run

_ASK = """
source completion.bash
COMP_WORDS=({words}) COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
$(complete -p kuberay-advisor | sed 's/.*-F \\([^ ]*\\).*/\\1/') kuberay-advisor
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the script, and the program under its name."""
    made = tmp_path_factory.mktemp("completion")
    program = made / "kuberay-advisor"
    path = os.pathsep.join(filter(None, sys.path))
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{path}" exec "{COMMAND[0]}" -c "{COMMAND[2]}" "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    done = subprocess.run([program, "completion", "bash"], capture_output=True, check=True)
    (made / "completion.bash").write_bytes(done.stdout)
    return made


def offered(folder: Path, *words: str) -> list[str]:
    """What bash offers behind ``kuberay-advisor`` and these words, of which the last one is begun."""
    quoted = " ".join(f"'{word}'" for word in ("kuberay-advisor", *words))
    # compopt works within a completion only; what it is asked for is told here.
    script = 'compopt() { echo "compopt $1 $2"; }\n' + _ASK.format(words=quoted)
    done = subprocess.run(
        ["bash", "--norc", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1]


def test_subcommands(folder: Path) -> None:
    """A command that is begun."""
    assert offered(folder, "co") == ["compare", "completion"]


def test_options_and_their_values(folder: Path) -> None:
    """An option that is begun, and the forms that one can have."""
    assert offered(folder, "analyze", "--fa") == ["--facts", "--fail-on"]
    assert offered(folder, "analyze", "--output", "") == ["text", "json", "markdown", "html"]


def test_finding_codes(folder: Path) -> None:
    """Behind explain, the codes of the findings."""
    assert offered(folder, "explain", "") == [rule.code.value for rule in RULES]
    assert offered(folder, "explain", "hot") == ["hot-key"]


def test_metric_names(folder: Path) -> None:
    """Behind metrics, the names of the catalogue."""
    assert offered(folder, "metrics", "workqueue_d") == [
        one.name for one in METRICS if one.name.startswith("workqueue_d")
    ]


@pytest.mark.parametrize(
    "words", [("analyze", "--facts", ""), ("analyze", "--recording", "/tmp/x"), ("whatif", "--workload", "")]
)
def test_files(folder: Path, words: tuple[str, ...]) -> None:
    """Where a file is asked for, bash offers files itself."""
    assert offered(folder, *words) == ["compopt -o default", ""]


@pytest.mark.parametrize(("shell", "said"), [("zsh", "#compdef kuberay-advisor"), ("fish", "complete --no-files")])
def test_other_shells(shell: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Their scripts ask the program in their own way."""
    assert run("completion", shell) == 0
    printed = capsys.readouterr().out
    assert said in printed
    assert f"_KUBERAY_ADVISOR_COMPLETE={shell}_complete" in printed


def test_another_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """It says which there are."""
    assert run("completion", "tcsh") == 2
    assert "'bash', 'fish', 'zsh'" in capsys.readouterr().err
