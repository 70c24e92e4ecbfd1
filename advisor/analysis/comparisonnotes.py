"""What a comparison says in words: each quantity, what the change cost, and what is worth knowing beside it."""

from collections.abc import Iterator, Mapping, Sequence

from advisor.analysis.comparisonrules import ComparisonRules
from advisor.analysis.sides import Load, Pair, divide
from advisor.model.comparison import LoadMeasure, Quantity, SettingChange, Trend
from advisor.model.finding import FindingCode, Severity
from advisor.model.text import format_change, format_value

__all__ = ["costs_of", "load_text", "notes_of", "quantity_text"]

_LIMITS = {
    FindingCode.API_SERVER_SLOW: "the API server is now the limit",
    FindingCode.CLIENT_THROTTLED: "the operator's own client limiter is now the limit",
    FindingCode.CPU_LIMITED: "the CPU quota is now the limit",
    FindingCode.EXTERNAL_CALL_SLOW: "slow external calls are now the limit",
    FindingCode.HEALTHY: "nothing holds the operator back any more",
    FindingCode.OVER_PROVISIONED: "nothing holds the operator back any more, and it has far more workers than it uses",
    FindingCode.WORKERS_SATURATED: "the number of workers is now the limit",
    FindingCode.WRITE_CONFLICTS: "conflicting writes are now the limit",
}
_ONE_LIMIT = {"qps", "burst"}
"""Two settings of one limiter, which usually change together."""
_ALL_CLEAR = frozenset({FindingCode.HEALTHY, FindingCode.OVER_PROVISIONED})


def quantity_text(quantity: Quantity) -> str:
    """One quantity that both sides know in words, with its change at equal load."""
    known = (value for value in (quantity.before, quantity.after) if value is not None)
    before, after = (format_value(value, quantity.unit) for value in known)
    if quantity.trend is Trend.SAME:
        if before == after:
            return f"{quantity.title} {before} before and after"
        return f"{quantity.title} {before} -> {after}, within what identical runs differ by"
    ratio = quantity.normalised_ratio
    loaded = ratio is not None and quantity.ratio is not None and format_change(ratio) != format_change(quantity.ratio)
    change = "" if ratio is None else f" ({format_change(ratio)}{' at equal load' if loaded else ''})"
    verb = "rose" if (quantity.change or 0.0) > 0.0 else "fell"
    return f"{quantity.title} {verb} from {before} to {after}{change}"


def load_text(measure: LoadMeasure) -> str:
    """One measure of the load on both sides."""
    ends = (measure.before, measure.after)
    return (
        f"{measure.title} {' -> '.join('unknown' if one is None else format_value(one, measure.unit) for one in ends)}"
    )


def costs_of(quantities: Sequence[Quantity]) -> tuple[str, ...]:
    """What got worse beside what the verdict rests on."""
    return tuple(quantity_text(one) for one in quantities if one.trend is Trend.WORSE and not one.decides)


def notes_of(
    pair: Pair,
    load: Load,
    settings: Sequence[SettingChange],
    quantities: Sequence[Quantity],
    rules: ComparisonRules,
    *,
    comparable: bool,
) -> Iterator[str]:
    """What is worth knowing beside the verdict."""
    yield from _about_settings(settings)
    if comparable:
        yield from _limit(pair)
        yield from _yield_of_workers(load, settings, {one.name: one for one in quantities}, rules)
    else:
        yield from _still_comparable(quantities)
    yield from _about_load(load)


def _about_settings(settings: Sequence[SettingChange]) -> Iterator[str]:
    changed = [one.name for one in settings if one.changed]
    if not changed:
        yield "no known setting changed between the two"
    elif len(changed) > 1 and set(changed) != _ONE_LIMIT:
        yield f"several things changed at once ({', '.join(changed)}): which of them did it cannot be told"


def _limit(pair: Pair) -> Iterator[str]:
    """What limits now, where that is something else than before."""
    before, after = (view.report.findings[0] for view in (pair.before, pair.after))
    tells = after.severity is not Severity.INFO or after.code in _ALL_CLEAR
    if after.code is not before.code and tells and after.code in _LIMITS:
        yield f"{_LIMITS[after.code]} ({after.code.value}; before it was {before.code.value})"


def _yield_of_workers(
    load: Load, settings: Sequence[SettingChange], quantities: Mapping[str, Quantity], rules: ComparisonRules
) -> Iterator[str]:
    """Whether the added workers brought throughput; paced work comes at its own rate, whatever the workers."""
    workers = next(one for one in settings if one.name == "concurrency")
    throughput = quantities["pods_created_per_second"]
    if load.paced or throughput.ratio is None or isinstance(workers.before, str) or isinstance(workers.after, str):
        return
    factor = divide(workers.after, workers.before) or 0.0
    if factor > 1.0 and throughput.ratio < rules.least_worker_yield * factor:
        gained = "no more" if throughput.ratio <= 1.0 + throughput.tolerance else f"{throughput.ratio:.2g} times the"
        yield f"{factor:.3g} times the workers gave {gained} throughput: most of the added workers bought little"


def _still_comparable(quantities: Sequence[Quantity]) -> Iterator[str]:
    judged = [one for one in quantities if one.trend is not Trend.UNKNOWN]
    moved = [quantity_text(one) for one in judged if one.trend is not Trend.SAME]
    if moved:
        yield f"still comparable: {'; '.join(moved)}"
    elif judged:
        yield f"still comparable, and the same: {', '.join(one.title for one in judged)}"


def _about_load(load: Load) -> Iterator[str]:
    for one in load.measures:
        if (one.before is None) != (one.after is None) and one.name != "pods_per_cluster":
            yield f"{one.title} are known {'after' if one.before is None else 'before'} only"
    if load.reconciles_only and load.known:
        yield (
            "the load is known by reconciles alone, which are partly a result: a change counts only if it holds with "
            "and without their number taken out"
        )
