"""The lock files in ``requirements``, as ``make lock`` writes them, read."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ROOT", "Pin", "lock_files", "normal", "pins"]

ROOT = Path(__file__).resolve().parent.parent
_PIN = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(?:\[[^\]]*\])?==(?P<version>\S+)(?: ; (?P<marker>.*?))? *\\?")
_HASH = re.compile(r" +--hash=sha256:([0-9a-f]{64})(?: \\)?")
_NEEDED_BY = re.compile(r" +#(?: via|  ) *(.*)")


@dataclass(frozen=True, slots=True)
class Pin:
    """One version of one distribution.

    Args:
        name: as in the lock file: lower case, with dashes.
        version: the only one that is installed.
        marker: where it is installed, "" for everywhere.
        sha256: digests of its files, of which an installer takes one that fits.
        needed_by: names of the distributions that ask for it; of requirement files as ``-r FILE``.
    """

    name: str
    version: str
    marker: str
    sha256: tuple[str, ...]
    needed_by: tuple[str, ...]


def lock_files() -> list[Path]:
    """All lock files, by name."""
    return sorted((ROOT / "requirements").glob("*.txt"))


def pins(path: Path) -> Iterator[Pin]:
    """Each pin of a lock file, in its order.

    Raises:
        ValueError: a line is none of a lock file.
    """
    found: re.Match[str] | None = None
    digests: list[str] = []
    needed_by: list[str] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if start := _PIN.fullmatch(line):
            if found:
                yield _pin(found, digests, needed_by)
            found, digests, needed_by = start, [], []
        elif digest := _HASH.fullmatch(line):
            digests.append(digest[1])
        elif by := _NEEDED_BY.fullmatch(line):
            needed_by += [by[1]] if by[1] else []
        elif not line.startswith("#"):
            raise ValueError(f"{path}:{number}: not a line of a lock file: {line}")
    if found:
        yield _pin(found, digests, needed_by)


def _pin(found: re.Match[str], digests: list[str], needed_by: list[str]) -> Pin:
    asking = tuple(sorted(one for one in needed_by if not one.startswith("-c ")))
    return Pin(normal(found["name"]), found["version"], found["marker"] or "", tuple(sorted(digests)), asking)


def normal(name: str) -> str:
    """A distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()
