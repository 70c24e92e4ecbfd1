"""What the recording rules cost a Prometheus that has a thousand operators, against a plain dashboard query each.

``python -m benchmarks.rules``. One evaluation of every rule at the end of a quarter of an hour at 30 s; a name that
another rule records is written out, so each rule pays for itself and the figure is an upper bound. The alternative is
as many sums of one rate by operator, as any dashboard has.
"""

import statistics
import tempfile
import time
from pathlib import Path

import httpx
import yaml

from tests.prometheusserver.server import create_tsdb, running
from tests.prometheusserver.synthetic import Fleet
from tests.prometheusserver.tools import find
from tests.rules.replaying import inlined
from tests.support import ROOT

OPERATORS = 1000
RUNS = 5
_PLAIN = 'sum by (cluster, namespace, job) (rate(controller_runtime_reconcile_total{job=~".*kuberay-operator.*"}[5m]))'


def _seconds(client: httpx.Client, expressions: list[str], at: float) -> tuple[float, int]:
    """Wall time of asking for all of them one after the other, and how many series they gave."""
    begin, series = time.perf_counter(), 0
    for one in expressions:
        answer = client.post("/api/v1/query", data={"query": one, "time": f"{at}"})
        answer.raise_for_status()
        series += answer.text.count('"metric":')
    return time.perf_counter() - begin, series


def main() -> None:
    """Measure both in turn and print medians and their ratio."""
    groups = yaml.safe_load((ROOT / "rules" / "recording.yaml").read_text(encoding="utf-8"))["groups"]
    records = {rule["record"]: rule["expr"] for group in groups for rule in group["rules"]}
    ours = [inlined(one, records) for one in records.values()]
    fleet = Fleet(OPERATORS, seconds=900.0)
    tool = find("system")
    with tempfile.TemporaryDirectory() as folder:
        create_tsdb(tool, fleet.texts(), Path(folder))
        with (
            running(tool, Path(folder)) as address,
            httpx.Client(base_url=address, trust_env=False, timeout=60.0) as client,
        ):
            rows = [
                (_seconds(client, ours, fleet.end), _seconds(client, [_PLAIN] * len(ours), fleet.end))
                for _ in range(RUNS)
            ]
    print(f"{tool}, {OPERATORS} operators, {len(ours)} rules, {RUNS} runs, medians")
    for name, found in (("recording rules", [one for one, _ in rows]), ("plain queries", [plain for _, plain in rows])):
        print(f"{name:16} {statistics.median(seconds for seconds, _ in found):5.2f} s  {found[0][1]} series")
    print(f"ratio {statistics.median(one[0] / plain[0] for one, plain in rows):.2f}")


if __name__ == "__main__":
    main()
