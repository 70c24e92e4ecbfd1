"""Labels of priorities in the order in which their keys are handed out."""

from collections.abc import Iterable

__all__ = ["ordered"]

_MOST_PRIORITIES = 10
"""Of one controller; KubeRay has two. The highest and the lowest of more are enough to see what starves."""


def ordered(priorities: Iterable[str]) -> list[str]:
    """The highest first; what is no number comes last. Of very many the middle is left out."""
    order = sorted(priorities, key=lambda one: (*_rank(one), one))
    half = _MOST_PRIORITIES // 2
    return order if len(order) <= _MOST_PRIORITIES else [*order[:half], *order[-half:]]


def _rank(priority: str) -> tuple[int, int]:
    try:
        return 0, -int(priority)
    except ValueError:
        return 1, 0
