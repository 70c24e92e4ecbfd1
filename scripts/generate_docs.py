"""Write the generated pages and the JSON Schema, or check that they are up to date.

``python -m scripts.generate_docs`` writes, ``python -m scripts.generate_docs --check`` fails on what is stale, from the
root of the repository.
"""

import argparse
import ast
import inspect
import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import msgspec

from advisor.analysis import Options
from advisor.cli.commands import cli
from advisor.diagnosis.findings import RULES
from advisor.knowledge.catalogue import METRICS
from advisor.knowledge.profiles import PROFILES
from advisor.knowledge.render import render_markdown
from advisor.report.comparisonjson import comparison_schema
from advisor.report.fleetjson import fleet_schema
from advisor.report.jsonreport import report_schema
from advisor.report.pages import render_page
from advisor.report.profiletext import profile_row
from advisor.report.whatifjson import whatif_schema
from advisor.sidecar.families import EXPOSED, Exposed, Section
from scripts import conformance, diagrams, fidelitytable, licences, stories
from scripts.dashboards import page as dashboards
from scripts.rules import page as alerts
from scripts.writing import renewed

ROOT = Path(__file__).resolve().parent.parent
_HELP_WIDTH = 100
_SIDECAR = ROOT / "docs" / "sidecar.md"
_PROFILES = ROOT / "docs" / "profiles.md"
_TABLE = re.compile(r"(<!-- profiles -->\n).*(?=<!-- end of profiles -->)", re.DOTALL)
_SERIES = re.compile(r"(<!-- series -->\n).*(?=<!-- end of series -->)", re.DOTALL)


def pages() -> Iterator[tuple[str, str]]:
    """Path below the root and text of everything that is generated."""
    yield "docs/metrics.md", render_markdown(METRICS)
    yield "docs/findings/README.md", _index()
    for rule in RULES:
        yield f"docs/findings/{rule.code.value}.md", render_page(rule)
    yield "docs/settings.md", _settings()
    yield "docs/cli.md", _commands()
    for name in fidelitytable.PAGES:
        yield name, fidelitytable.page(name)
    yield "docs/concepts.md", stories.page()
    yield "docs/conformance.md", conformance.page()
    yield "docs/sidecar.md", _sidecar()
    yield "docs/profiles.md", _profiles()
    yield "docs/alerts.md", alerts.page()
    yield "docs/dashboards.md", dashboards.page()
    yield "docs/licences.md", licences.page()
    yield from diagrams.diagrams()
    yield "advisor/schemas/report-v1.schema.json", json.dumps(report_schema(), indent=1) + "\n"
    yield "advisor/schemas/comparison-v1.schema.json", json.dumps(comparison_schema(), indent=1) + "\n"
    yield "advisor/schemas/fleet-v1.schema.json", json.dumps(fleet_schema(), indent=1) + "\n"
    yield "advisor/schemas/whatif-v1.schema.json", json.dumps(whatif_schema(), indent=1) + "\n"


def _index() -> str:
    rows = [f"| [`{rule.code.value}`]({rule.code.value}.md) | {rule.title} |" for rule in RULES]
    head = "# Findings\n\nEach page says when a finding is made, what would refute it, what to do and what not.\n\n"
    return head + "\n".join(("| code | title |", "| --- | --- |", *rows)) + "\n"


def _settings() -> str:
    parts = [
        "# Settings of an analysis",
        (
            "Every threshold is a setting with a default and its reason. Change one with "
            "`--set SECTION.NAME=VALUE`, for example `--set thresholds.wait_target_seconds=10`."
        ),
    ]
    for field in msgspec.structs.fields(Options):
        section = type(getattr(Options(), field.name))
        first = (inspect.getdoc(section) or "").splitlines()[0]
        parts.append(f"## {field.name}\n\n{first}")
        rows = [
            f"| `{name}` | {default:g} | {reason} |"
            for name, default, reason in _documented_fields(section, getattr(Options(), field.name))
        ]
        parts.append("\n".join(("| name | default | what it is and why |", "| --- | --- | --- |", *rows)))
    return "\n\n".join(parts) + "\n"


def _documented_fields(section: type, values: object) -> Iterator[tuple[str, float, str]]:
    """Name, default and docstring of each field, from the source: attribute docstrings do not exist at run time."""
    tree = ast.parse(inspect.getsource(section)).body[0]
    assert isinstance(tree, ast.ClassDef)
    for field, text in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            assert isinstance(text, ast.Expr)
            assert isinstance(text.value, ast.Constant)
            reason = " ".join(str(text.value.value).split())
            yield field.target.id, getattr(values, field.target.id), reason


def _commands() -> str:
    parts = ["# Command line", "Exit codes stand in the first text."]
    root = click.Context(
        cli,
        info_name="kuberay-advisor",
        terminal_width=_HELP_WIDTH,
        max_content_width=_HELP_WIDTH,
        **cli.context_settings,
    )
    subcommands = [
        (name, click.Context(command, info_name=name, parent=root))
        for name in cli.list_commands(root)
        if (command := cli.get_command(root, name)) is not None
    ]
    for name, context in (("", root), *subcommands):
        parts.append(f"## kuberay-advisor {name}".rstrip() + f"\n\n```\n{context.get_help()}\n```")
    return "\n\n".join(parts) + "\n"


def _sidecar() -> str:
    """The text of docs/sidecar.md as it is, with its tables of series put in anew."""
    tables = []
    for section in Section:
        rows = [_series_row(one) for one in EXPOSED if one.section is section]
        head = ("| series | labels | type | means | quality | needs | how many |", f"|{' --- |' * 7}")
        tables.append("\n".join((f"### {section.value}", "", *head, *rows)))
    text, replaced = _SERIES.subn(
        lambda match: match[1] + "\n" + "\n\n".join(tables) + "\n\n", _SIDECAR.read_text("utf-8")
    )
    assert replaced == 1, "docs/sidecar.md has no place for its series"
    return text


def _profiles() -> str:
    """The text of docs/profiles.md as it is, with its table put in anew."""
    heads = ("profile", "recognised by", "concurrency", "QPS", "Burst")
    rows = [
        ("| " + " | ".join((f"`{name}`", *cells)) + " |").replace("*", "\\*")
        for name, *cells in map(profile_row, PROFILES)
    ]
    table = "\n".join((f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}", *rows))
    text, replaced = _TABLE.subn(lambda match: f"{match[1]}\n{table}\n\n", _PROFILES.read_text("utf-8"))
    assert replaced == 1, "docs/profiles.md has no place for its table"
    return text


def _series_row(one: Exposed) -> str:
    family = one.family
    means = family.help if family.help.endswith(".") else f"{family.help}."
    cells = (
        f"`{family.name}`",
        ", ".join(family.labels) or "-",
        family.type,
        f"{means} {one.note}".rstrip(),
        one.quality,
        one.needs or "-",
        one.count,
    )
    return "| " + " | ".join(cells) + " |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check every page; 1 when ``--check`` finds one missing or stale."""
    parser = argparse.ArgumentParser(description="Write the generated pages and the JSON Schema.")
    parser.add_argument("--check", action="store_true", help="change nothing; fail when something is stale")
    check = parser.parse_args(arguments).check
    stale = renewed(pages(), ROOT, check=check)
    for name in stale:
        sys.stderr.write(f"{name}: {'stale, run python -m scripts.generate_docs' if check else 'written'}\n")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
