"""Write what the chart has of the rest of the project, or check it: ``python -m scripts.chart [--check]``.

Helm reads nothing outside of a chart, so rules and dashboards are copied into it; the schema and the README's table of
values follow from ``values.yaml`` and its comments.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from scripts.chart.commented import CHART, read_values
from scripts.chart.readme import filled
from scripts.chart.schema import schema
from scripts.rules.rendering import Settings, plain
from scripts.rules.sources import ALERT_GROUPS, RECORDING_GROUPS
from scripts.writing import renewed

_ROOT: Final = Path(__file__).resolve().parents[2]
_PLACEHOLDERS: Final = Settings(
    job="@OPERATOR_JOB@", container="@OPERATOR_CONTAINER@", advisor_job="@ADVISOR_JOB@", runbooks="@RUNBOOKS@"
)
_HEAD: Final = (
    "# Written by `make chart` from scripts/rules; change those. The template fills in what stands between @.\n"
)


def files() -> Iterator[tuple[str, str]]:
    """Path below the chart and text of each file."""
    values = read_values()
    yield "files/rules.yaml", _rules()
    for path in sorted((_ROOT / "dashboards").glob("*.json")):
        yield f"files/dashboards/{path.name}", path.read_text(encoding="utf-8")
    yield "values.schema.json", json.dumps(schema(values), indent=1) + "\n"
    yield "README.md", filled((CHART / "README.md").read_text(encoding="utf-8"), values)


def _rules() -> str:
    """All groups, without what is one value of the chart."""
    groups = (*RECORDING_GROUPS, *ALERT_GROUPS)
    body = plain(groups, _PLACEHOLDERS).partition("\n")[2]
    interval = f"    interval: {_PLACEHOLDERS.interval}\n"
    assert body.count(interval) == len(groups)
    return _HEAD + body.replace(interval, "")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check; 1 when ``--check`` finds a file missing, stale, or one too many."""
    parser = argparse.ArgumentParser(description="Write what the chart holds of the rest of the project.")
    parser.add_argument("--check", action="store_true", help="change nothing; fail when something is stale")
    parser.add_argument("--out", type=Path, default=CHART, help="the chart's folder")
    told = parser.parse_args(arguments)
    wanted = dict(files())
    stale = renewed(wanted.items(), told.out, check=told.check)
    for path in sorted(told.out.glob("files/**/*")):
        name = path.relative_to(told.out).as_posix()
        if path.is_file() and name not in wanted:
            stale.append(name)
            if not told.check:
                path.unlink()
    for name in stale:
        sys.stderr.write(f"{name}: {'stale, run make chart' if told.check else 'written'}\n")
    return 1 if told.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
