import pytest

from advisor.model.finding import Confidence, FindingCode, Severity
from tests.diagnosis.builders import (
    Value,
    case,
    checks_of,
    controller,
    examine,
    loaded_client,
    must_find,
    saturated,
    settings,
    unknown_controller,
)

CODE = FindingCode.SETTING_NOT_APPLIED


def test_a_flag_that_did_not_take_effect() -> None:
    """The values file says 10, the controller has one worker, and its keys wait."""
    made = must_find(CODE, case(saturated(configured_concurrency=10.0), loaded_client()))
    assert (made.severity, made.confidence, made.subject) == (Severity.CRITICAL, Confidence.HIGH, "raycluster")
    assert [one.value for one in made.evidence] == [10.0, 1.0, 6.0]
    assert made.next_steps == ("look at the Deployment's arguments, --config and the time of the last rollout",)
    assert made.lost_seconds == 2100.0
    assert checks_of(made) == {"Does the metric agree with the flag?": False}


@pytest.mark.parametrize(("version", "reached"), [("1.1.1", False), ("1.2.0", True), (None, True)])
def test_a_release_whose_flag_does_not_reach_the_controller(version: str | None, reached: bool) -> None:
    """Up to KubeRay 1.1 RayJobs have one worker whatever the flag says, and an upgrade is the cure."""
    jobs = saturated("rayjob", configured_concurrency=10.0)
    made = must_find(CODE, case(jobs, loaded_client(), settings(version=version)))
    assert ("does not reach it" in made.summary) is not reached
    assert made.next_steps[0].startswith("look at the Deployment" if reached else "upgrade: from KubeRay 1.2")


@pytest.mark.parametrize(
    ("configured", "workers", "holds"),
    [(10.0, 1.0, True), (1.0, 10.0, True), (4.0, 4.0, False), (None, 4.0, False), (4.0, None, False)],
)
def test_only_known_and_different_numbers_hold(configured: Value, workers: float | None, holds: bool) -> None:
    """Fewer or more than configured; an unknown side differs from nothing."""
    one = controller(workers=workers, configured_concurrency=configured)
    assert (examine(CODE, case(one)) is not None) == holds


def test_without_waiting_it_is_a_warning() -> None:
    """The next load will find it."""
    assert must_find(CODE, case(controller(configured_concurrency=10.0))).severity is Severity.WARNING


def test_workers_that_are_fixed_by_design_are_no_fault() -> None:
    """The certificates' controller has one worker under any flag."""
    assert examine(CODE, case(controller("raycluster-mtls", workers=1.0, configured_concurrency=10.0))) is None


def test_the_controller_whose_keys_wait_is_named() -> None:
    """Of several that differ."""
    made = must_find(
        CODE, case(controller(configured_concurrency=9.0), saturated("rayjob", configured_concurrency=9.0))
    )
    assert made.subject == "rayjob"


def test_nothing_known_is_no_finding() -> None:
    """Neither number is known."""
    assert examine(CODE, case(unknown_controller())) is None
