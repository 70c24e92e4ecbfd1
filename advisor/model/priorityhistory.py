"""How each priority of an operator's queues fared over a time."""

from typing import Literal

import msgspec

from advisor.model.signal import Quality, Window

__all__ = ["ControllerPriorities", "PriorityHistory", "PriorityPast"]


class PriorityPast(msgspec.Struct, frozen=True, kw_only=True):
    """One priority of one controller's queue; "" is the classic queue, which has none.

    Null is what is not known: of a queue with several priorities an operator itself tells the depth alone. ``now`` is
    the last scrape. ``served`` are keys handed out, ``wait_seconds_mean`` their queue wait. ``starved_seconds`` is the
    time for which its oldest key waited while hardly any key but those of higher priorities was handed out, and
    ``is_starving`` whether that is so at the end. ``depth_error`` is by how much the depth was off the operator's own
    at the last scrape. ``depths`` and ``oldest`` are the largest, ``waits`` the mean of each interval.
    """

    priority: str
    quality: Quality
    depth_now: float | None
    depth_peak: float | None
    blocked_now: float | None
    active_now: float | None
    wait_seconds_mean: float | None
    oldest_now_seconds: float | None
    oldest_peak_seconds: float | None
    served: float | None
    served_share: float | None
    starved_seconds: float
    is_starving: bool
    depth_error: float | None
    depths: tuple[float | None, ...]
    waits: tuple[float | None, ...]
    oldest: tuple[float | None, ...]


class ControllerPriorities(msgspec.Struct, frozen=True, kw_only=True):
    """The queue of one controller: its priorities, the highest first, and the mean wait over all of them.

    ``origin`` says who told: the operator itself, or a sidecar's shadow of its queue.
    """

    controller: str
    origin: Literal["operator", "sidecar"]
    wait_seconds_mean: float | None
    served: float | None
    waits: tuple[float | None, ...]
    priorities: tuple[PriorityPast, ...]


class PriorityHistory(msgspec.Struct, frozen=True, kw_only=True):
    """All controllers that had a key, by name.

    ``window`` reaches from the first scrape to the last one. ``bounds`` are Unix seconds; interval i lies between
    bounds i and i + 1.
    """

    window: Window
    scrapes: int
    bounds: tuple[float, ...]
    controllers: tuple[ControllerPriorities, ...]
