"""Which store answers, as far as ``/api/v1/status/buildinfo`` tells."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

__all__ = ["BuildInfo", "Kind", "recognised"]


class Kind(enum.StrEnum):
    """Kinds of stores."""

    PROMETHEUS = "Prometheus"
    THANOS = "Thanos"
    MIMIR = "Mimir"
    CORTEX = "Cortex"
    VICTORIAMETRICS = "VictoriaMetrics"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class BuildInfo:
    """A kind of store, and its version as it says it; "" where it does not."""

    kind: Kind
    version: str


_BY_APPLICATION: Final = ((Kind.MIMIR, "mimir"), (Kind.CORTEX, "cortex"), (Kind.THANOS, "thanos"))


def recognised(data: Mapping[str, object]) -> BuildInfo:
    """The store that says this of itself.

    Mimir and Cortex name themselves. VictoriaMetrics tells a version of Prometheus that it wants to be taken for, and
    nothing else. Thanos says the same things as Prometheus, with a version below 1.
    """
    version = str(data.get("version") or "")
    application = str(data.get("application") or "").lower()
    if application:
        kind = next((kind for kind, name in _BY_APPLICATION if name in application), Kind.UNKNOWN)
        return BuildInfo(kind, version)
    if set(data) == {"version"}:
        return BuildInfo(Kind.VICTORIAMETRICS, "")
    if version.startswith("0."):
        return BuildInfo(Kind.THANOS, version)
    return BuildInfo(Kind.PROMETHEUS if version else Kind.UNKNOWN, version)
