"""Large inputs, made from the recording that the package ships."""

import gzip
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parent.parent / "advisor" / "examples" / "saturated-one-worker"
_PAUSE_SECONDS = 2.0


def write_metrics(path: Path, samples: int) -> int:
    """Write at least ``samples`` samples in one gzip file: the example again and again, counters growing on.

    Returns:
        The number of samples written.
    """
    lines = gzip.decompress((EXAMPLE / "metrics.om.gz").read_bytes()).decode().splitlines()
    series: dict[str, list[tuple[float, float]]] = {}
    order: list[str] = []
    for line in lines:
        if line.startswith("#"):
            order.append(line)
            continue
        key, text, stamp = line.rsplit(" ", 2)
        if key not in series:
            series[key] = []
            order.append(key)
        series[key].append((float(stamp), float(text)))
    times = [time for points in series.values() for time, _ in points]
    length = max(times) - min(times) + _PAUSE_SECONDS
    rounds = -(-samples // sum(len(points) for points in series.values()))
    written = 0
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=1) as file:
        for entry in order:
            if entry not in series:
                if entry != "# EOF":
                    file.write(f"{entry}\n")
                continue
            grows = entry.partition("{")[0].endswith(("_total", "_sum", "_count", "_bucket"))
            step = series[entry][-1][1] if grows else 0.0
            for number in range(rounds):
                for time, value in series[entry]:
                    file.write(f"{entry} {value + number * step!r} {time + number * length:.3f}\n")
                    written += 1
        file.write("# EOF\n")
    return written


def log_lines(count: int) -> list[bytes]:
    """At least ``count`` lines of the example's log."""
    lines = gzip.decompress((EXAMPLE / "operator.log.gz").read_bytes()).splitlines()
    return lines * (-(-count // len(lines)))
