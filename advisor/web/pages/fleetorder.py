"""In which order operators stand on the fleet page, and which page of them is asked for."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from advisor.model.finding import Severity
from advisor.store.records import OperatorStatus
from advisor.web.pages.moves import moves
from advisor.web.trends import Trend

__all__ = ["COLUMNS", "TREND", "Column", "Order", "Page", "age_seconds", "ordered", "page_of"]

_Value = tuple[float | str, ...]
_FEWEST: Final = 2


@dataclass(frozen=True, slots=True)
class Column:
    """One column that rows can be sorted by.

    Attributes:
        name: in the address.
        head: on the page.
        key: what is compared, None where it is not known; from the status, the present Unix time and the trend.
        is_descending: whether the largest stands first where nobody says otherwise.
    """

    name: str
    head: str
    key: Callable[[OperatorStatus, float, Trend | None], _Value | None]
    is_descending: bool = False


def age_seconds(status: OperatorStatus, now: float) -> float | None:
    """How old the data of the newest report is."""
    row = status.report
    if row is None:
        return None
    until = row.verdict.data_until
    return now - (row.time if until is None else until)


def _severity(status: OperatorStatus, _now: float, _trend: object) -> _Value:
    if status.report is None:
        # What cannot be seen may be worse than what is seen to be well.
        return (-float(Severity.WARNING.rank), 0.0)
    verdict = status.report.verdict
    return (-float(verdict.severity.rank), verdict.lost_seconds)


def _finding(status: OperatorStatus, _now: float, _trend: object) -> _Value | None:
    return None if status.report is None else (status.report.verdict.finding.value,)


def _moves(status: OperatorStatus, _now: float, _trend: object) -> _Value | None:
    return None if status.report is None else (float(len(list(moves(status.report.verdict)))),)


def _wait(status: OperatorStatus, _now: float, _trend: object) -> _Value | None:
    wait = None if status.report is None else status.report.verdict.queue_wait_seconds
    return None if wait is None else (wait,)


def _rise(_status: OperatorStatus, _now: float, trend: Trend | None) -> _Value | None:
    """By how much the last wait is longer than those before on average."""
    known = [] if trend is None else [one for one in trend.waits if one is not None]
    if len(known) < _FEWEST:
        return None
    return (known[-1] - sum(known[:-1]) / (len(known) - 1),)


def _age(status: OperatorStatus, now: float, _trend: object) -> _Value | None:
    age = age_seconds(status, now)
    return None if age is None else (age,)


TREND: Final = "trend"
COLUMNS: Final = (
    Column("name", "operator", lambda status, _now, _trend: (status.operator,)),
    Column("severity", "severity", _severity, is_descending=True),
    Column("finding", "finding", _finding),
    Column("do", "do", _moves, is_descending=True),
    Column("wait", "queue wait", _wait, is_descending=True),
    Column(TREND, "trend", _rise, is_descending=True),
    Column("age", "data", _age, is_descending=True),
)
"""The columns of the page, from left to right."""
_BY_NAME: Final = {one.name: one for one in COLUMNS}


@dataclass(frozen=True, slots=True)
class Order:
    """By which column, and whether the largest stands first."""

    column: Column = _BY_NAME["severity"]
    is_descending: bool = True

    @classmethod
    def parse(cls, text: str) -> "Order":
        """From an address: the name of a column, "-" before it for the other way than is usual; "" is worst first.

        Raises:
            ValueError: there is no such column.
        """
        name = text.removeprefix("-")
        if not text:
            return cls()
        if name not in _BY_NAME:
            raise ValueError(f"sort is one of {', '.join(_BY_NAME)}, or that with - before it, not {text!r}")
        column = _BY_NAME[name]
        return cls(column, column.is_descending != text.startswith("-"))

    def following(self, column: Column) -> str:
        """What the address says where a column's head is chosen: its usual way, and then the other one."""
        is_chosen = column is self.column and self.is_descending == column.is_descending
        return f"-{column.name}" if is_chosen else column.name


def ordered(
    statuses: Sequence[OperatorStatus], order: Order, now: float, trends: Mapping[str, Trend]
) -> list[OperatorStatus]:
    """Operators in an order; what is not known stands last either way, and what is alike in order of names.

    Args:
        statuses: the operators.
        order: which one.
        now: Unix time.
        trends: of all of them where the order is that of trends; else they are not needed.
    """
    by_name = sorted(statuses, key=lambda one: one.operator)
    keyed = [(order.column.key(one, now, trends.get(one.operator)), one) for one in by_name]
    known = [(key, one) for key, one in keyed if key is not None]
    known.sort(key=lambda pair: pair[0], reverse=order.is_descending)
    return [one for _, one in known] + [one for key, one in keyed if key is None]


@dataclass(frozen=True, slots=True)
class Page:
    """Some of many: the numbers of the first and the last one, from 1 on, and which page of how many that is."""

    number: int
    count: int
    first: int
    last: int


def page_of(count: int, number: int, size: int) -> Page:
    """The page of a number, the last one where there are fewer."""
    pages = max(1, -(-count // size))
    number = min(max(1, number), pages)
    first = (number - 1) * size
    return Page(number, pages, first + 1, min(count, first + size))
