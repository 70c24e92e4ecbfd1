"""What a finding's rule looks at, and the few derived figures that several rules share."""

from dataclasses import dataclass
from functools import cached_property

from advisor.diagnosis.thresholds import Thresholds
from advisor.model.finding import Severity
from advisor.model.signals import ControllerSignals, Episode, KeyLoad, OperatorSignals

__all__ = ["Case", "Waiting"]


@dataclass(frozen=True, slots=True)
class Waiting:
    """How long keys waited in an episode, over all controllers.

    ``backlog_key_seconds``: waiting for a worker. ``blocked_key_seconds``: waiting behind their own reconcile.
    """

    worst: ControllerSignals | None
    mean_seconds: float
    oldest_seconds: float
    backlog_key_seconds: float
    blocked_key_seconds: float


@dataclass(frozen=True)
class Case:
    """One episode to be diagnosed; ``whole`` are the signals of the entire observation."""

    signals: OperatorSignals
    whole: OperatorSignals
    episode: Episode
    scrapes: int | None
    """Scrapes of the whole observation; None where somebody told the figures."""
    thresholds: Thresholds

    @property
    def too_few_scrapes(self) -> bool:
        """Whether rates and means of so few scrapes are chance."""
        return self.scrapes is not None and self.scrapes < self.thresholds.fewest_scrapes

    @cached_property
    def waiting(self) -> Waiting:
        """Waiting over all controllers; the worst is the one whose keys waited longest in sum."""
        seconds = self.signals.window.seconds
        backlog = blocked = 0.0
        worst, worst_area = None, 0.0
        for one in self.signals.controllers:
            area = one.waiting_key_seconds.or_else(0.0)
            behind = min(area, one.backlog_mean.or_else(0.0) * seconds)
            backlog += behind
            blocked += area - behind
            if area > worst_area:
                worst, worst_area = one, area
        return Waiting(
            worst=worst,
            mean_seconds=max(
                (one.queue_wait_seconds_mean.or_else(0.0) for one in self.signals.controllers), default=0.0
            ),
            oldest_seconds=max(
                (one.oldest_wait_seconds_peak.or_else(0.0) for one in self.signals.controllers), default=0.0
            ),
            backlog_key_seconds=backlog,
            blocked_key_seconds=blocked,
        )

    @cached_property
    def busy_seconds(self) -> float:
        """Busy worker seconds of all controllers."""
        return sum(one.busy_worker_seconds.or_else(0.0) for one in self.signals.controllers)

    @cached_property
    def busy_workers(self) -> float:
        """Mean busy workers of all controllers."""
        return self.busy_seconds / self.signals.window.seconds

    @cached_property
    def backlogged(self) -> bool:
        """Whether keys waited for a worker: true backlog proves that every worker was busy (controller-runtime 8.1)."""
        return any(one.backlog_peak.at_least(1.0) for one in self.signals.controllers)

    @cached_property
    def lost_seconds(self) -> float:
        """Time lost in the episode: keys waiting and workers busy, or clusters not ready, whichever is more."""
        operator = sum(one.waiting_key_seconds.or_else(0.0) for one in self.signals.controllers) + self.busy_seconds
        return max(operator, self.signals.demand.unready_cluster_seconds.or_else(0.0))

    @cached_property
    def harm(self) -> Severity:
        """How much waiting there is: critical beyond the target on average, warning where people notice it."""
        return self._harm(self.waiting.mean_seconds, self.waiting.oldest_seconds)

    def harm_of(self, controller: ControllerSignals) -> Severity:
        """The same for the keys of one controller alone."""
        return self._harm(
            controller.queue_wait_seconds_mean.or_else(0.0), controller.oldest_wait_seconds_peak.or_else(0.0)
        )

    def _harm(self, mean_seconds: float, oldest_seconds: float) -> Severity:
        limits = self.thresholds
        if mean_seconds >= limits.wait_target_seconds:
            return Severity.CRITICAL
        if mean_seconds >= limits.wait_warning_seconds or oldest_seconds >= limits.wait_target_seconds:
            return Severity.WARNING
        return Severity.INFO

    @cached_property
    def waiting_is_known(self) -> bool:
        """Whether the data tells at all how long keys waited, or that there was none to wait."""
        return any(
            one.waiting_key_seconds.known
            or one.queue_wait_seconds_mean.known
            or one.adds_per_second.value == 0.0
            or one.reconciles.value == 0.0
            for one in self.signals.controllers
        )

    @cached_property
    def external_controllers(self) -> tuple[ControllerSignals, ...]:
        """Controllers that may call something else than the API server."""
        told, profile = self.signals.external.call_seconds_mean.known, self.signals.profile
        callers, known = profile.external_callers, profile.known_callers
        return tuple(
            one
            for one in self.signals.controllers
            if one.controller in callers or (told and one.controller not in known)
        )

    @cached_property
    def hottest(self) -> KeyLoad | None:
        """The key that took most busy time, where the log shows keys."""
        return self.signals.keys[0] if self.signals.keys else None

    @cached_property
    def reconciles(self) -> float:
        """Reconciles of all controllers."""
        return sum(one.reconciles.or_else(0.0) for one in self.signals.controllers)

    @cached_property
    def errors(self) -> float:
        """Failed reconciles of all controllers: counted, else from their ratio."""
        seconds = self.signals.window.seconds
        return sum(
            one.errors_per_second.value * seconds
            if one.errors_per_second.value is not None
            else one.error_ratio.or_else(0.0) * one.reconciles.or_else(0.0)
            for one in self.signals.controllers
        )

    @cached_property
    def conflicts(self) -> float:
        """Conflicts: from the log where there is one, else refused PUT and PATCH requests."""
        from_log = self.signals.log.conflicts
        from_client = self.signals.client.conflicts_per_second.or_else(0.0) * self.signals.window.seconds
        return from_log.or_else(from_client)

    @cached_property
    def true_errors(self) -> float:
        """Failed reconciles that are neither conflicts nor control flow, as far as those can be told."""
        return max(0.0, self.errors - self.conflicts - self.signals.log.control_flow_errors.or_else(0.0))
