"""Where ``analyze`` writes a report, what it shows meanwhile, and how it ends."""

import contextlib
import json
import os
import pty
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from advisor.analysis import Options, analyse
from advisor.analysis.loading import ignore_progress
from advisor.cli import main
from advisor.cli.output import write_whole
from advisor.cli.progress import late_progress
from advisor.errors import OutputError
from advisor.report.renderers import FORMS
from advisor.report.textreport import plain_report
from advisor.sources.recording import RecordingSource
from tests.support import ROOT

EXAMPLE = ROOT / "advisor" / "examples" / "saturated-one-worker"
STANDBY = ROOT / "tests" / "data" / "recordings" / "standby-replica"


def run(*args: str) -> int:
    """Run ``analyze`` in this process; its exit code."""
    with pytest.raises(SystemExit) as exit_request:
        main(["analyze", *args])
    code = exit_request.value.code
    assert isinstance(code, int)
    return code


@pytest.mark.parametrize("form", ["text", *FORMS])
def test_a_report_goes_to_a_file(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--out writes what would have been printed, and prints nothing; nothing else is left in the folder."""
    assert run("--recording", str(EXAMPLE), "--output", form) == 0
    printed = capsys.readouterr().out
    assert run("--recording", str(EXAMPLE), "--output", form, "--out", str(tmp_path / "report")) == 0
    assert capsys.readouterr() == ("", "")
    assert (tmp_path / "report").read_text(encoding="utf-8") == printed
    assert list(tmp_path.iterdir()) == [tmp_path / "report"]


def test_the_folder_must_exist(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder that is not there is an error before anything is read, and is not made."""
    target = tmp_path / "none" / "report.html"
    assert run("--recording", "/no/such/recording", "--out", str(target)) == 2
    assert f"--out: there is no folder {target.parent}." in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--out names a file."""
    assert run("--recording", str(EXAMPLE), "--out", str(tmp_path)) == 2
    assert "is a directory" in capsys.readouterr().err


def test_a_file_is_replaced_whole_and_keeps_its_mode(tmp_path: Path) -> None:
    """An old file gives way to the new one with the same permissions; a link to it stays a link."""
    file, link = tmp_path / "a", tmp_path / "b"
    file.write_text("old", encoding="utf-8")
    file.chmod(0o600)
    link.symlink_to(file)
    write_whole(link, "new")
    assert file.read_text(encoding="utf-8") == "new"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert link.is_symlink()


def test_what_cannot_be_written_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk in the middle of writing is an error with a hint; the old text is still there, and nothing else."""
    file = tmp_path / "a"
    file.write_text("old", encoding="utf-8")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OutputError, match="cannot be written: No space left on device") as error:
        write_whole(file, "new")
    assert error.value.exit_code == 3
    assert file.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_pipe_is_written_as_it_is(tmp_path: Path) -> None:
    """What is no regular file is not replaced by one."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        write_whole(pipe, "text")
        assert reader.communicate()[0] == "text"
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize(
    ("recording", "severity", "code"),
    [(EXAMPLE, "critical", 1), (EXAMPLE, "warning", 1), (STANDBY, "critical", 0), (STANDBY, "warning", 1)],
)
def test_the_exit_code_can_tell_how_bad_it_is(
    recording: Path, severity: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """--fail-on ends with 1 for a finding of that severity or above; the report is printed all the same."""
    assert run("--recording", str(recording), "--output", "json", "--fail-on", severity) == code
    assert json.loads(capsys.readouterr().out)["findings"]


def test_a_mere_remark_fails_nothing() -> None:
    """--fail-on takes no severity below a warning."""
    assert run("--recording", str(EXAMPLE), "--fail-on", "info") == 2


def test_text_is_as_wide_as_in_a_pipe(tmp_path: Path) -> None:
    """A file gets the plain form whatever the terminal."""
    assert run("--recording", str(EXAMPLE), "--verbose", "--out", str(tmp_path / "a.txt")) == 0
    report = analyse(RecordingSource(EXAMPLE), Options())
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == plain_report(report, width=120, verbose=True)


PROGRESS = """
import time
from advisor.cli import progress
progress._PATIENCE_SECONDS = {patience}
with progress.late_progress("reading metrics") as tell:
    tell("reading the log")
    time.sleep({seconds})
"""


@contextlib.contextmanager
def on_a_terminal(script: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A program whose standard error is a terminal, and the end of the terminal to read from."""
    parent, child = pty.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    with subprocess.Popen([sys.executable, "-c", script], stderr=child, env=environment) as process:
        os.close(child)
        try:
            yield process, parent
        finally:
            process.kill()
    os.close(parent)


def everything(terminal: int) -> str:
    """All that is printed on the terminal until its last writer has gone."""
    printed = b""
    with contextlib.suppress(OSError):
        while chunk := os.read(terminal, 65536):
            printed += chunk
    return printed.decode()


@pytest.mark.parametrize(("patience", "seconds", "shown"), [(30.0, 0.0, False), (0.0, 1.0, True)])
def test_progress_is_shown_to_those_who_wait(*, patience: float, seconds: float, shown: bool) -> None:
    """A quick run leaves no trace on the terminal, not even an invisible one; a slow one shows its step."""
    with on_a_terminal(PROGRESS.format(patience=patience, seconds=seconds)) as (_, terminal):
        printed = everything(terminal)
    assert ("reading the log" in printed) == shown
    assert shown or printed == ""


def test_no_progress_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a pipe nobody waits, also where colour is forced."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    with late_progress("reading") as progress:
        assert progress is ignore_progress


INTERRUPTED = f"""
import time
from advisor.cli import analyze, main, progress
progress._PATIENCE_SECONDS = 0.0
def slow(given, progress, told):
    progress("reading metrics")
    time.sleep(30)
import sys
sys.modules["advisor.cli.analyze"].load_input = slow
main(["analyze", "--recording", "{EXAMPLE}"])
"""


def test_an_interrupt_on_a_terminal_leaves_one_line() -> None:
    """Ctrl-C in the middle of an analysis: the progress goes away, one word is left, no traceback, exit code 130."""
    with on_a_terminal(INTERRUPTED) as (process, terminal):
        printed = b""
        while b"reading metrics" not in printed:
            printed += os.read(terminal, 65536)
        process.send_signal(signal.SIGINT)
        rest = everything(terminal)
        assert process.wait() == 130
    lines = [line for line in rest.replace("\r", "\n").split("\n") if line.strip()]
    assert lines[-1] == "interrupted"
    assert "Traceback" not in rest
    assert "\x1b[?25h" in rest  # the cursor is back
