"""The result of trying many settings on one load: the contract of ``whatif --output json``."""

from typing import Literal

import msgspec

__all__ = [
    "BestSettings",
    "CalibratedParameter",
    "Interval",
    "LoadSummary",
    "MeasuredValue",
    "PointSummary",
    "SettingsCell",
    "WhatIf",
]


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """A predicted quantity. ``low`` and ``high`` hold it in four cases of five; null where none was computed."""

    quantity: str
    unit: str
    value: float
    low: float | None = None
    high: float | None = None


class MeasuredValue(msgspec.Struct, frozen=True, kw_only=True):
    """A quantity that was measured under the settings in force."""

    quantity: str
    unit: str
    value: float


class SettingsCell(msgspec.Struct, frozen=True, kw_only=True):
    """One combination of settings and what it would do; QPS below zero is no limiter, a null limit is no limit."""

    concurrency: int
    qps: float
    burst: int
    cpu_limit_cores: float | None
    is_now: bool
    is_beyond: bool
    """It lies beyond the calibrated range, or would take more CPU than its limit: the prediction is a guess."""
    is_complete: bool
    """Everything that was created got ready within the run; if not, means leave out what would have taken longest."""
    no_gain: tuple[str, ...]
    """Settings whose next smaller value does as well, the others being equal."""
    estimates: tuple[Interval, ...]

    def estimate(self, quantity: str) -> Interval | None:
        """One quantity; None where it did not occur."""
        return next((one for one in self.estimates if one.quantity == quantity), None)


class BestSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The smallest settings that come within the gain threshold of the best value of a quantity."""

    quantity: str
    cell: int
    """Its place among the cells."""


class CalibratedParameter(msgspec.Struct, frozen=True, kw_only=True):
    """One parameter of the model, its bounds in four cases of five, and what it rests on."""

    name: str
    value: float
    low: float
    high: float
    origin: str


class PointSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One recording or other input that the model was calibrated on, and its settings."""

    name: str
    concurrency: int
    qps: float
    burst: int
    cpu_limit_cores: float | None


class LoadSummary(msgspec.Struct, frozen=True, kw_only=True):
    """The load that every combination was tried on."""

    name: str
    existing: int
    created: int
    pods: int
    """Worker Pods and heads of all that is created."""
    arrival_seconds: float
    """From the first to the last object created."""
    scalings: int
    deletions: int
    restarts: int
    duration_seconds: float | None
    """Length of each run; null where it ends when everything is ready."""


class WhatIf(msgspec.Struct, frozen=True, kw_only=True):
    """Many settings on one load, predicted by a model of the operator, and which of them to choose."""

    schema: Literal["kuberay-advisor/whatif/v1"] = "kuberay-advisor/whatif/v1"
    load: LoadSummary
    points: tuple[PointSummary, ...]
    parameters: tuple[CalibratedParameter, ...]
    measured: tuple[MeasuredValue, ...]
    """What was measured under the settings in force; empty where the load was not run by a real operator."""
    cells: tuple[SettingsCell, ...]
    """From the smallest settings to the largest."""
    wait_target_seconds: float
    smallest: int | None
    """The smallest cell whose mean queue wait stays within the target up to its upper bound; null for none."""
    best: tuple[BestSettings, ...]
    draws: int
    seed: int
    cells_wanted: int
    """More than there are cells where the run was interrupted."""
    notes: tuple[str, ...]

    @property
    def now(self) -> SettingsCell | None:
        """The cell of the settings in force; None where it is not finished."""
        return next((one for one in self.cells if one.is_now), None)

    @property
    def is_complete(self) -> bool:
        """Whether every cell is finished."""
        return len(self.cells) == self.cells_wanted
