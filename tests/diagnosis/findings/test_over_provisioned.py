import pytest

from advisor.model.finding import Confidence, FindingCode, Severity
from tests.diagnosis.builders import (
    NO_CONTROLLERS,
    Given,
    adjusted,
    case,
    checks_of,
    controller,
    examine,
    must_find,
    saturated,
    signals,
    unknown_controller,
)

CODE = FindingCode.OVER_PROVISIONED


def idle(workers: float = 64.0, peak: float | None = 2.0, **given: Given) -> object:
    """Many workers of which few are ever busy."""
    return controller(workers=workers, active_workers_peak=peak, **given)


def test_many_idle_workers_hold() -> None:
    """Two of 64 workers were ever seen busy, and no key waited: a note."""
    made = must_find(CODE, case(idle()))
    assert (made.severity, made.confidence) == (Severity.INFO, Confidence.MEDIUM)
    assert [one.value for one in made.evidence[:2]] == [64.0, 2.0]
    assert set(checks_of(made).values()) == {False}


@pytest.mark.parametrize(
    ("workers", "peak", "holds"),
    [(16.0, 4.0, True), (15.0, 1.0, False), (16.0, 5.0, False), (64.0, None, True)],
)
def test_its_thresholds(workers: float, peak: float | None, holds: bool) -> None:
    """From 16 workers on and up to a quarter of them busy; an unknown peak is guessed from a mean that is low here."""
    assert (examine(CODE, case(idle(workers, peak))) is not None) == holds


def test_the_thresholds_are_settings() -> None:
    """Each threshold moves the condition."""
    assert examine(CODE, case(idle(8.0, 1.0), thresholds=adjusted(over_provisioned_workers=8.0))) is not None
    assert examine(CODE, case(idle(16.0, 8.0), thresholds=adjusted(over_provisioned_ratio=0.5))) is not None
    waits = idle(queue_wait_seconds_mean=1.5)
    assert examine(CODE, case(waits)) is None
    assert examine(CODE, case(waits, thresholds=adjusted(wait_warning_seconds=2.0))) is not None


def test_a_busy_mean_above_the_sampled_peak_counts() -> None:
    """Samples of a gauge miss what counters show."""
    assert examine(CODE, case(idle(16.0, 1.0, busy_workers_mean=6.0))) is None


def test_the_busiest_controller_counts() -> None:
    """One flag serves all: a busy RayJob controller needs the workers that RayClusters do not."""
    assert examine(CODE, case(idle(), idle(64.0, 40.0))) is None


def test_a_quiet_episode_of_a_busy_observation_does_not_hold() -> None:
    """The whole observation counts, not the episode."""
    assert examine(CODE, case(idle(), whole=signals(saturated(workers=64.0)))) is None
    waited = signals(idle(queue_wait_seconds_mean=2.0))
    assert examine(CODE, case(idle(), whole=waited)) is None


def test_nothing_known_is_no_finding() -> None:
    """Unknown numbers of workers are not many."""
    assert examine(CODE, case(unknown_controller())) is None
    assert examine(CODE, case(NO_CONTROLLERS)) is None


@pytest.mark.parametrize(("mean", "holds"), [(4.0, True), (4.1, False), (None, False)])
def test_an_unknown_peak_is_guessed_from_the_mean(mean: float | None, holds: bool) -> None:
    """Four at a peak for each busy on average; without a mean all may have been busy. The setting moves it."""
    one = idle(64.0, None, busy_workers_mean=mean)
    assert (examine(CODE, case(one)) is not None) == holds
    assert examine(CODE, case(idle(64.0, None, busy_workers_mean=1.0), thresholds=adjusted(peak_of_mean=17.0))) is None
