"""Writes a log as lumberjack does: renamed at rotation to a name with the time, then a new file of mode 0600.

As a script it is the writing process of the torture test::

    python tests/sidecar/followwriter.py PATH --bytes N --rotations N [--line-bytes N] [--compress]

Lines begin with their number. Some are written in two pieces, so that a reader meets half lines.
"""

import argparse
import gzip
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

_BATCH_LINES: Final = 500


class RotatingLog:
    """A log file and its backups, which are stamped one after another whatever the clock says."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.backups: list[Path] = []
        self._stamp = datetime(2026, 8, 21, 9, 14, tzinfo=UTC)
        self._descriptor = -1

    def write(self, data: bytes) -> None:
        """Append, in a new file where there is none."""
        if self._descriptor < 0:
            self._descriptor = os.open(self.path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        while data:
            data = data[os.write(self._descriptor, data) :]

    def rotate(self) -> None:
        """Rename the file; the next write makes a new one."""
        self.close()
        self._stamp += timedelta(milliseconds=1)
        stamp = self._stamp.isoformat(timespec="milliseconds").removesuffix("+00:00").replace(":", "-")
        backup = self.path.with_name(f"{self.path.stem}-{stamp}{self.path.suffix}")
        self.path.rename(backup)
        self.backups.append(backup)

    def compress(self) -> None:
        """Replace the newest backup by a compressed one."""
        backup = self.backups.pop()
        packed = backup.with_name(f"{backup.name}.gz")
        packed.write_bytes(gzip.compress(backup.read_bytes(), 1))
        backup.unlink()
        self.backups.append(packed)

    def truncate(self) -> None:
        """Empty the file under the writer, which goes on where it was, as one does that does not append."""
        os.truncate(self.path, 0)

    def close(self) -> None:
        """Give the file back."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def write_numbered(log: RotatingLog, first: int, count: int, line_bytes: int) -> None:
    """Write some numbered lines of one length, the last of them in two pieces."""
    rest = b"x" * (line_bytes - 13)
    data = b"".join(b"%011d %s\n" % (number, rest) for number in range(first, first + count))
    middle = len(data) - line_bytes // 2
    log.write(data[:middle])
    log.write(data[middle:])


def main() -> None:
    """Write all lines in even parts, and rotate between them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("path", type=Path)
    parser.add_argument("--bytes", type=int, required=True)
    parser.add_argument("--rotations", type=int, required=True)
    parser.add_argument("--line-bytes", type=int, default=400)
    parser.add_argument("--compress", action="store_true")
    args = parser.parse_args()
    log = RotatingLog(args.path)
    lines = args.bytes // args.line_bytes
    written = 0
    for part in range(1, args.rotations + 2):
        end = lines * part // (args.rotations + 1)
        while written < end:
            count = min(_BATCH_LINES, end - written)
            write_numbered(log, written, count, args.line_bytes)
            written += count
        if part <= args.rotations:
            log.rotate()
            if args.compress:
                log.compress()
    log.close()


if __name__ == "__main__":
    main()
