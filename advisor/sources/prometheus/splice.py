"""Putting samples read closely in the place of those read coarsely."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import TYPE_CHECKING

from advisor.model.raw import Series
from advisor.sources.prometheus.plan import Span

if TYPE_CHECKING:
    from array import array

__all__ = ["splice"]

_Key = tuple[str, frozenset[tuple[str, str]]]


def _key(series: Series) -> _Key:
    return series.name, frozenset(series.labels.items())


def splice(coarse: Iterable[Series], fine: Iterable[Series], span: Span) -> list[Series]:
    """The coarse series with the fine samples of a span in place of theirs; series that are only fine as they are."""
    closely = {_key(one): one for one in fine}
    joined = [_joined(one, closely.pop(_key(one), None), span) for one in coarse]
    return [*joined, *closely.values()]


def _joined(coarse: Series, fine: Series | None, span: Span) -> Series:
    if fine is None:
        return coarse
    low, high = bisect_left(coarse.times, span.start), bisect_right(coarse.times, span.end)
    return Series(
        coarse.name,
        coarse.labels,
        _around(coarse.times, fine.times, low, high),
        _around(coarse.values, fine.values, low, high),
    )


def _around(outer: "array[float]", inner: "array[float]", low: int, high: int) -> "array[float]":
    return outer[:low] + inner + outer[high:]
