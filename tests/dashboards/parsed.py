"""Queries as trees, from the grammar of Prometheus itself."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import promql_parser

__all__ = ["RANGES", "Selected", "calls", "divisions", "selected", "tree"]

RANGES: Final = {"$__rate_interval": "11m", "$__range": "13m"}
"""Grafana's ranges as ones that nobody would write; all its other variables stand in strings, which is PromQL."""
_WRITTEN: Final = {timedelta(minutes=11): "$__rate_interval", timedelta(minutes=13): "$__range"}


@dataclass(frozen=True, slots=True)
class Selected:
    """One selector: the name, its matchers as written, its range and the function that takes it; "" where none does."""

    name: str
    matchers: tuple[str, ...]
    function: str
    range: str


def tree(expr: str) -> promql_parser.Expr:
    """A query of a panel, parsed.

    Raises:
        ValueError: it is no PromQL.
    """
    for name, duration in RANGES.items():
        expr = expr.replace(name, duration)
    return promql_parser.parse(expr)


def _nodes(expr: str) -> list[promql_parser.Expr]:
    found: list[promql_parser.Expr] = []

    def visit(node: promql_parser.Expr) -> None:
        found.append(node)

    promql_parser.walk(tree(expr), visit)
    return found


def selected(expr: str) -> Iterator[Selected]:
    """All selectors of a query."""
    nodes = _nodes(expr)
    functions: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, promql_parser.Call):
            for one in node.args:
                if isinstance(one, promql_parser.MatrixSelector):
                    functions[str(one)] = node.func.name
    ranged: set[str] = set()
    for node in nodes:
        if isinstance(node, promql_parser.MatrixSelector):
            ranged.add(str(node.vector_selector))
            yield _selected(
                node.vector_selector, functions.get(str(node), ""), _WRITTEN.get(node.range, str(node.range))
            )
        elif isinstance(node, promql_parser.VectorSelector) and str(node) not in ranged:
            yield _selected(node, "", "")


def _selected(one: promql_parser.VectorSelector, function: str, over: str) -> Selected:
    name = one.name or next(each.value for each in one.matchers.matchers if each.name == "__name__")
    return Selected(name, tuple(str(each) for each in one.matchers.matchers), function, over)


def calls(expr: str) -> Iterator[promql_parser.Call]:
    """All function calls of a query."""
    return (node for node in _nodes(expr) if isinstance(node, promql_parser.Call))


def divisions(expr: str) -> Iterator[promql_parser.BinaryExpr]:
    """All divisions of a query."""
    return (node for node in _nodes(expr) if isinstance(node, promql_parser.BinaryExpr) and str(node.op) == "/")
