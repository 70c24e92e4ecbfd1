"""An operator of which no more is known than its workers, the time of its reconciles, and its client's limiter."""

from dataclasses import dataclass
from typing import Any

from advisor.queueing.outcome import SUCCESS, Outcome
from advisor.twin.parameters import OperatorSettings, WorldParameters
from advisor.twin.workers import TwinController
from tests.twin.oracles.parts import AGAIN, SECOND_NS, Parts, Steps

__all__ = ["PlainOperator"]


@dataclass(frozen=True)
class PlainOperator:
    """One controller with one kind of request.

    Attributes:
        workers: of the controller.
        reconcile_seconds: of one reconcile with its calls, without the client's limiter.
        calls: of one reconcile, one after another.
        call_seconds: of one call, without the limiter.
        qps: of the limiter; negative for none.
        burst: of the limiter.
        passes: reconciles that one item of a burst needs.
    """

    workers: int
    reconcile_seconds: float
    calls: int = 1
    call_seconds: float = 0.0
    qps: float = -1.0
    burst: int = 1
    passes: float = 1.0

    @classmethod
    def of_facts(cls, facts: dict[str, Any]) -> "PlainOperator":
        """The operator of a facts file, with the slower controller where there are several."""
        controller = max(facts["controllers"].values(), key=lambda one: one.get("reconcile_seconds_mean", 0.0))
        client = facts.get("client", {})
        limited = client.get("limiter_wait_seconds_mean", 0.0)
        calls = round(controller.get("api_calls_per_reconcile", 0))
        of_item = facts.get("demand", {}).get("api_calls_per_item")
        return cls(
            workers=controller["max_concurrent_reconciles"],
            reconcile_seconds=max(0.0, controller["reconcile_seconds_mean"] - calls * limited),
            calls=calls,
            call_seconds=max(0.0, client.get("request_seconds_mean", limited) - limited),
            qps=client.get("qps", -1.0),
            burst=client.get("burst", 1),
            passes=of_item / calls if of_item and calls else 1.0,
        )

    def drain_seconds(self, items: int) -> float:
        """How long it takes for so many items that all come at once; a second pass counts as one more item."""
        parts, controller = self._build(SUCCESS)
        items = round(items * self.passes)
        for number in range(items):
            controller.wake(str(number))
        pace = self.reconcile_seconds / 2 or 0.01
        while controller.loop.metrics.reconcile_time.count < items:
            parts.run(pace)
        return parts.engine.now_ns / SECOND_NS

    def steady(self, seconds: float, *, keys: int = 0, every_seconds: float = 0.0) -> "Steady":
        """How it goes on with keys that all come again and again, once a start has been left behind.

        Args:
            seconds: how long to look, after half as long a start.
            keys: how many; as many as workers if not given, which keeps all of them busy.
            every_seconds: from the end of a reconcile of a key to the next one.
        """
        again = Outcome(requeue_after_ns=round(every_seconds * SECOND_NS)) if every_seconds else AGAIN
        parts, controller = self._build(again)
        number = keys or self.workers
        for key in range(number):
            controller.add_after(1 + round(every_seconds * SECOND_NS * key / number), str(key))
        parts.run(seconds / 2)
        before = _totals(parts, controller)
        parts.run(seconds)
        reconciles, calls, limited, busy = (
            after - start for after, start in zip(_totals(parts, controller), before, strict=True)
        )
        return Steady(reconciles / seconds, calls / seconds, limited / max(calls, 1.0), busy / seconds)

    def _build(self, outcome: Outcome) -> tuple[Parts, TwinController]:
        settings = OperatorSettings(concurrency=self.workers, qps=self.qps, burst=self.burst)
        parts = Parts(settings, WorldParameters(request_seconds={"PUT": self.call_seconds}, server_work_seconds=0.0))
        request = parts.client.request("PUT", "Object")
        rest_ns = round(max(0.0, self.reconcile_seconds - self.calls * self.call_seconds) * SECOND_NS)

        def program(key: str) -> Steps:
            for _ in range(self.calls):
                yield request
            yield rest_ns
            return outcome

        return parts, parts.controller(program)


@dataclass(frozen=True)
class Steady:
    """How an operator goes on.

    Attributes:
        reconciles_per_second: ended ones.
        calls_per_second: answered ones.
        limiter_wait_seconds: mean of a call.
        busy_workers: mean number.
    """

    reconciles_per_second: float
    calls_per_second: float
    limiter_wait_seconds: float
    busy_workers: float


def _totals(parts: Parts, controller: TwinController) -> tuple[float, float, float, float]:
    [request] = parts.client.requests
    metrics = controller.loop.metrics
    return (
        float(metrics.reconcile_time.count),
        float(request.counts.requests),
        request.counts.limiter_ns / SECOND_NS,
        metrics.reconcile_time.sum_ns / SECOND_NS,
    )
