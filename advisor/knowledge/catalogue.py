"""The catalogue of series that the advisor reads, and the look-up by sample name."""

from typing import Final

from advisor.knowledge.catalogue_client import CLIENT_METRICS
from advisor.knowledge.catalogue_container import CONTAINER_METRICS
from advisor.knowledge.catalogue_controller import CONTROLLER_METRICS
from advisor.knowledge.catalogue_kuberay import OBJECT_METRICS
from advisor.knowledge.catalogue_process import ELECTION_METRICS, PROCESS_METRICS
from advisor.knowledge.catalogue_queue import QUEUE_METRICS
from advisor.knowledge.metric import Metric

__all__ = ["METRICS", "find"]

METRICS: Final[tuple[Metric, ...]] = (
    QUEUE_METRICS
    + CONTROLLER_METRICS
    + CLIENT_METRICS
    + ELECTION_METRICS
    + PROCESS_METRICS
    + CONTAINER_METRICS
    + OBJECT_METRICS
)

_BY_NAME: Final = {metric.name: metric for metric in METRICS}
_BY_SUFFIXED_NAME: Final = {
    f"{base}_{suffix}": metric
    for metric in METRICS
    for base, suffixes in (
        (metric.name, ("bucket", "sum", "count", "created") if metric.kind == "histogram" else ()),
        (metric.name.removesuffix("_total"), ("created",) if metric.kind == "counter" else ()),
    )
    for suffix in suffixes
}
_BY_FAMILY_NAME: Final = {metric.name.removesuffix("_total"): metric for metric in METRICS if metric.kind == "counter"}


def find(name: str) -> Metric | None:
    """Find the catalogued series that a sample belongs to.

    Args:
        name: name of a sample, in the text exposition or in OpenMetrics: with ``_bucket``, ``_sum``, ``_count`` or
            ``_created``, or a counter's family name without ``_total``.

    Returns:
        The series, or None when the catalogue has none of that name.
    """
    return _BY_NAME.get(name) or _BY_SUFFIXED_NAME.get(name) or _BY_FAMILY_NAME.get(name)
