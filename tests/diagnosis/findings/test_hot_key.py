import msgspec
import pytest

from advisor.model.finding import Confidence, FindingCode, Severity
from advisor.model.signals import KeyLoad
from tests.diagnosis.builders import (
    NO_CONTROLLERS,
    Given,
    adjusted,
    case,
    checks_of,
    controller,
    examine,
    key,
    must_find,
    saturated,
    unknown_controller,
)

CODE = FindingCode.HOT_KEY


def waits_for_itself(**given: Given) -> object:
    """One of eight workers busy, a key waiting behind its own reconcile."""
    values: Given = {
        "busy_workers_mean": 0.95,
        "blocked_ratio": 0.8,
        "depth_mean": 1.0,
        "queue_wait_seconds_mean": 6.0,
        "longest_running_seconds": 18.0,
    }
    return controller(workers=8.0, **(values | given))


def test_a_key_that_waits_for_itself_holds() -> None:
    """Most of the busy time goes to one key, nobody else waits, and the key is named."""
    made = must_find(CODE, case(waits_for_itself(), key(share=0.9)))
    assert (made.severity, made.confidence) == (Severity.CRITICAL, Confidence.HIGH)
    assert made.subject == "team/big"
    assert made.evidence[0].value == 0.9
    assert "team/big" in made.summary
    assert "--show-managed-fields" in made.next_steps[0]
    assert checks_of(made) == {"Do other keys wait for a worker?": False}


@pytest.mark.parametrize(("share", "holds"), [(0.5, True), (0.49, False)])
def test_the_share_that_decides(share: float, holds: bool) -> None:
    """Half of the busy time; the setting moves it."""
    assert (examine(CODE, case(waits_for_itself(), key(share=share))) is not None) == holds
    looser = adjusted(hot_key_share=0.4)
    assert examine(CODE, case(waits_for_itself(), key(share=share), thresholds=looser)) is not None


@pytest.mark.parametrize(
    ("reconciles", "busy", "severity"),
    [
        (100, 0.1, Severity.WARNING),
        (99, 0.1, None),
        (99, 0.5, None),
        (99, 0.56, Severity.INFO),
    ],
)
def test_a_key_that_makes_nobody_wait(reconciles: int, busy: float, severity: Severity | None) -> None:
    """More than one reconcile a second is a warning by itself; much busy time is worth a note; else nothing."""
    one = case(controller(busy_workers_mean=busy), key(share=0.9, reconciles=reconciles))
    made = examine(CODE, one)
    assert (made.severity if made else None) == severity


def test_the_rate_that_counts_is_a_setting() -> None:
    """A lower rate finds a slower writer; a few reconciles remain chance."""
    slow = case(controller(), key(reconciles=60), thresholds=adjusted(hot_key_per_second=0.5))
    assert must_find(CODE, slow).severity is Severity.WARNING
    few = case(controller(), key(reconciles=19), thresholds=adjusted(hot_key_per_second=0.1))
    assert examine(CODE, few) is None
    allowed = adjusted(hot_key_per_second=0.1, fewest_reconciles=10.0)
    assert examine(CODE, case(controller(), key(reconciles=19), thresholds=allowed)) is not None
    idle = case(controller(busy_workers_mean=0.3), key(reconciles=30), thresholds=adjusted(idle_workers=0.2))
    assert must_find(CODE, idle).severity is Severity.INFO


@pytest.mark.parametrize(
    ("wait", "severity"), [(5.0, Severity.CRITICAL), (1.0, Severity.WARNING), (0.9, Severity.INFO)]
)
def test_severity_follows_its_own_wait(wait: float, severity: Severity) -> None:
    """Keys that wait for themselves are as bad as the wait."""
    one = case(waits_for_itself(queue_wait_seconds_mean=wait), key(reconciles=10))
    assert must_find(CODE, one).severity is severity


def test_other_keys_waiting_refute_it() -> None:
    """A big key that holds the only worker while others wait is a lack of workers."""
    assert examine(CODE, case(saturated(), key(share=0.95))) is None


def test_a_moment_of_others_waiting_does_not() -> None:
    """Over a long time a backlog that nobody noticed changes nothing about the key that is written to."""
    moment = controller(backlog_mean=0.01, backlog_peak=6.0, queue_wait_seconds_mean=0.05)
    made = must_find(CODE, case(moment, key(share=0.9, reconciles=2000)))
    assert made.severity is Severity.WARNING
    assert "far more often than any timer" in made.summary


def test_many_keys_with_like_shares_refute_it() -> None:
    """The hottest of many is not hot."""
    assert examine(CODE, case(waits_for_itself(), key(share=0.04), key("next", share=0.04))) is None


def test_without_a_log_the_gauges_tell_less() -> None:
    """Keys waiting beside idle workers during one long reconcile: some key, with medium confidence."""
    made = must_find(CODE, case(waits_for_itself()))
    assert (made.confidence, made.subject) == (Confidence.MEDIUM, "")
    assert "log" in made.next_steps[0]
    quiet = waits_for_itself(queue_wait_seconds_mean=0.1)
    assert must_find(CODE, case(quiet)).severity is Severity.WARNING


@pytest.mark.parametrize(
    "given",
    [
        {"blocked_ratio": 0.49},
        {"blocked_ratio": None},
        {"busy_workers_mean": 1.6},
        {"longest_running_seconds": 4.9},
        {"longest_running_seconds": None},
    ],
)
def test_without_a_log_each_sign_is_needed(given: Given) -> None:
    """Idle workers beside waiting keys, one busy worker, and a long reconcile."""
    assert examine(CODE, case(waits_for_itself(**given))) is None


def test_without_a_log_the_signs_are_settings() -> None:
    """Each threshold moves the condition."""
    less = waits_for_itself(blocked_ratio=0.4, longest_running_seconds=3.0, busy_workers_mean=1.8)
    moved = adjusted(hot_key_share=0.4, wait_target_seconds=3.0, idle_workers=0.8)
    assert examine(CODE, case(less, thresholds=moved)) is not None


def test_an_unknown_backlog_is_told() -> None:
    """Whether others wait is not known where the gauges are missing."""
    made = must_find(CODE, case(unknown_controller(), key(reconciles=500)))
    assert checks_of(made) == {"Do other keys wait for a worker?": None}


def test_nothing_known_is_no_finding() -> None:
    """No log and no gauges: no key is hot."""
    assert examine(CODE, case(unknown_controller())) is None


def test_a_log_without_any_controller_series_is_not_enough() -> None:
    """Whether anybody waits is in no log."""
    assert examine(CODE, case(NO_CONTROLLERS, key(reconciles=5000))) is None


def test_a_scale_up_is_no_writers_doing() -> None:
    """A key that creates many Pods a reconcile is told what its time goes into, not to look for a writer."""
    made = must_find(CODE, case(waits_for_itself(), key(share=0.9, reconciles=3, pods_created=498)))
    (step,) = made.next_steps
    assert step.startswith("team/big creates its Pods one after another (498 here): ")


def nameless(share: float = 0.9, reconciles: int = 50) -> KeyLoad:
    """The hottest key of a controller, as somebody told of it."""
    return msgspec.structs.replace(key("", share=share, reconciles=reconciles), namespace="")


def test_a_key_without_a_name_is_called_what_it_is() -> None:
    """Its share was told; the log would name it."""
    made = must_find(CODE, case(waits_for_itself(), nameless()))
    assert made.subject == "the hottest key of raycluster"
    assert made.evidence[0].origin == "facts file"
    assert made.next_steps == ("give the operator's log, which names the key",)


@pytest.mark.parametrize(("reconciles", "holds"), [(500, True), (499, False)])
def test_a_loop_is_hot_whatever_its_share(reconciles: int, holds: bool) -> None:
    """Five reconciles a second of one key are no chain of its own events; the setting moves it."""
    busy = controller(busy_workers_mean=3.0)
    assert (examine(CODE, case(busy, key(share=0.1, reconciles=reconciles))) is not None) == holds
    lower = adjusted(hot_key_loop_per_second=4.0)
    assert examine(CODE, case(busy, key(share=0.1, reconciles=reconciles), thresholds=lower)) is not None


def test_a_loop_while_others_wait_is_not_what_decides() -> None:
    """Keys that wait for a worker need workers first."""
    assert examine(CODE, case(saturated(), key(share=0.1, reconciles=900))) is None
