"""What tests ask of a Prometheus without the product: plain calls, with explicit times."""

from typing import Any

import httpx

__all__ = ["Labels", "instant", "samples"]

Labels = frozenset[tuple[str, str]]


def instant(address: str, query: str, time: float) -> list[dict[str, Any]]:
    """What a query gives at a time."""
    answer = httpx.post(
        f"{address}/api/v1/query", data={"query": query, "time": f"{time}"}, trust_env=False, timeout=30.0
    )
    found: list[dict[str, Any]] = answer.raise_for_status().json()["data"]["result"]
    return found


def samples(address: str, start: float, end: float, selector: str = '{__name__!=""}') -> dict[Labels, list[list[Any]]]:
    """All stored samples by series, each a time and a text, from one time to another, both included."""
    # The beginning is left out by newer releases.
    found = instant(address, f"{selector}[{round((end - start + 1) * 1000)}ms]", end)
    return {frozenset(one["metric"].items()): one["values"] for one in found}
