"""What the history hands out. Times are Unix seconds."""

from dataclasses import dataclass

from advisor.model.fleet import FleetFailure, FleetVerdict

__all__ = ["BasisRow", "ChangeRow", "FailureRow", "OperatorStatus", "ReportRow"]


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One report of one operator, without its document. Ids rise with each report added, whatever its time."""

    id: int
    operator: str
    time: float
    verdict: FleetVerdict


@dataclass(frozen=True, slots=True)
class BasisRow:
    """What a what-if of an operator can rest on.

    Attributes:
        time: of the analysis that found it; None where none has.
        document: of the caller, None where there is none yet.
        missing: why the last analysis found none; "" where it did.
    """

    time: float | None
    document: bytes | None
    missing: str


@dataclass(frozen=True, slots=True)
class FailureRow:
    """One time that an operator could not be analysed."""

    operator: str
    time: float
    failure: FleetFailure


@dataclass(frozen=True, slots=True)
class OperatorStatus:
    """How an operator stands: its newest report, and the newest failure where that came after it."""

    operator: str
    report: ReportRow | None
    failure: FailureRow | None


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """One change of a setting that was seen. ``before`` and ``after`` are the setting's values, None where unknown.

    ``predicted`` and ``measured`` are documents of the caller, None until there is one.
    """

    id: int
    operator: str
    time: float
    setting: str
    before: float | None
    after: float | None
    predicted: bytes | None
    measured: bytes | None
