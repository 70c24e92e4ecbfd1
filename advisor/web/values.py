"""What is kept, as values for programs: the API and pages as JSON say the same."""

from collections.abc import Mapping
from typing import Any

import msgspec
from flask import url_for

from advisor.store.records import OperatorStatus, ReportRow

__all__ = ["row_values", "status_values"]


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
