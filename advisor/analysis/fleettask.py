"""One operator of a fleet, from its source to its report on disk and its line in the summary; what a worker runs."""

import re
import traceback
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from advisor.analysis.fleetsources import load_entry
from advisor.analysis.options import Options
from advisor.analysis.pipeline import report_of
from advisor.errors import AdvisorError
from advisor.model.advice import Direction, KnobAdvice
from advisor.model.fleet import FleetFailure, FleetFinding, FleetForecast, FleetKnob, FleetVerdict
from advisor.model.report import Report
from advisor.report.jsonreport import render_json
from advisor.report.wholefile import write_whole
from advisor.sources.fleetfile import file_stem
from advisor.sources.fleetspec import FleetEntry

__all__ = [
    "REPORT_FORMS",
    "FleetTask",
    "analyse_task",
    "discard_partials",
    "discard_reports",
    "failure_of",
    "report_name",
    "verdict_of",
]

REPORT_FORMS: Final = {"markdown": ".md", "html": ".html", "text": ".txt"}
"""Forms in which a report can be had beside JSON, and how their files' names end."""
_JSON: Final = ".json"
_ENDINGS: Final = (_JSON, *REPORT_FORMS.values())
_PARTIAL: Final = re.compile(rf"\.(?P<stem>.+)(?:{'|'.join(map(re.escape, _ENDINGS))})\.\d+\.partial")
_QUEUE_WAIT: Final = ".queue_wait_seconds_mean"
_PREDICTED_WAIT: Final = "queue_wait_seconds_mean"
_FAULT: Final = AdvisorError.exit_code
_LONGEST_MESSAGE: Final = 500


@dataclass(frozen=True, slots=True)
class FleetTask:
    """One operator and what to do with it.

    Attributes:
        entry: which operator.
        now: the Unix time at which a range without an end of its own ends.
        options: of the analysis.
        folder: where reports go.
        form: one of `REPORT_FORMS`, to be written beside JSON.
    """

    entry: FleetEntry
    now: float
    options: Options
    folder: Path
    form: str | None = None


def analyse_task(task: FleetTask) -> FleetVerdict | FleetFailure:
    """Analyse one operator and write its report; whatever goes wrong is told and not raised.

    Nothing stays in memory but the result, and no report of an earlier run stays on disk where this one fails.
    """
    try:
        discard_reports(task.folder, task.entry.name)
        # Named as in the fleet: of a thousand operators called kuberay nobody knows which is which.
        loaded = replace(load_entry(task.entry, task.now), operator=task.entry.name)
        report = report_of(loaded, task.options)
        if task.form is not None:
            stem = file_stem(task.entry.name)
            write_whole(task.folder / f"{stem}{REPORT_FORMS[task.form]}", _rendered(report, task.form))
        write_whole(task.folder / report_name(task.entry.name), render_json(report))
        return verdict_of(report)
    except Exception as error:  # noqa: BLE001 - the others go on
        return failure_of(error)


def report_name(name: str) -> str:
    """The file name of an operator's report."""
    return f"{file_stem(name)}{_JSON}"


def discard_reports(folder: Path, name: str) -> None:
    """Remove an operator's reports."""
    for ending in _ENDINGS:
        (folder / f"{file_stem(name)}{ending}").unlink(missing_ok=True)


def discard_partials(folder: Path, names: Iterable[str]) -> None:
    """Remove what workers left of reports that were killed while they wrote them."""
    stems = {file_stem(name) for name in names}
    for path in folder.glob(".*.partial"):
        match = _PARTIAL.fullmatch(path.name)
        if match is not None and match["stem"] in stems:
            path.unlink(missing_ok=True)


def _rendered(report: Report, form: str) -> str:
    # Imported here: most fleets want JSON alone.
    if form == "text":
        from advisor.report.layout import PIPE_WIDTH  # noqa: PLC0415
        from advisor.report.textreport import plain_report  # noqa: PLC0415

        return plain_report(report, width=PIPE_WIDTH)
    from advisor.report.renderers import render  # noqa: PLC0415

    return render(report, form)


def verdict_of(report: Report) -> FleetVerdict:
    """A report in one line."""
    first, advice = report.findings[0], report.advice
    waits = [figure.value for name, figure in report.figures.items() if name.endswith(_QUEUE_WAIT)]
    return FleetVerdict(
        version=report.settings.version,
        verdict=report.verdict,
        finding=first.code,
        severity=min((one.severity for one in report.findings), key=lambda severity: severity.rank),
        confidence=first.confidence,
        lost_seconds=first.lost_seconds,
        concurrency=_knob(advice.concurrency),
        qps=_knob(advice.qps),
        burst=_knob(advice.burst),
        queue_wait_seconds=max(waits, default=None),
        data_until=report.source.window.end if report.source.samples else None,
        notes=len(report.source.notes),
        cpu_cores=_limit(advice.cpu_cores),
        memory_bytes=_limit(advice.memory_bytes),
        findings=tuple(
            FleetFinding(code=one.code, severity=one.severity, lost_ratio=one.lost_ratio) for one in report.findings
        ),
        queue_wait_forecast=_forecast(report),
    )


def _knob(advice: KnobAdvice) -> FleetKnob:
    return FleetKnob(direction=advice.direction, current=advice.current, value=advice.value)


def _limit(advice: KnobAdvice) -> FleetKnob | None:
    """Advice on a limit; None where none is known and none is to be set."""
    moves = advice.direction in (Direction.RAISE, Direction.LOWER)
    return _knob(advice) if moves or advice.current is not None else None


def _forecast(report: Report) -> FleetForecast | None:
    found = next((one for one in report.predictions if one.quantity == _PREDICTED_WAIT), None)
    if found is None:
        return None
    return FleetForecast(then=found.then, low=found.low, high=found.high, simulated=found.simulated)


def failure_of(error: BaseException) -> FleetFailure:
    """What went wrong; a fault of this program with the place in it."""
    if isinstance(error, AdvisorError):
        return FleetFailure(error=error.message, where=error.where, hint=error.hint, exit_code=error.exit_code)
    frames = traceback.extract_tb(error.__traceback__)
    where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    # Ray tells the whole traceback of what happened elsewhere; its last line is the error.
    last = str(error).strip().rpartition("\n")[2].strip()[:_LONGEST_MESSAGE]
    message = f"a fault of this program: {type(error).__name__}: {last}"
    return FleetFailure(error=message, where=where, hint="please report it", exit_code=_FAULT)
