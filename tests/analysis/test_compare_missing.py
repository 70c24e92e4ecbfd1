from advisor.analysis.compare import compare
from advisor.analysis.comparisonrules import ComparisonRules
from advisor.model.comparison import Comparison, Outcome, Quantity, Trend
from advisor.model.report import MissingFigure, Report
from tests.analysis.reportsmade import BURST, CONTROLLER, DEMAND, made, scaled

RULES = ComparisonRules()
NOTHING_KNOWN: dict[str, float | None] = dict.fromkeys(BURST)
LESS_WAIT = scaled(waiting_key_seconds=0.3, busy_worker_seconds=1.0, queue_wait_seconds_mean=0.3)
SOONER = scaled(ready_seconds_mean=0.3, ready_seconds_p95=0.3)
PACED: dict[str, float | None] = {f"{CONTROLLER}depth_peak": 2.0}
SWAPPED = {Outcome.BETTER: Outcome.WORSE, Outcome.WORSE: Outcome.BETTER}


def verdict(before: Report, after: Report) -> Comparison:
    """The comparison with the default rules."""
    return compare(before, after, RULES)


def quantity(comparison: Comparison, name: str) -> Quantity:
    """One quantity by its name."""
    (found,) = (one for one in comparison.quantities if one.name == name)
    return found


def test_a_figure_missing_on_one_side_is_said_and_never_zero() -> None:
    """The reason of the report stands with the quantity; no change is made up."""
    reasons = (MissingFigure(name="demand.ready_seconds_mean", reason="no object timeline in the input"),)
    lean: dict[str, float | None] = {"demand.ready_seconds_mean": None, "client.conflict_ratio": None}
    result = verdict(made(lean, missing=reasons), made())
    ready = quantity(result, "ready_seconds_mean")
    assert (ready.before, ready.change, ready.ratio, ready.normalised_ratio) == (None, None, None, None)
    assert (ready.beyond_noise, ready.trend) == (None, Trend.UNKNOWN)
    assert ready.missing == "before: no object timeline in the input"
    assert quantity(result, "conflict_ratio").missing == "before: not among its figures"


def test_objects_known_on_one_side_only_are_said() -> None:
    """The load is then judged by reconciles."""
    result = verdict(made(), made(dict.fromkeys(DEMAND)))
    assert "Pods created are known before only" in result.notes
    assert "clusters created are known before only" in result.notes


def test_a_missing_sum_falls_back_to_the_mean_wait() -> None:
    """Without key seconds the mean wait per key handed out decides, with its larger tolerance."""
    lean: dict[str, float | None] = {f"{CONTROLLER}waiting_key_seconds": None}
    result = verdict(made(lean), made({**lean, f"{CONTROLLER}queue_wait_seconds_mean": 2.0}))
    assert result.outcome is Outcome.BETTER
    assert "queue wait, mean per key handed out fell from 9 s to 2 s" in result.summary


def test_nothing_to_divide_by_is_said() -> None:
    """Without clusters there is no ready time per Pod of a cluster."""
    none = {"demand.clusters_created": 0.0}
    assert quantity(verdict(made(none), made(none)), "ready_seconds_per_pod").missing == (
        "before: nothing to divide by; after: nothing to divide by"
    )


def test_from_zero_there_is_a_change_and_no_ratio() -> None:
    """A wait that appears is worse, though no factor tells by how much; zero on both sides is the same."""
    none = scaled(waiting_key_seconds=0.0, busy_worker_seconds=0.0, queue_wait_seconds_mean=0.0)
    result = verdict(made(none), made())
    wait = quantity(result, "wait_seconds_per_pod")
    assert (wait.ratio, wait.normalised_ratio, wait.trend) == (None, None, Trend.WORSE)
    assert result.reasons[0] == "wait in the queue per created Pod rose from 0 s to 4 s"
    assert quantity(verdict(made(none), made(none)), "wait_seconds_per_pod").trend is Trend.SAME


def test_the_time_of_a_write_is_taken_from_what_both_sides_have() -> None:
    """Before 1.7 it is inferred and holds the limiter's wait; it is never compared with the exact one."""
    lean: dict[str, float | None] = {"client.write_api_seconds_mean": None}
    result = verdict(made(lean), made())
    assert quantity(result, "write_seconds_mean").title == "time per write, limiter included"
    assert "write_api_seconds_mean" not in {one.name for one in result.quantities}


def test_throughput_without_its_rate_is_pods_over_the_episode() -> None:
    """With a short run of Pods the whole episode is the time, at the larger tolerance."""
    lean: dict[str, float | None] = {"demand.sustained_pods_per_second": None}
    throughput = quantity(verdict(made(), made(lean)), "pods_created_per_second")
    assert (throughput.before, throughput.tolerance) == (20.0, RULES.tolerance_per_pass)


def test_waits_of_all_controllers_count() -> None:
    """Sums are over controllers; figures of one are of the controller whose keys waited longest on both sides."""
    jobs = {
        "controllers.rayjob.waiting_key_seconds": 4800.0,
        "controllers.rayjob.busy_worker_seconds": 10.0,
        "controllers.rayjob.queue_wait_seconds_mean": 50.0,
        "controllers.rayjob.reconciles": 10.0,
    }
    result = verdict(made(jobs), made(jobs))
    assert quantity(result, "wait_seconds_per_pod").before == 12.0
    assert quantity(result, "queue_wait_seconds_mean").before == 50.0
