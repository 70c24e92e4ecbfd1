"""The report for a terminal: rich where there is one, the same lines plain where there is none."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from io import StringIO

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from advisor.model.advice import Advice, Direction, KnobAdvice, Prediction
from advisor.model.finding import Finding, Severity
from advisor.model.report import EpisodeReport, Report
from advisor.model.signal import Unit
from advisor.model.text import format_value

__all__ = ["plain_report", "print_report"]

_SEVERITY_STYLE = {Severity.CRITICAL: "bold red", Severity.WARNING: "bold yellow", Severity.INFO: "bold green"}
_DIRECTION_STYLE = {
    Direction.RAISE: "bold",
    Direction.LOWER: "bold",
    Direction.KEEP: "dim",
    Direction.NO_NUMBER: "dim",
}
_UNITS = {"cpu_cores": Unit.CORES, "memory_bytes": Unit.BYTES}
_BUDGET = (
    ("api_server", "API server"),
    ("client_limiter", "client limiter"),
    ("cpu", "CPU"),
    ("external", "external calls"),
    ("rest", "unexplained"),
)
_MOST_KEYS = 5
_FEWEST_SHOWN_SHARE = 0.01


def print_report(report: Report, console: Console, *, verbose: bool = False) -> None:
    """Print the report; ``verbose`` adds the origin of each figure and what is missing."""
    for part in _parts(report, verbose=verbose):
        console.print(part)


def plain_report(report: Report, *, width: int, verbose: bool = False) -> str:
    """The same lines without any styling and without blanks at their ends, for pipes and files."""
    console = Console(file=StringIO(), width=width, color_system=None, highlight=False)
    with console.capture() as capture:
        print_report(report, console, verbose=verbose)
    return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def _parts(report: Report, *, verbose: bool) -> Iterator[RenderableType]:
    yield from _head(report)
    yield _title("Findings")
    for finding in report.findings:
        yield from _finding(finding, verbose=verbose)
    yield _title("Advice")
    if any(knob.direction is not Direction.NO_NUMBER for _, knob in report.advice.knobs()):
        yield _indented(_advice_table(report))
    else:
        yield _bullet(f"no number: {report.advice.concurrency.reason}")
    if report.advice.actions:
        yield from (_bullet(action) for action in report.advice.actions)
    if report.predictions:
        yield _title("Expected effect (closed form, not simulated)")
        yield _indented(_prediction_table(report.predictions))
    yield from _budget(report)
    yield from _keys(report)
    if len(report.episodes) > 1:
        yield _title("Episodes")
        yield _indented(_episode_table(report.episodes, report.source.window.start))
    for patch in report.advice.patches:
        yield _title(f"Patch: {patch.title}")
        yield _indented(Text(patch.text.rstrip("\n")))
    yield from _notes(report)
    if verbose:
        yield from _figures(report)


def _title(text: str) -> RenderableType:
    return Text(f"\n{text}", style="bold")


def _indented(renderable: RenderableType) -> RenderableType:
    return Padding(renderable, (0, 0, 0, 2), expand=False)


def _bullet(text: str) -> RenderableType:
    return Padding(Text(f"- {text}"), (0, 0, 0, 2), expand=False)


def _table() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", show_edge=False)


def _head(report: Report) -> Iterator[RenderableType]:
    source, window = report.source, report.source.window
    version = f" {report.settings.version}" if report.settings.version else ""
    if report.settings.version_inferred:
        version += " (by what it exposes)"
    begin = datetime.fromtimestamp(window.start, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    parts = [f"{source.kind} from {begin}", f"{format_value(window.seconds, Unit.SECONDS)} long"]
    parts.append(f"{source.samples:,} samples")
    if source.log_lines:
        parts.append(f"{source.log_lines:,} log lines")
    if source.object_changes:
        parts.append(f"{source.object_changes:,} object changes")
    yield Text(f"{report.operator} operator{version}: {', '.join(parts)}", style="dim")
    verdict = Text()
    severity = report.findings[0].severity
    verdict.append(f"{severity.value.upper()} ", style=_SEVERITY_STYLE[severity])
    verdict.append(report.verdict, style="bold")
    yield verdict
    yield Text(_in_short(report.advice), style="bold")


def _in_short(advice: Advice) -> str:
    """The advice in one line: what to set, what to leave."""
    knobs = advice.knobs()
    changed = [
        f"{_setting(name)} {_knob_value(name, knob.current)} -> {_knob_value(name, knob.value)}"
        for name, knob in knobs
        if _changes(knob)
    ]
    if changed:
        return f"Set {', '.join(changed)}; keep the rest."
    if all(knob.direction is Direction.NO_NUMBER for _, knob in knobs):
        return "No advice on any setting can rest on this."
    return "Keep all settings."


def _finding(finding: Finding, *, verbose: bool) -> Iterator[RenderableType]:
    head = Text("  ")
    head.append(f"{finding.severity.value} ", style=_SEVERITY_STYLE[finding.severity])
    head.append(finding.code.value, style="bold")
    about = [f"{finding.confidence.value} confidence"]
    if finding.lost_ratio >= _FEWEST_SHOWN_SHARE:
        about.append(f"explains {finding.lost_ratio:.0%} of the lost time")
    head.append(f"  {', '.join(about)}", style="dim")
    yield head
    yield Padding(Text(finding.summary), (0, 0, 0, 4), expand=False)
    for evidence in finding.evidence:
        if evidence.value is None and evidence.unit and not verbose:
            continue  # unknown: listed with --verbose
        yield Padding(Text(f"- {evidence.text}"), (0, 0, 0, 4), expand=False)
        if verbose and evidence.origin:
            yield Padding(Text(f"from {evidence.origin}", style="dim"), (0, 0, 0, 6), expand=False)
    for check in finding.checks:
        mark = {False: "ruled out", True: "refuted", None: "not known"}[check.refuted]
        yield Padding(Text(f"{mark}: {check.question} {check.answer}", style="dim"), (0, 0, 0, 4), expand=False)


def _setting(name: str) -> str:
    return name.removesuffix("_cores").removesuffix("_bytes")


def _knob_value(name: str, value: float | None) -> str:
    if value is None:
        return "-"
    if name in _UNITS:
        return format_value(value, _UNITS[name])
    if name == "qps" and value < 0:
        return "off"
    return f"{value:g}"


def _advice_table(report: Report) -> Table:
    table = _table()
    for name in ("setting", "now", "set", "", "why"):
        table.add_column(name)
    for name, knob in report.advice.knobs():
        if knob.current is None and knob.direction is Direction.KEEP and name in _UNITS:
            continue  # no limit is known: nothing to say
        table.add_row(
            _setting(name),
            _knob_value(name, knob.current),
            _knob_value(name, knob.value) if _changes(knob) else "",
            Text(knob.direction.value, style=_DIRECTION_STYLE[knob.direction]),
            knob.reason,
        )
    return table


def _changes(knob: KnobAdvice) -> bool:
    return knob.direction in (Direction.RAISE, Direction.LOWER)


def _prediction_table(predictions: Sequence[Prediction]) -> Table:
    table = _table()
    for name in ("quantity", "now", "then", "between", "and"):
        table.add_column(name)
    for one in predictions:
        figures = (format_value(value, one.unit) for value in (one.now, one.then, one.low, one.high))
        table.add_row(one.quantity.replace("_", " "), *figures)
    return table


def _budget(report: Report) -> Iterator[RenderableType]:
    rows = []
    for field, name in _BUDGET:
        figure = report.figures.get(f"budget.{field}")
        if figure is not None and (figure.high or figure.value) >= _FEWEST_SHOWN_SHARE:
            bounds = "" if figure.low is None or figure.high is None else f"{figure.low:.0%} to {figure.high:.0%}"
            rows.append((name, f"{figure.value:.0%}", bounds))
    if not rows:
        return
    yield _title("Where a busy worker's second goes")
    table = _table()
    for name in ("", "share", "bounds"):
        table.add_column(name)
    for row in rows:
        table.add_row(*row)
    yield _indented(table)


def _keys(report: Report) -> Iterator[RenderableType]:
    if not report.keys:
        return
    yield _title("Who takes the time")
    table = _table()
    for name in ("key", "busy", "reconciles", "errors", "conflicts", "Pods created"):
        table.add_column(name)
    for key in report.keys[:_MOST_KEYS]:
        table.add_row(
            f"{key.controller} {key.namespace}/{key.name}",
            f"{key.busy_share:.0%}",
            str(key.reconciles),
            str(key.errors),
            str(key.conflicts),
            str(key.pods_created),
        )
    for namespace in report.namespaces[:_MOST_KEYS]:
        table.add_row(
            f"namespace {namespace.namespace}",
            f"{namespace.busy_share:.0%}",
            str(namespace.reconciles),
            str(namespace.errors),
            "",
            str(namespace.pods_created),
        )
    yield _indented(table)


def _episode_table(episodes: Sequence[EpisodeReport], start: float) -> Table:
    table = _table()
    for name in ("", "episode", "from", "to", "lost", "findings"):
        table.add_column(name)
    for one in episodes:
        window = one.episode.window
        table.add_row(
            ">" if one.is_verdict else "",
            one.episode.kind.value,
            format_value(window.start - start, Unit.SECONDS),
            format_value(window.end - start, Unit.SECONDS),
            format_value(one.lost_seconds, Unit.SECONDS),
            ", ".join(finding.code.value for finding in one.findings),
        )
    return table


def _notes(report: Report) -> Iterator[RenderableType]:
    if not report.source.notes:
        return
    yield _title("Skipped while reading")
    for note in report.source.notes:
        yield _bullet(f"{note.where}: {note.message}")


def _figures(report: Report) -> Iterator[RenderableType]:
    yield _title("Figures")
    for name, figure in report.figures.items():
        quality = "" if figure.quality == "exact" else f" ({figure.quality.replace('_', ' ')})"
        yield Padding(Text(f"{name}: {format_value(figure.value, figure.unit)}{quality}"), (0, 0, 0, 2), expand=False)
        yield Padding(Text(f"from {figure.origin}", style="dim"), (0, 0, 0, 4), expand=False)
    if report.missing:
        yield _title("Not known")
        for absent in report.missing:
            yield Padding(Text(f"{absent.name}: {absent.reason}", style="dim"), (0, 0, 0, 2), expand=False)
