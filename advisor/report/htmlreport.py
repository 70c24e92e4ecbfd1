"""The report as one HTML file: no script, nothing from elsewhere, for screens of any size, paper and readers."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from advisor.model.finding import Finding
from advisor.model.report import Report
from advisor.model.text import format_some, format_value
from advisor.report.charts import draw_figure, draw_range, draw_shares
from advisor.report.document import Section, page, style_text, wide_table
from advisor.report.markup import Markup, blocks, element
from advisor.report.panels import charts_of
from advisor.report.remedies import how_to_get
from advisor.report.wording import (
    KEY_HEADS,
    about_finding,
    budget_shares,
    check_cells,
    episode_cells,
    figure_quality,
    in_short,
    key_cells,
    knob_rows,
    missing_by_reason,
    prediction_cells,
    prediction_origin,
    profile_line,
    shown_evidence,
    source_line,
)

__all__ = ["render_html", "report_header", "report_sections"]

_FIGURE = "figure-"
"""Begins the id of each row of figures."""
_MOST_REASONS = 2
_RULED_OUT = "What was ruled out, and why"
_ABOUT_CHECKS = "What would speak against the findings. Ruled out: the data says no, so the finding stands."


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
                *([element("p", line, class_="source")] if (line := profile_line(report)) else []),
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
    anchors = [list(_anchors(one, place, report)) for place, one in enumerate(report.findings)]
    findings = map(_finding, report.findings, anchors)
    yield Section("findings", "Findings", blocks(findings))
    if checks := [cells for one in report.findings for cells in check_cells(one)]:
        heads = ("asked", "outcome", "what the data says", "of")
        table = wide_table(_RULED_OUT, heads, checks)
        yield Section("checks", _RULED_OUT, blocks([element("p", _ABOUT_CHECKS, class_="about"), table]))
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
    if report.missing:
        yield Section("missing", "What is missing, and how to get it", blocks(_missing(report)))
    if report.figures:
        linked = {anchor for each in anchors for anchor in each}
        yield Section("figures", "Figures", _figures(report, linked))


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
    return (draw_figure(chart, f"chart-{index}") for index, chart in enumerate(charts_of(report)))


def _finding(finding: Finding, anchors: Sequence[str]) -> Markup:
    """One finding; ``anchors`` lead from each figure of its evidence to where that comes from."""
    severity = finding.severity.value
    evidence = list(shown_evidence(finding))
    lines = (
        element("li", element("a", one.text, href=f"#{anchor}") if anchor else one.text)
        for one, anchor in zip(evidence, anchors, strict=True)
    )
    origins = [
        (None if anchor.startswith(_FIGURE) else anchor, f"{one.text}: {one.origin}")
        for one, anchor in zip(evidence, anchors, strict=True)
        if anchor
    ]
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
                element("ul", blocks(lines)) if evidence else None,
                _list("Where these figures come from", origins),
            ]
        ),
        class_=f"finding {severity}",
    )


def _anchors(finding: Finding, place: int, report: Report) -> Iterator[str]:
    """Where each figure's query or log line stands: in the table of all figures, else below the finding; "" nowhere."""
    rows = {(one.value, one.origin): f"{_FIGURE}{row}" for row, one in enumerate(report.figures.values())}
    for number, one in enumerate(shown_evidence(finding)):
        own = f"origin-{place}-{number}" if one.origin else ""
        yield own if one.value is None else rows.get((one.value, one.origin), own)


def _list(title: str, lines: Iterable[tuple[str | None, str]]) -> Markup | None:
    """Lines, some with an id, to be opened by those who want them; nothing where there are none."""
    items = [element("li", line, id=name) for name, line in lines]
    if not items:
        return None
    return element("details", element("summary", title), element("ul", blocks(items)), class_="appendix")


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


def _figures(report: Report, linked: Collection[str]) -> Markup:
    anchors = (f"{_FIGURE}{row}" for row in range(len(report.figures)))
    rows = (
        (
            element("code", name, id=anchor if anchor in linked else None),
            format_value(one.value, one.unit),
            figure_quality(one),
            one.origin,
        )
        for anchor, (name, one) in zip(anchors, report.figures.items(), strict=True)
    )
    summary = element("summary", f"All figures of the verdict's episode ({len(report.figures)})")
    table = wide_table("All figures", ("figure", "value", "quality", "origin"), rows, numbers=(1,))
    return element("details", summary, table, class_="appendix")


def _missing(report: Report) -> Iterator[Markup]:
    """Figures that can be had, by what to do for them; then those of what did not happen."""
    ways: dict[str, list[tuple[str, list[str]]]] = {}
    for reason, names in missing_by_reason(report).items():
        ways.setdefault(how_to_get(reason, is_kuberay=report.settings.is_kuberay), []).append((reason, names))
    others = ways.pop("", [])
    if ways:
        rows = (
            (how, element("code", _joined(groups)), format_some([reason for reason, _ in groups], _MOST_REASONS))
            for how, groups in ways.items()
        )
        count = sum(len(names) for groups in ways.values() for _, names in groups)
        summary = element("summary", f"Figures that can be had ({count})")
        heads = ("how to get them", "figures", "why they are missing")
        yield element("details", summary, wide_table("What is missing", heads, rows), class_="appendix")
    if others:
        items = (element("li", f"{reason}: ", element("code", ", ".join(names))) for reason, names in others)
        summary = element("summary", f"Figures of what did not happen ({sum(len(names) for _, names in others)})")
        yield element("details", summary, element("ul", blocks(items)), class_="appendix")


def _joined(groups: Iterable[tuple[str, Sequence[str]]]) -> str:
    return ", ".join(name for _, names in groups for name in names)
