"""Whether the service said of each chapter what it should have said, in time."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from advisor.demo.story import Chapter, Story
from advisor.model.finding import FindingCode

__all__ = ["PERIODS", "Judgement", "Seen", "judge"]

PERIODS: Final = 2
"""Analyses after which a fault has to be named."""


class Seen(NamedTuple):
    """The first finding of one analysis.

    Attributes:
        seconds: when, in the story's time.
        finding: its code.
    """

    seconds: float
    finding: FindingCode


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was said of one chapter.

    Attributes:
        chapter: which.
        found: what was first said rightly, or said last where nothing was; None where there was no analysis.
        after_seconds: from the begin of what it is about to the first analysis that was right; None where none was.
        is_right: whether a fault was named in one of the first analyses after its begin, or the last one said that all
            is well again.
    """

    chapter: Chapter
    found: FindingCode | None
    after_seconds: float | None
    is_right: bool


def judge(story: Story, seen: Sequence[Seen]) -> tuple[Judgement, ...]:
    """Judge the chapters of the first round.

    Args:
        story: what happened.
        seen: all analyses, in order of time.
    """
    return tuple(_judged(story, number, seen) for number in range(len(story.chapters)))


def _judged(story: Story, number: int, seen: Iterable[Seen]) -> Judgement:
    chapter = story.chapters[number]
    fault, end = story.begin_of(number) + chapter.pause_seconds, story.begin_of(number + 1)
    within = [one for one in seen if fault < one.seconds < end]
    right = next((one for one in within if one.finding is chapter.expected), None)
    if chapter.is_fault:
        is_right = right is not None and right in within[:PERIODS]
    else:
        is_right = right is not None and within[-1].finding is chapter.expected
    told = right or (within[-1] if within else None)
    return Judgement(
        chapter,
        None if told is None else told.finding,
        None if right is None else right.seconds - fault,
        is_right,
    )
