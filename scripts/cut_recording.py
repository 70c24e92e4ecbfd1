"""Cut a recording down to what an analysis reads, for examples and test data.

``python -m scripts.cut_recording SOURCE TARGET`` keeps the samples that the signals are made from, the log and the
object changes, and of ``setup.json`` what an operator would know about itself.
"""

import gzip
import sys
from pathlib import Path

import msgspec

from advisor.signals.names import SELECTION
from advisor.sources.recording import RecordingSource

_WANTED = SELECTION.names | frozenset(SELECTION.aggregated)


def _compress(lines: list[bytes]) -> bytes:
    """Compress without a time stamp, so that the same input gives the same bytes."""
    return gzip.compress(b"".join(line + b"\n" for line in lines), compresslevel=9, mtime=0)


def _is_wanted(line: bytes) -> bool:
    return line == b"# EOF" or line.partition(b"{")[0].decode() in _WANTED


def cut(source: Path, target: Path) -> None:
    """Write the cut recording into ``target``, which is made."""
    target.mkdir(parents=True)
    metrics = gzip.decompress((source / "metrics.om.gz").read_bytes()).splitlines()
    (target / "metrics.om.gz").write_bytes(_compress([line for line in metrics if _is_wanted(line)]))
    for name in ("operator.log.gz", "objects.jsonl.gz"):
        if (source / name).is_file():
            lines = gzip.decompress((source / name).read_bytes()).splitlines()
            (target / name).write_bytes(_compress(lines))
    setup = msgspec.json.encode(RecordingSource(source).setup())
    (target / "setup.json").write_bytes(msgspec.json.format(setup, indent=1) + b"\n")


if __name__ == "__main__":
    cut(Path(sys.argv[1]), Path(sys.argv[2]))
