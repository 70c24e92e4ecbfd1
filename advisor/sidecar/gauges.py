"""What one scrape of the operator's own metrics says of each controller."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from types import MappingProxyType

from advisor.sources.exposition import Sample

__all__ = ["GAUGE_NAMES", "Gauges", "gauges_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauges:
    """What one scrape of the operator says of one controller; None where it does not say.

    Attributes:
        depths: `workqueue_depth` by label of the priority.
        active_workers: busy workers.
        max_workers: workers that it has.
        reconcile_seconds: sum of its reconcile times since its process started.
        reconciles: how many ended since then.
    """

    depths: Mapping[str, float] = field(default_factory=dict)
    active_workers: float | None = None
    max_workers: float | None = None
    reconcile_seconds: float | None = None
    reconciles: float | None = None


_FIELDS = MappingProxyType(
    {
        "controller_runtime_active_workers": "active_workers",
        "controller_runtime_max_concurrent_reconciles": "max_workers",
        "controller_runtime_reconcile_time_seconds_sum": "reconcile_seconds",
        "controller_runtime_reconcile_time_seconds_count": "reconciles",
    }
)
_DEPTH = "workqueue_depth"
GAUGE_NAMES = frozenset({*_FIELDS, _DEPTH})
"""Names of the samples that are read."""


def gauges_of(samples: Iterable[Sample]) -> Mapping[str, Gauges]:
    """By controller; samples that tell of none, or of another thing, or no number, are left out."""
    values: dict[str, dict[str, float]] = {}
    depths: dict[str, dict[str, float]] = {}
    for sample in samples:
        if sample.name not in GAUGE_NAMES or not isfinite(sample.value):
            continue
        labels = dict(sample.labels)
        name = labels.get("controller") or labels.get("name")
        if not name:
            continue
        if sample.name == _DEPTH:
            depths.setdefault(name, {})[labels.get("priority", "")] = sample.value
        else:
            values.setdefault(name, {})[_FIELDS[sample.name]] = sample.value
    return {
        name: Gauges(
            depths=depths.get(name, {}),
            active_workers=(found := values.get(name, {})).get("active_workers"),
            max_workers=found.get("max_workers"),
            reconcile_seconds=found.get("reconcile_seconds"),
            reconciles=found.get("reconciles"),
        )
        for name in values.keys() | depths.keys()
    }
