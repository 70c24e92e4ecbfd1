"""What a reader may ask a what-if: four settings within bounds, and the combinations that are shown around them."""

import hashlib
import math
from collections.abc import Iterable, Mapping
from typing import ClassVar, Final

import msgspec

from advisor.errors import AdvisorError
from advisor.twin.grid import OFF, GridAxes
from advisor.twin.parameters import OperatorSettings

__all__ = ["FIELDS", "AskError", "Asked", "axes_around", "read_asked", "run_id"]

_WORD_OFF: Final = "off"
_MOST_WORKERS: Final = 1000
_MOST_BURST: Final = 1_000_000
_PACES: Final = (0.1, 100_000.0)
_LIMITS: Final = (0.01, 1024.0)
_USUAL_PACES: Final = (50.0, 100.0, 200.0)
"""Tried beside no limiter."""
_FACTORS: Final = (2.0, 0.5, 4.0, 0.25, 8.0, 16.0)
FIELDS: Final = ("concurrency", "qps", "burst", "cpu")
"""Names of the values in forms and addresses."""


class AskError(AdvisorError):
    """Values that cannot be tried.

    Attributes:
        problems: by name of the value, what is allowed; one sentence each.
    """

    exit_code: ClassVar[int] = 2

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{name}: {text}" for name, text in problems.items()))
        self.problems = problems


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """Settings to be tried; QPS below zero is no limiter, a null limit is no limit."""

    concurrency: int
    qps: float
    burst: int
    cpu_limit_cores: float | None

    @classmethod
    def of(cls, settings: OperatorSettings) -> "Asked":
        """Settings as they are."""
        return cls(
            concurrency=settings.concurrency,
            qps=OFF if settings.qps < 0 else settings.qps,
            burst=settings.burst,
            cpu_limit_cores=settings.cpu_limit_cores,
        )

    def texts(self) -> dict[str, str]:
        """The values as a form and an address have them; :func:`read_asked` makes the same of them."""
        return {
            "concurrency": str(self.concurrency),
            "qps": _WORD_OFF if self.qps < 0 else f"{self.qps:.12g}",
            "burst": "" if self.qps < 0 else str(self.burst),
            "cpu": _WORD_OFF if self.cpu_limit_cores is None else f"{self.cpu_limit_cores:.12g}",
        }

    def axes(self) -> GridAxes:
        """These settings alone."""
        return GridAxes((self.concurrency,), (self.qps,), (self.burst,), (self.cpu_limit_cores,))


def read_asked(given: Mapping[str, str], now: OperatorSettings) -> Asked:
    """What somebody asks for.

    Args:
        given: texts by the names of `FIELDS`; one that is not given or empty is the value in force.
        now: the settings in force.

    Raises:
        AskError: some cannot be.
    """
    texts = Asked.of(now).texts() | {name: given[name].strip() for name in FIELDS if given.get(name, "").strip()}
    problems: dict[str, str] = {}
    workers = _whole(texts["concurrency"], _MOST_WORKERS)
    if workers is None:
        problems["concurrency"] = f"a whole number from 1 to {_MOST_WORKERS}"
    qps = OFF if texts["qps"].lower() == _WORD_OFF or _is_below_zero(texts["qps"]) else _number(texts["qps"], _PACES)
    if qps is None:
        problems["qps"] = f"a number from {_PACES[0]:g} to {_PACES[1]:.0f}, or off for no limiter"
    # Without a limiter there is no burst: two questions that differ by it alone are the same.
    burst = now.burst if qps == OFF or not texts["burst"] else _whole(texts["burst"], _MOST_BURST)
    if burst is None:
        problems["burst"] = f"a whole number from 1 to {_MOST_BURST}"
    limit = None if texts["cpu"].lower() == _WORD_OFF else _number(texts["cpu"], _LIMITS)
    if limit is None and texts["cpu"].lower() != _WORD_OFF:
        problems["cpu"] = f"cores from {_LIMITS[0]:g} to {_LIMITS[1]:g}, or off for no limit"
    if problems or workers is None or qps is None or burst is None:
        raise AskError(problems)
    return Asked(concurrency=workers, qps=qps, burst=burst, cpu_limit_cores=limit)


def _whole(text: str, most: int) -> int | None:
    if not text.isascii() or not text.isdigit() or len(text) > len(str(most)):
        return None
    return int(text) if 1 <= int(text) <= most else None


def _number(text: str, bounds: tuple[float, float]) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if bounds[0] <= value <= bounds[1] else None


def _is_below_zero(text: str) -> bool:
    """Whether it is how KubeRay is told to have no limiter."""
    try:
        return -math.inf < float(text) < 0.0
    except ValueError:
        return False


def axes_around(
    now: OperatorSettings, asked: Asked, advised: tuple[float | None, float | None], *, workers: int, paces: int
) -> GridAxes:
    """The combinations that are shown around what is asked: halves and doubles of what is, is asked and is advised.

    Args:
        now: the settings in force.
        asked: what is asked.
        advised: concurrency and QPS, None where there is no advice.
        workers: numbers of workers at most; no fewer than are named.
        paces: the same of QPS.
    """
    wanted = [now.concurrency, asked.concurrency, *([] if advised[0] is None else [int(advised[0])])]
    rates = [now.qps, asked.qps, *([] if advised[1] is None else [advised[1]])]
    counts = _ladder(map(float, wanted), workers, is_whole=True)
    limited = _ladder([one for one in rates if one >= 0] or _USUAL_PACES, paces, is_whole=False)
    off = (OFF,) if min(rates) < 0 else ()
    return GridAxes(tuple(int(one) for one in counts), (*limited, *off), (), (asked.cpu_limit_cores,))


def _ladder(wanted: Iterable[float], most: int, *, is_whole: bool) -> list[float]:
    named = list(dict.fromkeys(max(1.0, one) for one in wanted))
    found = list(named)
    for factor in _FACTORS:
        for one in named:
            value = max(1.0, float(round(one * factor)) if is_whole else one * factor)
            if value not in found and len(found) < most:
                found.append(value)
    return sorted(found)


def run_id(operator: str, basis_time: float, asked: Asked) -> str:
    """A name for a question, the same whenever it is asked of the same operator and basis."""
    text = msgspec.json.encode((operator, basis_time, asked))
    return hashlib.sha256(text).hexdigest()[:24]
