"""Texts that nobody may see, and where they come from: settings, files that are renewed, programs that print tokens."""

import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol

import msgspec

from advisor.errors import StoreAccessError
from advisor.sources.scraping import Clock

__all__ = [
    "HEADER_VALUE",
    "PASSWORD",
    "TOKEN",
    "CommandSource",
    "FileSource",
    "FixedSource",
    "Secret",
    "Source",
    "stamp",
]

TOKEN: Final = re.compile(r"[!-~]+")
HEADER_VALUE: Final = re.compile(r"[!-~]+(?: +[!-~]+)*")
PASSWORD: Final = re.compile(r"[^\x00-\x1f\x7f]+")
_LARGEST_BYTES: Final = 1 << 16
_COMMAND_SECONDS: Final = 10.0
_OLDEST_SECONDS: Final = 300.0
"""Age of a token without a known end at which its command is run again; shorter than any cloud's tokens live."""
_MARGIN_SECONDS: Final = 30.0
"""How long before its end a token is no longer used: a query may take that long to arrive."""


class Secret:
    """A text that shows only when it is asked for by :meth:`reveal`: not by ``repr``, ``str`` or formatting."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself."""
        return self._text

    def __repr__(self) -> str:
        return "Secret(***)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)


class Source(Protocol):
    """Where a secret comes from."""

    @property
    def origin(self) -> str:
        """The place, for messages: "from the file /x"."""
        ...

    def current(self) -> Secret:
        """The secret to send now.

        Raises:
            StoreAccessError: it cannot be had.
        """
        ...

    def renewed(self, refused: Secret) -> Secret:
        """The secret after this one was refused; the same one where there is no other.

        Raises:
            StoreAccessError: it cannot be had.
        """
        ...


class FixedSource:
    """A secret that was given as it is."""

    def __init__(self, secret: Secret, origin: str) -> None:
        self._secret = secret
        self.origin = origin

    def current(self) -> Secret:
        """The one that was given."""
        return self._secret

    def renewed(self, refused: Secret) -> Secret:  # noqa: ARG002 - there is no other
        """The same."""
        return self._secret


class FileSource:
    """A secret in a file of its own, read again whenever the file is another one or has changed.

    Args:
        path: the file.
        what: what is in it, for messages.
        form: what the text has to be.
    """

    def __init__(self, path: Path, what: str, form: re.Pattern[str]) -> None:
        self._path = path
        self._what = what
        self._form = form
        self._lock = threading.Lock()
        self._stamp: tuple[int, ...] = ()
        self._secret = Secret("")
        self.origin = f"from the file {path}"

    def current(self) -> Secret:
        """What the file holds."""
        with self._lock:
            now = stamp(self._path)
            if now != self._stamp:
                self._secret = self._read()
                self._stamp = now
            return self._secret

    def renewed(self, refused: Secret) -> Secret:  # noqa: ARG002 - the file alone decides
        """What the file holds, read anew also where it seems unchanged."""
        with self._lock:
            self._stamp = ()
        return self.current()

    def _read(self) -> Secret:
        try:
            with self._path.open("rb") as file:
                data = file.read(_LARGEST_BYTES)
        except OSError as error:
            raise _unreadable(self._path, error) from error
        text = data.decode("utf-8", "replace").strip("\r\n")
        if not self._form.fullmatch(text):
            raise StoreAccessError(
                f"holds no {self._what} of one line", where=str(self._path), hint="the file has to hold nothing else"
            )
        return Secret(text)


def stamp(path: Path) -> tuple[int, ...]:
    """What changes when a file does, or another one comes in its place.

    Raises:
        StoreAccessError: it is not there.
    """
    try:
        state = path.stat()
    except OSError as error:
        raise _unreadable(path, error) from error
    return state.st_mtime_ns, state.st_ino, state.st_size


def _unreadable(path: Path, error: OSError) -> StoreAccessError:
    hint = "check the path and its permissions"
    return StoreAccessError(f"cannot be read: {error.strerror}", where=str(path), hint=hint)


class _Status(msgspec.Struct):
    token: str
    expirationTimestamp: str | None = None  # noqa: N815 - the format's name


class _ExecCredential(msgspec.Struct):
    """The part that counts of what programs for kubectl print."""

    status: _Status


class CommandSource:
    """A token that a program prints, bare or as an ExecCredential of Kubernetes.

    It is run again before the token ends, after five minutes where no end is told, and when the token is refused.

    Args:
        command: the program and its arguments; no shell is involved.
        clock: both clocks.
        run: runs it and gives what it prints.
    """

    def __init__(
        self, command: Sequence[str], clock: Clock, run: Callable[[Sequence[str]], bytes] | None = None
    ) -> None:
        self._command = tuple(command)
        self._clock = clock
        self._run = run or run_command
        self._lock = threading.Lock()
        self._secret: Secret | None = None
        self._until = 0.0
        # Arguments may be secrets themselves.
        self.origin = f"from the command {command[0]}"

    def current(self) -> Secret:
        """The last token as long as it is good, else a new one."""
        with self._lock:
            if self._secret is None or self._clock.monotonic() >= self._until:
                self._secret = self._token()
            return self._secret

    def renewed(self, refused: Secret) -> Secret:
        """A new token, unless there is one already."""
        with self._lock:
            if self._secret is None or self._secret == refused:
                self._secret = self._token()
            return self._secret

    def _token(self) -> Secret:
        text = self._run(self._command).decode("utf-8", "replace").strip()
        seconds = _OLDEST_SECONDS
        if text.startswith("{"):
            status = self._status(text)
            text = status.token
            end = _unix_seconds(status.expirationTimestamp)
            seconds = seconds if end is None else end - self._clock.wall() - _MARGIN_SECONDS
        if not TOKEN.fullmatch(text):
            raise StoreAccessError(
                "the token command printed no token of one line",
                where=self._command[0],
                hint="it has to print a token alone, or an ExecCredential as JSON",
            )
        self._until = self._clock.monotonic() + seconds
        return Secret(text)

    def _status(self, text: str) -> _Status:
        try:
            return msgspec.json.decode(text, type=_ExecCredential).status
        except (msgspec.DecodeError, RecursionError):
            pass
        # Outside of the handler: what it caught may hold what was printed.
        raise StoreAccessError(
            "the token command printed JSON without status.token",
            where=self._command[0],
            hint="as JSON it has to be an ExecCredential of Kubernetes",
        )


def _unix_seconds(text: str | None) -> float | None:
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return moment.timestamp() if moment.tzinfo is not None else None


def run_command(command: Sequence[str], seconds: float = _COMMAND_SECONDS) -> bytes:
    """What a program prints; it ends with all that it started when it takes longer.

    Raises:
        StoreAccessError: it cannot be started, does not end in time, or fails. What it printed is not shown, since it
            may hold a secret.
    """
    try:
        # A group of its own, so that what it starts can be ended with it.
        process = subprocess.Popen(  # noqa: S603 - the user's own command, as a list, without a shell
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise StoreAccessError(
            f"the token command cannot be started: {error.strerror}", where=command[0], hint="check the path"
        ) from error
    with process:
        output = _output(process, seconds)
    hint = f"run {command[0]} by hand to see why"
    if output is None:
        raise StoreAccessError(f"the token command did not end within {seconds:g} s", where=command[0], hint=hint)
    if process.returncode != 0:
        raise StoreAccessError(
            f"the token command failed with exit code {process.returncode}", where=command[0], hint=hint
        )
    return output


def _output(process: "subprocess.Popen[bytes]", seconds: float) -> bytes | None:
    """What it printed; None where it had to be ended."""
    ended = False
    try:
        output, _ = process.communicate(timeout=seconds)
        ended = True
    except subprocess.TimeoutExpired:
        return None
    finally:
        if not ended:
            os.killpg(process.pid, signal.SIGKILL)
    return output
