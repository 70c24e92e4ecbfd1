"""What reports come to, in the words of a table's cells."""

from collections.abc import Iterator

from advisor.model.fleet import FleetVerdict
from advisor.model.signal import Unit
from advisor.model.text import format_value
from advisor.report.markup import Markup, blocks, element
from advisor.report.settingwording import UNKNOWN, setting_move
from advisor.store.records import FailureRow, OperatorStatus
from advisor.web.view import moment

__all__ = ["UNKNOWN", "failure_note", "moves", "severity_of", "wait"]


def moves(verdict: FleetVerdict) -> Iterator[str]:
    """Each setting that is to be changed, from what to what."""
    return (setting_move(name, knob.current, knob.value) for name, knob in verdict.knobs() if knob.moves)


def severity_of(status: OperatorStatus) -> str:
    """The severity of the newest report; unknown where there is none."""
    return "unknown" if status.report is None else status.report.verdict.severity.value


def wait(verdict: FleetVerdict) -> str:
    """Its mean queue wait."""
    wait = verdict.queue_wait_seconds
    return UNKNOWN if wait is None else format_value(wait, Unit.SECONDS)


def failure_note(row: FailureRow) -> Markup:
    """That the last try to analyse an operator failed, why, and what to do."""
    failure = row.failure
    parts = (moment(row.time), f": {failure.error}", f" ({failure.where})" if failure.where else None)
    hint = element("p", failure.hint, class_="about") if failure.hint else None
    return blocks([element("p", "The last try failed at ", *parts, class_="stale"), hint])
