"""What every form of a report says in the same words: rows and lines, before they are laid out."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from advisor.knowledge.profile import KUBERAY_NAME
from advisor.model.advice import Advice, Direction, KnobAdvice, Prediction
from advisor.model.finding import Check, Evidence, Finding
from advisor.model.report import EpisodeReport, Figure, Report
from advisor.model.signal import Unit
from advisor.model.text import format_value
from advisor.report.quantitywording import quantity_words
from advisor.report.settingwording import setting_move, setting_name, setting_value

__all__ = [
    "KEY_HEADS",
    "PREDICTION_HEADS",
    "BudgetShare",
    "KnobRow",
    "about_finding",
    "budget_shares",
    "check_cells",
    "check_line",
    "episode_cells",
    "figure_quality",
    "in_short",
    "key_cells",
    "knob_rows",
    "missing_by_reason",
    "prediction_cells",
    "prediction_origin",
    "profile_line",
    "shown_evidence",
    "source_line",
    "utc",
]

KEY_HEADS = ("key", "busy", "reconciles", "errors", "conflicts", "Pods created")
PREDICTION_HEADS = ("quantity", "now", "then", "between", "and")

_LIMITS = frozenset({"cpu_cores", "memory_bytes"})
_BUDGET = (
    ("api_server", "API server"),
    ("client_limiter", "client limiter"),
    ("cpu", "CPU"),
    ("external", "external calls"),
    ("rest", "unexplained"),
)
_MOST_KEYS = 5
_FEWEST_SHOWN_SHARE = 0.01
_CHECK_MARKS = {False: "ruled out", True: "refuted", None: "not known"}


class KnobRow(NamedTuple):
    """One setting of the advice."""

    setting: str
    now: str
    to_set: str
    """"" where the setting is to stay."""
    direction: Direction
    reason: str


class BudgetShare(NamedTuple):
    """One part of a busy worker's second."""

    part: str
    name: str
    share: float
    low: float | None
    high: float | None

    @property
    def bounds(self) -> str:
        """The bounds as text, "" where there are none."""
        return "" if self.low is None or self.high is None else f"{self.low:.0%} to {self.high:.0%}"


def utc(time: float, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    """A Unix time as UTC, without saying so."""
    return datetime.fromtimestamp(time, tz=UTC).strftime(form)


def source_line(report: Report) -> str:
    """Which operator, and what was read of it."""
    source, window = report.source, report.source.window
    version = f" {report.settings.version}" if report.settings.version else ""
    if report.settings.version_inferred:
        version += " (by what it exposes)"
    parts = [source.kind]
    if source.samples:  # without any, the window is only what rates are about
        parts = [f"{source.kind} from {utc(window.start)} UTC", f"{format_value(window.seconds, Unit.SECONDS)} long"]
        parts.append(f"{source.samples:,} samples")
    if source.log_lines:
        parts.append(f"{source.log_lines:,} log lines")
    if source.object_changes:
        parts.append(f"{source.object_changes:,} object changes")
    return f"{report.operator} operator{version}: {', '.join(parts)}"


def profile_line(report: Report, *, verbose: bool = False) -> str:
    """The profile that the report goes by, and why; "" where it is KubeRay's and not all is asked for."""
    used = report.profile
    if used is None or (used.name == KUBERAY_NAME and not verbose):
        return ""
    return f"Profile {used.name} ({used.title}): {used.why}."


def in_short(advice: Advice) -> str:
    """The advice in one line: what to set, what to leave."""
    knobs = advice.knobs()
    changed = [setting_move(name, knob.current, knob.value) for name, knob in knobs if _changes(knob)]
    if changed:
        return f"Set {', '.join(changed)}; keep the rest."
    if all(knob.direction is Direction.NO_NUMBER for _, knob in knobs):
        return "No advice on any setting can rest on this."
    return "Keep all settings."


def knob_rows(advice: Advice) -> list[KnobRow]:
    """The settings that there is something to say about; none where no advice can be given at all."""
    if all(knob.direction is Direction.NO_NUMBER for _, knob in advice.knobs()):
        return []
    return [
        KnobRow(
            setting=setting_name(name),
            now=setting_value(name, knob.current),
            to_set=setting_value(name, knob.value) if _changes(knob) else "",
            direction=knob.direction,
            reason=knob.reason,
        )
        for name, knob in advice.knobs()
        # Where no limit is known and none is to be set, there is nothing to say.
        if knob.current is not None or knob.direction is not Direction.KEEP or name not in _LIMITS
    ]


def _changes(knob: KnobAdvice) -> bool:
    return knob.direction in (Direction.RAISE, Direction.LOWER)


def about_finding(finding: Finding) -> str:
    """How sure it is and how much it explains."""
    about = f"{finding.confidence.value} confidence"
    if finding.lost_ratio >= _FEWEST_SHOWN_SHARE:
        about += f", explains {finding.lost_ratio:.0%} of the lost time"
    return about


def shown_evidence(finding: Finding, *, verbose: bool = False) -> Iterator[Evidence]:
    """The evidence; figures that are not known only with ``verbose``."""
    return (one for one in finding.evidence if verbose or one.value is not None or not one.unit)


def check_line(check: Check) -> str:
    """What was checked, with its outcome in front."""
    return f"{_CHECK_MARKS[check.refuted]}: {check.question} {check.answer}"


def check_cells(finding: Finding) -> Iterator[tuple[str, str, str, str]]:
    """What was asked, its outcome, what the data says, and of which finding; what was ruled out first."""
    checks = sorted(finding.checks, key=lambda one: one.refuted is not False)
    return ((one.question, _CHECK_MARKS[one.refuted], one.answer, finding.code.value) for one in checks)


def prediction_origin(predictions: Sequence[Prediction]) -> str:
    """What the expected effect rests on."""
    if any(one.simulated for one in predictions):
        return "simulated; four cases of five lie between"
    return "closed form, not simulated"


def prediction_cells(prediction: Prediction) -> tuple[str, str, str, str, str]:
    """The cells below ``PREDICTION_HEADS``."""
    figures = (prediction.now, prediction.then, prediction.low, prediction.high)
    now, then, low, high = (format_value(value, prediction.unit) for value in figures)
    return quantity_words(prediction.quantity), now, then, low, high


def budget_shares(report: Report) -> list[BudgetShare]:
    """The parts of a busy worker's second that are known and can be anything."""
    found = ((part, name, report.figures.get(f"budget.{part}")) for part, name in _BUDGET)
    return [
        BudgetShare(part, name, figure.value, figure.low, figure.high)
        for part, name, figure in found
        if figure is not None and (figure.high or figure.value) >= _FEWEST_SHOWN_SHARE
    ]


def key_cells(report: Report) -> list[tuple[str, ...]]:
    """The cells below ``KEY_HEADS``: the costliest keys, then the costliest namespaces."""
    if not report.keys:
        return []
    keys = [
        (
            f"{key.controller} {key.namespace}/{key.name}",
            f"{key.busy_share:.0%}",
            str(key.reconciles),
            str(key.errors),
            str(key.conflicts),
            str(key.pods_created),
        )
        for key in report.keys[:_MOST_KEYS]
    ]
    namespaces = [
        (
            f"namespace {one.namespace}",
            f"{one.busy_share:.0%}",
            str(one.reconciles),
            str(one.errors),
            "",
            str(one.pods_created),
        )
        for one in report.namespaces[:_MOST_KEYS]
    ]
    return [*keys, *namespaces]


def episode_cells(episode: EpisodeReport, start: float) -> tuple[str, ...]:
    """Kind, from, to, lost, findings; times count from ``start``."""
    window = episode.episode.window
    return (
        episode.episode.kind.value,
        format_value(window.start - start, Unit.SECONDS),
        format_value(window.end - start, Unit.SECONDS),
        format_value(episode.lost_seconds, Unit.SECONDS),
        ", ".join(finding.code.value for finding in episode.findings),
    )


def figure_quality(figure: Figure) -> str:
    """The quality as words, "" where the figure is exact."""
    return "" if figure.quality == "exact" else figure.quality.replace("_", " ")


def missing_by_reason(report: Report) -> dict[str, list[str]]:
    """The figures that are not known, by the reason why."""
    found: dict[str, list[str]] = {}
    for one in report.missing:
        found.setdefault(one.reason, []).append(one.name)
    return found
