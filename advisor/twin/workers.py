"""A controller in virtual time: its queue, its workers, and the programs that they run."""

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import Any

from advisor.queueing.classicqueue import ClassicQueue
from advisor.queueing.controller import ControllerLoop, Work
from advisor.queueing.handlers import LOW_PRIORITY
from advisor.queueing.outcome import Failure, Outcome
from advisor.queueing.priorityqueue import PriorityQueue
from advisor.queueing.types import IMMEDIATE, AddOptions
from advisor.twin.client import Client, Request, Status
from advisor.twin.engine import Engine
from advisor.twin.parameters import OperatorSettings, QueueKind
from advisor.twin.world import CpuQuota

__all__ = ["FAILED", "GONE", "Program", "Reconcile", "TwinController", "Workshop"]

FAILED = Outcome(failure=Failure.RETRIABLE)
GONE = Outcome()
_LOW = AddOptions(priority=LOW_PRIORITY)

# Yields requests, or nanoseconds of a call to something else; is sent the answers; returns what it came to.
Reconcile = Generator[Request | int, int, Outcome]
# Makes the reconcile of a key.
Program = Callable[[str], Reconcile]


@dataclass(frozen=True, slots=True)
class Workshop:
    """What all controllers of a process share.

    Attributes:
        engine: virtual time.
        client: where requests go.
        cpu: what CPU time is taken from.
        settings: of the operator.
        reconcile_ns: CPU time of a reconcile without its requests.
        read_ns: from a key's hand-off until its reconcile reads the cache; None reads after its CPU time.
    """

    engine: Engine
    client: Client
    cpu: CpuQuota
    settings: OperatorSettings
    reconcile_ns: int
    read_ns: int | None = None


def _never(_now_ns: int, _key: str) -> bool:
    return False


class _Run:
    """One reconcile in progress, as the client knows it."""

    __slots__ = (
        "attempt",
        "controller",
        "cpu_ns",
        "done_ns",
        "go_on",
        "held",
        "limited_ns",
        "request",
        "sent_ns",
        "work",
    )

    # Set when the program starts, and with each request that it sends.
    go_on: Callable[[Any], Request | int]
    request: Request
    sent_ns: int
    # Where the cache is read first: what the program wants or comes to, and when its CPU time has passed.
    held: Request | int | Outcome
    done_ns: int

    def __init__(self, controller: "TwinController", work: Work) -> None:
        self.controller = controller
        self.work = work
        self.attempt = 0
        self.limited_ns = 0
        # Under a quota the client sets it anew for each request.
        self.cpu_ns = controller.client.cpu_ns

    def answered(self, status: int) -> None:
        """Account for the request and go on with the program."""
        controller = self.controller
        engine = controller.engine
        api_ns = engine.now_ns - self.sent_ns
        if self.limited_ns:
            controller.limiter_ns += self.limited_ns
            api_ns -= self.limited_ns
            self.limited_ns = 0
        if self.cpu_ns:
            controller.cpu_ns += self.cpu_ns
            api_ns -= self.cpu_ns
        controller.api_ns += api_ns
        if engine.observer is not None:
            request = (self.request.verb, self.request.kind)
            engine.observer.answered(engine.now_ns, controller.name, self.work, request, status)
        controller.step(self, status)


class TwinController:
    """One controller of one process: adds come in, reconciles run, requests go out.

    Args:
        name: the controller's label.
        shop: what it shares with the others.
        program: what a reconcile of a key does.

    Attributes:
        api_ns: worker time in requests, less the parts of limiter and CPU.
        limiter_ns: worker time in the client's buckets.
        external_ns: worker time in calls to something else than the API server.
        cpu_ns: worker time on the CPU or waiting for it.
        lost_ns: worker time of reconciles that the end of the process cut off.
        merges: whether a wake, at a time and of a key, is but one more of a key that is ready already, as most are; if
            so it is done.
    """

    __slots__ = (
        "_armed_ns",
        "_cpu",
        "_on_begun",
        "_prioritised",
        "_program",
        "_read_ns",
        "_reconcile_ns",
        "api_ns",
        "client",
        "cpu_ns",
        "engine",
        "external_ns",
        "limiter_ns",
        "loop",
        "lost_ns",
        "merges",
        "name",
        "queue",
    )

    def __init__(self, name: str, shop: Workshop, program: Program) -> None:
        self.name = name
        self._prioritised = PriorityQueue() if shop.settings.queue is QueueKind.PRIORITY else None
        self.queue: PriorityQueue | ClassicQueue = ClassicQueue() if self._prioritised is None else self._prioritised
        self.merges: Callable[[int, str], bool] = _never if self._prioritised is None else self._prioritised.merges
        self.loop = ControllerLoop(name, self.queue, shop.settings.concurrency)
        self.engine = shop.engine
        self.client = shop.client
        self.api_ns = 0
        self.limiter_ns = 0
        self.external_ns = 0
        self.cpu_ns = 0
        self.lost_ns = 0
        self._program = program
        self._cpu = shop.cpu
        self._reconcile_ns = shop.reconcile_ns
        self._read_ns = shop.read_ns
        self._armed_ns: int | None = None
        # Bound once: each use would bind it anew.
        self._on_begun = self._start

    def start(self) -> None:
        """Let the workers line up."""
        self.loop.start_workers(self.engine.now_ns)
        self._settle()

    def stop(self) -> None:
        """End with the process: reconciles in progress are lost, and so is the queue. Later adds are ignored."""
        now_ns = self.engine.now_ns
        self.lost_ns += sum(now_ns - work.began_ns for work in self.loop.in_work.values())
        self.loop.in_work.clear()
        self.loop.metrics.active_workers = 0
        self.queue.shut_down(now_ns)
        self.queue.handoffs.clear()

    def wake(self, key: str) -> None:
        """Something that a key is about has changed."""
        queue = self.queue
        queue.add(self.engine.now_ns, IMMEDIATE, key)
        if queue.handoffs:
            self._settle()

    def add_listed(self, keys: Iterable[str]) -> None:
        """A new process reads its first list: everything comes at low priority (research: controller-runtime 3.5)."""
        options = IMMEDIATE if self._prioritised is None else _LOW
        self.queue.add(self.engine.now_ns, options, *keys)
        self._settle()

    def add_after(self, delay_ns: int, key: str) -> None:
        """A key that waits for its timer."""
        self.queue.add(self.engine.now_ns, AddOptions(after_ns=delay_ns), key)
        self._settle()

    def step(self, run: _Run, status: int | None) -> None:
        """Go on with a program after an answer; None starts it."""
        try:
            # Not called as an attribute: that looks for a method first.
            go_on = run.go_on
            wanted = go_on(status)
        except StopIteration as stop:
            self._end(run, stop.value)
            return
        self._want(run, wanted)

    def _want(self, run: _Run, wanted: Request | int) -> None:
        """Do what a program asks for."""
        engine = self.engine
        if isinstance(wanted, int):
            self.external_ns += wanted
            engine.at(engine.now_ns + wanted, self._after_external, run)
            return
        run.request = wanted
        run.sent_ns = engine.now_ns
        if engine.observer is not None:
            engine.observer.sent(engine.now_ns, self.name, run.work, (wanted.verb, wanted.kind))
        self.client.send(run)

    def _end(self, run: _Run, outcome: Outcome) -> None:
        engine = self.engine
        if engine.observer is not None:
            engine.observer.ended(engine.now_ns, self.name, run.work, outcome)
        self.loop.finish(engine.now_ns, run.work, outcome)
        self._settle()

    def _read(self, run: _Run) -> None:
        """Let the program read the cache, and hold what it wants until its CPU time has passed."""
        program = self._program
        go_on = run.go_on = program(run.work.key).send
        try:
            run.held = go_on(None)  # type: ignore[arg-type] # None starts a generator
        except StopIteration as stop:
            run.held = stop.value
        self.engine.at(run.done_ns, self._act, run)

    def _act(self, run: _Run) -> None:
        self.cpu_ns += self.engine.now_ns - run.work.began_ns
        held = run.held
        if isinstance(held, Outcome):
            self._end(run, held)
        else:
            self._want(run, held)

    def _start(self, run: _Run) -> None:
        # Unpacked: a field of a named tuple costs more than any other attribute.
        _, key, _, began_ns = run.work
        self.cpu_ns += self.engine.now_ns - began_ns
        program = self._program
        run.go_on = program(key).send
        self.step(run, None)

    def _after_external(self, run: _Run) -> None:
        self.step(run, Status.OK)

    def _settle(self) -> None:
        """Start what has been handed out, and see to it that the next waiting key is not overslept."""
        engine, queue = self.engine, self.queue
        handoffs = queue.handoffs
        while handoffs:
            work = self.loop.begin(engine.now_ns, handoffs.popleft())
            if work is not None:
                if engine.observer is not None:
                    engine.observer.began(engine.now_ns, self.name, work)
                done_ns = self._cpu.finish_ns(engine.now_ns, self._reconcile_ns)
                run = _Run(self, work)
                if self._read_ns is None:
                    engine.at(done_ns, self._on_begun, run)
                else:
                    run.done_ns = done_ns
                    engine.at(min(engine.now_ns + self._read_ns, done_ns), self._read, run)
        armed_ns, prioritised = self._armed_ns, self._prioritised
        if armed_ns is not None and prioritised is not None and not prioritised.may_be_due_before(armed_ns):
            return
        due_ns = queue.next_deadline_ns()
        if due_ns is not None and (armed_ns is None or due_ns < armed_ns):
            self._armed_ns = due_ns
            engine.at(due_ns, self._tick)

    def _tick(self, _: object) -> None:
        now_ns = self.engine.now_ns
        # An alarm that a sooner one has overtaken stays in the heap; it must not set another.
        if self._armed_ns == now_ns:
            self._armed_ns = None
            self.queue.tick(now_ns)
            self._settle()
