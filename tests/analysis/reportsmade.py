"""Reports made up for comparisons: the shipped example with other figures."""

from collections.abc import Mapping
from functools import cache

import msgspec

from advisor.analysis import Options, analyse
from advisor.model.finding import FindingCode, Severity
from advisor.model.report import EpisodeReport, Figure, Report
from advisor.model.settings import Setting, SettingSource
from advisor.model.signal import Window
from advisor.model.signals import Episode, EpisodeKind
from advisor.sources.recording import RecordingSource
from tests.support import ROOT

EXAMPLE = ROOT / "advisor" / "examples" / "saturated-one-worker"
AFTER = ROOT / "tests" / "data" / "recordings" / "after-ten-workers"

CONTROLLER = "controllers.raycluster."
BURST = {
    f"{CONTROLLER}waiting_key_seconds": 2400.0,
    f"{CONTROLLER}busy_worker_seconds": 30.0,
    f"{CONTROLLER}queue_wait_seconds_mean": 9.0,
    f"{CONTROLLER}oldest_wait_seconds_peak": 22.0,
    f"{CONTROLLER}depth_peak": 100.0,
    f"{CONTROLLER}reconciles": 300.0,
    f"{CONTROLLER}reconciles_per_second": 10.0,
    f"{CONTROLLER}work_seconds_mean": 0.1,
    f"{CONTROLLER}error_ratio": 0.0,
    "demand.clusters_created": 100.0,
    "demand.pods_created": 600.0,
    "demand.ready_seconds_mean": 24.0,
    "demand.ready_seconds_p95": 25.0,
    "demand.sustained_pods_per_second": 25.0,
    "client.write_api_seconds_mean": 0.03,
    "client.inferred_write_seconds_mean": 0.02,
    "client.limiter_wait_seconds_mean": 0.0,
    "client.requests_per_second": 50.0,
    "client.conflict_ratio": 0.0,
    "process.cpu_seconds": 3.0,
    "process.cpu_cores": 0.1,
}
"""Figures of a hundred clusters of six Pods that were created at once."""
DEMAND = ("demand.clusters_created", "demand.pods_created", "demand.ready_seconds_mean", "demand.ready_seconds_p95")


@cache
def example() -> Report:
    """The report on the shipped example."""
    return analyse(RecordingSource(EXAMPLE), Options())


@cache
def after_ten() -> Report:
    """The report on the same load with ten workers."""
    return analyse(RecordingSource(AFTER), Options())


def made(
    figures: Mapping[str, float | None] | None = None,
    *,
    code: FindingCode = FindingCode.WORKERS_SATURATED,
    severity: Severity = Severity.CRITICAL,
    refuses: bool = False,
    kind: EpisodeKind = EpisodeKind.LOAD,
    seconds: float = 30.0,
    version: str | None = "1.7.0",
    known: Mapping[str, float | None] | None = None,
    **parts: object,
) -> Report:
    """A report with the figures of ``BURST`` but for those given; None takes a figure out.

    ``known`` sets concurrency, qps or burst; ``parts`` replace parts of the report.
    """
    base = example()
    values = {name: value for name, value in {**BURST, **(figures or {})}.items() if value is not None}
    settings = msgspec.structs.replace(
        base.settings,
        version=version,
        **{name: Setting(value, SettingSource.ARGUMENT) for name, value in (known or {}).items()},
    )
    first = msgspec.structs.replace(base.findings[0], code=code, severity=severity, refuses=refuses)
    episode = EpisodeReport(
        episode=Episode(kind, Window(1000.0, 1000.0 + seconds), "made"),
        findings=(first,),
        lost_seconds=0.0,
        is_verdict=True,
    )
    made_up = {
        "figures": {name: Figure(value=value, unit="", quality="exact", origin="") for name, value in values.items()},
        "missing": (),
        "findings": (first,),
        "episodes": (episode,),
        "settings": settings,
        "predictions": (),
    }
    return msgspec.structs.replace(base, **{**made_up, **parts})


def scaled(**factors: float) -> dict[str, float | None]:
    """Figures of ``BURST`` times a factor, by the last part of their name; the others stay."""
    return {
        name: value * factors[name.split(".")[-1]] for name, value in BURST.items() if name.split(".")[-1] in factors
    }


def moved(report: Report, begin: float) -> Report:
    """The report as of another time: its verdict's episode, or what was read where it has none, begins then."""
    start = next((one.episode.window.start for one in report.episodes if one.is_verdict), report.source.window.start)
    source = msgspec.structs.replace(report.source, window=_shifted(report.source.window, begin - start))
    episodes = tuple(
        msgspec.structs.replace(
            one, episode=msgspec.structs.replace(one.episode, window=_shifted(one.episode.window, begin - start))
        )
        for one in report.episodes
    )
    return msgspec.structs.replace(report, source=source, episodes=episodes)


def _shifted(window: Window, seconds: float) -> Window:
    return Window(window.start + seconds, window.end + seconds)
