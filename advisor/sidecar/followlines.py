"""Bytes that arrive in pieces, cut into whole lines of bounded length."""

__all__ = ["LineCutter"]


class LineCutter:
    """Keeps the last line until its end comes. A line that is too long is dropped whole and counted.

    Args:
        longest_bytes: the longest line, without its end, that is given out.

    Attributes:
        lines: lines given out.
        dropped: lines that were too long.
    """

    def __init__(self, longest_bytes: int) -> None:
        self._longest = longest_bytes
        self._begun: list[bytes] = []
        self._begun_bytes = 0
        self._skipping = False
        self.lines = 0
        self.dropped = 0

    def feed(self, data: bytes) -> list[bytes]:
        """Take in the next bytes; the lines that end in them, without their ends."""
        if self._skipping:
            _, end, data = data.partition(b"\n")
            self._skipping = not end
        if b"\n" not in data:
            self._begin(data)
            return []
        if self._begun:
            data = b"".join((*self._begun, data))
            self._begun.clear()
        self._begun_bytes = 0
        lines = data.split(b"\n")
        self._begin(lines.pop())
        if len(data) > self._longest:
            whole = len(lines)
            lines = [line for line in lines if len(line) <= self._longest]
            self.dropped += whole - len(lines)
        self.lines += len(lines)
        return lines

    def finish(self) -> list[bytes]:
        """Nothing more comes: what has begun is a line without an end."""
        rest = b"".join(self._begun)
        self.forget()
        if not rest:
            return []
        self.lines += 1
        return [rest]

    def forget(self) -> None:
        """What has begun will never end; the next byte begins a line."""
        self._begun.clear()
        self._begun_bytes = 0
        self._skipping = False

    def skip_line(self) -> None:
        """The next bytes are the end of a line whose beginning is not known: leave them out, uncounted."""
        self.forget()
        self._skipping = True

    def _begin(self, data: bytes) -> None:
        if not data:
            return
        self._begun.append(data)
        self._begun_bytes += len(data)
        if self._begun_bytes > self._longest:
            self.dropped += 1
            self.skip_line()
