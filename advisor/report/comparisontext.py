"""A comparison for a terminal, a pipe or a pull request; every form says the same in the same order."""

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console, RenderableType
from rich.text import Text

from advisor.model.comparison import (
    Comparison,
    LoadMeasure,
    Outcome,
    PredictionCheck,
    PredictionResult,
    Quantity,
    SettingChange,
    Side,
    Trend,
)
from advisor.model.signal import Unit
from advisor.model.text import format_change, format_value
from advisor.report.layout import bullet, indented, plain, table, title
from advisor.report.markdowntext import escape

__all__ = ["comparison_markdown", "plain_comparison", "print_comparison"]

_OUTCOME_STYLE = {
    Outcome.BETTER: "bold green",
    Outcome.WORSE: "bold red",
    Outcome.NO_CLEAR_CHANGE: "bold yellow",
    Outcome.NOT_COMPARABLE: "bold yellow",
}
_TREND_STYLE = {Trend.BETTER.value: "green", Trend.WORSE.value: "red", Trend.SAME.value: "dim"}
_SETTING_UNITS = {"cpu_limit_cores": Unit.CORES, "memory_limit_bytes": Unit.BYTES}
_UNKNOWN = "unknown"
_LOAD_HEADS = ("load", "before", "after", "")
_SETTING_HEADS = ("setting", "before", "after")
_PREDICTION_HEADS = ("quantity", "between", "and", "measured", "")
_ALIKE = {True: "alike", False: "too different", None: "not judged"}
_RESULTS = {
    PredictionResult.INSIDE: "inside",
    PredictionResult.BELOW: "below the interval",
    PredictionResult.ABOVE: "above the interval",
    PredictionResult.NOT_CHECKED: "not checked",
}


def print_comparison(comparison: Comparison, console: Console, *, verbose: bool = False) -> None:
    """Print the comparison; ``verbose`` adds settings that stayed, tolerances, and all that is not known."""
    for part in _parts(comparison, verbose=verbose):
        console.print(part)


def plain_comparison(comparison: Comparison, *, width: int, verbose: bool = False) -> str:
    """The same lines without any styling, for pipes and files."""
    return plain(_parts(comparison, verbose=verbose), width=width)


def _parts(comparison: Comparison, *, verbose: bool) -> Iterator[RenderableType]:
    for name, side in _sides(comparison):
        yield Text(f"{name}: {side}", style="dim")
    yield Text(comparison.summary, style=_OUTCOME_STYLE[comparison.outcome])
    for head, lines in _lists(comparison):
        yield title(head)
        yield from (bullet(line) for line in lines)
    yield title("Settings")
    settings = _setting_rows(comparison.settings, verbose=verbose)
    yield indented(table(_SETTING_HEADS, settings)) if settings else bullet("none that is known changed")
    yield title("Load")
    yield indented(table(_LOAD_HEADS, map(_load_cells, comparison.load)))
    yield title("Figures (* decides)")
    heads, rows = _quantity_rows(comparison.quantities, verbose=verbose)
    yield indented(table(heads, _styled(rows)))
    if comparison.predictions:
        yield title("What was predicted before")
        checked = [one for one in comparison.predictions if one.result is not PredictionResult.NOT_CHECKED]
        if checked:
            yield indented(table(_PREDICTION_HEADS, map(_prediction_cells, checked)))
        yield from (bullet(line) for line in _unchecked(comparison.predictions))
    if unknown := _unknown(comparison.quantities, verbose=verbose):
        yield title("Not known")
        yield from (bullet(line) for line in unknown)


def comparison_markdown(comparison: Comparison, *, verbose: bool = False) -> str:
    """The comparison as Markdown, for a pull request."""
    return "\n".join(_markdown(comparison, verbose=verbose)) + "\n"


def _markdown(comparison: Comparison, *, verbose: bool) -> Iterator[str]:
    yield f"## KubeRay operator before and after: {comparison.outcome.value}"
    yield ""
    yield f"**{escape(comparison.summary)}**"
    yield ""
    yield from (f"- {name}: {escape(side)}" for name, side in _sides(comparison))
    for head, lines in _lists(comparison):
        yield from _markdown_list(head, lines)
    settings = _setting_rows(comparison.settings, verbose=verbose)
    if settings:
        yield from _markdown_table("Settings", _SETTING_HEADS, settings)
    else:
        yield from _markdown_list("Settings", ["none that is known changed"])
    yield from _markdown_table("Load", _LOAD_HEADS, map(_load_cells, comparison.load))
    yield from _markdown_table("Figures (\\* decides)", *_quantity_rows(comparison.quantities, verbose=verbose))
    if comparison.predictions:
        checked = [one for one in comparison.predictions if one.result is not PredictionResult.NOT_CHECKED]
        head = "What was predicted before"
        if checked:
            yield from _markdown_table(head, _PREDICTION_HEADS, map(_prediction_cells, checked))
        if lines := _unchecked(comparison.predictions):
            yield from _markdown_list("" if checked else head, lines)
    if unknown := _unknown(comparison.quantities, verbose=verbose):
        yield from _markdown_list("Not known", unknown)


def _markdown_list(head: str, lines: Iterable[str]) -> Iterator[str]:
    yield from ("", f"### {head}") if head else ()
    yield ""
    yield from (f"- {escape(line)}" for line in lines)


def _markdown_table(head: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield from ("", f"### {head}", "")
    yield f"| {' | '.join(heads)} |"
    yield f"| {' | '.join('---' for _ in heads)} |"
    yield from (f"| {' | '.join(escape(cell) for cell in row)} |" for row in rows)


def _sides(comparison: Comparison) -> Iterator[tuple[str, str]]:
    yield "before", _side(comparison.before)
    yield "after", _side(comparison.after)


def _side(side: Side) -> str:
    version = f" {side.version}" if side.version else ""
    episode = f"{side.episode.value} episode of {format_value(side.episode_seconds, Unit.SECONDS)}"
    return f"{side.operator} operator{version}, {episode}, {side.severity.value} {side.primary.value}"


def _lists(comparison: Comparison) -> Iterator[tuple[str, Sequence[str]]]:
    """The parts that are lists of lines, without those that are empty."""
    parts = (("Why", comparison.reasons), ("What it cost", comparison.costs), ("Worth knowing", comparison.notes))
    return ((head, lines) for head, lines in parts if lines)


def _setting_rows(settings: Sequence[SettingChange], *, verbose: bool) -> list[tuple[str, ...]]:
    """Settings that changed, or all."""
    return [
        (one.name, _setting_value(one.name, one.before), _setting_value(one.name, one.after))
        for one in settings
        if verbose or one.changed
    ]


def _setting_value(name: str, value: float | str | None) -> str:
    if value is None:
        return _UNKNOWN
    if isinstance(value, str):
        return value
    if name in _SETTING_UNITS:
        return format_value(value, _SETTING_UNITS[name])
    return "off" if name == "qps" and value < 0 else f"{value:g}"


def _value(value: float | None, unit: str) -> str:
    return _UNKNOWN if value is None else format_value(value, unit)


def _load_cells(measure: LoadMeasure) -> tuple[str, ...]:
    ends = (_value(one, measure.unit) for one in (measure.before, measure.after))
    return (measure.title, *ends, _ALIKE[measure.alike])


def _shown(quantities: Sequence[Quantity]) -> list[Quantity]:
    """Quantities that at least one side knows."""
    return [one for one in quantities if one.before is not None or one.after is not None]


def _quantity_rows(quantities: Sequence[Quantity], *, verbose: bool) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Heads and cells; the change at equal load only where the loads differ enough to tell it from the change."""
    shown = _shown(quantities)
    pairs = [tuple(_change(ratio) for ratio in (one.ratio, one.normalised_ratio)) for one in shown]
    loaded = any(normalised and normalised != change for change, normalised in pairs)
    heads = ("quantity", "before", "after", "change", *(("at equal load",) if loaded else ()), "")
    rows = []
    for one, (change, normalised) in zip(shown, pairs, strict=True):
        name = f"* {one.title}" if one.decides else one.title
        ends = (_value(one.before, one.unit), _value(one.after, one.unit))
        trend = "not judged" if one.trend is Trend.UNKNOWN else one.trend.value
        chance = (f"chance up to {_change(1.0 + one.tolerance)}",) if verbose else ()
        rows.append((name, *ends, change, *((normalised,) if loaded else ()), trend, *chance))
    return (*heads, "") if verbose else heads, rows


def _change(ratio: float | None) -> str:
    return "" if ratio is None else format_change(ratio)


def _styled(rows: Iterable[Sequence[str]]) -> Iterator[list[str | Text]]:
    """The cells of each quantity, with its trend in colour."""
    for row in rows:
        yield [Text(cell, style=_TREND_STYLE[cell]) if cell in _TREND_STYLE else cell for cell in row]


def _prediction_cells(check: PredictionCheck) -> tuple[str, ...]:
    figures = (_value(one, check.unit) for one in (check.low, check.high, check.measured))
    return (check.quantity.replace("_", " "), *figures, _RESULTS[check.result])


def _unchecked(checks: Sequence[PredictionCheck]) -> list[str]:
    """One line for each reason why predictions were not checked."""
    names: dict[str, list[str]] = {}
    for one in checks:
        if one.result is PredictionResult.NOT_CHECKED:
            names.setdefault(one.reason, []).append(one.quantity.replace("_", " "))
    return [f"not checked: {', '.join(listed)} ({reason})" for reason, listed in names.items()]


def _unknown(quantities: Sequence[Quantity], *, verbose: bool) -> list[str]:
    """Quantities that one side does not know, or with ``verbose`` both, and why."""
    one_sided = {one.name for one in _shown(quantities)}
    return [f"{one.title}: {one.missing}" for one in quantities if one.missing and (verbose or one.name in one_sided)]
