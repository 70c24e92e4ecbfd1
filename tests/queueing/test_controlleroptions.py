"""Not here: CF-02 needs a reconciler and CF-08/CF-09 threads, which are with the driver in tests/runtime."""

import pytest

from advisor.queueing.classicqueue import ClassicQueue
from advisor.queueing.controlleroptions import (
    CACHE_SYNC_TIMEOUT_NS,
    ControllerOptions,
    ManagerDefaults,
    ResolvedOptions,
    StartupError,
    make_queue,
    resolve,
)
from advisor.queueing.priorityqueue import PriorityQueue
from advisor.queueing.retrylimiters import ExponentialLimiter
from advisor.queueing.types import AddOptions

MILLISECOND = 1_000_000
SECOND = 1_000_000_000
NOBODY = ManagerDefaults()


def resolved(manager: ManagerDefaults = NOBODY, /, **options: object) -> ResolvedOptions:
    """The options in effect of a controller named x."""
    return resolve(ControllerOptions("x", **options), manager)  # type: ignore[arg-type] # each of its own type


def test_cf_01_a_name_is_needed() -> None:
    """A controller without a name is refused."""
    with pytest.raises(StartupError, match="a controller needs a name"):
        resolve(ControllerOptions(""), NOBODY)


@pytest.mark.parametrize(
    ("manager", "own"), [pytest.param(NOBODY, None, id="cf_03"), pytest.param(ManagerDefaults(), False, id="cf_04")]
)
def test_cf_03_04_the_same_name_twice_is_refused(manager: ManagerDefaults, own: bool | None) -> None:
    """Names label metrics, so a second controller of a name is refused, also where validation is asked for."""
    with pytest.raises(StartupError, match="a controller named x exists already"):
        resolve(ControllerOptions("x", skip_name_validation=own), manager, taken_names=["x"])


@pytest.mark.parametrize(
    ("manager", "own"),
    [
        pytest.param(ManagerDefaults(skip_name_validation=True), None, id="cf_05"),
        pytest.param(NOBODY, True, id="cf_06"),
    ],
)
def test_cf_05_06_names_need_not_differ_if_nobody_validates(manager: ManagerDefaults, own: bool | None) -> None:
    """Validation can be skipped on the manager or on the controller."""
    assert resolve(ControllerOptions("x", skip_name_validation=own), manager, taken_names=["x"]).name == "x"


def test_cf_06_the_controller_can_ask_for_validation_again() -> None:
    """What the controller says of validation beats the manager."""
    with pytest.raises(StartupError):
        resolve(ControllerOptions("x", skip_name_validation=False), ManagerDefaults(skip_name_validation=True), ["x"])


def test_cf_07_different_names_are_fine() -> None:
    """A name that nobody has is taken."""
    assert resolve(ControllerOptions("x"), NOBODY, taken_names=["y", "z"]).name == "x"


def test_cf_10_defaults() -> None:
    """Whatever nobody says has controller-runtime's default."""
    assert resolved() == ResolvedOptions(
        name="x",
        max_concurrent_reconciles=1,
        cache_sync_timeout_ns=120 * SECOND,
        recover_panic=True,
        needs_leader_election=True,
        use_priority_queue=True,
        reconciliation_timeout_ns=0,
        enable_warmup=False,
    )
    assert CACHE_SYNC_TIMEOUT_NS == 120 * SECOND


@pytest.mark.parametrize("use_priority_queue", [True, False])
def test_cf_11_a_given_limiter_is_kept(use_priority_queue: bool) -> None:
    """A limiter that is given replaces the queue's default one."""
    queue = make_queue(resolved(use_priority_queue=use_priority_queue), ExponentialLimiter(base_ns=3 * SECOND))
    queue.add(0, AddOptions(rate_limited=True), "k")
    assert queue.next_deadline_ns() == 3 * SECOND


@pytest.mark.parametrize(
    ("name", "managers", "own", "default"),
    [
        pytest.param("recover_panic", False, True, True, id="cf_12_13_14"),
        pytest.param("needs_leader_election", False, True, True, id="cf_15_16_17"),
        pytest.param("max_concurrent_reconciles", 5, 7, 1, id="cf_18_19"),
        pytest.param("cache_sync_timeout_ns", 5 * SECOND, 7 * SECOND, 120 * SECOND, id="cf_20"),
        pytest.param("use_priority_queue", False, True, True, id="cf_22"),
        pytest.param("enable_warmup", True, False, False, id="cf_23"),
        pytest.param("reconciliation_timeout_ns", 5 * SECOND, 7 * SECOND, 0, id="cf_24"),
    ],
)
def test_cf_12_to_24_inheritance(name: str, managers: object, own: object, default: object) -> None:
    """An option comes from the controller, else from the manager, else from controller-runtime."""
    manager = ManagerDefaults(**{name: managers})  # type: ignore[arg-type] # each of its own type
    assert getattr(resolved(), name) == default
    assert getattr(resolved(manager), name) == managers
    assert getattr(resolved(manager, **{name: own}), name) == own
    assert getattr(resolved(**{name: own}), name) == own


@pytest.mark.parametrize("name", ["max_concurrent_reconciles", "cache_sync_timeout_ns", "reconciliation_timeout_ns"])
@pytest.mark.parametrize("unset", [None, 0, -1])
def test_cf_18_to_24_a_number_that_is_not_above_zero_is_unset(name: str, unset: int | None) -> None:
    """Zero is what Go has where nobody set a number: it takes the manager's, and the manager's the default."""
    manager = ManagerDefaults(**{name: 3})  # type: ignore[arg-type] # numbers only
    assert getattr(resolved(manager, **{name: unset}), name) == 3
    nothing = ManagerDefaults(**{name: unset})  # type: ignore[arg-type] # numbers only
    assert getattr(resolved(nothing, **{name: unset}), name) == getattr(resolved(), name)


def test_cf_18_19_concurrency_by_kind() -> None:
    """Between the controller's own number and the manager's stands that of the kind."""
    manager = ManagerDefaults(max_concurrent_reconciles=2, concurrency_by_kind={"RayCluster.ray.io": 8})
    assert resolved(manager, kind="RayCluster.ray.io").max_concurrent_reconciles == 8
    assert resolved(manager, kind="RayJob.ray.io").max_concurrent_reconciles == 2
    assert resolved(manager, kind="RayCluster.ray.io", max_concurrent_reconciles=3).max_concurrent_reconciles == 3


def test_cf_21_default_queue() -> None:
    """By default there is the priority queue with the exponential delay of each key and nothing overall."""
    queue = make_queue(resolved())
    assert isinstance(queue, PriorityQueue)
    for number in range(1000):
        queue.add(0, AddOptions(rate_limited=True), f"k{number}")
    queue.tick(5 * MILLISECOND)
    assert len(queue) == 1000


def test_cf_22_classic_queue() -> None:
    """With the option off there is the classic queue, whose limiter also holds all keys to ten a second."""
    queue = make_queue(resolved(use_priority_queue=False))
    assert isinstance(queue, ClassicQueue)
    for number in range(1000):
        queue.add(0, AddOptions(rate_limited=True), f"k{number}")
    queue.tick(5 * MILLISECOND)
    assert len(queue) == 100
