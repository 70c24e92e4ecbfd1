import pytest

from advisor.diagnosis.findings import insufficient_data
from advisor.model.finding import Confidence, FindingCode, Severity
from tests.diagnosis.builders import (
    NO_CONTROLLERS,
    adjusted,
    assert_evident,
    case,
    codes,
    controller,
    diagnosed,
    examine,
    loaded_client,
    must_find,
    process,
    saturated,
    unknown_controller,
)

CODE = FindingCode.INSUFFICIENT_DATA


@pytest.mark.parametrize(("scrapes", "holds"), [(3, True), (4, False)])
def test_few_scrapes_hold(scrapes: int, holds: bool) -> None:
    """Three scrapes make no rates; the setting moves it."""
    assert (examine(CODE, case(scrapes=scrapes)) is not None) == holds
    assert examine(CODE, case(scrapes=scrapes, thresholds=adjusted(fewest_scrapes=5))) is not None


def test_what_it_says() -> None:
    """It is a result of its own: certain, worth a warning, with what to collect."""
    made = must_find(CODE, case(scrapes=2))
    assert (made.severity, made.confidence) == (Severity.WARNING, Confidence.HIGH)
    assert "2 scrapes in all; rates need at least 4" in made.evidence[0].text
    assert len(made.next_steps) == 2


@pytest.mark.parametrize(("leader", "holds"), [(0.0, False), (1.0, True), (None, True)])
def test_no_controller_holds_unless_it_is_a_standby(leader: float | None, holds: bool) -> None:
    """Without any controller there is nothing to say; a standby is told apart."""
    made = examine(CODE, case(NO_CONTROLLERS, process(leader=leader)))
    assert (made is not None) == holds
    if made is not None:
        assert "no controller" in made.evidence[0].text


def test_waiting_that_nothing_explains() -> None:
    """As bad as the wait, with the wait shown."""
    made = insufficient_data.unexplained(case(saturated()))
    assert_evident(made)
    assert made.severity is Severity.CRITICAL
    assert made.evidence[0].value == 6.0
    assert "does not tell why" in made.title


def test_waiting_without_a_depth() -> None:
    """A queue wait without any depth names no controller."""
    made = insufficient_data.unexplained(case(unknown_controller(queue_wait_seconds_mean=3.0)))
    assert (made.severity, made.evidence) == (Severity.WARNING, ())


def test_waiting_that_is_not_known() -> None:
    """Series that would tell are missing: that is not the same as nobody waiting."""
    made = insufficient_data.unexplained(case(unknown_controller(), controller("rayjob", queue_wait_seconds_mean=None)))
    assert_evident(made)
    assert made.severity is Severity.WARNING
    assert "not known" in made.title
    assert len(made.evidence) == 2


def test_it_gives_way_to_what_the_process_alone_tells() -> None:
    """An operator that is killed before it works has no controller series, and that is explained."""
    killed = diagnosed(NO_CONTROLLERS, process(oom_kills=3.0))
    assert (codes(killed), killed.refuses) == (["memory-limited"], False)
    few = diagnosed(NO_CONTROLLERS, process(oom_kills=3.0), scrapes=2)
    assert (codes(few), few.refuses) == (["insufficient-data"], True)


def test_told_figures_are_no_few_scrapes() -> None:
    """Somebody who knows the figures has scraped nothing."""
    assert examine(CODE, case(scrapes=None)) is None


def test_a_drained_queue_after_the_fact_is_not_healthy() -> None:
    """The queue is empty now and workers are idle, yet keys had waited half a minute: that is never an all-clear."""
    drained = controller(depth_mean=0.0, depth_end=0.0, queue_wait_seconds_mean=30.0)
    made = diagnosed(drained)
    assert codes(made) == ["insufficient-data"]
    assert made.primary.severity is Severity.CRITICAL


def test_an_episode_whose_end_is_empty_is_judged_by_what_was() -> None:
    """The last scrape finds nothing; the mean over the episode does."""
    assert codes(diagnosed(saturated(depth_end=0.0), loaded_client())) == ["workers-saturated"]
