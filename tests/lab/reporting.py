"""The tables of ``docs/lab.md``: what the runs showed, when, and on which machine."""

import datetime as dt
import json
import os
import platform
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from tests.lab.binaries import versions
from tests.lab.processes import LabError
from tests.lab.suite import ADVISED, LOOP, Loop, Run, held_against, spreads
from tests.verdicts import Answer

__all__ = ["rewrite", "tables"]

_BEGIN: Final = "<!-- runs: begin -->\n"
_END: Final = "<!-- runs: end -->\n"


def rewrite(document: Path, text: str) -> None:
    """Put the tables between the document's two marks."""
    before, begin, rest = document.read_text(encoding="utf-8").partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise LabError(f"{document} has no place for the tables: {_BEGIN.strip()} and {_END.strip()}")
    document.write_text(f"{before}{_BEGIN}{text}{_END}{after}", encoding="utf-8")


def tables(runs: Sequence[Run], shared: Path) -> str:
    """All tables."""
    return "\n".join([*_heading(runs), *_verdicts(runs, shared), *_loops(runs), *_noise(runs)])


def _heading(runs: Sequence[Run]) -> Iterator[str]:
    times = [run.measured["load_start"] for run in runs]
    days = sorted({dt.datetime.fromtimestamp(time, dt.UTC).date().isoformat() for time in times})
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    yield f"Runs of {' and '.join(dict.fromkeys((days[0], days[-1])))}: {len(runs)}."
    yield ""
    system = f"{platform.system()} {platform.release()}"
    yield f"Machine: {os.cpu_count()} cores, {memory:.0f} GiB, {system}; everything on it."
    yield f"Versions: {', '.join(f'{name} {version}' for name, version in versions())}."
    yield ""


def _row(*cells: object) -> str:
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def _table(*names: str) -> Iterator[str]:
    yield _row(*names)
    yield _row(*["---"] * len(names))


def _verdicts(runs: Sequence[Run], shared: Path) -> Iterator[str]:
    yield "### Verdicts, beside those on KubeRay's own release"
    yield ""
    yield from _table("scenario", "runs", "said here", "right", "said of the shared recording", "right")
    for name in dict.fromkeys(run.scenario for run in runs if run.scenario != ADVISED):
        same = [run for run in runs if run.scenario == name]
        said = " / ".join(dict.fromkeys(f"{run.finding}: {run.advice}" for run in same))
        right = f"{sum(not run.faults for run in same)} of {len(same)}"
        yield _row(name, len(same), said, right, *_of_shared(shared / name))
    yield ""


def _of_shared(folder: Path) -> tuple[str, str]:
    """What is said of the recording of the same name, and whether it is right."""
    if not folder.is_dir():
        return "no such recording", ""
    key: dict[str, Any] = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    run = held_against(Answer.of(key) if "primary" in key else None, folder.name, folder, {})
    return f"{run.finding}: {run.advice}", "; ".join(run.faults) or "yes"


def _loops(runs: Sequence[Run]) -> Iterator[str]:
    yield "### The advice taken"
    yield ""
    yield from _table(
        "run",
        "workers",
        "mean wait in the load (s)",
        "predicted for the verdict's episode (s)",
        "measured there (s)",
        "inside",
        "compare says",
    )
    for after in (run for run in runs if run.scenario == ADVISED):
        before = next((run for run in runs if run.folder == after.folder.parent / LOOP), None)
        if before is None:
            continue
        loop = Loop.of(before, after)
        yield _row(
            after.folder.parent.name,
            f"{loop.workers_before} -> {loop.workers_after}",
            f"{loop.wait_before:.2f} -> {loop.wait_after:.2f}",
            f"{loop.check.then:.2f} ({loop.check.low:.2f} to {loop.check.high:.2f})",
            "unknown" if loop.check.measured is None else f"{loop.check.measured:.2f}",
            loop.check.result.value,
            loop.outcome.value,
        )
    yield ""


def _noise(runs: Sequence[Run]) -> Iterator[str]:
    yield "### How far equal runs agree"
    yield ""
    yield from _table("scenario", "quantity", "runs (s)", "least to greatest, of the mean")
    for spread in spreads(runs):
        values = ", ".join(f"{value:.3g}" for value in spread.values)
        yield _row(spread.scenario, spread.quantity, values, f"{spread.relative:.0%}")
    yield ""
