"""What every form of a fleet's result says in the same words: lines and cells, before they are laid out."""

from collections.abc import Iterator
from typing import Final

from advisor.errors import AdvisorError
from advisor.model.finding import Severity
from advisor.model.fleet import Fleet, FleetFailure, FleetKnob, FleetOperator, FleetVerdict
from advisor.model.signal import Unit
from advisor.model.text import format_some, format_value
from advisor.report.markup import printable
from advisor.report.settingwording import UNKNOWN, setting_value
from advisor.report.wording import utc

__all__ = ["HEADS", "age_text", "cells", "failure_lines", "head_line", "left_line"]

HEADS: Final = ("operator", "severity", "finding", "lost", "concurrency", "QPS", "burst", "queue wait", "age of data")
_MOST_NAMED: Final = 5
_AGES: Final = ((172800.0, 86400.0, "d"), (7200.0, 3600.0, "h"), (120.0, 60.0, "min"), (0.0, 1.0, "s"))
"""From how many seconds on an age is told in which unit; hours and days, since stores may be as far behind."""


def head_line(fleet: Fleet) -> str:
    """How many operators there are and how they are."""
    verdicts = [verdict for _, verdict in fleet.analysed()]
    counts = [(sum(one.severity is severity for one in verdicts), severity.value) for severity in Severity]
    parts = [f"{count} {name}" for count, name in counts if count]
    if failed := len(fleet.failed()):
        parts.append(f"{failed} could not be analysed")
    if fleet.left:
        parts.append(f"{len(fleet.left)} left")
    total = len(fleet.operators) + len(fleet.left)
    return f"{total} operator{'' if total == 1 else 's'} at {utc(fleet.began)} UTC: {', '.join(parts) or 'none'}"


def left_line(fleet: Fleet) -> str:
    """How far an interrupted run got, "" where nothing is left."""
    if not fleet.left:
        return ""
    total = len(fleet.operators) + len(fleet.left)
    return (
        f"Interrupted: {len(fleet.operators)} of {total} operators are finished; the same command goes on from there."
    )


def cells(operator: FleetOperator, verdict: FleetVerdict, made: float) -> tuple[str, ...]:
    """The cells below `HEADS`; the age counts up to ``made``."""
    wait, until = verdict.queue_wait_seconds, verdict.data_until
    return (
        printable(operator.name),
        verdict.severity.value,
        verdict.finding.value,
        format_value(verdict.lost_seconds, Unit.SECONDS) if verdict.lost_seconds else UNKNOWN,
        _knob("concurrency", verdict.concurrency),
        _knob("qps", verdict.qps),
        _knob("burst", verdict.burst),
        UNKNOWN if wait is None else format_value(wait, Unit.SECONDS),
        UNKNOWN if until is None else age_text(made - until),
    )


def _knob(name: str, knob: FleetKnob) -> str:
    """What it is now, and what to set where that is something else."""
    now = setting_value(name, knob.current)
    return f"{now} -> {setting_value(name, knob.value)}" if knob.moves else now


def age_text(seconds: float) -> str:
    """An age in its own unit, never below zero: clocks differ."""
    size, unit = next((step, name) for least, step, name in _AGES if seconds >= least or not least)
    return f"{max(0.0, seconds) / size:.0f} {unit}"


def failure_lines(fleet: Fleet) -> Iterator[str]:
    """One line for each reason, with the operators that it stopped: a store that is down stops many at once."""
    reasons: dict[FleetFailure, list[str]] = {}
    for operator, failure in fleet.failed():
        reasons.setdefault(failure, []).append(printable(operator.name))
    for failure, names in reasons.items():
        error = AdvisorError(failure.error, where=failure.where, hint=failure.hint)
        yield printable(f"{format_some(names, _MOST_NAMED)}: {error}")
