"""Log files as lumberjack leaves them: the one that is written to, and those it was renamed to.

``operator.log`` becomes ``operator-2026-08-21T09-14-01.002.log``, and later ``operator-2026-08-21T09-14-01.002.log.gz``
where old files are compressed.
"""

import os
import re
import stat
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

__all__ = ["Backup", "GzipFile", "Identity", "OpenFile", "PlainFile", "identity_of", "list_backups", "open_backup"]

_STAMP = r"-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d+"
_GZIP = ".gz"
_GZIP_HEADER = zlib.MAX_WBITS | 16
_HEAD_BYTES = 256
"""A log's first line holds the time to a millisecond, so two files hardly share these."""
_PACKED_BYTES = 1 << 16


class Identity(NamedTuple):
    """What stays the same when a file is renamed."""

    device: int
    inode: int


@dataclass(frozen=True, slots=True)
class Backup:
    """A file that the log was renamed to. `base` is its name, without the ending of a compressed one."""

    base: str
    path: Path
    is_compressed: bool


class OpenFile(Protocol):
    """A file that is read once from front to back."""

    identity: Identity

    def read(self, most_bytes: int) -> bytes:
        """The next bytes; none at its end, as far as it is written."""
        ...

    def unread_bytes(self) -> int:
        """Bytes behind those read, as far as they are known."""
        ...

    def has_shrunk(self) -> bool:
        """Whether what was read is no longer there, so that it has to be read from its start."""
        ...

    def rewind(self) -> None:
        """Read from the start again."""
        ...

    def head(self) -> bytes:
        """Its first bytes, at most as many as tell it from another."""
        ...

    def close(self) -> None:
        """Give the file back."""
        ...


def identity_of(status: os.stat_result) -> Identity:
    """The identity in a file's status."""
    return Identity(status.st_dev, status.st_ino)


def list_backups(path: Path) -> list[Backup]:
    """All files that the log at this path was renamed to, oldest first; none where the folder may not be listed.

    Of a file that is just being compressed, both may be there; the plain one is whole.

    Raises:
        OSError: the folder is there and cannot be listed just now.
    """
    stem, dot, extension = path.name.rpartition(".")
    stem, extension = (stem, dot + extension) if dot else (path.name, "")
    pattern = re.compile(rf"(?P<base>{re.escape(stem)}{_STAMP}{re.escape(extension)})(?P<gzip>{re.escape(_GZIP)})?")
    found: dict[str, Backup] = {}
    try:
        names = [one.name for one in path.parent.iterdir()]
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []
    for match in filter(None, map(pattern.fullmatch, names)):
        base = match["base"]
        if base not in found or match["gzip"] is None:
            found[base] = Backup(base, path.with_name(match[0]), match["gzip"] is not None)
    return [found[base] for base in sorted(found)]


def open_backup(backup: Backup) -> "PlainFile | GzipFile":
    """Open a renamed file.

    Raises:
        OSError: it cannot be opened.
    """
    return GzipFile(backup.path) if backup.is_compressed else PlainFile(backup.path)


def _open(path: Path) -> tuple[int, os.stat_result]:
    # Without blocking, so that a pipe at this place does not hold up the caller.
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise OSError(f"{path} is no regular file")
    return descriptor, status


class PlainFile:
    """A file that somebody may be writing to.

    Args:
        path: where it is now.

    Raises:
        OSError: it cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor, status = _open(path)
        self.identity = identity_of(status)
        self._offset = 0
        self._head = b""
        self._read_head()

    def begin_at(self, offset: int) -> bool:
        """Begin at a place, or at the end where that is before it; whether a line begins there."""
        self._offset = min(offset, self._size())
        return self._offset == 0 or os.pread(self._descriptor, 1, self._offset - 1) == b"\n"

    def read(self, most_bytes: int) -> bytes:
        """The next bytes, without zeros at their front: a truncated file is written on where it was, behind a hole."""
        while True:
            data = os.pread(self._descriptor, most_bytes, self._offset)
            self._offset += len(data)
            if not data.startswith(b"\0"):
                break
            if data := data.lstrip(b"\0"):
                break
            self._skip_hole()
        if len(self._head) < _HEAD_BYTES:
            self._read_head()
        return data

    def unread_bytes(self) -> int:
        """Bytes behind those read."""
        return max(0, self._size() - self._offset)

    def has_shrunk(self) -> bool:
        """Whether it is shorter than what was read of it, or begins with something else.

        The latter where it was truncated and has grown since.
        """
        return self._size() < self._offset or os.pread(self._descriptor, len(self._head), 0) != self._head

    def rewind(self) -> None:
        """Read from the start again."""
        self._offset = 0
        self._read_head()

    def head(self) -> bytes:
        """Its first bytes."""
        return self._head

    def close(self) -> None:
        """Give the file back."""
        os.close(self._descriptor)

    def _size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def _read_head(self) -> None:
        self._head = os.pread(self._descriptor, _HEAD_BYTES, 0)

    def _skip_hole(self) -> None:
        try:
            self._offset = os.lseek(self._descriptor, self._offset, os.SEEK_DATA)
        except OSError:
            # Nothing but zeros follows.
            self._offset = max(self._offset, self._size())


class GzipFile:
    """A file that was compressed after it was whole.

    Args:
        path: where it is.

    Raises:
        OSError: it cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor, status = _open(path)
        self.identity = identity_of(status)
        self._size = status.st_size
        self._decoder: zlib._Decompress = zlib.decompressobj(_GZIP_HEADER)
        self._packed = b""
        self._taken = 0
        self._is_over = False

    def read(self, most_bytes: int) -> bytes:
        """The next bytes, unpacked; none from where it is damaged or cut off."""
        while not self._is_over:
            if not self._packed:
                self._packed = os.read(self._descriptor, _PACKED_BYTES)
                self._taken += len(self._packed)
                self._is_over = not self._packed
            try:
                data = self._decoder.decompress(self._packed, most_bytes)
            except zlib.error:
                self._is_over = True
                break
            self._packed = self._decoder.unconsumed_tail
            if self._decoder.eof:
                self._packed = self._decoder.unused_data
                self._decoder = zlib.decompressobj(_GZIP_HEADER)
            if data:
                return data
        return b""

    def unread_bytes(self) -> int:
        """Bytes behind those read, still packed."""
        return 0 if self._is_over else max(0, self._size - self._taken + len(self._packed))

    def has_shrunk(self) -> bool:
        """Never: nobody writes to it."""
        return False

    def rewind(self) -> None:
        """Read from the start again."""
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        self._decoder = zlib.decompressobj(_GZIP_HEADER)
        self._packed = b""
        self._taken = 0
        self._is_over = False

    def head(self) -> bytes:
        """Its first bytes, unpacked; it is read from the start after that."""
        self.rewind()
        found = b""
        while len(found) < _HEAD_BYTES and (data := self.read(_HEAD_BYTES - len(found))):
            found += data
        self.rewind()
        return found

    def close(self) -> None:
        """Give the file back."""
        os.close(self._descriptor)
