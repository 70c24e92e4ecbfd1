"""Make a recording of an operator that is not KubeRay's out of a simulated one, for examples and tests.

``python -m scripts.other_operator SOURCE TARGET`` renames controllers, job, container and lease, drops what only
KubeRay exposes and what operators expose only where they register it, and leaves out log and objects. So queue,
workers and reconciles are those of controller-runtime under a load, as any operator on it shows them.
"""

import gzip
import re
import sys
from pathlib import Path

import msgspec

_DROPPED = re.compile(rb"(?:# TYPE )?(?:kuberay_|rest_client_rate_limiter_|rest_client_request_duration_)")
_NAMES = (
    (b'"raycluster"', b'"database"'),
    (b'"rayjob"', b'"backup"'),
    (b'"rayservice"', b'"restore"'),
    (b"ray-operator-leader", b"database-operator-leader"),
    (b"kuberay-operator", b"database-operator"),
    (b'"kuberay"', b'"databases"'),
)


def other(exposition: bytes) -> bytes:
    """The same exposition as another operator's."""
    lines = [line for line in exposition.splitlines(keepends=True) if not _DROPPED.match(line)]
    text = b"".join(lines)
    for kuberay, another in _NAMES:
        text = text.replace(kuberay, another)
    return text


def main() -> None:
    """Read a recording's folder, write another."""
    source, target = map(Path, sys.argv[1:])
    target.mkdir(parents=True)
    samples = other(gzip.decompress((source / "metrics.om.gz").read_bytes()))
    (target / "metrics.om.gz").write_bytes(gzip.compress(samples, compresslevel=9, mtime=0))
    setup = msgspec.json.decode((source / "setup.json").read_bytes())
    kept = {name: setup[name] for name in ("simulated", "start", "end", "scrape_interval_seconds") if name in setup}
    (target / "setup.json").write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n")


if __name__ == "__main__":
    main()
