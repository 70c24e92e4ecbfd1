"""What the heaviest keys of one operator cost over a time, as a sidecar's counters tell it."""

import msgspec

from advisor.model.signal import Window

__all__ = ["KeyHistory", "KeyPast", "NamespacePast", "OtherPast"]


class KeyPast(msgspec.Struct, frozen=True, kw_only=True):
    """One key over a time.

    ``busy_share`` is its part of all busy worker time of the operator that the log shows, null where there was none;
    ``shares`` the same for each interval, ``rates`` its reconciles per second, null where it had no series. ``writers``
    are field managers that wrote to it most while it was hot, the last one first. ``hot_seconds`` is for how long it
    was hot; ``hot_since`` the first scrape of the stretch that still goes on, null where it is not hot now, and
    ``hot_throughout`` that this stretch reaches back to the first scrape of all, so that it may have begun before.
    """

    controller: str
    namespace: str
    name: str
    busy_seconds: float
    busy_share: float | None
    reconciles: float
    errors: float
    conflicts: float
    writers: tuple[str, ...]
    hot_seconds: float
    hot_since: float | None
    hot_throughout: bool
    shares: tuple[float | None, ...]
    rates: tuple[float | None, ...]


class OtherPast(msgspec.Struct, frozen=True, kw_only=True):
    """All keys of a controller that have no series of their own, together.

    ``largest_busy_seconds`` bounds what any one of them can have had since the sidecar started;
    ``unattributed_seconds`` is reconcile time of the operator that no line of the log covers, so that any one key may
    have had it. Both are null where they are not known.
    """

    controller: str
    busy_seconds: float
    busy_share: float | None
    reconciles: float
    errors: float
    conflicts: float
    largest_busy_seconds: float | None
    unattributed_seconds: float | None


class NamespacePast(msgspec.Struct, frozen=True, kw_only=True):
    """All keys of a namespace that had series of their own, together."""

    namespace: str
    keys: int
    busy_seconds: float
    busy_share: float | None
    reconciles: float
    errors: float
    conflicts: float


class KeyHistory(msgspec.Struct, frozen=True, kw_only=True):
    """Keys, namespaces and the rest, the heaviest first.

    ``window`` reaches from the first scrape to the last one. ``bounds`` are Unix seconds; interval i of ``shares`` and
    ``rates`` lies between bounds i and i + 1. ``keys_left_out`` are keys that had series and are not among ``keys``;
    they are in all sums. ``log_lag_seconds`` says how far behind the log the sidecar was at the last scrape,
    ``series_dropped`` how many series it left out.
    """

    window: Window
    scrapes: int
    bounds: tuple[float, ...]
    busy_seconds: float
    keys: tuple[KeyPast, ...]
    keys_left_out: int
    others: tuple[OtherPast, ...]
    namespaces: tuple[NamespacePast, ...]
    log_lag_seconds: float | None
    series_dropped: float | None
