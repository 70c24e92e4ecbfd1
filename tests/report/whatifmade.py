"""A what-if result made by hand, so that what is shown does not move with the model."""

from typing import Final

from advisor.model.signal import Unit
from advisor.model.whatif import (
    BestSettings,
    CalibratedParameter,
    Interval,
    LoadSummary,
    MeasuredValue,
    PointSummary,
    SettingsCell,
    WhatIf,
)

SECONDS: Final = (
    ("makespan_seconds", 3.0),
    ("ready_seconds_mean", 2.8),
    ("queue_wait_seconds_mean", 1.0),
)


def cell(concurrency: int, qps: float, wait: float, **other: object) -> SettingsCell:
    """A cell whose times go with its queue wait; a limiter that is on makes a fifth of it."""
    times = [
        Interval(
            quantity=name, unit=Unit.SECONDS, value=wait * factor, low=wait * factor * 0.8, high=wait * factor * 1.3
        )
        for name, factor in SECONDS
    ]
    if qps >= 0:
        limiter = Interval(quantity="limiter_wait_seconds_mean", unit=Unit.SECONDS, value=wait / qps)
        times.append(limiter)
    limit = other.get("limit")
    burst = other.get("burst", round(2 * qps) if qps > 0 else 200)
    no_gain = other.get("no_gain", ())
    assert limit is None or isinstance(limit, float)
    assert isinstance(burst, int)
    assert isinstance(no_gain, tuple)
    return SettingsCell(
        concurrency=concurrency,
        qps=qps,
        burst=burst,
        cpu_limit_cores=limit,
        is_now=bool(other.get("is_now")),
        is_beyond=bool(other.get("is_beyond")),
        is_complete=bool(other.get("is_complete", True)),
        no_gain=no_gain,
        estimates=(
            *times,
            Interval(quantity="utilisation", unit=Unit.RATIO, value=min(1.0, wait / 10.0)),
            Interval(quantity="cpu_cores", unit=Unit.CORES, value=0.05 * concurrency),
            Interval(quantity="requests_per_second", unit=Unit.PER_SECOND, value=20.0 * concurrency),
        ),
    )


def example() -> WhatIf:
    """Three concurrencies by three QPS, the largest beyond what is calibrated."""
    cells = (
        cell(1, 20.0, 14.0),
        cell(1, 100.0, 9.0, is_now=True),
        cell(1, -1.0, 9.0, no_gain=("qps",)),
        cell(4, 20.0, 6.0),
        cell(4, 100.0, 2.0),
        cell(4, -1.0, 0.3),
        cell(64, 20.0, 5.9, is_beyond=True, no_gain=("concurrency",), is_complete=False),
        cell(64, 100.0, 0.9, is_beyond=True),
        cell(64, -1.0, 0.00004, is_beyond=True),
    )
    return WhatIf(
        load=LoadSummary(
            name="monday",
            existing=30,
            created=50,
            pods=450,
            arrival_seconds=0.588,
            scalings=2,
            deletions=0,
            restarts=1,
            duration_seconds=None,
        ),
        points=(
            PointSummary(name="monday", concurrency=1, qps=100.0, burst=200, cpu_limit_cores=None),
            PointSummary(name="tuesday", concurrency=16, qps=-1.0, burst=200, cpu_limit_cores=None),
        ),
        parameters=(
            CalibratedParameter(
                name="request_seconds", value=0.0681, low=0.063, high=0.0735, origin="request times (monday)"
            ),
            CalibratedParameter(name="pod_starters", value=5.0, low=4.6, high=5.4, origin="start of Pods (tuesday)"),
        ),
        measured=(
            MeasuredValue(quantity="makespan_seconds", unit=Unit.SECONDS, value=28.1),
            MeasuredValue(quantity="queue_wait_seconds_mean", unit=Unit.SECONDS, value=8.7),
            MeasuredValue(quantity="requests_per_second", unit=Unit.PER_SECOND, value=19.4),
        ),
        cells=cells,
        wait_target_seconds=5.0,
        smallest=4,
        best=(
            BestSettings(quantity="makespan_seconds", cell=5),
            BestSettings(quantity="queue_wait_seconds_mean", cell=5),
        ),
        draws=12,
        seed=1,
        cells_wanted=9,
        notes=("the model's makespan is so and so",),
    )
