"""The reconcile wrapper (research: controller-runtime 2.3, CT-01 to CT-12)."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from advisor.queueing.outcome import SUCCESS, Failure, Outcome, ReconcileError, TerminalError
from advisor.runtime.context import (
    Cancellation,
    DeadlineExceededError,
    ReconcileCancelledError,
    ReconcileContext,
    ReconcileRequest,
)
from advisor.runtime.reconciling import Reconciler, reconcile

SECOND = 1_000_000_000
REQUEST = ReconcileRequest("ns/x", 0)


@dataclass
class Limits:
    """A context on a clock that stands still unless it is told otherwise."""

    timeout_ns: int = 0
    now_ns: int = 0
    cancellation: Cancellation = field(default_factory=Cancellation)

    def context(self) -> ReconcileContext:
        """A context that begins now."""
        deadline_ns = self.now_ns + self.timeout_ns if self.timeout_ns else None
        return ReconcileContext(lambda: self.now_ns, self.cancellation, deadline_ns)

    def run(self, reconciler: Reconciler, *, recover: bool = True) -> Outcome | BaseException:
        """Reconcile once."""
        return reconcile("raycluster", reconciler, REQUEST, self.context(), recover=recover)


def taking(
    limits: Limits, seconds: float, then: Callable[[ReconcileContext], Outcome] = lambda _: SUCCESS
) -> Reconciler:
    """A reconciler that takes a while and then does something."""

    def reconciler(request: ReconcileRequest, context: ReconcileContext) -> Outcome:
        limits.now_ns += round(seconds * SECOND)
        return then(context)

    return reconciler


def raising(error: BaseException) -> Reconciler:
    """A reconciler that raises."""

    def reconciler(request: ReconcileRequest, context: ReconcileContext) -> Outcome:
        raise error

    return reconciler


@pytest.mark.parametrize(
    "outcome", [SUCCESS, Outcome(requeue=True, priority=3), Outcome(failure=Failure.RETRIABLE, requeue_after_ns=5)]
)
def test_ct_01_the_outcome_comes_back_unchanged(outcome: Outcome) -> None:
    """What the reconciler returns is what counts, and it gets the key and the priority."""
    seen = []

    def reconciler(request: ReconcileRequest, context: ReconcileContext) -> Outcome:
        seen.append(request)
        return outcome

    assert Limits().run(reconciler) is outcome
    assert seen == [REQUEST]


@pytest.mark.parametrize(
    ("error", "failure"), [(ReconcileError("x"), Failure.RETRIABLE), (TerminalError("x"), Failure.TERMINAL)]
)
@pytest.mark.parametrize("recover", [True, False])
def test_ct_01_an_error_comes_back(error: Exception, failure: Failure, recover: bool) -> None:
    """A reported error is an outcome, whether breakdowns are recovered or not."""
    assert Limits().run(raising(error), recover=recover) == Outcome(failure=failure)


def test_ct_02_without_recovery_a_breakdown_passes_through() -> None:
    """With recovery off the very exception is handed on, to end the driver."""
    error = KeyError("x")
    assert Limits().run(raising(error), recover=False) is error


@pytest.mark.parametrize("id_", ["ct_03", "ct_04"])
def test_ct_03_04_a_breakdown_is_recovered(id_: str) -> None:
    """A recovered breakdown is a failure like any other, told apart as a panic; recovery is the default option."""
    assert Limits().run(raising(KeyError("x"))) == Outcome(failure=Failure.PANIC)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1)])
def test_an_interrupt_is_never_recovered(error: BaseException) -> None:
    """Whoever asks the process to end is not answered with a retry."""
    assert Limits().run(raising(error)) is error


def test_a_reconciler_that_returns_nothing_broke_down() -> None:
    """An answer that is no outcome is not taken for success."""
    assert Limits().run(lambda _, __: None) == Outcome(failure=Failure.PANIC)  # type: ignore[arg-type,return-value]


@pytest.mark.parametrize("id_", ["ct_05", "ct_06"])
def test_ct_05_06_waiting_for_the_context_ends_at_the_deadline(id_: str) -> None:
    """A reconciler that waits for its context gets the deadline error, and the timeout counts."""
    seen: list[BaseException] = []

    def wait(context: ReconcileContext) -> Outcome:
        assert context.wait(1000)
        try:
            context.check()
        except DeadlineExceededError as error:
            seen.append(error)
            raise
        return SUCCESS

    limits = Limits(timeout_ns=SECOND)
    assert limits.run(taking(limits, 1, wait)) == Outcome(failure=Failure.RETRIABLE, timed_out=True)
    assert len(seen) == 1


def test_ct_07_a_shorter_deadline_of_its_own_does_not_count() -> None:
    """A reconciler that gives itself less time, and reports that, has not timed out."""
    limits = Limits(timeout_ns=10 * SECOND)

    def give_up(context: ReconcileContext) -> Outcome:
        raise DeadlineExceededError("my own second is over")

    assert limits.run(taking(limits, 1, give_up)) == Outcome(failure=Failure.RETRIABLE)


def test_ct_08_in_time() -> None:
    """A reconcile that ends before its deadline has not timed out; one that ends at it has."""
    limits = Limits(timeout_ns=SECOND)
    assert limits.run(taking(limits, 0.999)) == SUCCESS
    assert limits.run(taking(limits, 1)) == Outcome(timed_out=True)


def test_ct_09_each_reconcile_has_its_own_deadline() -> None:
    """Three that take too long are three timeouts."""
    limits = Limits(timeout_ns=SECOND)
    assert [limits.run(taking(limits, 2)) for _ in range(3)] == [Outcome(timed_out=True)] * 3


def test_ct_10_a_stop_is_no_timeout() -> None:
    """If the driver is stopped before the deadline, the cancel error comes, and no timeout counts later either."""
    limits = Limits(timeout_ns=SECOND)

    def stop(context: ReconcileContext) -> Outcome:
        limits.cancellation.cancel(limits.now_ns)
        assert context.wait(1000)
        limits.now_ns += 5 * SECOND
        with pytest.raises(ReconcileCancelledError, match="the controller is being stopped"):
            context.check()
        raise ReconcileCancelledError("stopped")

    assert limits.run(taking(limits, 0.5, stop)) == Outcome(failure=Failure.RETRIABLE)


def test_a_stop_after_the_deadline_is_a_timeout() -> None:
    """What had timed out before the stop stays so."""
    limits = Limits(timeout_ns=SECOND)

    def stop(context: ReconcileContext) -> Outcome:
        limits.cancellation.cancel(limits.now_ns)
        return SUCCESS

    assert limits.run(taking(limits, 2, stop)) == Outcome(timed_out=True)


@pytest.mark.parametrize("id_", ["ct_11", "ct_12"])
def test_ct_11_12_no_timeout(id_: str) -> None:
    """With a timeout of 0 there is no deadline, and nothing ever counts as timed out."""
    limits = Limits()
    seen = []

    def look(context: ReconcileContext) -> Outcome:
        seen.append((context.deadline_ns, context.remaining_seconds(), context.is_cancelled()))
        context.check()
        return SUCCESS

    assert limits.run(taking(limits, 1e6, look)) == SUCCESS
    assert seen == [(None, None, False)]


def test_a_breakdown_after_the_deadline_is_no_timeout() -> None:
    """A panic leaves the wrapper before the deadline is looked at, as upstream."""
    limits = Limits(timeout_ns=SECOND)

    def fail(context: ReconcileContext) -> Outcome:
        raise KeyError("x")

    assert limits.run(taking(limits, 2, fail)) == Outcome(failure=Failure.PANIC)


def test_what_the_reconciler_says_of_timeouts_does_not_count() -> None:
    """Only the deadline decides."""
    limits = Limits(timeout_ns=SECOND)
    assert limits.run(lambda _, __: Outcome(requeue=True, timed_out=True)) == Outcome(requeue=True)


def test_remaining_time() -> None:
    """The context tells the seconds left, down to 0."""
    limits = Limits(timeout_ns=2 * SECOND)
    context = limits.context()
    assert context.remaining_seconds() == 2
    limits.now_ns += SECOND // 2
    assert (context.remaining_seconds(), context.is_cancelled(), context.wait(0)) == (1.5, False, False)
    limits.now_ns += 2 * SECOND
    assert (context.remaining_seconds(), context.is_cancelled()) == (0, True)


@pytest.mark.parametrize(
    ("reconciler", "lines"),
    [
        (raising(ReconcileError("no\nluck")), ["raycluster: reconcile of ns/x failed: ReconcileError: no luck (FILE)"]),
        (raising(KeyError("x")), ["raycluster: reconcile of ns/x broke down: KeyError: 'x' (FILE)"]),
        (
            lambda _, __: Outcome(failure=Failure.TERMINAL, requeue=True),
            [
                "raycluster: reconcile of ns/x failed: terminal",
                "raycluster: requeue of ns/x is ignored, as the reconcile failed",
            ],
        ),
        (lambda _, __: Outcome(requeue_after_ns=1), []),
    ],
)
def test_log(reconciler: Reconciler, lines: list[str], caplog: pytest.LogCaptureFixture) -> None:
    """An error is one line, with where it was raised; what is ignored is said each time."""
    caplog.set_level(logging.INFO, "advisor.runtime")
    Limits().run(reconciler)
    found = [record.getMessage() for record in caplog.records]
    assert [line.partition(" (")[0] + " (FILE)" if __file__ in line else line for line in found] == lines
