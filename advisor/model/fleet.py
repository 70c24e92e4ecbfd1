"""The result of analysing many operators: the contract of a fleet's ``--output json`` and of ``DIR/fleet.json``."""

from typing import Final, Literal

import msgspec

from advisor.model.advice import Direction
from advisor.model.finding import Confidence, FindingCode, Severity

__all__ = [
    "SCHEMA",
    "Fleet",
    "FleetFailure",
    "FleetFinding",
    "FleetForecast",
    "FleetKnob",
    "FleetOperator",
    "FleetVerdict",
]

SCHEMA: Final = "kuberay-advisor/fleet-result/v1"


class FleetKnob(msgspec.Struct, frozen=True, kw_only=True):
    """Advice on one setting, as in the operator's own report but without the reason."""

    direction: Direction
    current: float | None
    value: float | None

    @property
    def moves(self) -> bool:
        """Whether there is another value to set."""
        return self.direction in (Direction.RAISE, Direction.LOWER) and self.value is not None


class FleetFinding(msgspec.Struct, frozen=True, kw_only=True):
    """One finding of the verdict's episode, and its share of all the time lost in that episode."""

    code: FindingCode
    severity: Severity
    lost_ratio: float


class FleetForecast(msgspec.Struct, frozen=True, kw_only=True):
    """What a quantity is expected to become with the advised settings, as `advisor.model.advice.Prediction` has it."""

    then: float
    low: float
    high: float
    simulated: bool


class FleetVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """What one operator's report comes to.

    ``finding``, ``confidence`` and ``lost_seconds`` are those of the verdict's first finding; ``severity`` is the
    gravest of all of them, mostly the first one's; ``queue_wait_seconds`` is the mean of the controller whose keys wait
    longest; ``data_until`` is the Unix time of the last sample, null where figures were told. What has a default is not
    in what older versions wrote.
    """

    version: str | None
    verdict: str
    finding: FindingCode
    severity: Severity
    confidence: Confidence
    lost_seconds: float
    concurrency: FleetKnob
    qps: FleetKnob
    burst: FleetKnob
    queue_wait_seconds: float | None
    data_until: float | None
    notes: int
    """What was skipped or looked odd while reading; the report has each."""
    cpu_cores: FleetKnob | None = None
    """The limit of CPU; null where there is nothing to say about it."""
    memory_bytes: FleetKnob | None = None
    """The limit of memory, likewise."""
    findings: tuple[FleetFinding, ...] = ()
    """All of the verdict's episode, in rank order."""
    queue_wait_forecast: FleetForecast | None = None
    """The mean queue wait in seconds with the advised settings; null where none is predicted."""

    def knobs(self) -> tuple[tuple[str, FleetKnob], ...]:
        """Setting name and advice, in the order in which they are shown; limits only where they are there."""
        every = (
            ("concurrency", self.concurrency),
            ("qps", self.qps),
            ("burst", self.burst),
            ("cpu_cores", self.cpu_cores),
            ("memory_bytes", self.memory_bytes),
        )
        return tuple((name, knob) for name, knob in every if knob is not None)


class FleetFailure(msgspec.Struct, frozen=True, kw_only=True):
    """Why an operator could not be analysed."""

    error: str
    where: str
    hint: str
    exit_code: int
    """That of ``analyze`` for this operator alone."""


class FleetOperator(msgspec.Struct, frozen=True, kw_only=True):
    """One operator: exactly one of ``verdict`` and ``failure`` is there.

    ``settings`` is a digest of everything that the result depends on, so that a run that goes on knows what still
    holds. ``report`` is the file's name beside ``fleet.json``, null after a failure.
    """

    name: str
    settings: str
    finished: float
    """Unix time."""
    report: str | None = None
    verdict: FleetVerdict | None = None
    failure: FleetFailure | None = None


class Fleet(msgspec.Struct, frozen=True, kw_only=True):
    """All operators: those analysed, worst first, then those that failed, by name.

    ``began`` is the Unix time at which every range without an end of its own ends; ``made`` the one of this result.
    ``left`` names operators whose turn has not come.
    """

    schema: Literal["kuberay-advisor/fleet-result/v1"] = SCHEMA
    began: float
    made: float
    operators: tuple[FleetOperator, ...]
    left: tuple[str, ...]

    def analysed(self) -> tuple[tuple[FleetOperator, FleetVerdict], ...]:
        """Those with a verdict."""
        return tuple((one, one.verdict) for one in self.operators if one.verdict is not None)

    def failed(self) -> tuple[tuple[FleetOperator, FleetFailure], ...]:
        """Those without."""
        return tuple((one, one.failure) for one in self.operators if one.failure is not None)
