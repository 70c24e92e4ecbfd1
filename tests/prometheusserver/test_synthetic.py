import gzip
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.prometheusserver.asking import instant, samples
from tests.prometheusserver.server import create_tsdb, running
from tests.prometheusserver.synthetic import BLOCK_SECONDS, NATURES, START, Fleet, Week
from tests.prometheusserver.tools import Tool

LE = re.compile(r'le="([^"]*)",')
CLUSTER = re.compile(r',cluster="([^"]*)"')
DAY = Week(days=1)

Points = list[tuple[float, float]]


def read(texts: Iterable[Iterator[str]]) -> dict[str, Points]:
    """Samples by series of all texts."""
    found: dict[str, Points] = defaultdict(list)
    for text in texts:
        for piece in text:
            for line in piece.splitlines():
                if not line.startswith("#"):
                    series, value, time = line.rsplit(" ", 2)
                    found[series].append((float(time), float(value)))
    return found


@pytest.fixture(scope="module")
def day() -> dict[str, Points]:
    """One day of one operator."""
    return read(DAY.texts())


def series(found: dict[str, Points], name: str, controller: str = "raycluster") -> Points:
    """The only series of this name that a controller has."""
    begin = f'{name}{{controller="{controller}"'
    (points,) = (points for key, points in found.items() if key.startswith(begin))
    return points


def test_histories_are_the_same_each_time() -> None:
    """From the same seed the same text, and another seed is another history."""
    first, again, other = ("".join(next(Fleet(2, seed=seed).texts())) for seed in (1, 1, 2))
    assert first == again != other
    one, same, another = ("".join(next(Week(seed=seed).texts())) for seed in (1, 1, 2))
    assert one == same != another


def test_a_week_has_bursts_restarts_and_a_gap() -> None:
    """Three bursts a day, and while the backlog goes neither a restart nor the gap."""
    week = Week()
    assert len(week.bursts) == 21
    assert len(week.restarts) == 2
    assert week.end - week.start == 7 * 86400
    assert week.gap.end - week.gap.start == 7200
    for burst in week.bursts:
        assert burst.overlap(week.gap.start, week.gap.end) == 0
        assert not any(burst.start - 600 < restart < burst.end + 3000 for restart in week.restarts)


def test_texts_are_made_as_they_are_asked_for() -> None:
    """Ten years begin at once."""
    assert next(next(Week(days=3650).texts())).startswith("# TYPE ")


def test_a_text_is_a_block_of_whole_lines() -> None:
    """It spans no two blocks, and families are together, as OpenMetrics asks."""
    numbers: list[float] = []
    for text in DAY.texts():
        pieces = list(text)
        assert all(piece.endswith("\n") for piece in pieces)
        lines = "".join(pieces).splitlines()
        assert lines[-1] == "# EOF"
        families = [line for line in lines if line.startswith("# TYPE")]
        assert len(set(families)) == len(families)
        blocks = {float(line.rpartition(" ")[2]) // BLOCK_SECONDS for line in lines if not line.startswith("#")}
        assert len(blocks) == 1
        numbers += blocks
    assert numbers == sorted(set(numbers))


def test_the_gap_is_empty_and_steps_are_even(day: dict[str, Points]) -> None:
    """Even an answer that failed is stored, but not in the gap."""
    (up,) = (points for key, points in day.items() if key.startswith("up{"))
    assert len(up) == 24 * 60 - 120
    assert not any(DAY.gap.overlap(time, time + 0.001) for time, _ in up)
    steps = {round(after - before) for (before, _), (after, _) in pairwise(up)}
    assert steps == {60, 7260}
    assert [value for _, value in up].count(0) == 2


def test_a_restart_starts_counters_anew() -> None:
    """The process has a later start, and comes to all objects again."""
    week = Week(days=4, step=600.0)
    found = read(week.texts())
    adds = series(found, "workqueue_adds_total")
    falls = [(time, value) for (_, before), (time, value) in pairwise(adds) if value < before]
    assert [time for time, _ in falls] == [pytest.approx(restart, abs=1800) for restart in week.restarts]
    assert all(200 <= value < 300 for _, value in falls)
    (starts,) = (points for key, points in found.items() if key.startswith("process_start_time_seconds"))
    assert len({value for _, value in starts}) == 3
    assert all(value <= time for time, value in starts)
    (restarts,) = (points for key, points in found.items() if key.startswith("kube_pod_container_status_restarts"))
    assert [value for _, value in restarts] == sorted(value for _, value in restarts)
    assert restarts[-1][1] == 2


def test_bursts_fill_the_queue_and_the_rest_is_quiet(day: dict[str, Points]) -> None:
    """The backlog is largest in a burst, and gone some minutes later."""
    depth = series(day, "workqueue_depth")
    assert len(DAY.bursts) == 3
    for burst in DAY.bursts:
        assert max(value for time, value in depth if burst.start <= time <= burst.end + 60) > 400
    deep = [time for time, value in depth if value > 5]
    assert all(
        any(span.start <= time <= span.end + 900 for span in DAY.bursts)
        or DAY.restarts[0] <= time <= DAY.restarts[0] + 600
        for time in deep
    )
    assert len(deep) < 60


@pytest.mark.parametrize("controller", ["raycluster", "rayjob", "rayservice"])
def test_figures_of_a_queue_agree(day: dict[str, Points], controller: str) -> None:
    """Reconciles by result, counts of histograms and what was added; work is no more than the workers' time."""
    adds, depth = (series(day, f"workqueue_{name}", controller) for name in ("adds_total", "depth"))
    work = series(day, "workqueue_work_duration_seconds_count", controller)
    busy = series(day, "workqueue_work_duration_seconds_sum", controller)
    begin = f'controller_runtime_reconcile_total{{controller="{controller}"'
    results = [points for key, points in day.items() if key.startswith(begin)]
    assert len(results) == 4
    for number, (_, done) in enumerate(work):
        assert sum(points[number][1] for points in results) == done
        assert adds[number][1] - done == pytest.approx(depth[number][1], abs=2)
    for (before, spent), (after, more) in pairwise(busy):
        assert more - spent <= (after - before) * 1.0 + 1


def test_buckets_grow_with_their_bounds(day: dict[str, Points]) -> None:
    """And with time until a restart; the last is the count."""
    histograms: dict[str, dict[float, Points]] = defaultdict(dict)
    for key, points in day.items():
        if bound := LE.search(key):
            histograms[key.replace(bound[0], "")][float(bound[1])] = points
    assert len(histograms) == 3 * 3 + 4 * 4 + 1
    for key, buckets in histograms.items():
        bounds = sorted(buckets)
        assert buckets[bounds[-1]] == day[key.replace("_bucket{", "_count{")]
        assert bounds[-1] == float("inf")
        for row in zip(*(buckets[bound] for bound in bounds), strict=True):
            values = [value for _, value in row]
            assert values == sorted(values)


def test_series_are_those_of_an_operator(day: dict[str, Points], shared: Path) -> None:
    """By name all that a real one of the same release has, and its container's limits."""
    real = gzip.decompress((shared / "recordings" / "after-ten-workers" / "metrics.om.gz").read_bytes()).decode()
    names = {re.split("[{ ]", line)[0] for line in real.splitlines() if not line.startswith("#")}
    own = {"kube_pod_container_resource_limits", "kube_pod_container_status_restarts_total"}
    assert {key.partition("{")[0] for key in day} == names | own
    assert len(day) > 500


def test_the_second_restart_may_be_another_pod() -> None:
    """As a rollout makes it; else the Pod stays."""
    pods = [
        {
            key
            for key in read(Week(days=2, step=600.0, rollout=rollout).texts())
            if key.startswith("process_start_time_seconds")
        }
        for rollout in (False, True)
    ]
    assert [len(found) for found in pods] == [1, 2]


def test_a_fleet_is_told_apart_by_cluster() -> None:
    """Each operator has the same series, at the same steps."""
    fleet = Fleet(10)
    found = read(fleet.texts())
    by_cluster: dict[str, list[str]] = defaultdict(list)
    for key in found:
        cluster = CLUSTER.search(key)
        assert cluster is not None
        by_cluster[cluster[1]].append(key)
    assert list(by_cluster) == fleet.clusters
    assert len({len(keys) for keys in by_cluster.values()}) == 1
    assert {len(points) for points in found.values()} == {120}
    assert all(fleet.start <= time < fleet.end for points in found.values() for time, _ in points)


def test_a_fleet_may_come_in_parts() -> None:
    """As many operators in each text as said; together they are the same."""
    parts = list(Fleet(5, per_text=2).texts())
    assert len(parts) == 3
    assert read(parts) == read(Fleet(5).texts())


def test_operators_fare_as_their_nature_says() -> None:
    """One is saturated, one waits in its client, and most are quiet."""
    fleet = Fleet(8)
    found = read(fleet.texts())
    assert {fleet.nature_of(cluster) for cluster in fleet.clusters} == set(NATURES)
    for cluster in fleet.clusters:
        mine = {key: points for key, points in found.items() if f'cluster="{cluster}"' in key}
        deepest = max(value for _, value in series(mine, "workqueue_depth"))
        (waited,) = (
            points[-1][1]
            for key, points in mine.items()
            if key.startswith("rest_client_rate_limiter_duration_seconds_sum{") and 'verb="PUT"' in key
        )
        nature = fleet.nature_of(cluster)
        assert (deepest > 300) == (nature in {"saturated", "throttled"})
        assert (waited > 100) == (nature == "throttled")


def test_a_real_server_has_it_all(prometheus_tool: Tool, tmp_path: Path) -> None:
    """As many samples of each series as were written, and its own arithmetic finds what was meant."""
    week = Week(days=2, step=600.0)
    create_tsdb(prometheus_tool, week.texts(), tmp_path)
    wanted = read(week.texts())
    with running(prometheus_tool, tmp_path) as address:
        stored = samples(address, week.start, week.end)
        (resets,) = instant(address, 'resets(workqueue_adds_total{controller="raycluster"}[1d])', week.end)
        (busiest,) = instant(address, "max(max_over_time(controller_runtime_active_workers[1d]))", week.end)
    assert len(stored) == len(wanted)
    assert sorted(map(len, stored.values())) == sorted(map(len, wanted.values()))
    assert resets["value"][1] == "1"
    assert busiest["value"][1] == "1"
    assert week.start == START


def test_a_real_server_has_a_fleet(prometheus_tool: Tool, tmp_path: Path) -> None:
    """Each operator is there by the label of its cluster."""
    fleet = Fleet(9)
    create_tsdb(prometheus_tool, fleet.texts(), tmp_path)
    with running(prometheus_tool, tmp_path) as address:
        found = instant(address, "count by (cluster) (up == 1)", fleet.end)
    assert sorted(one["metric"]["cluster"] for one in found) == fleet.clusters
