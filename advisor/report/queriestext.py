"""The queries that an analysis of a store makes, for those who want to know before it asks."""

from collections.abc import Sequence

from advisor.sources.prometheus.explain import PlannedQuery

__all__ = ["queries_text"]


def queries_text(queries: Sequence[PlannedQuery], notes: Sequence[str]) -> str:
    """Each query with its purpose and cost, then the sum."""
    lines: list[str] = []
    for number, one in enumerate(queries, start=1):
        times = "once" if one.requests == 1 else f"up to {one.requests} times"
        cost = f"at most {one.samples:,} samples of each series" if one.samples else "no samples, only the index"
        lines += [f"{number}. {one.purpose}", f"   /api/v1/{one.path}, {times}, {cost}", f"   {one.text}", ""]
    total = sum(one.requests for one in queries)
    lines.append(f"{total} requests at most, 2 at a time. Nothing was asked.")
    lines += [f"- {note}" for note in notes]
    return "\n".join(lines) + "\n"
