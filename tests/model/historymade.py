"""Histories of keys and priorities made by hand, with what is known and what is not."""

from advisor.model.keyhistory import KeyHistory, KeyPast, NamespacePast, OtherPast
from advisor.model.priorityhistory import ControllerPriorities, PriorityHistory, PriorityPast
from advisor.model.signal import Quality, Window

__all__ = ["key_history", "priority_history"]


def key_history() -> KeyHistory:
    """One key, the rest, and their namespaces."""
    key = KeyPast(
        controller="raycluster",
        namespace="team",
        name="a",
        busy_seconds=9.0,
        busy_share=0.75,
        reconciles=12.0,
        errors=1.0,
        conflicts=0.0,
        writers=("kubectl",),
        hot_seconds=20.0,
        hot_since=10.0,
        hot_throughout=False,
        shares=(0.5, None),
        rates=(1.0, None),
    )
    other = OtherPast(
        controller="raycluster",
        busy_seconds=3.0,
        busy_share=0.25,
        reconciles=4.0,
        errors=0.0,
        conflicts=0.0,
        largest_busy_seconds=1.0,
        unattributed_seconds=None,
    )
    namespace = NamespacePast(
        namespace="team", keys=1, busy_seconds=9.0, busy_share=0.75, reconciles=12.0, errors=1.0, conflicts=0.0
    )
    return KeyHistory(
        window=Window(0.0, 30.0),
        scrapes=3,
        bounds=(0.0, 15.0, 30.0),
        busy_seconds=12.0,
        keys=(key,),
        keys_left_out=2,
        others=(other,),
        namespaces=(namespace,),
        log_lag_seconds=None,
        series_dropped=0.0,
    )


def priority_history() -> PriorityHistory:
    """One priority that starves."""
    past = PriorityPast(
        priority="-100",
        quality=Quality.ESTIMATED,
        depth_now=3.0,
        depth_peak=9.0,
        blocked_now=None,
        active_now=0.0,
        wait_seconds_mean=None,
        oldest_now_seconds=60.0,
        oldest_peak_seconds=60.0,
        served=0.0,
        served_share=0.0,
        starved_seconds=45.0,
        is_starving=True,
        depth_error=1.0,
        depths=(9.0, 3.0),
        waits=(None, None),
        oldest=(45.0, 60.0),
    )
    controller = ControllerPriorities(
        controller="raycluster",
        origin="sidecar",
        wait_seconds_mean=0.5,
        served=40.0,
        waits=(0.5, None),
        priorities=(past,),
    )
    return PriorityHistory(window=Window(0.0, 30.0), scrapes=3, bounds=(0.0, 15.0, 30.0), controllers=(controller,))
