from typing import Any

import pytest

from advisor.analysis.compare import compare
from advisor.analysis.comparisonrules import ComparisonRules
from advisor.model.comparison import Comparison, Outcome, Quantity, Trend
from advisor.model.finding import FindingCode, Severity
from advisor.model.report import Report
from advisor.model.signals import EpisodeKind
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


# --- verdicts


def test_less_waiting_and_sooner_ready_is_better() -> None:
    """Waits and ready times that fell beyond noise, at the same load, make it better; the reasons have the figures."""
    result = verdict(made(), made({**LESS_WAIT, **SOONER}))
    assert result.outcome is Outcome.BETTER
    assert result.summary == "It got better: wait in the queue per created Pod fell from 4 s to 1.2 s (-70%)."
    assert "cluster ready time, mean fell from 24 s to 7.2 s (-70%)" in result.reasons


def test_more_waiting_is_worse() -> None:
    """The other way round it is worse."""
    assert verdict(made({**LESS_WAIT, **SOONER}), made()).outcome is Outcome.WORSE


def test_more_errors_alone_are_worse() -> None:
    """With the same waits, a tenth of the reconciles failing is worse."""
    result = verdict(made(), made({f"{CONTROLLER}error_ratio": 0.1}))
    assert result.outcome is Outcome.WORSE
    assert result.reasons[0] == "failed reconciles, conflicts left out rose from 0% to 10%"


@pytest.mark.parametrize(
    "source", [{"log.conflicts": 30.0}, {"client.conflicts_per_second": 1.0}], ids=["log", "client"]
)
def test_conflicts_are_no_errors(source: dict[str, float | None]) -> None:
    """Failures that are conflicts, by the log or by the client, are a cost and not an error."""
    result = verdict(made(), made({f"{CONTROLLER}error_ratio": 0.1, "client.conflict_ratio": 0.2, **source}))
    assert result.outcome is Outcome.NO_CLEAR_CHANGE
    assert quantity(result, "error_ratio").after == 0.0
    assert result.costs == ("writes refused as conflicts rose from 0% to 20%",)


def test_errors_that_are_control_flow_are_left_out_where_both_logs_tell_them() -> None:
    """The share without control flow is used when both sides have it."""
    net = {f"{CONTROLLER}error_ratio": 0.5, f"{CONTROLLER}error_ratio_net": 0.0}
    assert quantity(verdict(made(net), made(net)), "error_ratio").after == 0.0
    assert quantity(verdict(made(), made(net)), "error_ratio").after == 0.5


def test_better_and_worse_at_once_is_no_clear_change() -> None:
    """Less waiting with many errors is not called better; both are named."""
    result = verdict(made(), made({**LESS_WAIT, f"{CONTROLLER}error_ratio": 0.1}))
    assert result.outcome is Outcome.NO_CLEAR_CHANGE
    assert result.reasons[0].startswith("some got better and some worse, wait in the queue per created Pod fell")
    assert result.reasons[1] == "failed reconciles, conflicts left out rose from 0% to 10%"


def test_small_differences_are_no_clear_change() -> None:
    """What identical runs differ by is no change."""
    result = verdict(made(), made(scaled(waiting_key_seconds=1.1, ready_seconds_mean=0.9, ready_seconds_p95=0.9)))
    assert result.outcome is Outcome.NO_CLEAR_CHANGE
    assert result.reasons[0] == ("wait in the queue per created Pod 4 s -> 4.4 s, within what identical runs differ by")


def test_waits_that_nobody_feels_are_the_same() -> None:
    """Ten times a millisecond is still at once."""
    before = scaled(waiting_key_seconds=1e-4, busy_worker_seconds=1e-4)
    after = scaled(waiting_key_seconds=1e-3, busy_worker_seconds=1e-3)
    assert verdict(made(before), made(after)).outcome is Outcome.NO_CLEAR_CHANGE


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ((1.0, 1.0), (0.5, 41.0), "but keys wait inside workers instead"),
        ((0.5, 41.0), (1.0, 1.0), "but keys left workers sooner instead"),
    ],
)
def test_waiting_that_moves_between_queue_and_workers_is_no_change(
    before: tuple[float, float], after: tuple[float, float], words: str
) -> None:
    """Where queue and workers together hold keys as long as before, more or less of it in the queue does not count."""
    sides = (scaled(waiting_key_seconds=wait, busy_worker_seconds=busy) for wait, busy in (before, after))
    result = verdict(*map(made, sides))
    assert result.outcome is Outcome.NO_CLEAR_CHANGE
    assert words in result.reasons[0]


def test_a_ready_time_must_move_as_a_whole() -> None:
    """A mean that falls while the 0.95 quantile stays only tells of another order of the same work."""
    result = verdict(made(), made(scaled(ready_seconds_mean=0.7)))
    assert quantity(result, "ready_seconds_mean").trend is Trend.BETTER
    assert result.outcome is Outcome.NO_CLEAR_CHANGE


def test_what_got_worse_beside_it_is_its_cost() -> None:
    """Slower writes, limiter waits and more work a reconcile are named as what the improvement cost."""
    result = verdict(
        made(),
        made(
            {
                **LESS_WAIT,
                **scaled(write_api_seconds_mean=5, work_seconds_mean=3),
                "client.limiter_wait_seconds_mean": 0.2,
            }
        ),
    )
    assert result.outcome is Outcome.BETTER
    assert [text.partition(" rose")[0] for text in result.costs] == [
        "work time per reconcile",
        "API server time per write",
        "client limiter wait per request",
    ]


# --- load


def test_load_is_taken_out() -> None:
    """A burst a third larger that waits a third longer is the same; one that waits no longer is better."""
    larger = {"demand.clusters_created": 133.0, "demand.pods_created": 800.0}
    longer = scaled(waiting_key_seconds=1.78, busy_worker_seconds=1.33, ready_seconds_mean=1.33, ready_seconds_p95=1.33)
    assert verdict(made(), made({**larger, **longer})).outcome is Outcome.NO_CLEAR_CHANGE
    equal = verdict(made(), made(larger))
    assert equal.outcome is Outcome.BETTER
    ready = quantity(equal, "ready_seconds_mean")
    assert (ready.ratio, ready.normalised_ratio) == pytest.approx((1.0, 0.75))
    assert ready.normalised_by == "load of the clusters"
    assert any("at equal load" in text for text in equal.reasons)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"demand.clusters_created": 200.0, "demand.pods_created": 1200.0}, "clusters created 100 -> 200"),
        ({"demand.pods_created": 1200.0}, "Pods per cluster created 6 -> 12"),
        ({"demand.pods_created": 0.0}, "Pods created 600 -> 0"),
    ],
)
def test_loads_that_differ_too_much_are_not_comparable(change: dict[str, float | None], words: str) -> None:
    """Twice the clusters, twice the Pods a cluster, or none at all: no verdict; what grows with load is not judged."""
    result = verdict(made(), made(change))
    assert result.outcome is Outcome.NOT_COMPARABLE
    assert "the loads differ by more than a factor 1.5" in result.reasons[0]
    assert words in result.reasons[0]
    assert quantity(result, "ready_seconds_mean").trend is Trend.UNKNOWN
    assert quantity(result, "write_api_seconds_mean").trend is Trend.SAME


def test_a_quiet_episode_is_named_where_loads_differ() -> None:
    """Where only one verdict is about a quiet episode, that explains the loads."""
    result = verdict(made(), made({"demand.clusters_created": 0.0, "demand.pods_created": 0.0}, kind=EpisodeKind.QUIET))
    assert result.reasons[0].endswith("(the verdict after is about a quiet episode)")


def test_a_few_objects_are_chance() -> None:
    """Two Pods against four are no load to compare; reconciles stand in."""
    few = {"demand.clusters_created": 1.0, "demand.pods_created": 2.0}
    result = verdict(made(few), made({**few, "demand.pods_created": 4.0}))
    assert result.outcome is not Outcome.NOT_COMPARABLE
    assert [one.name for one in result.load if one.alike is not None] == ["reconciles"]
    assert quantity(result, "wait_seconds_per_reconcile").before == 8.0


def test_without_objects_reconciles_stand_for_the_load() -> None:
    """A change counts only if it holds with and without the number of reconciles taken out."""
    lean: dict[str, float | None] = dict.fromkeys(DEMAND)
    twice_as_many = scaled(reconciles=2.0, waiting_key_seconds=4.0, busy_worker_seconds=4.0)
    result = verdict(made(lean), made({**lean, **twice_as_many}))
    assert quantity(result, "wait_seconds_per_reconcile").normalised_ratio == 1.0
    assert result.outcome is Outcome.NO_CLEAR_CHANGE
    assert any("known by reconciles alone" in note for note in result.notes)
    much_less = scaled(reconciles=2.0, waiting_key_seconds=0.2, busy_worker_seconds=0.2)
    assert verdict(made(lean), made({**lean, **much_less})).outcome is Outcome.BETTER


def test_too_many_reconciles_are_another_load_where_nothing_else_tells() -> None:
    """Five times the reconciles without an object timeline are not compared; with one they are a result."""
    lean: dict[str, float | None] = dict.fromkeys(DEMAND)
    result = verdict(made(lean), made({**lean, **scaled(reconciles=5.0)}))
    assert result.outcome is Outcome.NOT_COMPARABLE
    assert "factor 4: reconciles 300 -> 1,500" in result.reasons[0]
    assert verdict(made(), made(scaled(reconciles=5.0))).outcome is not Outcome.NOT_COMPARABLE


def test_clusters_alone_can_tell_the_load() -> None:
    """Where Pods are not known, the clusters created are the load, and waits are shared out by reconciles."""
    lean: dict[str, float | None] = {"demand.pods_created": None}
    result = verdict(made(lean), made({**lean, "demand.clusters_created": 120.0, **scaled(ready_seconds_p95=1.2)}))
    assert quantity(result, "ready_seconds_p95").normalised_ratio == pytest.approx(1.0)
    assert quantity(result, "wait_seconds_per_reconcile").normalised_ratio == pytest.approx(1 / 1.2)


def test_paced_loads_are_compared_by_their_rate() -> None:
    """Clusters that came one by one for twice as long are the same load; at twice the pace they are another."""
    longer = scaled(
        clusters_created=2.0, pods_created=2.0, reconciles=2.0, waiting_key_seconds=2.0, busy_worker_seconds=2.0
    )
    result = verdict(made(PACED), made({**longer, **PACED}, seconds=60.0))
    assert result.outcome is Outcome.NO_CLEAR_CHANGE
    assert (result.load[0].title, result.load[0].ratio) == ("clusters created per second", 1.0)
    assert verdict(made(PACED), made({**longer, **PACED})).outcome is Outcome.NOT_COMPARABLE


def test_ready_times_of_paced_loads_grow_with_the_pods_of_a_cluster() -> None:
    """Clusters of a third more Pods that take a third longer are the same; the pace does not matter to one cluster."""
    larger = {**PACED, "demand.pods_created": 800.0, **scaled(ready_seconds_mean=1.33, ready_seconds_p95=1.33)}
    result = verdict(made(PACED), made(larger))
    assert quantity(result, "ready_seconds_mean").normalised_ratio == pytest.approx(1.0, abs=0.01)
    assert quantity(result, "ready_seconds_per_pod").trend is Trend.SAME
    assert quantity(result, "pods_created_per_second").normalised_ratio == pytest.approx(0.75)


# --- what cannot be compared


def test_a_refusal_is_not_comparable() -> None:
    """Where one analysis gives no advice there is nothing to compare with, and no figure is judged."""
    result = verdict(made(code=FindingCode.NOT_LEADER, refuses=True), made())
    assert result.outcome is Outcome.NOT_COMPARABLE
    assert result.reasons == ("the analysis before refuses a verdict (not-leader)",)
    assert {one.trend for one in result.quantities} == {Trend.UNKNOWN}
    assert result.costs == ()


def test_errors_that_dominate_one_side_are_not_comparable() -> None:
    """Keys that wait for their next try do not wait for a worker; what still compares is said."""
    result = verdict(made(), made(scaled(write_api_seconds_mean=4.0), code=FindingCode.ERROR_RETRIES))
    assert result.reasons == ("error-retries dominates after only, so waiting does not mean the same on both sides",)
    assert "still comparable: API server time per write rose from 30 ms to 120 ms (x 4)" in result.notes


def test_the_same_situation_on_both_sides_is_comparable() -> None:
    """A hot key before and after can be compared, and so can one that is only mentioned."""
    hot = FindingCode.HOT_KEY
    assert verdict(made(code=hot), made(code=hot)).outcome is Outcome.NO_CLEAR_CHANGE
    assert verdict(made(), made(code=hot, severity=Severity.INFO)).outcome is Outcome.NO_CLEAR_CHANGE


def test_a_start_is_not_compared_with_a_load() -> None:
    """The initial list is another kind of load, even where it does no harm."""
    start = made(code=FindingCode.RESYNC_LOAD, severity=Severity.INFO, kind=EpisodeKind.STARTUP)
    assert verdict(start, made()).outcome is Outcome.NOT_COMPARABLE


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"version": "1.6.1"}, {"version": "1.7.0"}),
        (
            {"figures": {f"{CONTROLLER}depth_by_priority.none.mean": 1.0}, "version": None},
            {"figures": {f"{CONTROLLER}depth_by_priority.0.mean": 1.0}, "version": None},
        ),
    ],
    ids=["by version", "by what it exposes"],
)
def test_queues_of_two_generations_are_not_comparable_but_ready_times_are(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    """The order of keys differs, so waits are not judged; ready times still are."""
    result = verdict(made(**before), made(**{**after, "figures": {**after.get("figures", {}), **SOONER}}))
    assert result.outcome is Outcome.NOT_COMPARABLE
    assert result.reasons[0].startswith("the queues are of different generations (classic, priority)")
    assert quantity(result, "wait_seconds_per_pod").trend is Trend.UNKNOWN
    assert quantity(result, "ready_seconds_p95").trend is Trend.BETTER


def test_an_unknown_queue_is_no_obstacle() -> None:
    """Where neither figures nor version tell the queue, nothing is claimed about it."""
    assert verdict(made(version=None), made(version="9.9")).outcome is Outcome.NO_CLEAR_CHANGE


def test_an_unknown_load_is_not_comparable() -> None:
    """Without objects and reconciles nothing tells what was asked of the operator."""
    lean = {**dict.fromkeys(DEMAND), f"{CONTROLLER}reconciles": None, f"{CONTROLLER}reconciles_per_second": None}
    result = verdict(made(lean), made(lean))
    assert result.reasons == ("what was asked of the operator is not known on both sides",)


def test_a_rate_of_reconciles_tells_their_number() -> None:
    """Where reconciles are not counted, their rate over the episode is."""
    lean: dict[str, float | None] = {f"{CONTROLLER}reconciles": None}
    assert verdict(made(lean), made(lean)).load[-1].before == 300.0


def test_without_wait_and_ready_time_there_is_no_verdict() -> None:
    """Errors alone do not tell whether it got better."""
    lean = {
        name: None for name in BURST if "wait" in name or "ready" in name or name == f"{CONTROLLER}waiting_key_seconds"
    }
    result = verdict(made(lean), made(lean))
    assert result.outcome is Outcome.NOT_COMPARABLE
    assert result.reasons == ("neither queue wait nor cluster ready time is known on both sides",)
    assert any(note.startswith("still comparable, and the same: ") for note in result.notes)


def test_an_empty_report_is_not_comparable() -> None:
    """Reports without any figure or episode are said to be that, without a fault."""
    bare = made(NOTHING_KNOWN, episodes=())
    result = verdict(bare, bare)
    assert result.outcome is Outcome.NOT_COMPARABLE
    assert {one.trend for one in result.quantities} == {Trend.UNKNOWN}
    assert (result.before.episode_seconds, result.before.episode) == (0.0, EpisodeKind.QUIET)
