import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from advisor.sidecar.follower import FileFollower
from tests.sidecar.followwriter import RotatingLog


@pytest.fixture
def log(tmp_path: Path) -> Iterator[RotatingLog]:
    """A log that is not there yet."""
    writer = RotatingLog(tmp_path / "operator.log")
    yield writer
    writer.close()


def following(log: RotatingLog, *, from_start: bool = False, most_bytes: int = 1 << 20) -> FileFollower:
    """A follower of the log."""
    return FileFollower(log.path, from_start=from_start, most_bytes=most_bytes)


def open_files() -> int:
    """Files that this process has open, and one more for looking."""
    return len(list(Path("/proc/self/fd").iterdir()))


class TestWhereItBegins:
    def test_at_the_end_of_a_file_that_is_there(self, log: RotatingLog) -> None:
        """What was written before is left out, and what comes is read."""
        log.write(b"old\n")
        follower = following(log)
        assert follower.poll() == []
        log.write(b"new\n")
        assert follower.poll() == [b"new"]

    def test_a_line_of_which_the_beginning_was_missed_is_left_out(self, log: RotatingLog) -> None:
        """Beginning within a line, the rest of that line is no line."""
        log.write(b"be")
        follower = following(log)
        assert follower.poll() == []
        log.write(b"gun\nwhole\n")
        assert follower.poll() == [b"whole"]
        assert follower.dropped_long_lines == 0

    def test_at_the_start_where_asked_to(self, log: RotatingLog) -> None:
        """All lines of the file are read; what was renamed before is not."""
        log.write(b"oldest\n")
        log.rotate()
        log.write(b"old\n")
        follower = following(log, from_start=True)
        assert follower.poll() == [b"old"]

    def test_at_the_start_of_a_file_that_comes_later(self, log: RotatingLog) -> None:
        """Until it comes the follower says what it waits for."""
        follower = following(log)
        assert follower.poll() == []
        assert follower.problem is not None
        assert "not there yet" in follower.problem
        log.write(b"first\n")
        assert follower.poll() == [b"first"]
        assert follower.problem is None

    def test_files_that_came_and_were_renamed_before_a_look_are_read(self, log: RotatingLog) -> None:
        """Everything that is younger than the follower is read, in its order."""
        follower = following(log)
        follower.poll()
        for number in range(3):
            log.write(b"%d\n" % number)
            log.rotate()
        log.write(b"3\n")
        assert follower.poll() == [b"0", b"1", b"2", b"3"]


class TestLines:
    def test_a_begun_line_is_kept_until_its_end(self, log: RotatingLog) -> None:
        """Half a line is no line."""
        follower = following(log)
        follower.poll()
        log.write(b"ha")
        assert follower.poll() == []
        log.write(b"lf\nnext")
        assert follower.poll() == [b"half"]
        assert follower.lines == 1

    def test_a_line_that_is_too_long_is_dropped_and_counted(self, log: RotatingLog) -> None:
        """Whether it comes at once or in pieces; its neighbours are read."""
        follower = FileFollower(log.path, from_start=False, longest_line_bytes=10)
        follower.poll()
        log.write(b"a\n" + b"x" * 11 + b"\n" + b"y" * 10 + b"\n")
        assert follower.poll() == [b"a", b"y" * 10]
        log.write(b"z" * 8)
        follower.poll()
        log.write(b"z" * 8)
        follower.poll()
        log.write(b"z" * 8 + b"\nb\n")
        assert follower.poll() == [b"b"]
        assert follower.dropped_long_lines == 2
        assert follower.lines == 3

    def test_one_call_gives_out_about_as_much_as_it_may(self, log: RotatingLog) -> None:
        """So that the caller can keep to its budget; the rest is told as behind."""
        log.write(b"".join(b"%09d\n" % number for number in range(1000)))
        follower = following(log, from_start=True, most_bytes=1000)
        assert len(follower.poll()) == 100
        assert follower.behind_bytes == 9000
        assert follower.bytes == 1000
        got = 100
        while lines := follower.poll():
            got += len(lines)
        assert got == 1000
        assert follower.behind_bytes == 0


class TestRotation:
    def test_the_renamed_file_is_read_to_its_end_first(self, log: RotatingLog) -> None:
        """Lines come in the order in which they were written, each once."""
        follower = following(log)
        follower.poll()
        log.write(b"1\n")
        assert follower.poll() == [b"1"]
        log.write(b"2\n")
        log.rotate()
        log.write(b"3\n")
        assert follower.poll() == [b"2", b"3"]
        assert follower.rotations == 1

    def test_several_rotations_between_two_looks(self, log: RotatingLog) -> None:
        """The files in between were never seen under their first name and are read whole."""
        follower = following(log)
        follower.poll()
        log.write(b"0\n")
        follower.poll()
        for number in range(1, 5):
            log.write(b"%d\n" % number)
            log.rotate()
        log.write(b"5\n")
        follower_lines = follower.poll()
        assert follower_lines == [b"1", b"2", b"3", b"4", b"5"]
        assert follower.rotations == 4

    def test_a_small_budget_over_several_rotations(self, log: RotatingLog) -> None:
        """Files that are rotated on while others are still read are neither skipped nor read twice."""
        follower = following(log, most_bytes=4)
        follower.poll()
        got: list[bytes] = []
        for number in range(40):
            log.write(b"%d\n" % number)
            if number % 3 == 0:
                log.rotate()
            got += follower.poll()
        while lines := follower.poll():
            got += lines
        assert got == [b"%d" % number for number in range(40)]

    def test_between_the_renaming_and_the_new_file(self, log: RotatingLog) -> None:
        """The path is empty for a moment; nothing is lost."""
        follower = following(log)
        follower.poll()
        log.write(b"1\n")
        follower.poll()
        log.rotate()
        log.write(b"2\n")
        assert follower.poll() == [b"2"]
        log.rotate()
        assert follower.poll() == []
        assert follower.poll() == []
        log.write(b"3\n")
        assert follower.poll() == [b"3"]

    def test_what_has_no_end_when_its_file_is_over_is_given_out(self, log: RotatingLog) -> None:
        """Nobody will finish it, and it may be a whole line."""
        follower = following(log)
        follower.poll()
        log.write(b"1\nlast")
        log.rotate()
        log.write(b"2\n")
        assert follower.poll() == [b"1", b"last", b"2"]

    def test_files_compressed_before_they_are_read(self, log: RotatingLog) -> None:
        """They are unpacked; the one that was open is recognised though it has another inode."""
        follower = following(log)
        follower.poll()
        log.write(b"0\n")
        follower.poll()
        for number in range(1, 4):
            log.write(b"%d\n" % number)
            log.rotate()
            log.compress()
        log.write(b"4\n")
        assert follower.poll() == [b"1", b"2", b"3", b"4"]
        assert follower.rotations == 3

    def test_a_compressed_file_is_read_in_parts(self, log: RotatingLog) -> None:
        """A file that unpacks to far more than a call may give out is read over many calls."""
        follower = following(log, most_bytes=10_000)
        follower.poll()
        for number in range(20_000):
            log.write(b"%09d\n" % number)
        log.rotate()
        log.compress()
        log.write(b"end\n")
        got = follower.poll()
        assert len(got) <= 1100
        assert follower.behind_bytes > 0
        while lines := follower.poll():
            got += lines
        assert got == [*(b"%09d" % number for number in range(20_000)), b"end"]

    def test_a_damaged_compressed_file_is_read_as_far_as_it_goes(self, log: RotatingLog) -> None:
        """What follows is read all the same."""
        follower = following(log)
        follower.poll()
        log.write(b"1\n")
        log.rotate()
        log.compress()
        data = log.backups[-1].read_bytes()
        log.backups[-1].write_bytes(data[:-8] + b"\xff" * 8)
        log.write(b"2\n")
        assert follower.poll()[-1:] == [b"2"]

    def test_a_file_deleted_for_its_age_does_not_stop_it(self, log: RotatingLog) -> None:
        """What is gone is gone; the open file and all later ones are read."""
        follower = following(log)
        follower.poll()
        log.write(b"1\n")
        follower.poll()
        log.write(b"2\n")
        log.rotate()
        log.write(b"3\n")
        log.rotate()
        log.write(b"4\n")
        for backup in log.backups:
            backup.unlink()
        assert follower.poll() == [b"2", b"4"]

    def test_files_come_and_go_for_ever(self, log: RotatingLog) -> None:
        """Names of files that are gone are forgotten, and no file is read twice."""
        follower = following(log)
        follower.poll()
        got: list[bytes] = []
        for number in range(1200):
            log.write(b"%d\n" % number)
            got += follower.poll()
            log.rotate()
            if len(log.backups) > 3:
                log.backups.pop(0).unlink()
        got += follower.poll()
        assert got == [b"%d" % number for number in range(1200)]
        assert len(follower._known) <= 1001

    def test_names_of_other_logs_are_left_alone(self, log: RotatingLog) -> None:
        """Only what this log was renamed to belongs to it."""
        follower = following(log)
        follower.poll()
        other = "other-2026-08-21T09-14-00.009.log", "operator-2026-08-21T09-14-00.009.txt", "operator-x.log"
        for name in other:
            log.path.with_name(name).write_bytes(b"foreign\n")
        log.write(b"1\n")
        log.rotate()
        log.write(b"2\n")
        assert follower.poll() == [b"1", b"2"]


class TestTruncation:
    def test_an_emptied_file_is_read_from_its_start(self, log: RotatingLog) -> None:
        """As with copytruncate, where the writer appends."""
        log.path.write_bytes(b"1\n2\n")
        follower = following(log, from_start=True)
        assert follower.poll() == [b"1", b"2"]
        log.path.write_bytes(b"3\n")
        assert follower.poll() == [b"3"]
        assert follower.truncations == 1

    def test_a_file_that_has_grown_beyond_its_old_length(self, log: RotatingLog) -> None:
        """Its length alone does not tell, its first bytes do."""
        log.path.write_bytes(b"1\n")
        follower = following(log, from_start=True)
        follower.poll()
        log.path.write_bytes(b"2\n3\n4\n")
        assert follower.poll() == [b"2", b"3", b"4"]
        assert follower.truncations == 1

    @pytest.mark.parametrize("looks_between", [True, False])
    def test_a_writer_that_goes_on_behind_a_hole(self, log: RotatingLog, looks_between: bool) -> None:
        """Lumberjack does not append: the hole of zeros before its next line is no line."""
        log.write(b"a line of some length\n" * 10_000)
        follower = following(log, from_start=True, most_bytes=1 << 24)
        assert len(follower.poll()) == 10_000
        log.truncate()
        if looks_between:
            assert follower.poll() == []
        log.write(b"next\n")
        assert follower.poll() == [b"next"]
        assert follower.truncations >= 1

    def test_a_begun_line_is_forgotten(self, log: RotatingLog) -> None:
        """Its end went with the rest."""
        log.path.write_bytes(b"1\nbeg")
        follower = following(log, from_start=True)
        follower.poll()
        log.path.write_bytes(b"2\n")
        assert follower.poll() == [b"2"]


class TestDeletion:
    def test_a_deleted_file_is_read_on_until_another_comes(self, log: RotatingLog) -> None:
        """The writer may still have it open; then the new one is read from its start."""
        follower = following(log)
        follower.poll()
        log.write(b"1\n")
        follower.poll()
        log.path.unlink()
        log.write(b"2\n")
        assert follower.poll() == [b"2"]
        assert follower.problem is not None
        assert "gone" in follower.problem
        log.close()
        log.write(b"3\n")
        assert follower.poll() == [b"3"]
        assert follower.problem is None

    def test_a_folder_that_comes_later(self, tmp_path: Path) -> None:
        """The volume may be mounted after the start."""
        log = RotatingLog(tmp_path / "logs" / "operator.log")
        follower = following(log)
        assert follower.poll() == []
        log.path.parent.mkdir()
        log.write(b"1\n")
        assert follower.poll() == [b"1"]
        log.close()

    def test_something_else_than_a_file(self, tmp_path: Path) -> None:
        """A folder or a pipe at the path is a problem to be told, and does not hold up the caller."""
        path = tmp_path / "operator.log"
        os.mkfifo(path)
        follower = FileFollower(path, from_start=False)
        assert follower.poll() == []
        assert follower.problem is not None
        assert "no regular file" in follower.problem


_UNPRIVILEGED = 65532
_AS_ANOTHER_USER = """
import os, sys
from pathlib import Path
from advisor.sidecar.follower import FileFollower
follower = FileFollower(Path(sys.argv[1]), from_start=True)
if os.geteuid() == 0:
    os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[2]))
assert follower.poll() == []
print(follower.problem, flush=True)
sys.stdin.readline()
print(follower.poll(), follower.problem, flush=True)
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that all users may enter, which those of pytest are not."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def test_an_unreadable_file_names_the_user_to_run_as(open_folder: Path) -> None:
    """Mode 0600 is what lumberjack gives; when it becomes readable, it is read."""
    path = open_folder / "operator.log"
    path.write_bytes(b"1\n")
    path.chmod(0o600 if os.geteuid() == 0 else 0)
    with subprocess.Popen(
        [sys.executable, "-c", _AS_ANOTHER_USER, str(path), str(_UNPRIVILEGED)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        problem = process.stdout.readline()
        assert f"belongs to UID {os.geteuid()}" in problem
        assert f"run as {os.geteuid()}" in problem
        path.chmod(0o644)
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "[b'1'] None\n"


def test_few_files_are_open_at_any_time(log: RotatingLog) -> None:
    """One while it reads, whatever came and went."""
    before = open_files()
    follower = following(log, most_bytes=5)
    for number in range(50):
        log.write(b"%d\n" % number)
        log.rotate()
        if number % 2:
            log.compress()
        follower.poll()
        assert open_files() <= before + 1
    follower.close()
    log.close()
    assert open_files() == before
