import msgspec
import pytest

from advisor.analysis.changes import ChangeRules, basis_of, error_ratio, is_settled, measure, state_of
from advisor.model.change import ChangeState
from advisor.model.comparison import Comparison, Outcome
from advisor.model.report import Report
from advisor.model.signals import EpisodeKind
from tests.analysis.reportsmade import CONTROLLER, after_ten, example, made, moved

SEEN = 5000.0
RULES = ChangeRules(settle_seconds=60.0, watch_seconds=1000.0)


def compared(after: Report) -> Comparison:
    """The example compared with a report after it."""
    found = measure(example(), moved(after, SEEN + 60.0), SEEN, RULES)
    assert found is not None
    return found


class TestBasis:
    def test_what_was_advised_was_set(self) -> None:
        """Then the predictions are about it, also on the way there; of the report stays what comparisons ask for."""
        partly = basis_of(example(), 6, 3000.0, made(known={"concurrency": 2.0}).settings)
        basis = basis_of(example(), 7, 4000.0, made(known={"concurrency": 4.0}).settings)
        assert (partly.reason, basis.reason) == ("", "")
        assert (basis.report, basis.time, basis.predictions) == (7, 4000.0, example().predictions)
        assert basis.before.timeline is None
        assert basis.before.figures == example().figures

    def test_something_else_was_set(self) -> None:
        """Then it was not predicted, and why is said."""
        basis = basis_of(example(), 7, 4000.0, after_ten().settings)
        assert basis.reason == "concurrency was to become 4 and is 10"

    def test_nothing_was_predicted(self) -> None:
        """A report that predicts nothing says so, whatever was set."""
        basis = basis_of(made(), 7, 4000.0, after_ten().settings)
        assert basis.reason.startswith("the report before predicted nothing")

    def test_is_kept_whole(self) -> None:
        """It survives being written and read."""
        basis = basis_of(example(), 7, 4000.0, after_ten().settings)
        assert msgspec.json.decode(msgspec.json.encode(basis), type=type(basis)) == basis


class TestMeasure:
    def test_only_what_lies_wholly_after(self) -> None:
        """An episode that began before the change, or before it had settled, tells nothing of it."""
        for begin in (SEEN - 100.0, SEEN, SEEN + 59.0):
            assert measure(example(), moved(after_ten(), begin), SEEN, RULES) is None
        assert compared(after_ten()).outcome is Outcome.BETTER

    def test_not_a_start(self) -> None:
        """What an operator does while it starts is no effect of its settings."""
        start = made(kind=EpisodeKind.STARTUP)
        assert measure(example(), moved(start, SEEN + 100.0), SEEN, RULES) is None

    def test_without_an_episode(self) -> None:
        """Then the time that was read counts."""
        after = moved(msgspec.structs.replace(made(), episodes=()), SEEN + 60.0)
        assert measure(made(), after, SEEN, RULES) is not None
        assert measure(made(), after, SEEN + 1.0, RULES) is None

    def test_predictions_are_checked(self) -> None:
        """Each with what was measured, where it is about what was set."""
        advised = made({f"{CONTROLLER}queue_wait_seconds_mean": 3.0}, known={"concurrency": 4.0})
        by_name = {one.quantity: one for one in compared(advised).predictions}
        wait = by_name["queue_wait_seconds_mean"]
        assert (wait.measured, wait.result.value) == (3.0, "inside")

    def test_less_load_is_not_taken_for_better(self) -> None:
        """Where waits fell because less was asked, that is said, and no prediction is held against it."""
        quiet = made(
            {
                "demand.pods_created": 60.0,
                "demand.clusters_created": 10.0,
                f"{CONTROLLER}queue_wait_seconds_mean": 0.1,
            },
            known={"concurrency": 4.0},
        )
        found = compared(quiet)
        assert found.outcome is Outcome.NOT_COMPARABLE
        assert "the loads differ by more than a factor 1.5: clusters created 100 -> 10" in found.summary
        assert {one.result.value for one in found.predictions} == {"not checked"}
        assert not is_settled(found)


class TestState:
    @pytest.mark.parametrize(
        ("is_measured", "following", "now", "expected"),
        [
            (None, None, SEEN + 10.0, ChangeState.SETTLING),
            (None, None, SEEN + 1000.0, ChangeState.NOT_MEASURED),
            (None, SEEN + 5.0, SEEN + 10.0, ChangeState.OVERTAKEN),
            (False, None, SEEN + 5000.0, ChangeState.NOT_COMPARABLE),
            (False, SEEN + 5.0, SEEN + 10.0, ChangeState.OVERTAKEN),
            (True, None, SEEN + 10.0, ChangeState.MEASURED),
            (True, SEEN + 5.0, SEEN + 10.0, ChangeState.MEASURED),
        ],
    )
    def test_of_a_change(
        self, is_measured: bool | None, following: float | None, now: float, expected: ChangeState
    ) -> None:
        """Measured is the last word; another change before that ends the waiting, and so does time."""
        outcomes = {True: compared(after_ten()), False: compared(made(refuses=True)), None: None}
        assert state_of(outcomes[is_measured], SEEN, following, now, RULES) is expected


def test_error() -> None:
    """A part of what was predicted, above zero where more came; none of nothing."""
    assert error_ratio(2.0, 3.0) == 0.5
    assert error_ratio(2.0, 1.0) == -0.5
    assert error_ratio(0.0, 1.0) is None
