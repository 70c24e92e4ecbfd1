"""A finding's page as Markdown, for ``explain`` and for docs/findings."""

from advisor.diagnosis.rule import Rule
from advisor.diagnosis.thresholds import Thresholds

__all__ = ["render_page"]


def render_page(rule: Rule) -> str:
    """The page of one rule, with the defaults of the thresholds that its condition compares with."""
    page, defaults = rule.page, Thresholds()
    parts = [
        f"# {rule.code.value}",
        f"**{rule.title}.** {page.meaning}",
        "## When it is found",
        page.condition,
    ]
    if page.thresholds:
        parts.append("\n".join(f"- `thresholds.{name}` = {getattr(defaults, name):g}" for name in page.thresholds))
    parts += [
        "## What would refute it",
        page.refuted_by,
        "## What to do",
        page.what_to_do,
        "## What not to do",
        page.what_not_to_do,
        "## What it rests on",
        page.rests_on,
    ]
    return "\n\n".join(parts) + "\n"
