"""The twin's parts put together without a KubeRay operator around them, and means with their errors."""

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from random import Random

from advisor.queueing.outcome import SUCCESS, Outcome
from advisor.queueing.tokenbucket import ClientBuckets
from advisor.twin.client import Client, Request
from advisor.twin.engine import Engine
from advisor.twin.parameters import OperatorSettings, WorldParameters
from advisor.twin.workers import Program, TwinController, Workshop
from advisor.twin.world import CpuQuota, ServiceLine

__all__ = [
    "AGAIN",
    "SECOND_NS",
    "STANDARD_ERRORS",
    "Estimate",
    "Parts",
    "batches",
    "exponential_ns",
    "poisson",
    "serve",
]

SECOND_NS = 1_000_000_000
# A right mean is further away once in 16 000; seeds are fixed, so a test that passes goes on passing.
STANDARD_ERRORS = 4.0
# The soonest requeue: a closed loop runs the same key over and over.
AGAIN = Outcome(requeue_after_ns=1)

Steps = Generator[Request | int, int, Outcome]


@dataclass(frozen=True)
class Estimate:
    """A mean of independent samples and its standard error."""

    mean: float
    error: float

    @classmethod
    def of(cls, samples: Sequence[float]) -> "Estimate":
        """From at least two samples."""
        number = len(samples)
        mean = sum(samples) / number
        return cls(mean, math.sqrt(sum((one - mean) ** 2 for one in samples) / (number - 1) / number))

    def agrees(self, other: "float | Estimate", *, within: float) -> bool:
        """Whether the other is as near as chance explains.

        Args:
            other: an exact value, or another estimate.
            within: the largest distance, as a share of the mean, that chance may explain; more would test nothing.
        """
        exact = other.mean if isinstance(other, Estimate) else other
        error = math.hypot(self.error, other.error) if isinstance(other, Estimate) else self.error
        tolerance = STANDARD_ERRORS * error
        assert tolerance <= within * self.mean, f"{tolerance} is too wide for a mean of {self.mean}"
        return abs(self.mean - exact) <= tolerance


def exponential_ns(random: Random, mean_seconds: float) -> int:
    """An exponential time in nanoseconds."""
    return round(random.expovariate(1.0 / mean_seconds) * SECOND_NS)


class Parts:
    """An engine, an API server, a CPU and a client, and controllers on them.

    Args:
        settings: of the client's buckets and the CPU; concurrency and queue of the controllers.
        world: times; the default takes none at all.
        seed: of the client's random numbers.
    """

    def __init__(
        self, settings: OperatorSettings | None = None, world: WorldParameters | None = None, *, seed: int = 1
    ) -> None:
        self.settings = settings or OperatorSettings(qps=-1.0)
        self.world = world or WorldParameters(request_seconds={"POST": 0.0}, server_work_seconds=0.0)
        self.engine = Engine()
        self.line = ServiceLine()
        self.cpu = CpuQuota(self.settings.cpu_limit_cores)
        self.client = Client(self.engine, self.line, self.cpu, self.world, Random(seed))
        self.client.start(ClientBuckets(self.settings.qps, self.settings.burst))

    def controller(self, program: Program, *, reconcile_cpu_seconds: float = 0.0) -> TwinController:
        """A controller whose workers have started."""
        cpu_ns = round(reconcile_cpu_seconds * SECOND_NS)
        shop = Workshop(self.engine, self.client, self.cpu, self.settings, cpu_ns)
        made = TwinController("test", shop, program)
        made.start()
        return made

    def closed_loop(self, steps: Callable[[], Steps], *, reconcile_cpu_seconds: float = 0.0) -> TwinController:
        """A controller with a key for each worker; all reconcile over and over."""
        made = self.controller(lambda _: steps(), reconcile_cpu_seconds=reconcile_cpu_seconds)
        for key in range(self.settings.concurrency):
            made.wake(f"key-{key}")
        return made

    def run(self, seconds: float) -> None:
        """Go on for a time."""
        self.engine.run(self.engine.now_ns + round(seconds * SECOND_NS))


def poisson(
    parts: Parts, controller: TwinController, per_second: float, random: Random, *, at_low_priority: bool = False
) -> None:
    """Add distinct keys from now on, at random."""

    def arrive(number: int) -> None:
        if at_low_priority:
            controller.add_listed((f"low-{number}",))
        else:
            controller.wake(f"key-{number}")
        parts.engine.at(parts.engine.now_ns + exponential_ns(random, 1.0 / per_second), arrive, number + 1)

    parts.engine.at(parts.engine.now_ns + exponential_ns(random, 1.0 / per_second), arrive, 0)


def serve(next_ns: Callable[[], int]) -> Program:
    """A reconcile that takes a time and no request."""

    def program(_: str) -> Steps:
        yield next_ns()
        return SUCCESS

    return program


def batches(
    parts: Parts, *totals: Callable[[], tuple[float, float]], number: int, seconds: float, warm_up: float
) -> list[Estimate]:
    """Means from batches of one long run, each long enough to be nearly independent of the others.

    Args:
        parts: what runs.
        totals: for each mean, sum and count so far.
        number: of batches.
        seconds: length of each.
        warm_up: time before the first one.
    """
    parts.run(warm_up)
    samples: list[list[float]] = [[] for _ in totals]
    before = [total() for total in totals]
    for _ in range(number):
        parts.run(seconds)
        after = [total() for total in totals]
        for means, (sum_before, count_before), (sum_after, count_after) in zip(samples, before, after, strict=True):
            means.append((sum_after - sum_before) / (count_after - count_before))
        before = after
    return [Estimate.of(means) for means in samples]
