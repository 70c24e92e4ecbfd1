import gzip
import itertools
import math
import re
from pathlib import Path

import pytest

from advisor.knowledge import METRICS, Metric, find
from advisor.knowledge.catalogue_process import NEVER_EXPOSED
from advisor.knowledge.defaults import LIMITED_REQUEST_SECONDS
from advisor.knowledge.versions import VERSIONS, lookup

BOUND = re.compile(r'le="([^"]+)"')


def catalogued(name: str) -> Metric:
    """A series that the catalogue must have."""
    metric = find(name)
    assert metric is not None, name
    return metric


def recordings(shared: Path) -> list[Path]:
    """Metric files of all recordings."""
    files = sorted((shared / "recordings").glob("*/metrics.om.gz"))
    assert files
    return files


def test_names_are_unique() -> None:
    """No series is described twice, and no sample name belongs to two of them."""
    samples = [sample for metric in METRICS for sample in metric.sample_names]
    assert len(samples) == len(set(samples))


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_each_entry_is_complete(metric: Metric) -> None:
    """Each series says what it means and does not mean, and names releases that exist."""
    assert metric.meaning.endswith(".")
    assert metric.not_meaning.endswith(".")
    assert metric.unit
    assert (metric.kind == "counter") == metric.name.endswith("_total")
    assert (metric.kind == "histogram") == bool(metric.buckets)
    assert len(metric.labels) == len(set(metric.labels))
    for release in (metric.since, metric.until):
        assert release is None or lookup(release) is not None


@pytest.mark.parametrize("metric", [metric for metric in METRICS if metric.buckets], ids=lambda metric: metric.name)
def test_bucket_bounds_ascend(metric: Metric) -> None:
    """Bounds are finite and strictly ascending."""
    assert all(low < high for low, high in itertools.pairwise(metric.buckets))
    assert math.isfinite(metric.buckets[-1])


@pytest.mark.parametrize(
    ("sample", "name"),
    [
        ("workqueue_depth", "workqueue_depth"),
        ("workqueue_queue_duration_seconds_bucket", "workqueue_queue_duration_seconds"),
        ("workqueue_queue_duration_seconds_sum", "workqueue_queue_duration_seconds"),
        ("workqueue_queue_duration_seconds_count", "workqueue_queue_duration_seconds"),
        ("workqueue_queue_duration_seconds_created", "workqueue_queue_duration_seconds"),
        ("workqueue_queue_duration_seconds", "workqueue_queue_duration_seconds"),
        ("workqueue_adds_total", "workqueue_adds_total"),
        ("workqueue_adds", "workqueue_adds_total"),
        ("workqueue_adds_created", "workqueue_adds_total"),
        ("go_memstats_alloc_bytes", "go_memstats_alloc_bytes"),
        ("go_memstats_alloc_bytes_total", "go_memstats_alloc_bytes_total"),
    ],
)
def test_find_resolves_sample_names(sample: str, name: str) -> None:
    """Suffixes of histograms and counters lead to the series; an exact name wins."""
    assert catalogued(sample).name == name


@pytest.mark.parametrize(
    "name",
    ["", "workqueue", "workqueue_depth_count", "workqueue_depth_total", "workqueue_adds_sum", "_total", "up_sum"],
)
def test_find_knows_no_suffix_that_a_kind_cannot_have(name: str) -> None:
    """A gauge has no count, a counter no sum, and unknown names give None."""
    assert find(name) is None


@pytest.mark.parametrize("name", NEVER_EXPOSED)
def test_what_is_never_exposed_is_not_catalogued(name: str) -> None:
    """A series that no operator exposes must not be looked for."""
    assert find(name) is None


def test_every_recorded_series_is_catalogued(data: Path) -> None:
    """All sample names of the recordings of real operators are known."""
    names = (data / "knowledge" / "recorded_series.txt").read_text(encoding="utf-8").split()
    assert [name for name in names if find(name) is None] == []


def test_the_list_of_recorded_series_is_current(shared: Path, data: Path) -> None:
    """The list beside the tests holds each sample name of the recordings."""
    names: set[str] = set()
    for path in recordings(shared):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            names.update(re.split(r"[{ ]", line, maxsplit=1)[0] for line in lines if not line.startswith("#"))
    listed = (data / "knowledge" / "recorded_series.txt").read_text(encoding="utf-8").split()
    assert sorted(names) == listed


def test_bucket_bounds_are_those_of_the_recordings(shared: Path) -> None:
    """The bounds in the catalogue are the ones that real operators expose."""
    bounds: dict[str, set[float]] = {}
    with gzip.open(recordings(shared)[0], "rt", encoding="utf-8") as lines:
        for line in lines:
            name, _, rest = line.partition("{")
            match = BOUND.search(rest)
            if match is not None:
                bounds.setdefault(name, set()).add(float(match[1]))
    assert bounds
    for name, found in bounds.items():
        assert sorted(found - {math.inf}) == pytest.approx(list(catalogued(name).buckets), rel=1e-9), name


def test_queue_bounds_end_where_the_releases_say() -> None:
    """The queue histograms of the newest release reach 1000 s; those before 1.2 stop at 10 s."""
    tops = {version.series: version.queue_histogram_top_seconds for version in VERSIONS}
    assert tops["1.7"] == catalogued("workqueue_queue_duration_seconds").buckets[-1]
    assert (tops["1.1"], tops["1.2"]) == (10.0, 1000.0)


def test_limited_requests_can_be_counted() -> None:
    """The wait above which a request counts as limited is a bound of the limiter's histogram."""
    assert LIMITED_REQUEST_SECONDS in catalogued("rest_client_rate_limiter_duration_seconds").buckets
