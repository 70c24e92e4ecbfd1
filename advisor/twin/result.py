"""What a run of the twin came to."""

from dataclasses import dataclass

from advisor.twin.parameters import OperatorSettings

__all__ = ["ControllerResult", "DepthSample", "RequestResult", "RunResult"]


@dataclass(frozen=True, slots=True)
class DepthSample:
    """Ready keys of one controller at one time, by priority, and its workers in a reconcile."""

    at_seconds: float
    controller: str
    depth_by_priority: dict[str, int]
    active_workers: int


@dataclass(frozen=True, slots=True)
class ControllerResult:
    """One controller over the whole run.

    Attributes:
        controller: its label.
        reconciles: ended reconciles by result.
        queue_wait_seconds_mean: from ready to a worker; None without hand-offs.
        queue_wait_seconds_by_priority: the same for each priority.
        queue_wait_buckets: cumulative counts by upper bound in seconds.
        reconcile_seconds_mean: duration; None without reconciles.
        reconcile_seconds_buckets: cumulative counts by upper bound in seconds.
        utilisation: busy worker time over workers times the run.
        budget_seconds: worker seconds by what they were spent on: api_server, client_limiter, cpu, external.
        adds: keys that became ready.
        deduplicated_adds: adds of keys that were ready already.
    """

    controller: str
    reconciles: dict[str, int]
    queue_wait_seconds_mean: float | None
    queue_wait_seconds_by_priority: dict[str, float]
    queue_wait_buckets: tuple[tuple[float, int], ...]
    reconcile_seconds_mean: float | None
    reconcile_seconds_buckets: tuple[tuple[float, int], ...]
    utilisation: float
    budget_seconds: dict[str, float]
    adds: int
    deduplicated_adds: int


@dataclass(frozen=True, slots=True)
class RequestResult:
    """Requests of one verb on one kind.

    Attributes:
        verb: HTTP method.
        kind: what they are about.
        requests: answered ones.
        attempts: times sent, retries after 429 included.
        limiter_seconds: their time in the client's bucket, in all.
        api_seconds: their time with the API server, in all.
    """

    verb: str
    kind: str
    requests: int
    attempts: int
    limiter_seconds: float
    api_seconds: float


@dataclass(frozen=True, slots=True)
class RunResult:
    """One run.

    Attributes:
        settings: what it ran with.
        run_seconds: length of the run.
        makespan_seconds: from the first arrival or scaling until all are done; None if one is not, or there was none.
        ready_seconds: from arrival to ready, for each arrival that got there, in order of getting there.
        controllers: by name.
        requests: of the operator's client, by verb and kind.
        server_requests: all that the API server answered, also to others.
        pod_running_seconds_mean: of Pods from bound to running; None where none got there.
        conflicts: writes of RayClusters, RayJobs and RayServices refused because the object had changed.
        cpu_seconds: CPU time of the operator.
        cpu_throttled_seconds: what work had to wait for its quota.
        depth_samples: taken at a steady pace if asked for.
        events: things that happened in virtual time.
        scaled_seconds: from a change of the number of workers to the status that says that all of them run.
    """

    settings: OperatorSettings
    run_seconds: float
    makespan_seconds: float | None
    ready_seconds: tuple[float, ...]
    controllers: tuple[ControllerResult, ...]
    requests: tuple[RequestResult, ...]
    server_requests: int
    pod_running_seconds_mean: float | None
    conflicts: int
    cpu_seconds: float
    cpu_throttled_seconds: float
    depth_samples: tuple[DepthSample, ...]
    events: int
    scaled_seconds: tuple[float, ...] = ()

    @property
    def ready_seconds_mean(self) -> float | None:
        """Mean over the arrivals that got ready."""
        return sum(self.ready_seconds) / len(self.ready_seconds) if self.ready_seconds else None

    @property
    def limiter_wait_seconds_mean(self) -> float | None:
        """Mean over all requests; None without requests or without a limiter."""
        if self.settings.qps < 0:
            return None
        requests = sum(one.attempts for one in self.requests)
        return sum(one.limiter_seconds for one in self.requests) / requests if requests else None

    @property
    def request_seconds_mean(self) -> float | None:
        """Mean time of a request with the API server, without the limiter."""
        requests = sum(one.requests for one in self.requests)
        return sum(one.api_seconds for one in self.requests) / requests if requests else None

    def busy_worker_seconds(self, name: str) -> float:
        """Time in reconciles of the workers of a controller that the flag reaches; 0 if it did not run."""
        found = self.controller(name)
        return 0.0 if found is None else found.utilisation * self.settings.concurrency * self.run_seconds

    def controller(self, name: str) -> ControllerResult | None:
        """The result of one controller; None if it did not run."""
        return next((one for one in self.controllers if one.controller == name), None)
