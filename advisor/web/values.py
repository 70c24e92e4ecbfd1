"""What is kept, as values for programs: the API and pages as JSON say the same."""

from collections.abc import Mapping
from typing import Any

import msgspec
from flask import url_for

from advisor.store.records import OperatorStatus, ReportRow
from advisor.web.changes import Change

__all__ = ["change_values", "row_values", "status_values"]


def status_values(status: OperatorStatus) -> Mapping[str, Any]:
    """An operator: its name, its newest report, and the failure since."""
    failure = status.failure
    return {
        "name": status.operator,
        "report": None if status.report is None else row_values(status.report),
        "failure": None if failure is None else {"time": failure.time, **msgspec.to_builtins(failure.failure)},
    }


def row_values(row: ReportRow) -> Mapping[str, Any]:
    """A report without its document, and where that is."""
    verdict = msgspec.to_builtins(row.verdict)
    return {"id": row.id, "time": row.time, "verdict": verdict, "report": url_for("api.report", number=row.id)}


def change_values(change: Change) -> Mapping[str, Any]:
    """A change of settings with what was predicted and measured; null where that is not known, or not yet."""
    return {
        "id": change.id,
        "time": change.time,
        "settings": [{"setting": one.setting, "before": one.before, "after": one.after} for one in change.moves],
        "state": change.state.value,
        "predicted": None if change.predicted is None else msgspec.to_builtins(change.predicted),
        "measured": None if change.measured is None else msgspec.to_builtins(change.measured),
        "next_change": change.following,
    }
