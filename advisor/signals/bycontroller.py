"""Which series belong to which controller."""

from advisor.model.raw import Series, SeriesStore

__all__ = ["ByController"]

_OWN_PREFIX = "advisor-"
"""Controllers of this project's own sidecar, which are not what is diagnosed."""
_NAMED_BY = ("controller_runtime_max_concurrent_reconciles", "workqueue_adds_total", "workqueue_depth")


def _label(series: Series) -> str:
    """The controller of a series; work queue series of old releases carry it as ``name`` only."""
    return series.labels.get("controller") or series.labels.get("name", "")


class ByController:
    """The series of a store, by metric and controller, grouped once for all controllers."""

    def __init__(self, store: SeriesStore) -> None:
        self.origin = store.origin
        self._store = store
        self._groups: dict[str, dict[str, list[Series]]] = {}

    def of(self, metric: str, controller: str) -> list[Series]:
        """The series of one metric that belong to a controller."""
        groups = self._groups.get(metric)
        if groups is None:
            groups = self._groups[metric] = {}
            for series in self._store.get(metric):
                groups.setdefault(_label(series), []).append(series)
        return groups.get(controller, [])

    def names(self) -> list[str]:
        """The controllers that are not this project's own, those with the most samples first."""
        samples: dict[str, int] = {}
        for metric in _NAMED_BY:
            for series in self._store.get(metric):
                samples[_label(series)] = samples.get(_label(series), 0) + len(series.times)
        found = [name for name in samples if name and not name.startswith(_OWN_PREFIX)]
        return sorted(found, key=lambda name: (-samples[name], name))
