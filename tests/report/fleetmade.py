"""The result of a fleet made by hand."""

from typing import Final

from advisor.model.advice import Direction
from advisor.model.finding import Confidence, FindingCode, Severity
from advisor.model.fleet import Fleet, FleetFailure, FleetKnob, FleetOperator, FleetVerdict

BEGAN: Final = 1795982700.0
KEEP: Final = FleetKnob(direction=Direction.KEEP, current=200.0, value=200.0)
UNKNOWN: Final = FleetKnob(direction=Direction.NO_NUMBER, current=None, value=None)
DOWN: Final = FleetFailure(
    error="cannot be reached: Connection refused",
    where="http://store:9090",
    hint="check the address",
    exit_code=3,
)


def raised(current: float, value: float) -> FleetKnob:
    """A setting that is to be higher."""
    return FleetKnob(direction=Direction.RAISE, current=current, value=value)


def verdict(finding: FindingCode, severity: Severity, lost_seconds: float = 0.0, **other: object) -> FleetVerdict:
    """A verdict where nothing is to be set, but for what is given."""
    parts: dict[str, object] = {
        "version": "1.7.0",
        "verdict": "So it is.",
        "confidence": Confidence.HIGH,
        "concurrency": FleetKnob(direction=Direction.KEEP, current=4.0, value=4.0),
        "qps": FleetKnob(direction=Direction.KEEP, current=100.0, value=100.0),
        "burst": KEEP,
        "queue_wait_seconds": 0.0123,
        "data_until": BEGAN - 15.0,
        "notes": 0,
    }
    return FleetVerdict(finding=finding, severity=severity, lost_seconds=lost_seconds, **{**parts, **other})  # type: ignore[arg-type]


def analysed(name: str, made: FleetVerdict) -> FleetOperator:
    """An operator with this verdict."""
    return FleetOperator(name=name, settings="0" * 32, finished=BEGAN + 3.0, report=f"{name}.json", verdict=made)


def failed(name: str, failure: FleetFailure = DOWN) -> FleetOperator:
    """An operator that could not be analysed."""
    return FleetOperator(name=name, settings="1" * 32, finished=BEGAN + 4.0, failure=failure)


def example() -> Fleet:
    """Every severity, advice up and down, what is not known, failures of one reason and of another."""
    saturated = verdict(
        FindingCode.WORKERS_SATURATED,
        Severity.CRITICAL,
        5400.0,
        concurrency=raised(1.0, 4.0),
        queue_wait_seconds=24.1,
    )
    throttled = verdict(
        FindingCode.CLIENT_THROTTLED,
        Severity.CRITICAL,
        77.0,
        qps=raised(10.0, 70.0),
        burst=raised(20.0, 140.0),
        queue_wait_seconds=18.4,
        data_until=BEGAN - 200000.0,
    )
    idle = verdict(
        FindingCode.OVER_PROVISIONED,
        Severity.INFO,
        concurrency=FleetKnob(direction=Direction.LOWER, current=64.0, value=8.0),
        qps=FleetKnob(direction=Direction.KEEP, current=-1.0, value=-1.0),
        data_until=BEGAN - 7300.0,
    )
    told = verdict(
        FindingCode.INSUFFICIENT_DATA,
        Severity.WARNING,
        concurrency=UNKNOWN,
        qps=UNKNOWN,
        burst=UNKNOWN,
        queue_wait_seconds=None,
        data_until=None,
        notes=2,
    )
    fault = FleetFailure(
        error="a fault of this program: KeyError: 'x'", where="report.py:7", hint="please report it", exit_code=70
    )
    return Fleet(
        began=BEGAN,
        made=BEGAN + 5.0,
        operators=(
            analysed("prod/eu", saturated),
            analysed("prod/us", throttled),
            analysed("from a ticket", told),
            analysed("test", idle),
            analysed("edge", verdict(FindingCode.HEALTHY, Severity.INFO, data_until=BEGAN - 300.0)),
            *(failed(f"site-{number}") for number in range(1, 8)),
            failed("site-8", fault),
        ),
        left=(),
    )
