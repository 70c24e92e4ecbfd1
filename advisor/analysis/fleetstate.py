"""What is known of a fleet from an earlier run, and whether it still holds: ``DIR/fleet.json``."""

from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from advisor import __version__
from advisor.analysis.options import Options
from advisor.errors import InputFormatError, InputNotFoundError
from advisor.model.fleet import Fleet
from advisor.report.fleetjson import render_fleet_json
from advisor.report.wholefile import write_whole
from advisor.sources.fleetspec import FleetEntry
from advisor.sources.profiles import profile_file

__all__ = ["STATE_NAME", "load_state", "save_state", "settings_digest"]

STATE_NAME: Final = "fleet.json"
_DIGEST_LENGTH: Final = 32
_HINT: Final = "--fresh analyses all operators again and writes it anew"


def load_state(folder: Path) -> Fleet | None:
    """The result of an earlier run in this folder; None where there was none.

    Raises:
        InputError: it cannot be read, or is not such a result.
    """
    path = folder / STATE_NAME
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        message = f"cannot be read: {error.strerror}"
        raise InputNotFoundError(message, where=str(path), hint="check its permissions") from error
    try:
        return msgspec.json.decode(data, type=Fleet)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputFormatError(f"is no result of a fleet: {error}", where=str(path), hint=_HINT) from error


def save_state(folder: Path, fleet: Fleet) -> None:
    """Write the result, whole or not at all.

    Raises:
        OutputError: it cannot be written.
    """
    write_whole(folder / STATE_NAME, render_fleet_json(fleet))


def settings_digest(entry: FleetEntry, options: Options, form: str | None) -> str:
    """A digest of everything that an operator's result depends on, but for what a store or an operator answers.

    Of files it takes size and time, so that a recording that was made anew is analysed anew.
    """
    files = [_stamps(Path(path)) for path in _files(entry) if path is not None]
    data = msgspec.json.encode((__version__, entry, options, form, files), order="deterministic")
    return sha256(data).hexdigest()[:_DIGEST_LENGTH]


def _files(entry: FleetEntry) -> tuple[str | Path | None, ...]:
    return entry.recording, entry.facts, None if entry.profile is None else profile_file(entry.profile)


def _stamps(path: Path) -> list[tuple[str, int, int]]:
    try:
        found = sorted(path.iterdir()) if path.is_dir() else [path]
        return [(one.name, (status := one.stat()).st_size, status.st_mtime_ns) for one in found]
    except OSError:
        return []
