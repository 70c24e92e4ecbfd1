"""The history of the advisor service, in one SQLite file."""

from advisor.store.errors import StoreOpenError, StoreReadError, StoreWriteError
from advisor.store.records import BasisRow, ChangeRow, FailureRow, OperatorStatus, ReportRow
from advisor.store.store import Store

__all__ = [
    "BasisRow",
    "ChangeRow",
    "FailureRow",
    "OperatorStatus",
    "ReportRow",
    "Store",
    "StoreOpenError",
    "StoreReadError",
    "StoreWriteError",
]
