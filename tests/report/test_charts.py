import re

import msgspec
import pytest

from advisor.model.report import EpisodeReport
from advisor.model.signal import Window
from advisor.model.signals import Episode, EpisodeKind
from advisor.report.charts import Chart, Line, draw_chart, draw_range, draw_shares
from advisor.report.wording import BudgetShare
from tests.support import Golden

BOUNDS = tuple(1795980680.0 + 10.0 * index for index in range(7))


def episode(kind: EpisodeKind, first: int, last: int, *, is_verdict: bool = False) -> EpisodeReport:
    """An episode between two bounds."""
    window = Window(BOUNDS[first], BOUNDS[last])
    return EpisodeReport(episode=Episode(kind, window, ""), findings=(), lost_seconds=0.0, is_verdict=is_verdict)


EPISODES = (
    episode(EpisodeKind.STARTUP, 0, 1),
    episode(EpisodeKind.QUIET, 1, 2),
    episode(EpisodeKind.LOAD, 2, 5, is_verdict=True),
    episode(EpisodeKind.QUIET, 5, 6),
)


def chart(*values: float | None, episodes: tuple[EpisodeReport, ...] = EPISODES) -> Chart:
    """A chart of one filled curve."""
    return Chart("Keys", "count", BOUNDS, [Line("keys", "first", values, filled=True)], episodes)


def path(drawn: str) -> str:
    """The way of the curve."""
    found = re.search(r'<path class="line first" d="([^"]*)"', drawn)
    assert found is not None
    return found[1]


def test_a_chart_whole(golden: Golden) -> None:
    """Two curves over four episodes, with all axes and labels."""
    lines = [Line("busy", "first", (0, 1, 4, 4, 2.5, 0), filled=True), Line("configured", "second", (4, 4, 4, 4, 4, 4))]
    drawn = draw_chart(Chart("Workers", "count", BOUNDS, lines, EPISODES), "chart-0")
    golden.check("report/chart.svg", f"{drawn}\n")


def test_a_curve_is_made_of_stairs() -> None:
    """Each value holds for its interval; equal ones are one step."""
    assert path(draw_chart(chart(0, 0, 2, 2, 1, 0), "c")) == "M56 172H187.3V30H318.7V101H384.3V172H450"


def test_a_curve_has_gaps_where_nothing_is_known() -> None:
    """An unknown value is no zero: the curve ends, and begins again where something is known."""
    assert path(draw_chart(chart(None, 1, None, None, 1, None), "c")) == "M121.7 30H187.3M318.7 30H384.3"


def test_an_area_stands_on_the_axis() -> None:
    """Each unbroken part is closed along the axis."""
    drawn = draw_chart(chart(None, 1, None, None, 1, None), "c")
    assert 'd="M121.7 172V30H187.3V172ZM318.7 172V30H384.3V172Z"' in drawn


def test_a_chart_is_told_in_words() -> None:
    """Who cannot see it learns the time, the highest value with its time, and the last one."""
    drawn = draw_chart(chart(0, 0, 2, 2, 1, None), "c")
    words = "From 2026-11-29 19:31:20 to 2026-11-29 19:32:20 UTC. keys: highest 2 at 19:31:50, last 1."
    assert f'<desc id="c-desc">{words}</desc>' in drawn
    assert 'role="img" aria-labelledby="c-title c-desc"' in drawn


def test_the_verdict_is_always_labelled_and_labels_never_overlap() -> None:
    """A short verdict keeps its label; a neighbour whose label would run into it loses its own."""
    short = (
        episode(EpisodeKind.QUIET, 0, 5),
        episode(EpisodeKind.LOAD, 5, 6, is_verdict=True),
    )
    drawn = draw_chart(chart(0, 0, 0, 0, 0, 1, episodes=short), "c")
    labels = re.findall(r'<text class="band-label[^"]*" x="([\d.]+)"[^>]*>([^<]*)<', drawn)
    assert labels == [("397", "load (verdict)"), ("220.2", "quiet")]
    crowded = tuple(episode(EpisodeKind.LOAD, index, index + 1, is_verdict=index == 2) for index in range(6))
    labels = re.findall(r">(load[^<]*)<", draw_chart(chart(0, 0, 0, 0, 0, 1, episodes=crowded), "c"))
    assert labels == ["load (verdict)", "load", "load", "load"]


def test_an_episode_beyond_the_samples_ends_with_them() -> None:
    """Bands do not leave the picture."""
    long = msgspec.structs.replace(EPISODES[2], episode=Episode(EpisodeKind.LOAD, Window(0.0, 4e9), ""))
    drawn = draw_chart(chart(0, 0, 0, 0, 0, 1, episodes=(long,)), "c")
    assert '<rect class="band load verdict" x="56" y="22" width="394" height="150"/>' in drawn


def test_shares_fill_the_bar_and_no_more() -> None:
    """What is not covered stays open; shares that add up to more by their bounds are cut at the end."""
    shares = [BudgetShare("api_server", "API server", 0.7, 0.5, 0.9), BudgetShare("cpu", "CPU", 0.4, None, None)]
    drawn = draw_shares(shares, "all")
    assert '<rect class="share api_server" x="0" y="0" width="70" height="10"/>' in drawn
    assert '<rect class="share cpu" x="70" y="0" width="30" height="10"/>' in drawn


@pytest.mark.parametrize(("low", "high", "lines"), [(0.5, 0.9, 3), (0.7, 0.7, 0), (None, None, 0)])
def test_bounds_are_drawn_where_there_are_any(low: float | None, high: float | None, lines: int) -> None:
    """A line from bound to bound with an end each; none where the share is exact."""
    assert draw_range(BudgetShare("api_server", "API server", 0.7, low, high)).count("<line") == lines
