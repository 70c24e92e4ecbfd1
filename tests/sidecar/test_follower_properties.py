"""Whatever the order of writing, rotating, truncating and looking: each line once, in its order."""

import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from advisor.sidecar.follower import FileFollower
from tests.sidecar.followwriter import RotatingLog


class Following(RuleBasedStateMachine):
    """A writer that does anything that happens to a log, and a follower that looks now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.log = RotatingLog(Path(self.folder.name) / "operator.log")
        self.written = 0
        self.missed = 0
        self.got: list[bytes] = []
        self.rest = b""

    @initialize(most_bytes=st.sampled_from([1, 7, 40, 1000]), before=st.integers(0, 3), from_start=st.booleans())
    def begin(self, most_bytes: int, before: int, from_start: bool) -> None:
        """Start the follower beside a log that may have lines."""
        self.append(before, 12)
        if not from_start:
            self.missed = before
        self.follower = FileFollower(self.log.path, from_start=from_start, most_bytes=most_bytes)
        self.got += self.follower.poll()

    def append(self, count: int, length: int) -> None:
        """Write whole lines, behind a begun one."""
        for _ in range(count):
            line = b"%06d" % self.written + b"." * length + b"\n"
            self.log.write(self.rest or line)
            if self.rest:
                self.rest = b""
            self.written += 1

    @rule(count=st.integers(1, 5), length=st.integers(0, 60))
    def write(self, count: int, length: int) -> None:
        """Write lines."""
        self.append(count, length)

    @rule(length=st.integers(1, 60))
    def write_half_a_line(self, length: int) -> None:
        """Write the beginning of a line; the next write is its end."""
        if not self.rest:
            line = b"%06d" % self.written + b"." * length + b"\n"
            self.log.write(line[: len(line) // 2])
            self.rest = line[len(line) // 2 :]

    @rule(compress=st.booleans())
    def rotate(self, compress: bool) -> None:
        """Rename the file; lumberjack writes no line across two files."""
        if self.log.path.exists() and not self.rest:
            self.log.rotate()
            if compress:
                self.log.compress()

    @rule()
    def look(self) -> None:
        """Ask for lines once."""
        self.got += self.follower.poll()

    @rule()
    def look_until_nothing_is_new(self) -> None:
        """Ask for lines until all are read."""
        quiet = 0
        while quiet < 2:
            read = self.follower.bytes
            self.got += self.follower.poll()
            quiet = 0 if self.follower.bytes > read else quiet + 1
        assert len(self.got) == self.written - self.missed
        assert self.follower.behind_bytes == 0

    @rule(appends=st.booleans())
    def truncate(self, appends: bool) -> None:
        """Empty the file when all of it is read, whether or not the writer begins at its start again."""
        self.look_until_nothing_is_new()
        if self.log.path.exists() and not self.rest:
            self.log.truncate()
            if appends:
                self.log.close()

    @rule()
    def delete(self) -> None:
        """Delete the file when all of it is read; the writer makes a new one."""
        self.look_until_nothing_is_new()
        if self.log.path.exists() and not self.rest:
            self.log.path.unlink()
            self.log.close()

    @invariant()
    def each_line_once_in_its_order(self) -> None:
        """Nothing is lost, repeated or cut, up to where the follower is."""
        numbers = [int(line[:6]) for line in self.got]
        assert numbers == list(range(self.missed, self.missed + len(numbers)))
        assert all(not line[6:].strip(b".") for line in self.got)

    def teardown(self) -> None:
        """Give all files back."""
        try:
            if hasattr(self, "follower"):
                self.look_until_nothing_is_new()
                self.follower.close()
        finally:
            self.log.close()
            self.folder.cleanup()


TestFollowing = Following.TestCase
TestFollowing.settings = settings(max_examples=100, stateful_step_count=40)
