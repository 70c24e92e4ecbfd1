"""What a sidecar beside a recorded operator would have exposed, as OpenMetrics text beside the operator's own."""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

from advisor.model.raw import LogRecord, Selection, Subject
from advisor.sidecar.collector import SidecarView
from advisor.sidecar.logreader import LogBatch
from advisor.sidecar.observer import Observer
from advisor.sidecar.rules import RULES
from advisor.sources.exposition import Exposition
from advisor.sources.recording import RecordingSource
from tests.web.sidecarkept import pieces, text_of

__all__ = ["NAMES", "with_sidecar"]

NAMES: Final = frozenset(
    {
        "kuberay_advisor_expectation_blocked_keys",
        "kuberay_advisor_generation_lag_seconds",
        "kuberay_advisor_hot_key",
        "kuberay_advisor_oldest_ready_age_seconds",
    }
)
"""Gauges that alerts read."""
_LABELS: Final = {"job": "kuberay-advisor-sidecar", "namespace": "kuberay", "instance": "127.0.0.1:8090"}


def with_sidecar(folder: Path, step: float) -> Iterator[str]:
    """A recording's own series, and its sidecar's at each step of so many seconds."""
    with gzip.open(folder / "metrics.om.gz", "rt", encoding="utf-8") as lines:
        yield from (line for line in lines if line != "# EOF\n")
    by_series: dict[str, list[str]] = {}
    for time, text in _told(folder, step):
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                if sample.name in NAMES:
                    labels = ",".join(f'{key}="{value}"' for key, value in sorted({**sample.labels, **_LABELS}.items()))
                    series = f"{sample.name}{{{labels}}}"
                    by_series.setdefault(series, []).append(f"{series} {sample.value:g} {time:.3f}\n")
    for series in sorted(by_series):
        yield from by_series[series]
    yield "# EOF\n"


def _told(folder: Path, step: float) -> Iterator[tuple[float, str]]:
    """What its core tells, once all that came before a time is joined."""
    observer = Observer(synced=lambda: {kind for rules in RULES.values() for kind, _ in rules.watches})
    starts = _starts(folder)
    due, last, lines = None, 0.0, list[LogRecord]()
    for time, _, item in pieces(folder):
        while starts and time >= starts[0]:
            observer.restarted(starts[0])
            # A real operator's log has this line for each controller; a simulated one's has not.
            lines.append(LogRecord(time=starts.pop(0), subject=Subject.SOURCE_STARTED, controller="raycluster"))
        due, last = time + step if due is None else due, time
        match item:
            case LogRecord():
                lines.append(item)
            case Exposition():
                observer.logged(LogBatch(lines))
                lines = []
                observer.scraped(time, item)
            case _:
                observer.changed(time, item)
        while time >= due:
            yield due, _text(observer, due)
            due += step
    observer.logged(LogBatch(lines))
    yield last + step, _text(observer, last + step)


def _starts(folder: Path) -> list[float]:
    """When the operator's process was started anew: what the sidecar learns from its scrapes."""
    store = RecordingSource(folder).series(Selection(frozenset({"process_start_time_seconds"}), {}))
    found = sorted({value for series in store for value in series.values})
    return found[1:]


def _text(observer: Observer, time: float) -> str:
    found = observer.look(time)
    view = SidecarView(shadows=found.shadows, hot_keys=found.hot_keys, key_state=found.key_state)
    return text_of(view)
