"""What reports come to, in the words of a table's cells."""

from collections.abc import Iterator

from advisor.model.fleet import FleetVerdict
from advisor.model.signal import Unit
from advisor.model.text import format_value
from advisor.report.settingwording import UNKNOWN, setting_move
from advisor.store.records import OperatorStatus

__all__ = ["UNKNOWN", "moves", "severity_of", "wait"]


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
