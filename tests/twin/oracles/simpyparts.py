"""Small systems written once more on SimPy, with nothing of the twin in them."""

from collections.abc import Generator, Sequence
from random import Random
from typing import Any

import simpy

from tests.twin.oracles.parts import Estimate

__all__ = ["SimpyBucket", "bucket_loop", "first_pass_seconds", "in_batches", "priority_waits"]

Steps = Generator[simpy.Event, Any, None]


class SimpyBucket:
    """A token bucket as the generic cell rate algorithm: a request conforms if it is not ahead of its theoretical time.

    Args:
        env: the time.
        qps: tokens a second.
        burst: the most tokens.
    """

    def __init__(self, env: simpy.Environment, qps: float, burst: int) -> None:
        self._env = env
        self._interval = 1.0 / qps
        self._tolerance = (burst - 1) / qps
        self._theoretical = 0.0

    def take(self) -> Generator[simpy.Event, Any, float]:
        """Wait for a token; how long it took."""
        now = self._env.now
        wait = max(0.0, self._theoretical - self._tolerance - now)
        self._theoretical = max(self._theoretical, now) + self._interval
        if wait > 0.0:
            yield self._env.timeout(wait)
        return wait


def in_batches(samples: Sequence[float], number: int) -> Estimate:
    """The mean of samples in order of time, whose first part is left out, from batches of them."""
    size = len(samples) // (number + 1)
    return Estimate.of([sum(samples[i * size : (i + 1) * size]) / size for i in range(1, number + 1)])


def priority_waits(
    servers: int, arrivals: tuple[float, ...], service_seconds: float, customers: int, seed: int
) -> list[list[float]]:
    """Waits of each class at M/M/c, the first class served first, in order of arrival."""
    env, random = simpy.Environment(), Random(seed)
    station = simpy.PriorityResource(env, servers)
    waits: list[list[float]] = [[] for _ in arrivals]

    def customer(rank: int, place: int) -> Steps:
        arrived = env.now
        with station.request(priority=rank) as turn:
            yield turn
            waits[rank][place] = env.now - arrived
            yield env.timeout(random.expovariate(1.0 / service_seconds))

    def source(rank: int, rate: float) -> Steps:
        while True:
            yield env.timeout(random.expovariate(rate))
            waits[rank].append(0.0)
            env.process(customer(rank, len(waits[rank]) - 1))

    for rank, rate in enumerate(arrivals):
        env.process(source(rank, rate))
    env.run(until=customers / sum(arrivals))
    return waits


def bucket_loop(
    callers: int, qps: float, burst: int, other_seconds: float, run_seconds: float, seed: int
) -> Sequence[float]:
    """Waits of callers who share a bucket and do something else for an exponential time between calls."""
    env, random = simpy.Environment(), Random(seed)
    bucket = SimpyBucket(env, qps, burst)
    waits: list[float] = []

    def caller() -> Steps:
        while True:
            waits.append((yield from bucket.take()))
            yield env.timeout(random.expovariate(1.0 / other_seconds))

    for _ in range(callers):
        env.process(caller())
    env.run(until=run_seconds)
    return waits


def first_pass_seconds(
    keys: int, workers: int, posts: int, work_seconds: float, delay_seconds: float, seed: int
) -> float:
    """How long workers take for keys that all come at once and need posts one after another.

    The API server is one line in order of arrival, and an exponential delay follows.
    """
    env, random = simpy.Environment(), Random(seed)
    pool, server = simpy.Resource(env, workers), simpy.Resource(env, 1)

    def reconcile() -> Steps:
        with pool.request() as turn:
            yield turn
            for _ in range(posts):
                with server.request() as place:
                    yield place
                    yield env.timeout(work_seconds)
                yield env.timeout(random.expovariate(1.0 / delay_seconds))

    env.run(until=env.all_of([env.process(reconcile()) for _ in range(keys)]))
    return env.now
