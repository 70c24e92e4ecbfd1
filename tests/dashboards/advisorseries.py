"""What the advisor's own targets expose while a recording is played, as OpenMetrics with times beside the operator's.

The sidecar's core follows the recording; the service has analysed it, or the shipped example, which takes no time.
"""

import gzip
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from advisor.analysis.fleettask import verdict_of
from advisor.model.report import Report
from advisor.report.jsonreport import render_json
from tests.analysis.reportsmade import example
from tests.prometheusserver.targets import target, with_target
from tests.web.serving import World
from tests.web.serving import target as schedule
from tests.web.sidecarkept import text_of, views

__all__ = ["OPERATOR", "STEP_SECONDS", "write_history"]

STEP_SECONDS: Final = 2.0
"""From one scrape of the sidecar to the next, as the recordings have it."""
OPERATOR: Final = "kuberay"
_SIDECAR: Final = target(
    {
        "job": "kuberay-advisor-sidecar",
        "instance": "127.0.0.1:8090",
        "namespace": "kuberay",
        "pod": "kuberay-operator-0",
    }
)
_SERVICE: Final = target({"job": "kuberay-advisor", "instance": "127.0.0.1:8095", "namespace": "advisor"})
_END: Final = "# EOF\n"
_SAMPLE: Final = re.compile(r"^[^#].*$", re.MULTILINE)


def write_history(recording: Path, path: Path, report: Report | None = None) -> None:
    """One history of the operator of a recording, its sidecar and the service, for `prometheusserver`.

    Args:
        recording: its folder.
        path: the file that is written.
        report: what the service found; else it knows the shipped example.
    """
    with (
        gzip.open(recording / "metrics.om.gz", "rt", encoding="utf-8") as operator,
        path.open("w", encoding="utf-8") as to,
    ):
        to.writelines(line for line in operator if line != _END)
        times = []
        for time, view in views(recording, STEP_SECONDS):
            times.append(time)
            to.writelines(with_target(_timed(text_of(view), time), _SIDECAR))
        to.writelines(with_target(_service(times, report or example()), _SERVICE))
        to.write(_END)


def _service(times: Iterable[float], report: Report) -> Iterator[str]:
    world = World(targets=(schedule(OPERATOR),))
    moments = list(times)
    world.now = moments[0]
    world.store.add_report(OPERATOR, moments[0] - 60.0, verdict_of(report), render_json(report).encode())
    client = world.client()
    for time in moments:
        answer = client.get("/metrics")
        assert answer.status_code == 200
        yield from _timed(answer.text, time)


def _timed(text: str, time: float) -> Iterator[str]:
    """Samples of one scrape; when a series was created is none of them."""
    for line in _SAMPLE.findall(text):
        if not line.partition("{")[0].partition(" ")[0].endswith("_created"):
            yield f"{line} {time:.3f}\n"
