import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from advisor.model.raw import Selection
from advisor.sources import openmetricswriter
from advisor.sources.exposition import Exposition, ExpositionParser, Sample, UnusableExpositionError
from advisor.sources.openmetrics import read_openmetrics
from advisor.sources.openmetricswriter import SampleSpool, series_key
from tests.sources.servers import snapshots

HISTOGRAM = b"""# TYPE h histogram
h_bucket{le="0.5"} 1
h_bucket{le="+Inf"} 3
h_sum 2.5
h_count 3
"""


def parsed(text: bytes) -> Exposition:
    """Everything that the text holds."""
    parser = ExpositionParser(None, "a:1")
    parser.feed(text)
    return parser.finish()


def written(folder: Path, *texts: bytes) -> str:
    """What becomes of some scrapes, two seconds apart."""
    path = folder / "metrics.om.gz"
    spool = SampleSpool(path)
    for number, text in enumerate(texts):
        spool.take(1000.0 + 2.0 * number, parsed(text))
    spool.sort()
    assert [one.name for one in folder.iterdir()] == [path.name]
    return gzip.decompress(path.read_bytes()).decode()


def families_of(text: str) -> list[Metric]:
    """What an independent parser of OpenMetrics sees; it fails on what is not valid."""
    return list(text_string_to_metric_families(text))  # type: ignore[no-untyped-call]


def types_of(text: str) -> dict[str, str]:
    """Type by family."""
    return {family.name: family.type for family in families_of(text)}


def test_families_series_and_times_are_in_order(tmp_path: Path) -> None:
    """One family after another with its type, one series after another, each in order of time."""
    text = b'# TYPE a_total counter\na_total{x="\\"\\n\\\\"} 1\n# TYPE b gauge\nb 2.5\na_total 3\nc 1e300\n'
    assert written(tmp_path, text, text.replace(b"2.5", b"-2")).splitlines() == [
        "# TYPE a counter",
        'a_total{instance="a:1",x="\\"\\n\\\\"} 1 1000.000',
        'a_total{instance="a:1",x="\\"\\n\\\\"} 1 1002.000',
        'a_total{instance="a:1"} 3 1000.000',
        'a_total{instance="a:1"} 3 1002.000',
        "# TYPE b gauge",
        'b{instance="a:1"} 2.5 1000.000',
        'b{instance="a:1"} -2 1002.000',
        "# TYPE c unknown",
        'c{instance="a:1"} 1e+300 1000.000',
        'c{instance="a:1"} 1e+300 1002.000',
        "# EOF",
    ]


UNKNOWN = dict.fromkeys(("h_bucket", "h_count", "h_sum"), "unknown")


@pytest.mark.parametrize(
    ("text", "types"),
    [
        (HISTOGRAM, UNKNOWN),
        (b"# TYPE a counter\na_total 1\n# EOF\n", {"a": "counter"}),
        (b"# TYPE a_total counter\na_total 1\n", {"a": "counter"}),
        (b"# TYPE x info\nx_info 1\n# TYPE g gauge\ng 1\nu 1\n", {"x_info": "unknown", "g": "gauge", "u": "unknown"}),
        # The Go runtime has a gauge and a counter of one name.
        (b"# TYPE m gauge\nm 1\n# TYPE m_total counter\nm_total 2\n", {"m": "gauge", "m_total": "unknown"}),
        (b"# TYPE a counter\na_total 1\na_created 5\n# EOF\n", {"a_created": "unknown", "a_total": "unknown"}),
        (b"# TYPE c counter\nc 1\n", {"c": "unknown"}),
        (b"# TYPE a_total counter\na_total -1\n", {"a_total": "unknown"}),
    ],
)
def test_types(text: bytes, types: dict[str, str], tmp_path: Path) -> None:
    """Counters and gauges keep their type where their samples obey it."""
    assert types_of(written(tmp_path, text, text)) == types


def test_a_recorded_operator_is_written_validly(tmp_path: Path) -> None:
    """All that a real operator serves is valid, and is read back as it was."""
    texts = snapshots()
    families = families_of(written(tmp_path, *texts))
    assert {family.type for family in families} == {"counter", "gauge", "unknown"}
    served = [parsed(text).samples for text in texts]
    assert sum(len(family.samples) for family in families) == sum(map(len, served))
    names = frozenset(sample.name for samples in served for sample in samples)
    store, notes = read_openmetrics(tmp_path / "metrics.om.gz", Selection(names, {}))
    assert notes == ()
    found = {(series.name, *sorted(series.labels.items())): list(series.values) for series in store}
    wanted: dict[tuple[object, ...], list[float]] = {}
    for samples in served:
        for sample in samples:
            wanted.setdefault((sample.name, *sample.labels), []).append(sample.value)
    assert found == wanted


def test_many_samples_are_sorted_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More samples than are held at once give the same file."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    whole = written(tmp_path / "a", *snapshots())
    monkeypatch.setattr(openmetricswriter, "_SAMPLES_AT_ONCE", 500)
    parts = written(tmp_path / "b", *snapshots())
    assert parts == whole


def test_a_killed_recording_can_be_read(tmp_path: Path) -> None:
    """Until it is sorted, the file holds every scrape that was taken."""
    path = tmp_path / "metrics.om.gz"
    spool = SampleSpool(path)
    for number in range(3):
        spool.take(1000.0 + number, parsed(b"b 1\n"))
        store, notes = read_openmetrics(path, Selection(frozenset({"b"}), {}))
        assert len(store.get("b")[0]) == number + 1
        assert "the compressed data has no end" in notes[0].message
    spool.close()


def test_a_failed_sort_leaves_the_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the second file cannot be finished, the first remains, and no half of the second."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    path = tmp_path / "metrics.om.gz"
    spool = SampleSpool(path)
    spool.take(1000.0, parsed(b"b 1\n"))
    monkeypatch.setattr(openmetricswriter, "_lines", full)
    with pytest.raises(OSError, match="No space"):
        spool.sort()
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    assert read_openmetrics(path, Selection(frozenset({"b"}), {}))[0].sample_count() == 1


def test_no_scrape_gives_an_empty_file(tmp_path: Path) -> None:
    """Without samples only the end marker is there."""
    assert written(tmp_path) == "# EOF\n"


def test_too_many_series_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An endpoint that invents labels does not fill memory; what was left out is counted."""
    monkeypatch.setattr(openmetricswriter, "_MOST_SERIES", 2)
    spool = SampleSpool(tmp_path / "metrics.om.gz")
    spool.take(1.0, parsed(b"".join(b'b{x="%d"} 1\n' % number for number in range(5))))
    spool.take(2.0, parsed(b'b{x="0"} 1\n'))
    assert spool.refused == 3
    spool.close()


def test_a_series_without_labels() -> None:
    """A name alone has no braces."""
    assert series_key("a", ()) == "a"


TEXTS = st.lists(
    st.tuples(
        st.sampled_from(["h", "h_bucket", "h_sum", "h_count", "h_total", "h_created", "h_info", "g"]),
        st.dictionaries(
            st.sampled_from(["le", "quantile", "x"]), st.sampled_from(["0.5", "+Inf", "inf", "NaN", "x", ""])
        ),
        st.sampled_from([0.0, 1.0, 2.5, -1.0, 3.0]),
    ),
    max_size=8,
)
TYPES = st.dictionaries(
    st.sampled_from(["h", "h_total", "h_sum", "g", "h_info"]),
    st.sampled_from(["counter", "gauge", "histogram", "summary", "info", "stateset", "unknown", "untyped"]),
)


@given(st.lists(TEXTS, min_size=1, max_size=3), TYPES)
def test_whatever_was_scraped_is_written_validly(
    tmp_path_factory: pytest.TempPathFactory,
    scrapes: list[list[tuple[str, dict[str, str], float]]],
    types: dict[str, str],
) -> None:
    """The result is valid OpenMetrics and holds each sample, whatever types and labels an endpoint gives."""
    path = tmp_path_factory.mktemp("any") / "metrics.om.gz"
    spool = SampleSpool(path)
    total = 0
    for number, scrape in enumerate(scrapes):
        unique = {(name, tuple(sorted(labels.items()))): value for name, labels, value in scrape}
        samples = [Sample(name, labels, value) for (name, labels), value in unique.items()]
        total += len(samples)
        spool.take(1000.0 + number, Exposition(samples, types, 0, ended=False))
    spool.sort()
    text = gzip.decompress(path.read_bytes()).decode()
    assert sum(len(family.samples) for family in families_of(text)) == total


@given(st.binary(max_size=300))
def test_whatever_bytes_come_are_written_validly(tmp_path_factory: pytest.TempPathFactory, noise: bytes) -> None:
    """Label values of any bytes survive the way through a file."""
    value = noise.replace(b"\\", b"").replace(b'"', b"").replace(b"\n", b"")
    try:
        exposition = parsed(b'b{x="' + value + b'"} 1\n')
    except UnusableExpositionError:
        return
    path = tmp_path_factory.mktemp("bytes") / "metrics.om.gz"
    spool = SampleSpool(path)
    spool.take(1.0, exposition)
    spool.sort()
    store, _ = read_openmetrics(path, Selection(frozenset({"b"}), {}))
    assert [tuple(sorted(series.labels.items())) for series in store] == [exposition.samples[0].labels]
