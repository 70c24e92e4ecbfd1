"""What is kept, as values for programs: the API and pages as JSON say the same."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from flask import url_for

from advisor.store.records import OperatorStatus, ReportRow
from advisor.web.changes import Change
from advisor.web.loads import SPANS
from advisor.web.state import Service

__all__ = ["MOST_KEYS", "change_values", "key_values", "priority_values", "row_values", "status_values"]

MOST_KEYS: Final = 20
"""Keys that a page lists."""


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


def key_values(service: Service, name: str, window: str, limit: int) -> dict[str, Any]:
    """Keys of an operator over a time, at most so many; ``history`` is None where nothing of them was kept then."""
    history = service.loads.keys(name, SPANS[window])
    if history is not None and len(history.keys) > limit:
        left_out = history.keys_left_out + len(history.keys) - limit
        history = msgspec.structs.replace(history, keys=history.keys[:limit], keys_left_out=left_out)
    return {**_whose(service, name, window), "history": history}


def priority_values(service: Service, name: str, window: str) -> dict[str, Any]:
    """Priorities of an operator over a time; ``history`` is None where nothing of them was kept then."""
    return {**_whose(service, name, window), "history": service.loads.priorities(name, SPANS[window])}


def _whose(service: Service, name: str, window: str) -> dict[str, Any]:
    """Which operator, and until when what it tells was kept."""
    return {
        "operator": name,
        "source": service.kind(name),
        "window": window,
        "sampled_until": service.store.sampled_until(name),
        "problem": service.keeping(name),
    }


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
