"""What every form of a comparison says in the same words: rows and lines, before they are laid out."""

from collections.abc import Iterator, Sequence

from advisor.model.comparison import (
    Comparison,
    LoadMeasure,
    PredictionCheck,
    PredictionResult,
    Quantity,
    SettingChange,
    Side,
    Trend,
)
from advisor.model.signal import Unit
from advisor.model.text import format_change, format_value
from advisor.report.quantitywording import quantity_words
from advisor.report.settingwording import setting_value

__all__ = [
    "CHECK_HEADS",
    "LOAD_HEADS",
    "RESULTS",
    "SETTING_HEADS",
    "comparison_title",
    "figure_text",
    "lists",
    "load_cells",
    "prediction_check_cells",
    "quantity_rows",
    "setting_rows",
    "shown_quantities",
    "side_lines",
    "unchecked_lines",
    "unknown_lines",
]

_UNKNOWN = "unknown"
LOAD_HEADS = ("load", "before", "after", "")
SETTING_HEADS = ("setting", "before", "after")
CHECK_HEADS = ("quantity", "between", "and", "measured", "")
_ALIKE = {True: "alike", False: "too different", None: "not judged"}
RESULTS = {
    PredictionResult.INSIDE: "inside",
    PredictionResult.BELOW: "below the interval",
    PredictionResult.ABOVE: "above the interval",
    PredictionResult.NOT_CHECKED: "not checked",
}


def comparison_title(comparison: Comparison) -> str:
    """What is compared, and how it turned out."""
    operator = "KubeRay" if comparison.after.is_kuberay else comparison.after.operator
    return f"{operator} operator before and after: {comparison.outcome.value}"


def side_lines(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """Both sides with what they are called."""
    yield "before", _side(comparison.before)
    yield "after", _side(comparison.after)


def _side(side: Side) -> str:
    version = f" {side.version}" if side.version else ""
    episode = f"{side.episode.value} episode of {format_value(side.episode_seconds, Unit.SECONDS)}"
    return f"{side.operator} operator{version}, {episode}, {side.severity.value} {side.primary.value}"


def lists(comparison: Comparison) -> Iterator[tuple[str, Sequence[str]]]:
    """The parts that are lists of lines, without those that are empty."""
    parts = (("Why", comparison.reasons), ("What it cost", comparison.costs), ("Worth knowing", comparison.notes))
    return ((head, lines) for head, lines in parts if lines)


def setting_rows(settings: Sequence[SettingChange], *, verbose: bool) -> list[tuple[str, ...]]:
    """Settings that changed, or all."""
    return [
        (one.name, _setting_value(one.name, one.before), _setting_value(one.name, one.after))
        for one in settings
        if verbose or one.changed
    ]


def _setting_value(name: str, value: float | str | None) -> str:
    return value if isinstance(value, str) else setting_value(name, value, _UNKNOWN)


def figure_text(value: float | None, unit: str) -> str:
    """A figure with its unit."""
    return _UNKNOWN if value is None else format_value(value, unit)


def load_cells(measure: LoadMeasure) -> tuple[str, ...]:
    """The cells below ``LOAD_HEADS``."""
    ends = (figure_text(one, measure.unit) for one in (measure.before, measure.after))
    return (measure.title, *ends, _ALIKE[measure.alike])


def shown_quantities(quantities: Sequence[Quantity]) -> list[Quantity]:
    """Quantities that at least one side knows."""
    return [one for one in quantities if one.before is not None or one.after is not None]


def quantity_rows(quantities: Sequence[Quantity], *, verbose: bool) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Heads and cells; the change at equal load only where the loads differ enough to tell it from the change."""
    shown = shown_quantities(quantities)
    pairs = [tuple(_change(ratio) for ratio in (one.ratio, one.normalised_ratio)) for one in shown]
    loaded = any(normalised and normalised != change for change, normalised in pairs)
    heads = ("quantity", "before", "after", "change", *(("at equal load",) if loaded else ()), "")
    rows = []
    for one, (change, normalised) in zip(shown, pairs, strict=True):
        name = f"* {one.title}" if one.decides else one.title
        ends = (figure_text(one.before, one.unit), figure_text(one.after, one.unit))
        trend = "not judged" if one.trend is Trend.UNKNOWN else one.trend.value
        chance = (f"chance up to {_change(1.0 + one.tolerance)}",) if verbose else ()
        rows.append((name, *ends, change, *((normalised,) if loaded else ()), trend, *chance))
    return (*heads, "") if verbose else heads, rows


def _change(ratio: float | None) -> str:
    return "" if ratio is None else format_change(ratio)


def prediction_check_cells(check: PredictionCheck) -> tuple[str, ...]:
    """The cells below ``CHECK_HEADS``."""
    figures = (figure_text(one, check.unit) for one in (check.low, check.high, check.measured))
    return (quantity_words(check.quantity), *figures, RESULTS[check.result])


def unchecked_lines(checks: Sequence[PredictionCheck]) -> list[str]:
    """One line for each reason why predictions were not checked."""
    names: dict[str, list[str]] = {}
    for one in checks:
        if one.result is PredictionResult.NOT_CHECKED:
            names.setdefault(one.reason, []).append(quantity_words(one.quantity))
    return [f"not checked: {', '.join(listed)} ({reason})" for reason, listed in names.items()]


def unknown_lines(quantities: Sequence[Quantity], *, verbose: bool) -> list[str]:
    """Quantities that one side does not know, or with ``verbose`` both, and why."""
    one_sided = {one.name for one in shown_quantities(quantities)}
    return [f"{one.title}: {one.missing}" for one in quantities if one.missing and (verbose or one.name in one_sided)]
