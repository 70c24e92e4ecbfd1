"""What several tests need and no fixture can be: where things are, golden files, and how to wait."""

import dataclasses
import difflib
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NoReturn

import pytest

from advisor.cli import main

ROOT: Final = Path(__file__).resolve().parent.parent


def run(*args: str) -> int:
    """Run the command in this process; its exit code."""
    with pytest.raises(SystemExit) as exit_request:
        main(list(args))
    code = exit_request.value.code
    assert isinstance(code, int)
    return code


def until(holds: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait for something that another thread or process does."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it does not come to hold"
        time.sleep(0.01)


@dataclasses.dataclass(frozen=True)
class Golden:
    """Compares whole texts with files in one folder, or rewrites those files."""

    folder: Path
    update: bool = False

    def check(self, name: str, text: str) -> None:
        """Fail, with a diff, unless the file ``name`` holds exactly ``text``."""
        path = self.folder / name
        if self.update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
            return
        if not path.is_file():
            pytest.fail(f"golden file {name} does not exist; UPDATE_GOLDEN=1 writes it", pytrace=False)
        # Bytes, so that no line end is translated.
        wanted = path.read_bytes().decode()
        if text != wanted:
            lines = difflib.unified_diff(
                wanted.splitlines(keepends=True), text.splitlines(keepends=True), f"golden/{name}", "this run"
            )
            diff = "".join(line if line.endswith("\n") else f"{line}\n\\ no line end\n" for line in lines)
            pytest.fail(f"{name} differs; UPDATE_GOLDEN=1 accepts the new text\n{diff}", pytrace=False)


def golden_from(environ: Mapping[str, str], folder: Path) -> Golden:
    """Golden files in ``folder``, rewritten if UPDATE_GOLDEN=1, which CI may not do."""
    update = environ.get("UPDATE_GOLDEN") == "1"
    if update and environ.get("CI") == "true":
        pytest.fail("UPDATE_GOLDEN=1 would accept anything; CI only compares", pytrace=False)
    return Golden(folder, update=update)


def leave_out(environ: Mapping[str, str], reason: str) -> NoReturn:
    """End a test that needs what is not there: skipped; in CI (CI=true) failed, so that no check drops out unseen."""
    if environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def find_shared(environ: Mapping[str, str], root: Path) -> Path:
    """The folder of recordings and cases: ADVISOR_SHARED, or ``shared`` beside the repository.

    Where it is absent the test is left out.
    """
    folder = Path(environ.get("ADVISOR_SHARED") or root.parent / "shared")
    if not folder.is_dir():
        leave_out(environ, f"no folder {folder} with recordings and cases; ADVISOR_SHARED names another")
    return folder
