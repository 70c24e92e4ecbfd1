"""The report as one HTML file: no script, nothing from elsewhere, for screens of any size, paper and readers."""

from collections.abc import Iterable, Iterator

from advisor.model.finding import Finding
from advisor.model.report import Report
from advisor.model.text import format_value
from advisor.report.charts import draw_chart, draw_range, draw_shares, draw_swatch
from advisor.report.document import Section, page, style_text, wide_table
from advisor.report.markup import Markup, blocks, element
from advisor.report.panels import charts_of
from advisor.report.wording import (
    KEY_HEADS,
    about_finding,
    budget_shares,
    check_line,
    episode_cells,
    figure_quality,
    in_short,
    key_cells,
    knob_rows,
    missing_by_reason,
    prediction_cells,
    prediction_origin,
    shown_evidence,
    source_line,
)

__all__ = ["render_html", "report_header", "report_sections"]


def render_html(report: Report) -> str:
    """The whole document, with a line end."""
    return page(
        f"{report.operator} operator: {report.verdict}",
        report_header(report),
        list(report_sections(report)),
        skip="Skip to the advice",
        style=style_text(("style.css",)),
    )


def report_header(report: Report) -> Markup:
    """The verdict, what it is about, and the advice in short."""
    severity = report.findings[0].severity.value
    return element(
        "header",
        blocks(
            [
                element("p", source_line(report), class_="source"),
                element("h1", element("span", severity, class_=f"badge {severity}"), " ", report.verdict),
                element("p", in_short(report.advice), class_="short"),
            ]
        ),
        class_=severity,
    )


def report_sections(report: Report) -> Iterator[Section]:
    """Id, title and content of each section that has something to say."""
    yield Section("advice", "Advice", blocks(_advice(report)))
    if charts := blocks(_charts(report)):
        yield Section("timeline", "Over time", element("div", charts, class_="charts"))
    yield Section("findings", "Findings", blocks(_finding(one) for one in report.findings))
    if budget := blocks(_budget(report)):
        yield Section("budget", "Where a busy worker's second goes", budget)
    if keys := [(element("code", name), *cells) for name, *cells in key_cells(report)]:
        yield Section(
            "keys", "Who takes the time", wide_table("Who takes the time", KEY_HEADS, keys, numbers=range(1, 6))
        )
    if len(report.episodes) > 1:
        yield Section("episodes", "Episodes", _episodes(report))
    if notes := report.source.notes:
        items = (element("li", element("code", note.where), f": {note.message}") for note in notes)
        yield Section("notes", "Skipped while reading", element("ul", blocks(items)))
    if figures := blocks(_figures(report)):
        yield Section("figures", "Figures", figures)


def _advice(report: Report) -> Iterator[Markup]:
    advice = report.advice
    if rows := knob_rows(advice):
        yield wide_table(
            "Advice on each setting",
            ("setting", "now", "set", "do", "why"),
            (
                (
                    row.setting,
                    row.now,
                    element("strong", row.to_set) if row.to_set else "",
                    row.direction.value,
                    row.reason,
                )
                for row in rows
            ),
            numbers=(1, 2),
        )
    else:
        yield element("p", f"No number: {advice.concurrency.reason}")
    if advice.actions:
        yield element("ul", blocks(element("li", action) for action in advice.actions))
    if report.predictions:
        yield element("h3", "Expected effect")
        yield element("p", f"{prediction_origin(report.predictions).capitalize()}.", class_="about")
        effects = (prediction_cells(one) for one in report.predictions)
        yield wide_table(
            "Expected effect",
            ("quantity", "now", "then", "interval"),
            ((quantity, now, then, f"{low} to {high}") for quantity, now, then, low, high in effects),
            numbers=(1, 2),
        )
    if advice.patches:
        yield element("h3", "Patches")
    for index, patch in enumerate(advice.patches):
        text = element("pre", element("code", patch.text.rstrip("\n")))
        summary = element("summary", patch.title)
        yield element("details", summary, text, open="" if index == 0 else None)


def _charts(report: Report) -> Iterator[Markup]:
    for index, chart in enumerate(charts_of(report)):
        legend = [element("span", draw_swatch(line.style), line.name, class_="legend") for line in chart.lines]
        shown = legend if len(legend) > 1 else []
        caption = element("figcaption", element("strong", chart.title), *shown)
        yield element("figure", blocks([caption, draw_chart(chart, f"chart-{index}")]))


def _finding(finding: Finding) -> Markup:
    severity = finding.severity.value
    evidence = list(shown_evidence(finding))
    origins = [one for one in evidence if one.origin]
    heading = element(
        "h3", element("span", severity, class_=f"badge {severity}"), " ", element("code", finding.code.value)
    )
    return element(
        "article",
        blocks(
            [
                heading,
                element("p", about_finding(finding), class_="about"),
                element("p", finding.summary),
                element("ul", blocks(element("li", one.text) for one in evidence)) if evidence else None,
                _list("What was checked against it", map(check_line, finding.checks)),
                _list("Where these figures come from", (f"{one.text}: {one.origin}" for one in origins), "appendix"),
            ]
        ),
        class_=f"finding {severity}",
    )


def _list(title: str, lines: Iterable[str], style: str | None = None) -> Markup | None:
    """Lines to be opened by those who want them, an appendix also before printing; nothing where there are none."""
    items = [element("li", line) for line in lines]
    if not items:
        return None
    return element("details", element("summary", title), element("ul", blocks(items)), class_=style)


def _budget(report: Report) -> Iterator[Markup]:
    shares = budget_shares(report)
    if not shares:
        return
    parts = ", ".join(f"{one.name} {one.share:.0%}" for one in shares)
    yield draw_shares(shares, f"Of a busy worker's second: {parts}")
    rows = ((one.name, draw_range(one), f"{one.share:.0%}", one.bounds) for one in shares)
    yield wide_table("Shares of a busy worker's second", ("part", "", "share", "bounds"), rows, numbers=(2, 3))


def _episodes(report: Report) -> Markup:
    start = report.source.window.start
    rows = []
    for one in report.episodes:
        kind, *rest = episode_cells(one, start)
        rows.append([element("strong", kind, " (verdict)") if one.is_verdict else kind, *rest])
    return wide_table("Episodes", ("episode", "from", "to", "lost", "findings"), rows, numbers=(1, 2, 3))


def _figures(report: Report) -> Iterator[Markup]:
    rows = [
        (element("code", name), format_value(one.value, one.unit), figure_quality(one), one.origin)
        for name, one in report.figures.items()
    ]
    if rows:
        table = wide_table("All figures", ("figure", "value", "quality", "origin"), rows, numbers=(1,))
        yield element(
            "details",
            element("summary", f"All figures of the verdict's episode ({len(rows)})"),
            table,
            class_="appendix",
        )
    groups = [
        element("li", f"{reason}: ", element("code", ", ".join(names)))
        for reason, names in missing_by_reason(report).items()
    ]
    if groups:
        summary = element("summary", f"What is not known ({len(report.missing)})")
        yield element("details", summary, element("ul", blocks(groups)), class_="appendix")
