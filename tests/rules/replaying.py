"""Alerts over what was recorded: a real Prometheus evaluates, ``for`` is applied here.

A rule cannot be evaluated in the past by a running Prometheus, and promtool's backfill knows no alerts. So the names of
recorded series are replaced by what they record, each alert is asked for at every evaluation of a span, and a label set
fires once it has been there for as long as ``for`` says: as Prometheus itself does it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import httpx
import yaml

__all__ = ["RECORDED", "Firing", "Rules", "fired", "inlined"]

RECORDED: Final = re.compile(r"\b(?:controller|operator|container):[a-z0-9_]+:[a-z0-9_]+\b")
_MS: Final = re.compile(r"(\d+)(ms|s|m|h|d)")
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Firing:
    """An alert with one label set, and when it first fired."""

    alert: str
    labels: Mapping[str, str]
    since: float


@dataclass(frozen=True, slots=True)
class Rules:
    """Expressions with their ``for`` in seconds, by alert; recorded series are written out."""

    alerts: Mapping[str, tuple[str, float]]
    interval_seconds: float

    @classmethod
    def of(cls, recording: str, alerts: str) -> "Rules":
        """From the text of the two rule files."""
        records = {rule["record"]: rule["expr"] for group in _groups(recording) for rule in group["rules"]}
        return cls(
            {
                rule["alert"]: (inlined(rule["expr"], records), duration(rule["for"]))
                for group in _groups(alerts)
                for rule in group["rules"]
            },
            duration(_groups(alerts)[0]["interval"]),
        )


def _groups(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load(text)["groups"]
    return found


def duration(text: str) -> float:
    """A duration of Prometheus in seconds."""
    found = _MS.fullmatch(text)
    assert found is not None, text
    return float(found[1]) * _UNITS[found[2]]


def inlined(expr: str, records: Mapping[str, str]) -> str:
    """An expression of series that are scraped alone."""
    while RECORDED.search(expr):
        expr = RECORDED.sub(lambda match: f"({records[match[0]]})", expr)
    return expr


def fired(address: str, rules: Rules, start: float, end: float) -> list[Firing]:
    """What fires in a span of time, by when it first did."""
    found: list[Firing] = []
    with httpx.Client(base_url=address, trust_env=False, timeout=_SECONDS) as client:
        for name, (expr, hold) in rules.alerts.items():
            asked = {"query": expr, "start": f"{start}", "end": f"{end}", "step": f"{rules.interval_seconds}"}
            answer = client.post("/api/v1/query_range", data=asked)
            assert answer.status_code == httpx.codes.OK, (name, answer.text)
            for series in answer.json()["data"]["result"]:
                since = _held([float(time) for time, _ in series["values"]], hold, rules.interval_seconds)
                if since is not None:
                    labels = {key: value for key, value in series["metric"].items() if key != "__name__"}
                    found.append(Firing(name, labels, since))
    return sorted(found, key=lambda one: one.since)


def _held(times: list[float], hold: float, step: float) -> float | None:
    """When a condition that is true at these times has been so for long enough; None if it never is."""
    active = None
    for before, now in zip([None, *times], times, strict=False):
        if before is None or active is None or now - before > 1.5 * step:
            active = now
        if now - active >= hold - step / 1000:
            return now
    return None
