"""Large inputs, made from the recording that the package ships."""

import gzip
from collections.abc import Callable
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parent.parent / "advisor" / "examples" / "saturated-one-worker"
_PAUSE_SECONDS = 2.0
_HOUR_SCRAPES, _HOUR_PAUSE_SECONDS = 121, 30.0


def write_metrics(path: Path, samples: int) -> int:
    """Write at least ``samples`` samples in one gzip file: the example again and again, counters growing on.

    Returns:
        The number of samples written.
    """
    series, order = _example()
    times = [time for points in series.values() for time, _ in points]
    length = max(times) - min(times) + _PAUSE_SECONDS
    rounds = -(-samples // sum(len(points) for points in series.values()))
    return _write(path, series, order, rounds, lambda number, time: time + number * length)


def write_hour(path: Path) -> int:
    """Write one hour of the example, again and again and stretched to a scrape in 30 s, counters growing on.

    Returns:
        The number of samples written.
    """
    series, order = _example()
    times = sorted({time for points in series.values() for time, _ in points})
    places = {time: place for place, time in enumerate(times)}
    rounds = -(-_HOUR_SCRAPES // len(times))

    def stretched(number: int, time: float) -> float | None:
        scrape = number * len(times) + places[time]
        return times[0] + scrape * _HOUR_PAUSE_SECONDS if scrape < _HOUR_SCRAPES else None

    return _write(path, series, order, rounds, stretched)


_Series = dict[str, list[tuple[float, float]]]


def _example() -> tuple[_Series, list[str]]:
    """The example's samples by series, and its lines in order: comments, and each series once."""
    series: _Series = {}
    order: list[str] = []
    for line in gzip.decompress((EXAMPLE / "metrics.om.gz").read_bytes()).decode().splitlines():
        if line.startswith("#"):
            order.append(line)
            continue
        key, text, stamp = line.rsplit(" ", 2)
        if key not in series:
            series[key] = []
            order.append(key)
        series[key].append((float(stamp), float(text)))
    return series, order


def _write(
    path: Path, series: _Series, order: list[str], rounds: int, place: Callable[[int, float], float | None]
) -> int:
    """Write the samples of several rounds, each at the time that ``place`` says, None being nowhere."""
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
                    if (moment := place(number, time)) is not None:
                        file.write(f"{entry} {value + number * step!r} {moment:.3f}\n")
                        written += 1
        file.write("# EOF\n")
    return written


def log_lines(count: int) -> list[bytes]:
    """At least ``count`` lines of the example's log."""
    lines = gzip.decompress((EXAMPLE / "operator.log.gz").read_bytes()).splitlines()
    return lines * (-(-count // len(lines)))
