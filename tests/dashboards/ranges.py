"""Queries of panels asked of a real Prometheus over the whole of what it holds."""

from typing import Any, Final

import httpx

__all__ = ["INTERVAL", "LOOKBACK", "RANGE", "STEP_SECONDS", "ranged"]

INTERVAL: Final = "10s"
"""In place of $__rate_interval: recordings are scraped every 2 s."""
LOOKBACK: Final = ("--query.lookback-delta=5s",)
"""Blocks made from text have no marks where a series ends, as a scrape leaves them."""
RANGE: Final = "1m"
"""In place of $__range."""
STEP_SECONDS: Final = 2.0


def ranged(client: httpx.Client, query: str, start: float, end: float) -> tuple[list[dict[str, Any]], str]:
    """Curves of a query, without values that are no numbers, and what the store complains of."""
    answer = client.post(
        "/api/v1/query_range", data={"query": query, "start": f"{start}", "end": f"{end}", "step": f"{STEP_SECONDS}"}
    ).json()
    if answer["status"] != "success":
        return [], str(answer["error"])
    kept = []
    for one in answer["data"]["result"]:
        values = [(float(time), float(value)) for time, value in one["values"] if value not in {"NaN", "+Inf", "-Inf"}]
        if values:
            kept.append({"metric": one["metric"], "values": values})
    return kept, "; ".join(answer.get("warnings", ()))
