"""What reports come to, in the words of a table's cells."""

from collections.abc import Iterator

from advisor.model.fleet import FleetKnob, FleetVerdict
from advisor.model.signal import Unit
from advisor.model.text import format_value
from advisor.store.records import OperatorStatus

__all__ = ["UNKNOWN", "moves", "number", "severity_of", "wait"]

UNKNOWN = "-"


def moves(verdict: FleetVerdict) -> Iterator[str]:
    """Each setting that is to be changed, from what to what."""
    for name, knob in (("concurrency", verdict.concurrency), ("QPS", verdict.qps), ("burst", verdict.burst)):
        if knob.value is not None and knob.value != knob.current:
            yield f"{name} {_value(knob)} -> {knob.value:g}"


def _value(knob: FleetKnob) -> str:
    if knob.current is None:
        return "?"
    return "off" if knob.current < 0 else f"{knob.current:g}"


def severity_of(status: OperatorStatus) -> str:
    """The severity of the newest report; unknown where there is none."""
    return "unknown" if status.report is None else status.report.verdict.severity.value


def wait(verdict: FleetVerdict) -> str:
    """Its mean queue wait."""
    wait = verdict.queue_wait_seconds
    return UNKNOWN if wait is None else format_value(wait, Unit.SECONDS)


def number(value: float | None) -> str:
    """A setting's value."""
    return UNKNOWN if value is None else f"{value:g}"
