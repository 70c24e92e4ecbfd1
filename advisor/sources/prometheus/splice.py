"""Putting samples read closely in the place of those read coarsely."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import TYPE_CHECKING

from advisor.model.raw import Series
from advisor.model.signal import Window
from advisor.sources.prometheus.answers import key_of

if TYPE_CHECKING:
    from array import array

__all__ = ["splice"]


def splice(coarse: Iterable[Series], fine: Iterable[Series], span: Window) -> list[Series]:
    """The coarse series with the fine samples of a span in place of theirs; series that are only fine as they are."""
    closely = {key_of(one.name, one.labels): one for one in fine}
    joined = [_joined(one, closely.pop(key_of(one.name, one.labels), None), span) for one in coarse]
    return [*joined, *closely.values()]


def _joined(coarse: Series, fine: Series | None, span: Window) -> Series:
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
