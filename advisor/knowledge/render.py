"""The catalogue as a Markdown page; pure, so that a check can compare it with the file in ``docs``."""

from collections.abc import Iterable, Sequence
from typing import Final

from advisor.knowledge.metric import Family, Metric

__all__ = ["render_markdown"]

_TITLES: Final[tuple[tuple[Family, str], ...]] = (
    ("queue", "Work queue"),
    ("controller", "Controllers and webhooks"),
    ("client", "Kubernetes client"),
    ("election", "Leader election"),
    ("process", "Process and Go runtime"),
    ("container", "Container and scrape target"),
    ("objects", "KubeRay objects"),
)

_HEADER: Final = """\
# Metrics

Every series that the advisor reads: what it measures and what it must not be read as. "Since" is the first KubeRay
release that exposes it; "any" means that it does not depend on KubeRay's release. A series that is absent is unknown,
never zero.

This page is written by `scripts/generate_docs.py` from `advisor/knowledge`; change the catalogue, not the page.
"""

_TABLE_HEAD: Final = (
    "| name | type | labels | unit | since | means | does not mean |",
    "| --- | --- | --- | --- | --- | --- | --- |",
)


def render_markdown(metrics: Sequence[Metric]) -> str:
    """Render the series as one table per family, followed by the bounds of its histograms."""
    parts = [_HEADER]
    for family, title in _TITLES:
        members = [metric for metric in metrics if metric.family == family]
        if members:
            parts.append(_render_family(title, members))
    return "\n".join(parts)


def _render_family(title: str, members: Sequence[Metric]) -> str:
    exposers = ", ".join(dict.fromkeys(metric.exposed_by for metric in members))
    lines = [f"## {title}", "", f"Exposed by: {exposers}.", "", *_TABLE_HEAD]
    lines.extend(_render_row(metric) for metric in members)
    bounds = [line for line in map(_render_buckets, members) if line]
    if bounds:
        lines.extend(("", "Bucket bounds:", "", *bounds))
    return "\n".join(lines) + "\n"


def _render_row(metric: Metric) -> str:
    cells = (
        f"`{metric.name}`",
        metric.kind,
        ", ".join(metric.labels) or "-",
        metric.unit,
        _render_since(metric),
        f"{metric.meaning} {metric.note}".strip(),
        metric.not_meaning,
    )
    return _join(cells)


def _render_since(metric: Metric) -> str:
    since = metric.since or "any"
    return f"{since}, gone in {metric.until}" if metric.until else since


def _render_buckets(metric: Metric) -> str:
    if not metric.buckets:
        return ""
    return f"- `{metric.name}`: {', '.join(f'{bound:g}' for bound in metric.buckets)}"


def _join(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"
