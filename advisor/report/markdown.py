"""The report as GitHub-flavoured Markdown, for issues and pull requests.

Names and error texts come from outside: nothing in them becomes markup, a link, a mention or a reference.
"""

import html
from collections.abc import Iterable, Iterator, Sequence

from advisor.model.finding import Finding
from advisor.model.report import EpisodeReport, Report
from advisor.report.markdowntext import bars, code, escape, fenced, inline, unlinked
from advisor.report.markup import printable
from advisor.report.wording import (
    KEY_HEADS,
    PREDICTION_HEADS,
    about_finding,
    budget_shares,
    check_line,
    episode_cells,
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

__all__ = ["render_markdown_report"]

_MOST_EPISODES = 20
"""A comment is read at once; of a long recording the episodes that lost most are enough."""
_LANGUAGES = {"helm-values": "yaml", "kustomize": "yaml", "configuration": "yaml", "deployment-args": "json"}


def render_markdown_report(report: Report) -> str:
    """The whole comment, with a line end."""
    return "\n\n".join(_parts(report)) + "\n"


def _parts(report: Report) -> Iterator[str]:
    yield f"## {report.findings[0].severity.value.upper()}: {escape(report.verdict)}"
    yield f"**{escape(in_short(report.advice))}**"
    yield escape(source_line(report))
    if line := profile_line(report):
        yield escape(line)
    yield from _advice(report)
    yield "### Findings"
    for finding in report.findings:
        yield from _finding(finding)
    if shares := budget_shares(report):
        yield "### Where a busy worker's second goes"
        yield _table(("", "share", "bounds"), ((one.name, f"{one.share:.0%}", one.bounds) for one in shares))
    if keys := key_cells(report):
        yield "### Who takes the time"
        yield _table(KEY_HEADS, ((code(name), *cells) for name, *cells in keys), ready=(0,))
    if len(report.episodes) > 1:
        yield "### Episodes"
        yield from _episodes(report.episodes, report.source.window.start)
    if report.source.notes:
        yield "### Skipped while reading"
        yield _list(f"{code(note.where)}: {escape(note.message)}" for note in report.source.notes)
    if report.missing:
        groups = missing_by_reason(report).items()
        lines = (f"{escape(reason)}: {', '.join(map(code, names))}" for reason, names in groups)
        yield _details(f"What is not known ({len(report.missing)})", _list(lines))


def _advice(report: Report) -> Iterator[str]:
    advice = report.advice
    yield "### Advice"
    if rows := knob_rows(advice):
        cells = (
            (row.setting, row.now, f"**{escape(row.to_set)}**" if row.to_set else "", row.direction.value, row.reason)
            for row in rows
        )
        yield _table(("setting", "now", "set", "", "why"), cells, ready=(2,))
    else:
        yield f"No number: {escape(advice.concurrency.reason)}"
    if advice.actions:
        yield _list(map(escape, advice.actions))
    if report.predictions:
        yield f"#### Expected effect ({prediction_origin(report.predictions)})"
        yield _table(PREDICTION_HEADS, map(prediction_cells, report.predictions))
    for patch in advice.patches:
        yield _details(f"Patch: {patch.title}", fenced(patch.text, _LANGUAGES.get(patch.kind, "")))


def _finding(finding: Finding) -> Iterator[str]:
    head = f"**{finding.severity.value}** {code(finding.code.value)}, {about_finding(finding)}"
    yield f"{head}<br>\n{escape(finding.summary)}"
    evidence = [one.text for one in shown_evidence(finding)]
    checks = [check_line(check) for check in finding.checks]
    if evidence or checks:
        yield _details("Evidence, and what was checked against it", _list(map(escape, [*evidence, *checks])))


def _episodes(episodes: Sequence[EpisodeReport], start: float) -> Iterator[str]:
    """The episodes in order of time; of many those that lost most, and the verdict's."""
    ranked = sorted(episodes, key=lambda one: (not one.is_verdict, -one.lost_seconds))[:_MOST_EPISODES]
    rows = []
    for one in sorted(ranked, key=lambda one: one.episode.window.start):
        kind, *rest = episode_cells(one, start)
        rows.append((f"**{kind}** (verdict)" if one.is_verdict else kind, *rest))
    yield _table(("episode", "from", "to", "lost", "findings"), rows, ready=(0,))
    if len(episodes) > len(ranked):
        yield f"{len(episodes) - len(ranked)} more episodes lost less."


def _details(summary: str, content: str) -> str:
    """Content to be opened; the blank lines make GitHub read it as Markdown."""
    return f"<details><summary>{unlinked(html.escape(printable(summary)))}</summary>\n\n{content}\n\n</details>"


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, ready: Sequence[int] = ()) -> str:
    """A table; the columns ``ready`` are Markdown already, but for the bars, which would end a cell anywhere."""
    lines = (_row(bars(cell) if index in ready else inline(cell) for index, cell in enumerate(row)) for row in rows)
    return "\n".join([_row(heads), _row(["---"] * len(heads)), *lines])


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
