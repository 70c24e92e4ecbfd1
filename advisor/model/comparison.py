"""The result of comparing two analyses: the contract of ``compare --output json``."""

import enum
from typing import Literal

import msgspec

from advisor.model.finding import FindingCode, Severity
from advisor.model.signals import EpisodeKind

__all__ = [
    "Comparison",
    "LoadMeasure",
    "Outcome",
    "PredictionCheck",
    "PredictionResult",
    "Quantity",
    "SettingChange",
    "Side",
    "Trend",
]


class Outcome(enum.StrEnum):
    """Whether the change helped."""

    BETTER = "better"
    WORSE = "worse"
    NOT_COMPARABLE = "not comparable"
    NO_CLEAR_CHANGE = "no clear change"


class Trend(enum.StrEnum):
    """What became of one quantity, once load and noise are taken out.

    ``different`` is a change beyond noise of a quantity of which neither more nor less is better.
    """

    BETTER = "better"
    WORSE = "worse"
    SAME = "same"
    DIFFERENT = "different"
    UNKNOWN = "unknown"


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two analyses: what its verdict says, and the episode that its figures are of."""

    operator: str
    version: str | None
    verdict: str
    primary: FindingCode
    severity: Severity
    episode: EpisodeKind
    episode_seconds: float
    is_kuberay: bool = True


class SettingChange(msgspec.Struct, frozen=True, kw_only=True):
    """One setting on both sides; ``changed`` is None where a side does not know it. QPS below zero is no limiter."""

    name: str
    before: float | str | None
    after: float | str | None
    changed: bool | None


class LoadMeasure(msgspec.Struct, frozen=True, kw_only=True):
    """One measure of what was asked of the operator.

    ``alike`` is None where it was not judged: it is not known on a side, chance at such counts, or a better measure
    stands in its place.
    """

    name: str
    title: str
    unit: str
    before: float | None
    after: float | None
    ratio: float | None
    alike: bool | None


class Quantity(msgspec.Struct, frozen=True, kw_only=True):
    """One quantity on both sides.

    ``change`` is after less before, ``ratio`` after by before, ``normalised_ratio`` the same at equal load; each is
    None where a side does not know the quantity, ratios also where they do not exist. ``lower_is_better`` is None where
    neither is. ``tolerance`` is how far runs of the same differ. ``decides`` says that the verdict rests on it.
    """

    name: str
    title: str
    unit: str
    before: float | None
    after: float | None
    change: float | None
    ratio: float | None
    normalised_ratio: float | None
    normalised_by: str
    lower_is_better: bool | None
    tolerance: float
    beyond_noise: bool | None
    trend: Trend
    decides: bool
    missing: str = ""
    """Which side does not know it, and why."""


class PredictionResult(enum.StrEnum):
    """How a prediction of the analysis before turned out."""

    INSIDE = "inside"
    BELOW = "below"
    ABOVE = "above"
    NOT_CHECKED = "not checked"


class PredictionCheck(msgspec.Struct, frozen=True, kw_only=True):
    """A prediction that the analysis before made, and what was measured after."""

    quantity: str
    unit: str
    low: float
    high: float
    then: float
    measured: float | None
    result: PredictionResult
    reason: str = ""
    """Why it was not checked."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a change helped, why, what it cost, and whether what was predicted came true.

    ``before`` and ``after`` are about the episodes that the two verdicts are for; every figure is of those.
    """

    schema: Literal["kuberay-advisor/comparison/v1"] = "kuberay-advisor/comparison/v1"
    outcome: Outcome
    summary: str
    reasons: tuple[str, ...]
    costs: tuple[str, ...]
    notes: tuple[str, ...]
    before: Side
    after: Side
    settings: tuple[SettingChange, ...]
    load: tuple[LoadMeasure, ...]
    quantities: tuple[Quantity, ...]
    predictions: tuple[PredictionCheck, ...]
