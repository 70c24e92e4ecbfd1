"""The value type of one catalogued series."""

from typing import Literal, TypeAlias

import msgspec

__all__ = ["Family", "Metric", "MetricKind", "MetricOrigin"]

MetricKind: TypeAlias = Literal["counter", "gauge", "histogram"]
MetricOrigin: TypeAlias = Literal[
    "controller-runtime",
    "client-go",
    "kuberay",
    "process",
    "go",
    "cadvisor",
    "kube-state-metrics",
    "prometheus",
]
Family: TypeAlias = Literal["queue", "controller", "client", "election", "process", "container", "objects"]


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """One series: what it measures, and what it must not be read as.

    Args:
        name: the name in the text exposition; counters with ``_total``, histograms without suffix.
        kind: how the value behaves.
        labels: labels that the exposer sets, in the newest release.
        unit: unit of the value; for a histogram, of what is observed.
        family: the group it is listed under.
        exposed_by: the component that registers it.
        meaning: what it measures.
        not_meaning: the reading that is wrong.
        note: what else matters when reading it, or "".
        since: first KubeRay release that has it; None where it is not bound to a KubeRay release.
        until: first KubeRay release that no longer has it; None where all later ones do.
        buckets: finite upper bounds of a histogram, ascending.
    """

    name: str
    kind: MetricKind
    labels: tuple[str, ...]
    unit: str
    family: Family
    exposed_by: MetricOrigin
    meaning: str
    not_meaning: str
    note: str = ""
    since: str | None = "1.0"
    until: str | None = None
    buckets: tuple[float, ...] = ()

    @property
    def sample_names(self) -> tuple[str, ...]:
        """Names that its samples carry in the text exposition."""
        if self.kind == "histogram":
            return (f"{self.name}_bucket", f"{self.name}_sum", f"{self.name}_count")
        return (self.name,)
