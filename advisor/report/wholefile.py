"""Writing a file whole or not at all."""

import os
from pathlib import Path

from advisor.errors import OutputError

__all__ = ["write_whole"]


def write_whole(path: Path, text: str) -> None:
    """Write a file so that whoever reads it sees the old text or the new one, never a part.

    What is no regular file, such as a pipe, is written as it is; a link stays one, and what it names is written.

    Raises:
        OutputError: it cannot be written.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_text(text, encoding="utf-8")
            return
        target = path.resolve()
        partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
        try:
            partial.write_text(text, encoding="utf-8")
            if target.exists():
                partial.chmod(target.stat().st_mode)
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(
            f"cannot be written: {error.strerror}",
            where=str(path),
            hint="check the folder's permissions and free space",
        ) from error
