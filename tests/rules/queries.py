"""PromQL as a tree, for checks of rules."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import promql_parser as promql

from advisor.knowledge.catalogue import METRICS
from advisor.sidecar.families import EXPOSED
from tests.support import ROOT

__all__ = ["TARGET", "Known", "is_a", "known", "metric_of", "walk"]

TARGET: Final = frozenset({"cluster", "namespace", "job", "instance", "pod"})
"""Labels that scrapes add."""
_SUFFIX: Final = re.compile(r"_(sum|count|bucket)$")
_SERVICE_ROW: Final = re.compile(r"^\| (`kuberay_advisor_.*?`) \| (.*?) \|", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Known:
    """A series that somebody exposes: its type and its own labels."""

    type: str
    labels: frozenset[str]


def known() -> Mapping[str, Known]:
    """Every family that is documented: the operator's, the sidecar's, the service's."""
    found = {one.family.name: Known(one.family.type, frozenset(one.family.labels)) for one in EXPOSED}
    for metric in METRICS:
        found[metric.name] = Known(metric.kind, frozenset(metric.labels))
    for names, labels in _SERVICE_ROW.findall((ROOT / "docs" / "service.md").read_text("utf-8")):
        for name in re.findall(r"`(\w+)`", names):
            found[name] = Known("counter" if name.endswith("_total") else "gauge", frozenset(labels.split(", ")))
    return found


def metric_of(name: str, families: Mapping[str, Known]) -> Known:
    """The family of a series; parts of a histogram are counters.

    Raises:
        KeyError: nobody exposes it.
    """
    if name in families:
        return families[name]
    family = families[_SUFFIX.sub("", name)]
    assert family.type == "histogram", name
    return Known("counter", family.labels | ({"le"} if name.endswith("_bucket") else set()))


def is_a(node: object, kind: type) -> bool:
    """Whether a node is of a kind; what it has is not narrowed, as the parser's types know little of their parts."""
    return isinstance(node, kind)


def walk(node: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, tuple[Any, ...]]]:  # noqa: ANN401 - the parser's nodes have no common useful type
    """Every node with those above it, nearest last."""
    yield node, above
    below: list[Any] = []
    match node:
        case promql.BinaryExpr():
            below = [node.lhs, node.rhs]
        case promql.AggregateExpr() | promql.ParenExpr() | promql.UnaryExpr() | promql.SubqueryExpr():
            below = [node.expr]
        case promql.Call():
            below = list(node.args)
        case promql.MatrixSelector():
            below = [node.vector_selector]
        case _:
            pass
    for one in below:
        yield from walk(one, (*above, node))
