"""An operator whose settings change under the eyes of a service."""

from dataclasses import dataclass, field

import msgspec

from advisor.analysis.changes import ChangeRules
from advisor.model.finding import FindingCode
from advisor.model.report import Report
from advisor.report.jsonreport import render_json
from advisor.store.store import Store
from advisor.web.changes import Change, changes_of
from advisor.web.history import StoreSink
from advisor.web.notify import Notifier, NotifyRules
from tests.analysis.reportsmade import CONTROLLER, example, made, moved
from tests.web.serving import NOW, World

__all__ = ["BEGIN", "RULES", "Watched", "advised", "before", "quiet"]

BEGIN = NOW - 7200.0
RULES = ChangeRules()


def before(begin: float = BEGIN - 600.0) -> Report:
    """One worker, of which four are advised."""
    return moved(example(), begin)


def advised(begin: float, *, workers: float = 4.0, wait_seconds: float = 3.0) -> Report:
    """The same load with so many workers, by default as advised."""
    return _with_workers(made({f"{CONTROLLER}queue_wait_seconds_mean": wait_seconds}), begin, workers)


def quiet(begin: float, *, workers: float = 4.0) -> Report:
    """A tenth of the load."""
    figures = {"demand.pods_created": 60.0, "demand.clusters_created": 10.0}
    return _with_workers(made(figures, code=FindingCode.HEALTHY), begin, workers)


def _with_workers(report: Report, begin: float, workers: float) -> Report:
    setting = msgspec.structs.replace(example().settings.concurrency, value=workers)
    knob = msgspec.structs.replace(example().advice.concurrency, current=workers, value=workers)
    changed = msgspec.structs.replace(
        report,
        settings=msgspec.structs.replace(example().settings, concurrency=setting),
        advice=msgspec.structs.replace(example().advice, concurrency=knob),
    )
    return moved(changed, begin)


@dataclass
class Watched:
    """A service that is given reports of one operator."""

    operator: str = "one"
    store: Store = field(default_factory=lambda: Store.open(None, now=NOW))
    now: float = NOW

    def __post_init__(self) -> None:
        """Begin to take reports, as after a start."""
        self.sink = StoreSink(self.store, Notifier(NotifyRules()), lambda _: None)

    def sees(self, time: float, report: Report) -> None:
        """A report as of a time."""
        named = msgspec.structs.replace(report, operator=self.operator)
        assert render_json(named)
        self.sink.report(self.operator, time, named)

    def changes(self) -> list[Change]:
        """What is known of each change."""
        return changes_of(self.store, self.operator, self.now, RULES)

    def world(self) -> World:
        """Its pages."""
        return World(store=self.store, now=self.now)
