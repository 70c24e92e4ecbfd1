"""Write docs/metrics.md from the catalogue, or check that it is up to date.

Usage, from the root of the repository::

    python -m scripts.generate_metrics_doc [--check] [--output FILE]
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from advisor.knowledge.catalogue import METRICS
from advisor.knowledge.render import render_markdown

DEFAULT_OUTPUT = Path(__file__).resolve().parent.parent / "docs" / "metrics.md"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the page.

    Returns:
        0, or 1 when ``--check`` finds the page missing or stale.
    """
    parser = argparse.ArgumentParser(description="Write docs/metrics.md from the catalogue of series.")
    parser.add_argument("--check", action="store_true", help="change nothing; fail when the page is stale")
    parser.add_argument("--output", type=Path, default=DEFAULT_OUTPUT, help="the page to write or check")
    options = parser.parse_args(arguments)
    output: Path = options.output
    page = render_markdown(METRICS)
    if not options.check:
        output.write_text(page, encoding="utf-8")
        return 0
    if output.is_file() and output.read_text(encoding="utf-8") == page:
        return 0
    sys.stderr.write(f"{output} is stale: run python -m scripts.generate_metrics_doc\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
