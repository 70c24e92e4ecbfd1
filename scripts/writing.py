"""Files that a generator makes: written where they differ, or only compared."""

from collections.abc import Iterable
from pathlib import Path

__all__ = ["renewed"]


def renewed(files: Iterable[tuple[str, str]], folder: Path, *, check: bool) -> list[str]:
    """Names of the files that were missing or said something else; with ``check`` they stay so.

    Args:
        files: name below the folder, and text, of each.
        folder: where they are.
        check: whether nothing is written.
    """
    stale = []
    for name, text in files:
        path = folder / name
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        stale.append(name)
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return stale
