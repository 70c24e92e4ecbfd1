"""The result of one analysis: the contract of ``--output json``."""

from typing import Literal

import msgspec

from advisor.model.advice import Advice, Prediction
from advisor.model.finding import Finding
from advisor.model.raw import ReadNote
from advisor.model.settings import Settings
from advisor.model.signal import Window
from advisor.model.signals import Episode, KeyLoad, NamespaceLoad
from advisor.model.timeline import Timeline

__all__ = ["EpisodeReport", "Figure", "MissingFigure", "ProfileUsed", "Report", "SourceInfo"]


class SourceInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What was read, without anything that depends on where it lay."""

    kind: str
    samples: int
    log_lines: int
    object_changes: int
    window: Window
    notes: tuple[ReadNote, ...] = ()


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A named number of the verdict's episode, with its unit and origin."""

    value: float
    unit: str
    quality: str
    origin: str
    low: float | None = None
    high: float | None = None


class MissingFigure(msgspec.Struct, frozen=True, kw_only=True):
    """A figure that is not known, and why."""

    name: str
    reason: str


class EpisodeReport(msgspec.Struct, frozen=True, kw_only=True):
    """One episode with its findings in rank order."""

    episode: Episode
    findings: tuple[Finding, ...]
    lost_seconds: float
    is_verdict: bool


class ProfileUsed(msgspec.Struct, frozen=True, kw_only=True):
    """The profile that the report goes by, and why it is that one."""

    name: str
    title: str
    why: str


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Everything one analysis says.

    ``findings``, ``figures`` and ``missing`` are about the episode that the verdict is for; findings in rank order,
    figures by the dotted name of their signal.
    """

    schema: Literal["kuberay-advisor/report/v1"] = "kuberay-advisor/report/v1"
    operator: str
    verdict: str
    source: SourceInfo
    findings: tuple[Finding, ...]
    advice: Advice
    predictions: tuple[Prediction, ...]
    figures: dict[str, Figure]
    missing: tuple[MissingFigure, ...]
    episodes: tuple[EpisodeReport, ...]
    settings: Settings
    keys: tuple[KeyLoad, ...]
    namespaces: tuple[NamespaceLoad, ...]
    timeline: Timeline | None = None
    """None where the input holds no samples over time."""
    profile: ProfileUsed | None = None
    """None in reports of before there were profiles, which are about KubeRay."""
