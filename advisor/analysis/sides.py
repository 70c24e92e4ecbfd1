"""Two reports side by side: their figures by name, what of them is about the same, and the load on each."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from advisor.analysis.comparisonrules import ComparisonRules
from advisor.knowledge.versions import lookup
from advisor.model.comparison import LoadMeasure
from advisor.model.report import Report
from advisor.model.signal import Unit

__all__ = ["Load", "Pair", "View", "bounded", "divide", "load_of", "log_ratio"]

_NOT_THERE = "not among its figures"
_LONGEST_SHIFT = 600.0
"""Logarithms are kept where their exponential is a number."""


def divide(value: float | None, by: float | None) -> float | None:
    """The quotient, or None where a part is not known, there is nothing to divide by, or the result is no number."""
    if value is None or not by:
        return None
    quotient = value / by
    return quotient if math.isfinite(quotient) else None


def log_ratio(before: float | None, after: float | None) -> float | None:
    """Logarithm of after by before, exactly the negative when the sides are swapped; None where there is none."""
    if not before or not after:
        return None
    return bounded(math.log(after) - math.log(before))


def bounded(logarithm: float) -> float:
    """A logarithm within the range in which its exponential is a number."""
    return max(-_LONGEST_SHIFT, min(_LONGEST_SHIFT, logarithm))


@dataclass(frozen=True)
class View:
    """One report, asked by the names of its figures."""

    report: Report

    def figure(self, name: str) -> float | None:
        """A figure's value; None where it is not known or no sensible amount."""
        figure = self.report.figures.get(name)
        return figure.value if figure is not None and 0.0 <= figure.value < math.inf else None

    def why_missing(self, name: str) -> str:
        """The report's reason for not knowing a figure."""
        return next((one.reason for one in self.report.missing if one.name == name), "") or _NOT_THERE

    def controllers(self, field: str) -> dict[str, float]:
        """A figure of every controller that has it."""
        found = {}
        for name in self.report.figures:
            value = self.figure(name) if name.startswith("controllers.") and name.endswith(f".{field}") else None
            if value is not None:
                found[name.removeprefix("controllers.").removesuffix(f".{field}")] = value
        return found

    def total(self, field: str) -> float | None:
        """The sum of a figure over the controllers that have it; None where none has."""
        values = self.controllers(field).values()
        total = sum(values)
        return total if values and math.isfinite(total) else None

    @cached_property
    def seconds(self) -> float:
        """Length of the verdict's episode; zero where the report has none."""
        return max(0.0, next((one.episode.window.seconds for one in self.report.episodes if one.is_verdict), 0.0))

    @cached_property
    def reconciles(self) -> float | None:
        """Reconciles of all controllers: counted, else from their rate."""
        counted = self.total("reconciles")
        rate = self.total("reconciles_per_second")
        return counted if counted is not None or rate is None else rate * self.seconds

    @cached_property
    def pods(self) -> float | None:
        """Pods created."""
        return self.figure("demand.pods_created")

    @cached_property
    def clusters(self) -> float | None:
        """Clusters created."""
        return self.figure("demand.clusters_created")

    @cached_property
    def queue(self) -> str:
        """``priority``, ``classic``, or "" where neither the figures nor the version tell."""
        depths = [name.partition(".depth_by_priority.")[2] for name in self.report.figures]
        priorities = {depth.partition(".")[0] for depth in depths if depth}
        if priorities:
            return "classic" if priorities == {"none"} else "priority"
        known = lookup(self.report.settings.version) if self.report.settings.version else None
        return known.queue if known is not None else ""


@dataclass(frozen=True)
class Pair:
    """Both reports, and the controller that the figures of one controller are of."""

    before: View
    after: View

    @cached_property
    def controller(self) -> str:
        """The controller whose keys waited longest on both sides together, else the one that worked longest."""
        weights: dict[str, tuple[float, float]] = {}
        for view in (self.before, self.after):
            for rank, field in enumerate(("waiting_key_seconds", "busy_worker_seconds")):
                for name, value in view.controllers(field).items():
                    waited, worked = weights.get(name, (0.0, 0.0))
                    weights[name] = (waited, worked + value) if rank else (waited + value, worked)
        return max(sorted(weights), key=lambda name: weights[name], default="raycluster")

    def both(self, name: str) -> bool:
        """Whether both sides know a figure."""
        return self.before.figure(name) is not None and self.after.figure(name) is not None


@dataclass(frozen=True)
class Load:
    """What was asked of the operator on both sides.

    ``amount``, ``clusters`` and ``pods_per_cluster`` are logarithms of after by before. ``by_pods`` says that both
    sides created Pods to share the waiting out by. ``reconciles_only`` says that the amount rests on reconciles, which
    are partly a result. ``paced`` says that work arrived over time on both sides.
    """

    measures: tuple[LoadMeasure, ...]
    alike: bool
    known: bool
    amount: float
    clusters: float
    pods_per_cluster: float
    by_pods: bool
    reconciles_only: bool
    paced: bool


def load_of(pair: Pair, rules: ComparisonRules) -> Load:
    """The load on both sides: by its objects where both sides know them, else by reconciles."""
    paced = all(_is_paced(view, pair.controller, rules) for view in (pair.before, pair.after))
    measures = tuple(_measures(pair, rules, paced=paced))
    judged = [one for one in measures if one.alike is not None]
    logs = {one.name: log_ratio(one.before, one.after) for one in judged}
    pods, clusters, reconciles = (logs.get(name) for name in ("pods_created", "clusters_created", "reconciles"))
    objects = clusters if pods is None else pods
    return Load(
        measures=measures,
        alike=all(one.alike for one in judged),
        known=bool(judged),
        amount=(reconciles if objects is None else objects) or 0.0,
        clusters=clusters or 0.0,
        pods_per_cluster=logs.get("pods_per_cluster") or 0.0,
        by_pods=pods is not None,
        reconciles_only=objects is None,
        paced=paced,
    )


def _is_paced(view: View, controller: str, rules: ComparisonRules) -> bool:
    """Whether the queue never held more than a small part of the work, so that it arrived over time."""
    share = divide(view.figure(f"controllers.{controller}.depth_peak"), view.reconciles)
    return share is not None and share <= rules.paced_depth_ratio and view.seconds > 0


def _measures(pair: Pair, rules: ComparisonRules, *, paced: bool) -> Iterator[LoadMeasure]:
    views = (pair.before, pair.after)
    clusters, pods = (views[0].clusters, views[1].clusters), (views[0].pods, views[1].pods)
    many_clusters, many_pods = _counted(clusters, rules), _counted(pods, rules)
    seconds = (views[0].seconds, views[1].seconds) if paced else None
    factor = rules.load_factor
    yield _measure("clusters_created", "clusters created", clusters, factor if many_clusters else None, seconds)
    yield _measure("pods_created", "Pods created", pods, factor if many_pods else None, seconds)
    sizes = (divide(pods[0], clusters[0]), divide(pods[1], clusters[1]))
    sized = many_clusters and None not in sizes
    yield _measure("pods_per_cluster", "Pods per cluster created", sizes, factor if sized else None, None)
    reconciles = (views[0].reconciles, views[1].reconciles)
    judged = _counted(reconciles, rules) and not (many_clusters or many_pods)
    yield _measure("reconciles", "reconciles", reconciles, rules.reconciles_factor if judged else None, seconds)


def _measure(
    name: str,
    title: str,
    values: tuple[float | None, float | None],
    factor: float | None,
    seconds: tuple[float, float] | None,
) -> LoadMeasure:
    """One measure, judged where a factor is given; per second where the seconds are."""
    before, after = values if seconds is None else (divide(values[0], seconds[0]), divide(values[1], seconds[1]))
    shift = log_ratio(before, after)
    return LoadMeasure(
        name=name,
        title=title if seconds is None else f"{title} per second",
        unit=(Unit.COUNT if seconds is None else Unit.PER_SECOND).value,
        before=before,
        after=after,
        ratio=divide(after, before),
        alike=None if factor is None else shift is not None and abs(shift) <= math.log(factor),
    )


def _counted(values: tuple[float | None, float | None], rules: ComparisonRules) -> bool:
    """Whether both sides know the amount, and it is more than chance."""
    before, after = values
    return before is not None and after is not None and max(before, after) >= rules.fewest_counted
