from advisor.queueing.outcome import (
    Failure,
    Outcome,
    ReconcileError,
    TerminalError,
    is_terminal,
    outcome_of_error,
)
from tests.queueing.rigs import ERROR


class TestErrors:
    """How an exception is read (research: controller-runtime 3.3)."""

    def test_reported_error_is_retried(self) -> None:
        """A reconcile that says that it failed is retried."""
        assert outcome_of_error(ReconcileError("x")) == ERROR
        assert outcome_of_error(ReconcileError("x"), priority=5).priority == 5

    def test_anything_else_is_a_panic(self) -> None:
        """An exception that nobody meant to raise is a breakdown, also joined with reported ones."""
        assert outcome_of_error(KeyError("x")).failure is Failure.PANIC
        joined = ExceptionGroup("both", [ReconcileError("x"), KeyError("y")])
        assert outcome_of_error(joined).failure is Failure.PANIC

    def test_joined_reported_errors_are_retried(self) -> None:
        """Several reported errors are one."""
        joined = ExceptionGroup("both", [ReconcileError("x"), ExceptionGroup("inner", [ReconcileError("y")])])
        assert outcome_of_error(joined, priority=3) == Outcome(failure=Failure.RETRIABLE, priority=3)

    def test_terminal_error_is_found_in_the_chain(self) -> None:
        """Wrapped in another error, a terminal one still is."""
        error = ReconcileError("outer")
        error.__cause__ = RuntimeError("middle")
        error.__cause__.__cause__ = TerminalError("inner")
        assert is_terminal(error)
        assert outcome_of_error(error, priority=7) == Outcome(failure=Failure.TERMINAL, priority=7)

    def test_terminal_error_is_found_among_joined(self) -> None:
        """One terminal error joined with retriable ones suppresses the retry of all."""
        wrapped = ReconcileError("y")
        wrapped.__cause__ = ExceptionGroup("more", [TerminalError("z")])
        assert is_terminal(ExceptionGroup("all", [ReconcileError("x"), wrapped]))

    def test_error_raised_while_handling_a_terminal_one_is_not_terminal(self) -> None:
        """Only what was wrapped on purpose counts, not what happened to be handled."""
        error = ReconcileError("new")
        error.__context__ = TerminalError("handled")
        assert not is_terminal(error)

    def test_circular_chain_ends(self) -> None:
        """A chain that leads back to itself is read once."""
        one, two = ReconcileError("1"), ReconcileError("2")
        one.__cause__, two.__cause__ = two, one
        assert not is_terminal(one)
