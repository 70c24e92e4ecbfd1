"""Recordings and simulated hours under the rules; ``python -m tests.rules.replayed`` writes their table.

From the root of the repository: it plays all recordings of ``../shared/recordings`` and all workloads of this folder,
and writes scripts/rules/replay.md, which is a part of docs/alerts.md.
"""

import json
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final

from scripts.rules.rendering import Settings, plain
from scripts.rules.sources import ALERT_GROUPS, RECORDING_GROUPS
from tests.prometheusserver.server import create_tsdb, running
from tests.prometheusserver.tools import Tool, find
from tests.rules.replaying import Firing, Rules, fired
from tests.rules.sidecarseries import with_sidecar
from tests.support import ROOT, run

__all__ = ["RECORDED_SCALE", "WORKLOADS", "expected", "firings", "has_sidecar", "row", "simulated"]

RECORDED_SCALE: Final = 60.0
"""An hour in a minute: recordings last from 16 s to 2 min, and are scraped every 2 s."""
WORKLOADS: Final = ROOT / "tests" / "rules" / "workloads"
_SIDECAR_SECONDS: Final = {1.0: 60.0, RECORDED_SCALE: 2.0}
_TABLE: Final = ROOT / "scripts" / "rules" / "replay.md"

_HEAD: Final = """\
## Where they fire

The rules were played over recordings of the real operator, by a real Prometheus. Recordings last from a quarter of a
minute to two minutes, so the rules ran sixty times as fast: a window of 5 min is one of 5 s, and so is what has to
hold. Thresholds are the same. Back-off, resyncs and KubeRay's own time-outs are not faster, so that what is rare in
such a minute is missing here. What the sidecar exposes was made by its own code from the recording's log and objects.
In the order in which they fired:

| recording | expected | fires |
| --- | --- | --- |
"""
_BETWEEN: Final = """
The rules as they are, over simulated hours (`tests/rules/workloads`), scraped every 30 s:

| hour | fires |
| --- | --- |
"""


@cache
def _rules(scale: float) -> Rules:
    settings = Settings(scale=scale)
    return Rules.of(plain(RECORDING_GROUPS, settings), plain(ALERT_GROUPS, settings))


def firings(tool: Tool, folder: Path, scale: float, *, sidecar: bool) -> list[Firing]:
    """What fires over a recording, in order."""
    setup = json.loads((folder / "setup.json").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="rules-") as name:
        tsdb = Path(name) / "tsdb"
        create_tsdb(tool, [with_sidecar(folder, _SIDECAR_SECONDS[scale]) if sidecar else folder], tsdb)
        # Blocks have no marks where a series ended, so that it is seen for as long as this.
        lookback = f"--query.lookback-delta={round(60000 / min(scale, 12))}ms"
        with running(tool, tsdb, flags=(lookback,)) as address:
            return fired(address, _rules(scale), setup["start"], setup["end"])


def expected(folder: Path) -> dict[str, Any]:
    """The answer of a recording; empty where it has none."""
    found: dict[str, Any] = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    return found if found.get("primary") else {}


def row(name: str, *cells: str, found: Iterable[Firing]) -> str:
    """A line of the table."""
    names = ", ".join(f"`{one}`" for one in dict.fromkeys(firing.alert for firing in found))
    return f"| {' | '.join((f'`{name}`', *cells, names or 'nothing'))} |"


@contextmanager
def simulated(workload: Path) -> Iterator[Path]:
    """An hour of a workload, as a recording."""
    with tempfile.TemporaryDirectory(prefix="rules-") as name:
        out = Path(name) / workload.stem
        assert run("simulate", str(workload), "--out", str(out), "--interval", "30s", "--all-series") == 0
        yield out


def has_sidecar(folder: Path) -> bool:
    """Whether there is a log for one to follow."""
    return (folder / "operator.log.gz").is_file()


def _lines(tool: Tool, recordings: Path) -> Iterator[str]:
    yield _HEAD
    for folder in sorted(one for one in recordings.iterdir() if one.is_dir()):
        found = firings(tool, folder, RECORDED_SCALE, sidecar=has_sidecar(folder))
        yield row(folder.name, expected(folder).get("primary", ""), found=found) + "\n"
    yield _BETWEEN
    for workload in sorted(WORKLOADS.glob("*.yaml")):
        with simulated(workload) as folder:
            yield row(workload.stem, found=firings(tool, folder, 1.0, sidecar=True)) + "\n"


if __name__ == "__main__":
    lines = []
    for line in _lines(find("system"), ROOT.parent / "shared" / "recordings"):
        sys.stderr.write(line)
        lines.append(line)
    _TABLE.write_text("".join(lines), encoding="utf-8")
