"""A process writes numbered lines and rotates twenty times meanwhile: no line is lost or read twice."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from advisor.sidecar.follower import FileFollower
from tests.sidecar import followwriter

# Megabytes; ADVISOR_TORTURE_MEGABYTES=2000 takes some half a minute and as much room in the folder of temporary files.
MEGABYTES = int(os.environ.get("ADVISOR_TORTURE_MEGABYTES", "100"))
ROTATIONS = 20
LINE_BYTES = 400


@pytest.mark.timeout(180 + MEGABYTES // 5)
@pytest.mark.parametrize(
    ("most_bytes", "pause_seconds", "options"),
    [
        pytest.param(1 << 20, 0.0, [], id="keeps up"),
        pytest.param(1 << 24, 0.2, [], id="several rotations between two looks"),
        pytest.param(1 << 24, 0.05, ["--compress"], id="renamed files are compressed"),
    ],
)
def test_each_line_is_read_once(tmp_path: Path, most_bytes: int, pause_seconds: float, options: list[str]) -> None:
    """All lines in their order, through all rotations, whether the follower is quick or slow."""
    path = tmp_path / "operator.log"
    follower = FileFollower(path, from_start=False, most_bytes=most_bytes)
    follower.poll()
    lines = MEGABYTES * 1_000_000 // LINE_BYTES
    command = [sys.executable, followwriter.__file__, str(path), "--bytes", str(lines * LINE_BYTES)]
    command += ["--rotations", str(ROTATIONS), "--line-bytes", str(LINE_BYTES), *options]
    expected = 0
    with subprocess.Popen(command) as writer:
        while expected < lines:
            ended = writer.poll() is not None
            got = follower.poll()
            numbers = [int(line[:11]) for line in got]
            assert numbers == list(range(expected, expected + len(got)))
            assert all(len(line) == LINE_BYTES - 1 for line in got)
            expected += len(got)
            if not got:
                assert not ended, f"{lines - expected} lines are missing"
                time.sleep(0.001)
            time.sleep(pause_seconds)
        assert writer.wait() == 0
    assert follower.poll() == []
    assert follower.rotations == ROTATIONS
    assert (follower.lines, follower.bytes) == (lines, lines * LINE_BYTES)
    assert (follower.behind_bytes, follower.dropped_long_lines, follower.truncations) == (0, 0, 0)
    follower.close()
    # Pytest keeps folders for a while, and these are large.
    for file in tmp_path.iterdir():
        file.unlink()
