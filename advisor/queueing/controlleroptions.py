"""Options of a controller, their defaults, and the queue that follows (research: controller-runtime 3.4 and 2.4)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from advisor.queueing.classicqueue import ClassicQueue
from advisor.queueing.priorityqueue import PriorityQueue
from advisor.queueing.types import NANOSECONDS_PER_SECOND, RetryLimiter

__all__ = [
    "CACHE_SYNC_TIMEOUT_NS",
    "ControllerOptions",
    "ManagerDefaults",
    "ResolvedOptions",
    "StartupError",
    "make_queue",
    "resolve",
]

_T = TypeVar("_T")

CACHE_SYNC_TIMEOUT_NS = 120 * NANOSECONDS_PER_SECOND


class StartupError(ValueError):
    """A controller cannot be set up or started; names what stands in the way."""


@dataclass(frozen=True, slots=True)
class ManagerDefaults:
    """What a manager gives to controllers that do not say it themselves.

    None leaves controller-runtime's default; so does a number that is not above zero.

    Attributes:
        concurrency_by_kind: MaxConcurrentReconciles by group and kind ("RayCluster.ray.io"); beats
            `max_concurrent_reconciles`.
    """

    max_concurrent_reconciles: int | None = None
    cache_sync_timeout_ns: int | None = None
    recover_panic: bool | None = None
    needs_leader_election: bool | None = None
    use_priority_queue: bool | None = None
    reconciliation_timeout_ns: int | None = None
    enable_warmup: bool | None = None
    skip_name_validation: bool = False
    concurrency_by_kind: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ControllerOptions:
    """What one controller says of itself; None, or a number that is not above zero, takes the manager's.

    Attributes:
        name: value of the labels `name` and `controller`.
        kind: group and kind that it is for ("RayCluster.ray.io"), looked up in `concurrency_by_kind`.
    """

    name: str
    max_concurrent_reconciles: int | None = None
    cache_sync_timeout_ns: int | None = None
    recover_panic: bool | None = None
    needs_leader_election: bool | None = None
    use_priority_queue: bool | None = None
    reconciliation_timeout_ns: int | None = None
    enable_warmup: bool | None = None
    skip_name_validation: bool | None = None
    kind: str = ""


@dataclass(frozen=True, slots=True)
class ResolvedOptions:
    """The options in effect.

    Attributes:
        name: value of the labels `name` and `controller`.
        max_concurrent_reconciles: workers, at least 1.
        cache_sync_timeout_ns: how long a source may take to start and sync.
        recover_panic: whether a reconcile that breaks down is retried; otherwise the process ends.
        needs_leader_election: whether only the leader may run workers.
        use_priority_queue: the priority queue, or else the classic one.
        reconciliation_timeout_ns: deadline of each reconcile; 0 is none.
        enable_warmup: whether sources start before the election.
    """

    name: str
    max_concurrent_reconciles: int
    cache_sync_timeout_ns: int
    recover_panic: bool
    needs_leader_election: bool
    use_priority_queue: bool
    reconciliation_timeout_ns: int
    enable_warmup: bool = False


def resolve(options: ControllerOptions, manager: ManagerDefaults, taken_names: Iterable[str] = ()) -> ResolvedOptions:
    """Options of a controller: its own, else the manager's, else the defaults of controller-runtime 0.24.

    Args:
        options: the controller's own.
        manager: the manager's.
        taken_names: names of the controllers that exist already.

    Raises:
        StartupError: there is no name, or it is taken and names are validated.
    """
    if not options.name:
        raise StartupError("a controller needs a name")
    skip = manager.skip_name_validation if options.skip_name_validation is None else options.skip_name_validation
    if not skip and options.name in set(taken_names):
        raise StartupError(f"a controller named {options.name} exists already: names label metrics and must differ")
    return ResolvedOptions(
        name=options.name,
        max_concurrent_reconciles=_first_above_zero(
            options.max_concurrent_reconciles,
            manager.concurrency_by_kind.get(options.kind),
            manager.max_concurrent_reconciles,
            default=1,
        ),
        cache_sync_timeout_ns=_first_above_zero(
            options.cache_sync_timeout_ns, manager.cache_sync_timeout_ns, default=CACHE_SYNC_TIMEOUT_NS
        ),
        recover_panic=_first(options.recover_panic, manager.recover_panic, default=True),
        needs_leader_election=_first(options.needs_leader_election, manager.needs_leader_election, default=True),
        use_priority_queue=_first(options.use_priority_queue, manager.use_priority_queue, default=True),
        reconciliation_timeout_ns=_first_above_zero(
            options.reconciliation_timeout_ns, manager.reconciliation_timeout_ns, default=0
        ),
        enable_warmup=_first(options.enable_warmup, manager.enable_warmup, default=False),
    )


def make_queue(options: ResolvedOptions, limiter: RetryLimiter | None = None) -> PriorityQueue | ClassicQueue:
    """The queue of a controller: of the kind that its options ask for, with that kind's limiter unless one is given."""
    return PriorityQueue(limiter) if options.use_priority_queue else ClassicQueue(limiter)


def _first(own: _T | None, managers: _T | None, *, default: _T) -> _T:
    if own is not None:
        return own
    return default if managers is None else managers


def _first_above_zero(*candidates: int | None, default: int) -> int:
    """The first number that says something: in Go, where no number is absent, zero is what nobody set."""
    return next((each for each in candidates if each is not None and each > 0), default)
