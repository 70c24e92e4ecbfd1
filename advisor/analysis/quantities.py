"""The quantities that two reports are compared by, each at equal load and against what identical runs differ by."""

import enum
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from advisor.analysis.comparisonrules import ComparisonRules
from advisor.analysis.sides import Load, Pair, View, bounded, divide, log_ratio
from advisor.model.comparison import Quantity, Trend
from advisor.model.signal import Unit

__all__ = ["Scaling", "quantities_of"]


class Scaling(enum.StrEnum):
    """How a quantity grows with the load; the text says what it is normalised by."""

    NONE = ""
    WAIT = "load"
    READY = "load of the clusters"
    READY_PER_POD = "number of clusters"
    RATE = "pace of changes"


@dataclass(frozen=True, slots=True)
class _Measure:
    """One quantity to be judged; ``sources`` are the figures that it is made from."""

    name: str
    title: str
    value: Callable[[View], float | None]
    sources: tuple[str, ...]
    tolerance: float
    floor: float
    unit: Unit = Unit.SECONDS
    scaling: Scaling = Scaling.NONE
    lower_is_better: bool | None = True
    decides: bool = False


def quantities_of(pair: Pair, load: Load, rules: ComparisonRules, unjudged: frozenset[Scaling]) -> tuple[Quantity, ...]:
    """Every quantity on both sides. Those whose scaling is in ``unjudged`` are shown without a judgement."""
    measures = (
        *_waits(pair, load, rules),
        *_ready(rules),
        *_errors(pair, rules),
        *_costs(pair, rules),
        *_rates(pair, rules),
    )
    return tuple(_quantity(one, pair, load, judged=one.scaling not in unjudged) for one in measures)


def _figure(name: str) -> Callable[[View], float | None]:
    return lambda view: view.figure(name)


def _waits(pair: Pair, load: Load, rules: ComparisonRules) -> Iterator[_Measure]:
    one = f"controllers.{pair.controller}"
    per, work = ("created Pod", _pods) if load.by_pods else ("reconcile", _reconciles)
    name = "pod" if load.by_pods else "reconcile"
    waiting, busy = f"{one}.waiting_key_seconds", f"{one}.busy_worker_seconds"
    tolerance = rules.tolerance if load.by_pods else rules.tolerance_per_pass
    yield _Measure(
        name=f"wait_seconds_per_{name}",
        title=f"wait in the queue per {per}",
        value=lambda view: divide(view.total("waiting_key_seconds"), work(view)),
        sources=(waiting,),
        tolerance=tolerance,
        floor=rules.least_seconds,
        scaling=Scaling.WAIT,
        decides=True,
    )
    yield _Measure(
        name=f"operator_seconds_per_{name}",
        title=f"time in queue and workers per {per}",
        value=lambda view: divide(_together(view), work(view)),
        sources=(waiting, busy),
        tolerance=tolerance,
        floor=rules.least_seconds,
        scaling=Scaling.WAIT,
    )
    yield _Measure(
        name="queue_wait_seconds_mean",
        title="queue wait, mean per key handed out",
        value=_figure(f"{one}.queue_wait_seconds_mean"),
        sources=(f"{one}.queue_wait_seconds_mean",),
        tolerance=rules.tolerance_per_pass,
        floor=rules.least_seconds,
        scaling=Scaling.WAIT,
    )
    yield _Measure(
        name="oldest_wait_seconds",
        title="oldest waiting key",
        value=_figure(f"{one}.oldest_wait_seconds_peak"),
        sources=(f"{one}.oldest_wait_seconds_peak",),
        tolerance=rules.tolerance_per_pass,
        floor=rules.least_seconds,
        scaling=Scaling.WAIT,
    )


def _pods(view: View) -> float | None:
    return view.pods


def _reconciles(view: View) -> float | None:
    return view.reconciles


def _together(view: View) -> float | None:
    waiting, busy = view.total("waiting_key_seconds"), view.total("busy_worker_seconds")
    return None if waiting is None or busy is None else waiting + busy


def _ready(rules: ComparisonRules) -> Iterator[_Measure]:
    for name, title in (("mean", "mean"), ("p95", "0.95 quantile")):
        source = f"demand.ready_seconds_{name}"
        yield _Measure(
            name=f"ready_seconds_{name}",
            title=f"cluster ready time, {title}",
            value=_figure(source),
            sources=(source,),
            tolerance=rules.tolerance,
            floor=rules.least_seconds,
            scaling=Scaling.READY,
            decides=True,
        )
    yield _Measure(
        name="ready_seconds_per_pod",
        title="cluster ready time per Pod of a cluster",
        value=lambda view: divide(view.figure("demand.ready_seconds_mean"), divide(view.pods, view.clusters)),
        sources=("demand.ready_seconds_mean", "demand.pods_created", "demand.clusters_created"),
        tolerance=rules.tolerance,
        floor=rules.least_seconds,
        scaling=Scaling.READY_PER_POD,
    )


def _errors(pair: Pair, rules: ComparisonRules) -> Iterator[_Measure]:
    one = f"controllers.{pair.controller}"
    ratio = next(
        (name for name in (f"{one}.error_ratio_net", f"{one}.error_ratio") if pair.both(name)), f"{one}.error_ratio"
    )
    yield _Measure(
        name="error_ratio",
        title="failed reconciles, conflicts left out",
        value=lambda view: _true_errors(view, ratio, f"{one}.reconciles"),
        sources=(ratio,),
        tolerance=rules.tolerance,
        floor=rules.least_ratio,
        unit=Unit.RATIO,
        decides=True,
    )
    yield _Measure(
        name="conflict_ratio",
        title="writes refused as conflicts",
        value=_figure("client.conflict_ratio"),
        sources=("client.conflict_ratio",),
        tolerance=rules.tolerance,
        floor=rules.least_ratio,
        unit=Unit.RATIO,
    )


def _true_errors(view: View, ratio: str, reconciles: str) -> float | None:
    """Share of failed reconciles less conflicts, as far as those are known."""
    failed = view.figure(ratio)
    conflicts = view.figure("log.conflicts")
    if conflicts is None:
        conflicts = (view.figure("client.conflicts_per_second") or 0.0) * view.seconds
    refused = divide(conflicts, view.figure(reconciles)) or 0.0
    return None if failed is None else max(0.0, failed - refused)


def _costs(pair: Pair, rules: ComparisonRules) -> Iterator[_Measure]:
    one = f"controllers.{pair.controller}"
    exact, inferred = "client.write_api_seconds_mean", "client.inferred_write_seconds_mean"
    infer = not pair.both(exact) and pair.both(inferred)
    write = inferred if infer else exact
    for name, title, source, tolerance in (
        ("work_seconds_mean", "work time per reconcile", f"{one}.work_seconds_mean", rules.tolerance_per_pass),
        (
            "write_seconds_mean" if infer else "write_api_seconds_mean",
            "time per write, limiter included" if infer else "API server time per write",
            write,
            rules.tolerance,
        ),
        (
            "limiter_wait_seconds_mean",
            "client limiter wait per request",
            "client.limiter_wait_seconds_mean",
            rules.tolerance,
        ),
    ):
        yield _Measure(
            name=name,
            title=title,
            value=_figure(source),
            sources=(source,),
            tolerance=tolerance,
            floor=rules.least_request_seconds,
        )
    yield _Measure(
        name="cpu_seconds_per_reconcile",
        title="CPU per reconcile",
        value=lambda view: divide(view.figure("process.cpu_seconds"), view.reconciles),
        sources=("process.cpu_seconds", f"{one}.reconciles"),
        tolerance=rules.tolerance_per_pass,
        floor=0.0,
    )


def _rates(pair: Pair, rules: ComparisonRules) -> Iterator[_Measure]:
    one = f"controllers.{pair.controller}"
    yield _Measure(
        name="reconciles_per_pod",
        title="reconciles per created Pod",
        value=lambda view: divide(view.reconciles, view.pods),
        sources=(f"{one}.reconciles", "demand.pods_created"),
        tolerance=rules.tolerance_per_pass,
        floor=0.0,
        unit=Unit.COUNT,
    )
    sustained = "demand.sustained_pods_per_second"
    steady = pair.both(sustained)
    yield _Measure(
        name="pods_created_per_second",
        title="Pods created per second while loaded",
        value=_figure(sustained) if steady else lambda view: divide(view.pods, view.seconds),
        sources=(sustained,) if steady else ("demand.pods_created",),
        tolerance=rules.tolerance if steady else rules.tolerance_per_pass,
        floor=0.0,
        unit=Unit.PER_SECOND,
        scaling=Scaling.RATE,
        lower_is_better=False,
    )
    yield _Measure(
        name="reconciles_per_second",
        title="reconciles per second",
        value=_figure(f"{one}.reconciles_per_second"),
        sources=(f"{one}.reconciles_per_second",),
        tolerance=rules.tolerance_per_pass,
        floor=0.0,
        unit=Unit.PER_SECOND,
        scaling=Scaling.RATE,
        lower_is_better=None,
    )


def _quantity(measure: _Measure, pair: Pair, load: Load, *, judged: bool) -> Quantity:
    before, after = measure.value(pair.before), measure.value(pair.after)
    change, shift, direction = None, None, None
    if before is not None and after is not None:
        change = after - before
        if judged:
            growth = _growth(measure.scaling, load)
            shift = _at_equal_load(log_ratio(before, after), growth, load)
            direction = _direction(measure, before, after, shift, growth)
    return Quantity(
        name=measure.name,
        title=measure.title,
        unit=measure.unit.value,
        before=before,
        after=after,
        change=change,
        ratio=divide(after, before),
        normalised_ratio=None if shift is None else math.exp(shift),
        normalised_by=measure.scaling.value,
        lower_is_better=measure.lower_is_better,
        tolerance=measure.tolerance,
        beyond_noise=None if direction is None else direction != 0,
        trend=_trend(direction, lower_is_better=measure.lower_is_better),
        decides=measure.decides,
        missing="; ".join(_missing(measure, pair, before, after)),
    )


def _growth(scaling: Scaling, load: Load) -> float:
    """Logarithm of what a quantity grows by with the load alone.

    Many clusters at once wait for one another, so everything grows with the load. Clusters that come one by one do
    not: waits and throughput grow with their rate, and their ready time with their own Pods.
    """
    match scaling:
        case Scaling.WAIT:
            return load.amount
        case Scaling.READY:
            return load.pods_per_cluster if load.paced else load.amount
        case Scaling.READY_PER_POD:
            return 0.0 if load.paced else load.clusters
        case Scaling.RATE:
            return load.amount if load.paced else 0.0
        case _:
            return 0.0


def _at_equal_load(shift: float | None, growth: float, load: Load) -> float | None:
    """The logarithm of a change with the load's part taken out.

    What of the reconciles was asked for, and what is a result, is not known. So where they are all that tells the load,
    the change is the smaller of the two, and none where they contradict each other.
    """
    if shift is None:
        return None
    other = bounded(shift - growth)
    if not load.reconciles_only:
        return other
    return 0.0 if shift * other <= 0.0 else min(shift, other, key=abs)


def _direction(measure: _Measure, before: float, after: float, shift: float | None, growth: float) -> int:
    """1 for more beyond noise, -1 for less, 0 for the same."""
    if shift is None:  # a side is zero, or both are
        return 0 if abs(after - before) <= measure.floor else int(math.copysign(1, after - before))
    # Half of the load's part is taken out on each side, so that swapping the sides changes the sign alone.
    apart = after * math.exp(-growth / 2.0) - before * math.exp(growth / 2.0)
    if abs(shift) <= math.log1p(measure.tolerance) or abs(apart) <= measure.floor:
        return 0
    return int(math.copysign(1, shift))


def _trend(direction: int | None, *, lower_is_better: bool | None) -> Trend:
    if direction is None:
        return Trend.UNKNOWN
    if direction == 0:
        return Trend.SAME
    if lower_is_better is None:
        return Trend.DIFFERENT
    return Trend.BETTER if (direction < 0) == lower_is_better else Trend.WORSE


def _missing(measure: _Measure, pair: Pair, before: float | None, after: float | None) -> Iterator[str]:
    """Which side does not know a quantity, and why."""
    for name, view, value in (("before", pair.before, before), ("after", pair.after, after)):
        if value is None:
            absent = next((one for one in measure.sources if view.figure(one) is None), None)
            yield f"{name}: {'nothing to divide by' if absent is None else view.why_missing(absent)}"
