"""What the pages read: the store, and how the schedule goes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from advisor.analysis.changes import ChangeRules
from advisor.model.report import Report
from advisor.store.records import OperatorStatus, ReportRow
from advisor.store.store import Store
from advisor.web.loads import Loads
from advisor.web.scheduler import RunState
from advisor.web.whatifs import WhatIfs

__all__ = ["Service", "Trouble", "decoded"]

_REPORT: "msgspec.json.Decoder[Report]" = msgspec.json.Decoder(Report)


@dataclass(frozen=True, slots=True)
class Trouble:
    """Something that goes wrong now and that people have to know of.

    Attributes:
        operator: whose data it touches; "" for all.
        text: what is wrong, and since when or how often; no sentence end.
        is_grave: whether every page says it, as what pages show is not all that they should.
    """

    operator: str
    text: str
    is_grave: bool = False


@dataclass(frozen=True, slots=True)
class Service:
    """Everything that a page may ask.

    Attributes:
        store: the history.
        targets: how each target's schedule goes.
        kind: how a target is reached: prometheus, scrape or sidecar; "" where that is not known.
        clock: Unix seconds.
        keeping: why what an operator or its sidecar tells is not kept just now; "" where it is, or need not be.
        stale_after: from which age on a report is called stale, in seconds; it changes with the schedule.
        troubles: what goes wrong now, beside analyses that fail.
        whatifs: runs what-ifs; None where they are turned off.
        change_rules: when what follows a change of settings is taken for its effect.
    """

    store: Store
    targets: Callable[[], Sequence[RunState]]
    clock: Callable[[], float]
    kind: Callable[[str], str] = lambda _: ""
    keeping: Callable[[str], str] = lambda _: ""
    stale_after: Callable[[], float] = lambda: 900.0
    troubles: Callable[[], Sequence[Trouble]] = tuple
    whatifs: WhatIfs | None = None
    change_rules: Callable[[], ChangeRules] = ChangeRules
    loads: Loads = field(init=False, repr=False, compare=False)
    """Histories of keys and priorities."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "loads", Loads(self.store, self.clock))

    @property
    def stale_seconds(self) -> float:
        """From which age on a report is called stale."""
        return self.stale_after()

    def report(self, row: ReportRow) -> Report | None:
        """The whole report of a row; None where it is no longer there."""
        document = self.store.document(row.id)
        return None if document is None else decoded(document)

    def latest_report(self, operator: str) -> tuple[ReportRow, Report] | None:
        """The newest report of an operator, with its row; None where there is none."""
        row = self.store.latest(operator)
        report = None if row is None else self.report(row)
        return None if row is None or report is None else (row, report)

    def status(self, operator: str) -> OperatorStatus | None:
        """How one operator is; None where there is none of this name."""
        return self.store.status(operator)


def decoded(document: bytes) -> Report:
    """A report from its JSON.

    Raises:
        msgspec.DecodeError: it is none.
    """
    return _REPORT.decode(document)
