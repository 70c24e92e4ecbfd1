"""Did a change help? Two reports are compared in proportion to the work that was done; no input or output here."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from advisor.analysis.comparisonnotes import costs_of, load_text, notes_of, quantity_text
from advisor.analysis.comparisonrules import ComparisonRules
from advisor.analysis.predictioncheck import check_predictions
from advisor.analysis.quantities import Scaling, quantities_of
from advisor.analysis.sides import Load, Pair, View, load_of
from advisor.model.comparison import Comparison, Outcome, Quantity, SettingChange, Side, Trend
from advisor.model.finding import FindingCode, Severity
from advisor.model.report import Report
from advisor.model.signals import EpisodeKind

__all__ = ["compare"]

_APART = frozenset(
    {
        FindingCode.BOTTLENECK_ELSEWHERE,
        FindingCode.CACHE_LAG,
        FindingCode.ERROR_RETRIES,
        FindingCode.HOT_KEY,
        FindingCode.QUEUE_LIMITER_BOUND,
        FindingCode.RESYNC_LOAD,
    }
)
"""Situations in which waiting comes from something that no number of workers or requests changes."""
_SUMMARIES = {
    Outcome.BETTER: "It got better",
    Outcome.WORSE: "It got worse",
    Outcome.NO_CLEAR_CHANGE: "No clear change",
    Outcome.NOT_COMPARABLE: "The two cannot be compared",
}
_EVERYTHING = frozenset(Scaling)
_BY_LOAD = _EVERYTHING - {Scaling.NONE}


class _Obstacle(NamedTuple):
    """Why two sides cannot be compared, and which quantities cannot be judged for it."""

    text: str
    unjudged: frozenset[Scaling]


def compare(before: Report, after: Report, rules: ComparisonRules) -> Comparison:
    """Whether the operator of the second report did better than that of the first, in proportion to the work."""
    pair = Pair(View(before), View(after))
    load = load_of(pair, rules)
    obstacles = list(_obstacles(pair, load, rules))
    unjudged = frozenset(scaling for one in obstacles for scaling in one.unjudged)
    quantities = quantities_of(pair, load, rules, unjudged)
    outcome, reasons = _decide(quantities)
    if obstacles:
        outcome, reasons = Outcome.NOT_COMPARABLE, tuple(one.text for one in obstacles)
    comparable = outcome is not Outcome.NOT_COMPARABLE
    settings = tuple(_settings(before, after))
    return Comparison(
        outcome=outcome,
        summary=f"{_SUMMARIES[outcome]}: {reasons[0]}.",
        reasons=reasons,
        costs=costs_of(quantities) if comparable else (),
        notes=tuple(notes_of(pair, load, settings, quantities, rules, comparable=comparable)),
        before=_side(pair.before),
        after=_side(pair.after),
        settings=settings,
        load=load.measures,
        quantities=quantities,
        predictions=check_predictions(pair, "" if comparable else "the two cannot be compared"),
    )


def _side(view: View) -> Side:
    report, primary = view.report, view.report.findings[0]
    return Side(
        operator=report.operator,
        version=report.settings.version,
        verdict=report.verdict,
        primary=primary.code,
        severity=primary.severity,
        episode=_kind(view),
        episode_seconds=view.seconds,
        is_kuberay=report.settings.is_kuberay,
    )


def _kind(view: View) -> EpisodeKind:
    kinds = (one.episode.kind for one in view.report.episodes if one.is_verdict)
    return next(kinds, EpisodeKind.QUIET)


def _settings(before: Report, after: Report) -> Iterator[SettingChange]:
    first, second = before.settings, after.settings
    yield _setting("version", first.version, second.version)
    for name in ("concurrency", "qps", "burst", "cpu_limit_cores", "memory_limit_bytes"):
        yield _setting(name, getattr(first, name).value, getattr(second, name).value)


def _setting(name: str, before: float | str | None, after: float | str | None) -> SettingChange:
    changed = None if before is None or after is None else before != after
    return SettingChange(name=name, before=before, after=after, changed=changed)


def _obstacles(pair: Pair, load: Load, rules: ComparisonRules) -> Iterator[_Obstacle]:
    """Every reason not to compare, with what cannot be judged for it."""
    sides = (("before", pair.before), ("after", pair.after))
    for name, view in sides:
        refusal = next((one for one in view.report.findings if one.refuses), None)
        if refusal is not None:
            yield _Obstacle(f"the analysis {name} refuses a verdict ({refusal.code.value})", _EVERYTHING)
    yield from _apart(pair)
    queues = (pair.before.queue, pair.after.queue)
    if all(queues) and queues[0] != queues[1]:
        text = f"the queues are of different generations ({queues[0]}, {queues[1]}): keys come in another order"
        yield _Obstacle(text, frozenset({Scaling.WAIT}))
    if not load.known:
        yield _Obstacle("what was asked of the operator is not known on both sides", _BY_LOAD)
    elif not load.alike:
        yield _Obstacle(_load_differs(pair, load, rules), _BY_LOAD)


def _apart(pair: Pair) -> Iterator[_Obstacle]:
    """A side whose waiting comes from something that no setting of the other side's kind changes."""
    before, after = (view.report.findings[0] for view in (pair.before, pair.after))
    if before.code is after.code:
        return
    for name, view, one in (("before", pair.before, before), ("after", pair.after, after)):
        dominates = one.severity is not Severity.INFO or _kind(view) is EpisodeKind.STARTUP
        if one.code in _APART and dominates:
            text = f"{one.code.value} dominates {name} only, so waiting does not mean the same on both sides"
            yield _Obstacle(text, _BY_LOAD)


def _load_differs(pair: Pair, load: Load, rules: ComparisonRules) -> str:
    differing = [one for one in load.measures if one.alike is False]
    factor = rules.reconciles_factor if differing[0].name == "reconciles" else rules.load_factor
    quiet = [
        name for name, view in (("before", pair.before), ("after", pair.after)) if _kind(view) is EpisodeKind.QUIET
    ]
    text = f"the loads differ by more than a factor {factor:g}: {', '.join(load_text(one) for one in differing)}"
    return f"{text} (the verdict {quiet[0]} is about a quiet episode)" if len(quiet) == 1 else text


def _decide(quantities: Sequence[Quantity]) -> tuple[Outcome, tuple[str, ...]]:
    """The verdict with its reasons: queue wait, ready time and errors, none of which may contradict another."""
    by_name = {one.name: one for one in quantities}
    waits, ready = list(_wait_votes(quantities)), list(_ready_votes(by_name))
    if not waits and not ready:
        return Outcome.NOT_COMPARABLE, ("neither queue wait nor cluster ready time is known on both sides",)
    errors = by_name["error_ratio"]
    votes = [*waits, *ready, *([] if errors.trend is Trend.UNKNOWN else [(errors.trend, quantity_text(errors))])]
    trends = {trend for trend, _ in votes}
    if {Trend.BETTER, Trend.WORSE} <= trends:
        texts = [text for trend, text in votes if trend is not Trend.SAME]
        return Outcome.NO_CLEAR_CHANGE, (f"some got better and some worse, {texts[0]}", *texts[1:])
    for trend, outcome in ((Trend.BETTER, Outcome.BETTER), (Trend.WORSE, Outcome.WORSE)):
        if trend in trends:
            return outcome, tuple(text for _, text in sorted(votes, key=lambda vote: vote[0] is not trend))
    return Outcome.NO_CLEAR_CHANGE, tuple(text for _, text in votes)


def _wait_votes(quantities: Sequence[Quantity]) -> Iterator[tuple[Trend, str]]:
    """The wait per work done, unless keys only moved between queue and workers; else the mean wait."""
    kinds = ("wait_seconds_per_", "operator_seconds_per_", "queue_wait_seconds_mean")
    wait, both, mean = (next(one for one in quantities if one.name.startswith(kind)) for kind in kinds)
    if wait.trend is Trend.UNKNOWN:
        if mean.trend is not Trend.UNKNOWN:
            yield mean.trend, quantity_text(mean)
    elif wait.trend is not Trend.SAME and both.trend not in (wait.trend, Trend.UNKNOWN):
        moved = "keys wait inside workers instead" if wait.trend is Trend.BETTER else "keys left workers sooner instead"
        yield Trend.SAME, f"{quantity_text(wait)}, but {moved}: {quantity_text(both)}"
    else:
        yield wait.trend, quantity_text(wait)


def _ready_votes(quantities: Mapping[str, Quantity]) -> Iterator[tuple[Trend, str]]:
    """Mean and 0.95 quantile together: the mean alone moves with the order in which the same work is done."""
    known = [quantities[name] for name in ("ready_seconds_mean", "ready_seconds_p95")]
    known = [one for one in known if one.trend is not Trend.UNKNOWN]
    agreed = {one.trend for one in known}
    for one in known:
        yield (one.trend if len(agreed) == 1 else Trend.SAME), quantity_text(one)
