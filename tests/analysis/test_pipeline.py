import shutil
from pathlib import Path

import pytest

from advisor.analysis import Options, analyse, override
from advisor.errors import NothingToAnalyseError, UnknownNameError
from advisor.sources.recording import RecordingSource
from tests.support import ROOT

EXAMPLE = ROOT / "advisor" / "examples" / "saturated-one-worker"


def test_the_shipped_example_is_small() -> None:
    """The example in the package stays below 200 kB."""
    assert sum(path.stat().st_size for path in EXAMPLE.iterdir()) <= 200_000


def test_steps_are_announced() -> None:
    """Progress names each step before it begins."""
    steps: list[str] = []
    analyse(RecordingSource(EXAMPLE), Options(), steps.append)
    assert steps == ["reading metrics", "reading the log", "reading object changes", "computing signals"]


def test_the_verdict_says_which_episode_it_is_for() -> None:
    """The report's sentence names kind, begin and length of its episode, which is marked in the list."""
    report = analyse(RecordingSource(EXAMPLE), Options())
    assert report.verdict == "All workers are busy and keys wait for one (load episode, 6 s in, 28 s long)."
    assert [one.episode.kind.value for one in report.episodes if one.is_verdict] == ["load"]


def test_episodes_cover_everything_once() -> None:
    """Episodes follow one another without a gap, from the first scrape to the last."""
    report = analyse(RecordingSource(EXAMPLE), Options())
    windows = [one.episode.window for one in report.episodes]
    assert windows[0].start == report.source.window.start
    assert windows[-1].end == report.source.window.end
    assert [one.end for one in windows[:-1]] == [one.start for one in windows[1:]]


def test_a_metrics_file_alone_is_enough(tmp_path: Path) -> None:
    """Without folder, log, objects and setup the finding is the same; what rests on them is missing, not zero."""
    alone = tmp_path / "some.om.gz"
    shutil.copy(EXAMPLE / "metrics.om.gz", alone)
    report = analyse(RecordingSource(alone), Options())
    assert report.findings[0].code.value == "workers-saturated"
    assert report.advice.concurrency.value == 4
    assert (report.settings.version, report.settings.version_inferred) == ("1.7", True)
    assert report.advice.qps.current is None
    reasons = {one.name: one.reason for one in report.missing}
    assert reasons["log.throttle_lines"] == "no operator log in the input"
    assert "keys" not in report.figures
    assert report.keys == ()


def test_figures_carry_unit_quality_and_origin() -> None:
    """A figure says what it is made from and how far it can be trusted."""
    figure = analyse(RecordingSource(EXAMPLE), Options()).figures["controllers.raycluster.queue_wait_seconds_mean"]
    assert (figure.unit, figure.quality) == ("seconds", "exact")
    assert figure.value == pytest.approx(9.0992, abs=0.0001)
    assert figure.origin == (
        "delta workqueue_queue_duration_seconds_sum / delta workqueue_queue_duration_seconds_count of raycluster "
        "[metrics.om.gz]"
    )


def test_derived_figures_follow_from_the_signals() -> None:
    """Throughput, needed workers, drain time and the demand on a bucket are there under their names."""
    figures = analyse(RecordingSource(EXAMPLE), Options()).figures
    raycluster = {name.split(".")[-1]: one.value for name, one in figures.items() if ".raycluster." in name}
    workers = raycluster["max_concurrent_reconciles"]
    assert figures["throughput_per_second"].value == raycluster["reconciles_per_second"]
    assert figures["needed_workers"].value == pytest.approx(workers / 0.7)
    assert figures["drain_seconds"].value == pytest.approx(
        raycluster["backlog_peak"] * raycluster["work_seconds_mean"] / workers
    )
    write = figures["client.write_api_seconds_mean"].value
    assert figures["bucket_demand_per_second"].value == pytest.approx(workers / write)
    assert figures["limiter_wait_seconds"].value == 0.0


def test_a_gap_in_the_scrapes_is_noted(tmp_path: Path) -> None:
    """A pause of several scrape intervals is named; nothing is invented for it."""
    lines = ["# TYPE controller_runtime_active_workers gauge"]
    lines += [f'controller_runtime_active_workers{{controller="raycluster"}} 0 {time}' for time in (0, 2, 4, 6, 60, 62)]
    path = tmp_path / "gap.om"
    path.write_text("\n".join([*lines, "# EOF", ""]), encoding="utf-8")
    (note,) = analyse(RecordingSource(path), Options()).source.notes
    assert (note.where, note.message) == ("gap.om", "no samples for 54 s after 6; nothing is assumed there")


def test_replicas_scraped_one_after_the_other_leave_no_gap(tmp_path: Path) -> None:
    """A pause is long by the usual one of a process, not by that between two processes."""
    lines = ["# TYPE controller_runtime_active_workers gauge"]
    for offset, pod in enumerate(("a", "b", "c")):
        times = [2.0 * step + 0.05 * offset for step in range(20) if step not in (10, 11, 12, 13)]
        lines += [
            f'controller_runtime_active_workers{{controller="raycluster",instance="{pod}"}} 0 {time}' for time in times
        ]
    path = tmp_path / "replicas.om"
    path.write_text("\n".join([*lines, "# EOF", ""]), encoding="utf-8")
    (note,) = analyse(RecordingSource(path), Options()).source.notes
    assert note.message == "no samples for 10 s after 18; nothing is assumed there"


def test_one_scrape_is_nothing_to_analyse(tmp_path: Path) -> None:
    """A single scrape has no rate; the error says what to do."""
    path = tmp_path / "one.om"
    path.write_text('controller_runtime_active_workers{controller="raycluster"} 0 1\n# EOF\n', encoding="utf-8")
    with pytest.raises(NothingToAnalyseError, match="fewer than two scrapes") as caught:
        analyse(RecordingSource(path), Options())
    assert caught.value.exit_code == 4
    assert caught.value.hint


def test_metrics_of_something_else_are_nothing_to_analyse(tmp_path: Path) -> None:
    """Samples of another program are read and found to be of no operator."""
    path = tmp_path / "other.om"
    path.write_text("http_requests_total 1 1\nhttp_requests_total 2 2\n# EOF\n", encoding="utf-8")
    with pytest.raises(NothingToAnalyseError):
        analyse(RecordingSource(path), Options())


def test_settings_are_overridden_by_name() -> None:
    """Each assignment changes one value of one section; the rest keeps its default."""
    options = override(Options(), ("thresholds.wait_target_seconds=10", " policy.largest_step = 2"))
    assert options.thresholds.wait_target_seconds == 10.0
    assert options.policy.largest_step == 2.0
    assert options.thresholds.wait_warning_seconds == Options().thresholds.wait_warning_seconds
    assert options.cut_rules == Options().cut_rules


def test_an_overridden_bound_changes_the_advice() -> None:
    """With a smaller step the advised concurrency is smaller."""
    options = override(Options(), ("policy.largest_step=2",))
    assert analyse(RecordingSource(EXAMPLE), options).advice.concurrency.value == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nothing.here=1", "there is no section 'nothing'"),
        ("thresholds.nothing=1", "thresholds has no 'nothing'"),
        ("thresholds.wait_target_seconds=soon", "Expected `float`"),
        ("thresholds.fewest_errors=1.5", "Expected `int`"),
        ("thresholds", "thresholds has no ''"),
    ],
)
def test_a_wrong_setting_says_what_is_wrong(text: str, message: str) -> None:
    """An unknown section or name, or a value that is no number, is refused with the text that was given."""
    with pytest.raises(UnknownNameError) as caught:
        override(Options(), (text,))
    assert message in caught.value.message
    assert caught.value.where == f"--set {text}"
    assert caught.value.exit_code == 2
