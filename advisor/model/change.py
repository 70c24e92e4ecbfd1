"""A change of settings that was seen: what was predicted for it, and what was measured afterwards."""

import enum
from typing import Literal

import msgspec

from advisor.model.advice import Prediction
from advisor.model.comparison import Comparison
from advisor.model.report import Report

__all__ = ["ChangeBasis", "ChangeMeasurement", "ChangePrediction", "ChangeState"]


class ChangeState(enum.StrEnum):
    """What is known of a change so far."""

    SETTLING = "settling"
    """No analysis lies wholly after it yet."""
    MEASURED = "measured"
    NOT_COMPARABLE = "not comparable"
    """There is an analysis after it, of something that cannot be compared with what was before."""
    OVERTAKEN = "overtaken"
    """Another change came before this one could be measured."""
    NOT_MEASURED = "not measured"
    """Nothing after it was measured in all the time that is waited."""


class ChangePrediction(msgspec.Struct, frozen=True, kw_only=True):
    """What the last report before a change predicted.

    ``report`` and ``time`` (Unix seconds) are that report's. ``reason`` says why its predictions are not about what was
    set; "" where they are.
    """

    schema: Literal["kuberay-advisor/change-prediction/v1"] = "kuberay-advisor/change-prediction/v1"
    report: int
    time: float
    predictions: tuple[Prediction, ...]
    reason: str


class ChangeBasis(ChangePrediction, frozen=True, kw_only=True):
    """The same with what a later report is compared with: reports are kept for a shorter time than changes are."""

    before: Report
    """Without what no comparison asks for."""


class ChangeMeasurement(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured after a change, by the report of that id and Unix time."""

    schema: Literal["kuberay-advisor/change-measurement/v1"] = "kuberay-advisor/change-measurement/v1"
    report: int
    time: float
    comparison: Comparison
