"""Follows the operator's log file through everything that may happen to a log file.

The file is known by its inode, not by its name: after a rotation the renamed file is read to its end, then what it was
followed by. Who asks is never held up: there is no thread and no clock here, and one call reads a bounded amount.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from advisor.sidecar.followfiles import (
    Backup,
    Identity,
    OpenFile,
    PlainFile,
    identity_of,
    list_backups,
    open_backup,
)
from advisor.sidecar.followlines import LineCutter

__all__ = ["LONGEST_LINE_BYTES", "FileFollower"]

LONGEST_LINE_BYTES = 1 << 20
"""Far longer than any line of a log file; a longer one would be a fault that should not cost memory."""
_PIECE_BYTES = 1 << 18
_MOST_KNOWN = 1000
"""Names beyond which those of files that are gone are forgotten; a log keeps about ten."""
_MOST_TRIES = 8
"""Rotations that may come between looking and opening before the next call looks again."""


class FileFollower:
    """Whole lines of a log that is rotated by renaming, or truncated, or deleted and made anew.

    It has at most two files open, mostly one. A last line without an end is kept until its end comes, or given out when
    its file is over.

    Args:
        path: the file that the operator writes to; it may come later.
        from_start: whether to begin at the start of a file that is there already, and not at its end. A file that comes
            later is always read whole; those that were renamed before are never read.
        most_bytes: about how much one call gives out.
        longest_line_bytes: longer lines are dropped and counted.

    Attributes:
        bytes: bytes read.
        rotations: files that were followed by another one.
        truncations: how often the file was emptied.
        behind_bytes: bytes that are written and not read, as of the last call; compressed files count as compressed.
        problem: why nothing can be read just now, and what would help; None where all is well.
    """

    def __init__(
        self,
        path: Path,
        *,
        from_start: bool,
        most_bytes: int = 1 << 20,
        longest_line_bytes: int = LONGEST_LINE_BYTES,
    ) -> None:
        self._path = path
        self._gone = f"{path} is gone; what comes in its place will be read"
        self._from_start = from_start
        self._most_bytes = most_bytes
        self._cutter = LineCutter(longest_line_bytes)
        self._file: OpenFile | None = None
        self._has_looked = False
        # The file that was there at first, and how long it was then.
        self._first: tuple[Identity, int] | None = None
        # Renamed files that are read, or older than the first look.
        self._known: set[str] = set()
        # Whether the open file was opened as one of them, and whether nobody writes to it any more.
        self._is_renamed = False
        self._is_followed = False
        self.bytes = 0
        self.rotations = 0
        self.truncations = 0
        self.behind_bytes = 0
        self.problem: str | None = None

    @property
    def lines(self) -> int:
        """Lines given out."""
        return self._cutter.lines

    @property
    def dropped_long_lines(self) -> int:
        """Lines that were too long."""
        return self._cutter.dropped

    def poll(self) -> list[bytes]:
        """The next whole lines, without their ends; none where nothing is new."""
        lines: list[bytes] = []
        left = self._most_bytes
        self.problem = None
        try:
            while left > 0 and (self._file is not None or self._begin()):
                # Looked at before the end is read: who renames a file has written all of it by then.
                self._is_followed = self._has_successor()
                data = self._read(left)
                if data:
                    left -= len(data)
                    lines += self._cutter.feed(data)
                elif not self._is_followed or not self._go_on(lines):
                    break
            self.behind_bytes = self._behind()
        except OSError as error:
            self.problem = self._explained(error)
        return lines

    def close(self) -> None:
        """Give the file back; the follower is of no use after that."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _read(self, most_bytes: int) -> bytes:
        file = self._file
        if file is None:
            return b""
        if file.has_shrunk():
            self.truncations += 1
            self._cutter.forget()
            file.rewind()
        data = file.read(min(most_bytes, _PIECE_BYTES))
        self.bytes += len(data)
        return data

    def _has_successor(self) -> bool:
        """Whether nobody writes to the open file any more, since another one has its name."""
        if self._is_renamed or self._file is None:
            return self._is_renamed
        try:
            return identity_of(self._path.stat()) != self._file.identity
        except FileNotFoundError:
            # Renamed without a new one, or deleted; if something was renamed after it, then it is over.
            self.problem = self._gone
            return bool(self._unread_backups())

    def _begin(self) -> bool:
        """Open the first file; whether there is one."""
        if not self._has_looked:
            self._look()
        if not self._path.exists() and not self._unread_backups():
            self.problem = f"{self._path} is not there yet; it will be read from its start"
            return False
        opened = self._open_next()
        if opened is not None:
            self._use(opened)
        return opened is not None

    def _look(self) -> None:
        """See for the first time what is there; of that, only what is written later is read, if not told otherwise."""
        present: Identity | None = None
        with suppress(FileNotFoundError):
            status = self._path.stat()
            present = identity_of(status)
            if not self._from_start:
                self._first = (present, status.st_size)
        self._known = {backup.base for backup in list_backups(self._path) if _identity(backup) != present}
        self._has_looked = True

    def _go_on(self, lines: list[bytes]) -> bool:
        """Leave a file that is over for the next; whether there is one."""
        opened = self._open_next()
        if opened is None:
            self.problem = self._gone
            return False
        self.problem = None
        lines += self._cutter.finish()
        self.close()
        self._use(opened)
        self.rotations += 1
        return True

    def _use(self, opened: "_Opened") -> None:
        self._file = opened.file
        self._is_renamed = opened.base is not None
        if opened.base is not None:
            self._known.add(opened.base)
        first, self._first = self._first, None
        file = opened.file
        if first is None or file.identity != first[0] or not isinstance(file, PlainFile):
            return
        if not file.begin_at(first[1]):
            self._cutter.skip_line()

    def _open_next(self) -> "_Opened | None":
        """Open what comes after the open file: the oldest renamed file that is not read, else the one at the path."""
        for _ in range(_MOST_TRIES):
            # What was just seen may be compressed, deleted for its age or renamed before it is opened.
            with suppress(FileNotFoundError):
                unread = self._unread_backups()
                if unread:
                    return _Opened(open_backup(unread[0]), unread[0].base)
                file = PlainFile(self._path)
                if all(_identity(one) == file.identity for one in self._new_backups()):
                    return _Opened(file, None)
                file.close()
        return None

    def _new_backups(self) -> list[Backup]:
        """Renamed files that are not known, oldest first."""
        backups = list_backups(self._path)
        if len(self._known) > _MOST_KNOWN:
            self._known.intersection_update({backup.base for backup in backups})
        return [backup for backup in backups if backup.base not in self._known]

    def _unread_backups(self) -> list[Backup]:
        """The same without the open file, which is known from then on."""
        new = self._new_backups()
        own = {backup.base for backup in new if self._is_own(backup)}
        self._known |= own
        return [backup for backup in new if backup.base not in own]

    def _is_own(self, backup: Backup) -> bool:
        """Whether a renamed file, maybe compressed since, is the open one."""
        if self._file is None or self._is_renamed:
            return False
        if not backup.is_compressed:
            return _identity(backup) == self._file.identity
        try:
            packed = open_backup(backup)
        except OSError:
            return False
        head = packed.head()
        packed.close()
        return bool(head) and head == self._file.head()

    def _behind(self) -> int:
        if self._file is None:
            return 0
        behind = self._file.unread_bytes()
        if self._is_followed:
            paths = [self._path, *(backup.path for backup in self._unread_backups())]
            behind += sum(map(_size, paths))
        return behind

    def _explained(self, error: OSError) -> str:
        if not isinstance(error, PermissionError):
            return f"{self._path} cannot be read: {error.strerror or error}"
        with suppress(OSError):
            status = self._path.stat()
            owner, mode = status.st_uid, status.st_mode & 0o777
            return f"{self._path} belongs to UID {owner} (mode {mode:o}) and this is UID {os.geteuid()}: run as {owner}"
        return f"{self._path} may not be looked at by UID {os.geteuid()}: run as the operator's UID"


class _Opened(NamedTuple):
    """A file to go on with, and its name as a renamed one where it is that."""

    file: OpenFile
    base: str | None


def _identity(backup: Backup) -> Identity | None:
    try:
        return identity_of(backup.path.stat())
    except OSError:
        return None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
