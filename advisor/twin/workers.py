"""A controller in virtual time: its queue, its workers, and the programs that they run."""

from collections.abc import Callable, Generator

from advisor.queueing.controller import ControllerLoop, Work
from advisor.queueing.outcome import Outcome
from advisor.queueing.types import AddOptions, WorkQueue
from advisor.twin.client import Client, Request
from advisor.twin.engine import Engine
from advisor.twin.world import CpuQuota

__all__ = ["Program", "TwinController"]

# Yields requests, is sent their answers, and returns what the reconcile came to.
Program = Callable[[str], Generator["Request | int", int, Outcome]]


class _Run:
    """One reconcile in progress."""

    __slots__ = ("attempt", "controller", "generator", "ready_ns", "request", "sent_ns", "work")

    def __init__(self, controller: "TwinController", work: Work) -> None:
        self.controller = controller
        self.work = work
        self.attempt = 0
        self.ready_ns = 0
        self.sent_ns = 0
        self.request: Request
        self.generator = controller.program(work.key)

    def answered(self, status: int) -> None:
        """Go on with the program."""
        self.controller.go_on(self, status)


class TwinController:
    """One controller: adds come in, reconciles run, requests go out.

    Args:
        name: the controller's label.
        engine: virtual time.
        queue: its queue.
        workers: how many.
        client: where requests go.
        cpu: what its CPU time is taken from.
        program: what a reconcile of a key does.
        reconcile_cpu_ns: CPU time of a reconcile without its requests.

    Attributes:
        api_ns: worker time in requests, less the limiter's part.
        limiter_ns: worker time in the client's buckets.
        external_ns: worker time in calls to something else than the API server.
        cpu_ns: worker time on the CPU or waiting for it.
    """

    def __init__(
        self,
        name: str,
        engine: Engine,
        queue: WorkQueue,
        workers: int,
        client: Client,
        cpu: CpuQuota,
        program: Program,
        reconcile_cpu_ns: int,
    ) -> None:
        self.name = name
        self.queue = queue
        self.loop = ControllerLoop(name, queue, workers)
        self.program = program
        self.api_ns = 0
        self.limiter_ns = 0
        self.external_ns = 0
        self.cpu_ns = 0
        self._engine = engine
        self._client = client
        self._cpu = cpu
        self._reconcile_cpu_ns = reconcile_cpu_ns
        self._armed_ns: int | None = None

    def start(self) -> None:
        """Let the workers line up."""
        self.loop.start_workers(self._engine.now_ns)
        self._settle()

    def add(self, options: AddOptions, key: str) -> None:
        """An event handler adds a key."""
        queue = self.queue
        queue.add(self._engine.now_ns, options, key)
        if queue.handoffs:
            self._settle()

    def go_on(self, run: _Run, status: int) -> None:
        """Give a run the answer to its request and send its next one."""
        now_ns = self._engine.now_ns
        request = run.request
        self.limiter_ns += run.ready_ns - run.sent_ns
        self.api_ns += now_ns - run.ready_ns
        del request
        self._step(run, status)

    def _start(self, run: _Run) -> None:
        self.cpu_ns += self._engine.now_ns - run.work.began_ns
        self._step(run, None)

    def _step(self, run: _Run, status: int | None) -> None:
        try:
            wanted = run.generator.send(status)  # type: ignore[arg-type] # None starts a generator
        except StopIteration as stop:
            self._finish(run, stop.value)
            return
        if isinstance(wanted, int):
            self.external_ns += wanted
            self._engine.at(self._engine.now_ns + wanted, self._after_external, run)
            return
        run.request = wanted
        run.sent_ns = self._engine.now_ns
        self._client.send(run)

    def _after_external(self, run: _Run) -> None:
        self._step(run, 200)

    def _finish(self, run: _Run, outcome: Outcome) -> None:
        self.loop.finish(self._engine.now_ns, run.work, outcome)
        self._settle()

    def _settle(self) -> None:
        """Start what has been handed out, and see to it that the next waiting key is not overslept."""
        engine, queue = self._engine, self.queue
        handoffs = queue.handoffs
        while handoffs:
            work = self.loop.begin(engine.now_ns, handoffs.popleft())
            if work is not None:
                run = _Run(self, work)
                engine.at(self._cpu.finish_ns(engine.now_ns, self._reconcile_cpu_ns), self._start, run)
        due_ns = queue.next_deadline_ns()
        if due_ns is not None and (self._armed_ns is None or due_ns < self._armed_ns):
            self._armed_ns = due_ns
            engine.at(due_ns, self._tick)

    def _tick(self, _: object) -> None:
        self._armed_ns = None
        self.queue.tick(self._engine.now_ns)
        self._settle()
