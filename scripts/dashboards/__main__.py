"""Write the dashboards from their sources, or check that they are up to date.

``python -m scripts.dashboards`` writes, ``--check`` fails on what is stale; with the builder's environment, from the
root of the repository. ``--out DIR --clusters`` writes a variant with the choice of a cluster in sight.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from scripts.dashboards.build import FOLDER, files
from scripts.writing import renewed


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check every file; 1 when ``--check`` finds one missing, stale or left over."""
    parser = argparse.ArgumentParser(description="Write the dashboards from dashboards/sources.")
    parser.add_argument("--check", action="store_true", help="change nothing; fail when something is stale")
    parser.add_argument("--out", type=Path, default=FOLDER, help="where to; default: %(default)s")
    parser.add_argument("--clusters", action="store_true", help="show the choice of a cluster: for stores of several")
    options = parser.parse_args(arguments)
    texts = dict(files(shows_cluster=options.clusters))
    stale = renewed(texts.items(), options.out, check=options.check)
    left = [path.name for path in options.out.glob("*.json") if path.name not in texts]
    if not options.check and options.out == FOLDER:
        for name in left:
            (FOLDER / name).unlink()
    for name in (*stale, *left):
        sys.stderr.write(f"dashboards/{name}: {'stale, run make dashboards' if options.check else 'written'}\n")
    return 1 if options.check and (stale or left) else 0


if __name__ == "__main__":
    sys.exit(main())
