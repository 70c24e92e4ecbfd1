import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
import pytest

from advisor.analysis import Options, load_source, report_of
from advisor.errors import InputFormatError, InputNotFoundError
from advisor.model.raw import Selection, Series, Setup
from advisor.signals.names import SELECTION
from advisor.sources.endpoint import Access
from advisor.sources.openmetricswriter import series_lines
from advisor.sources.recording import RecordingSource
from advisor.sources.sidecar import JSON_LINES, JSON_OBJECT, SidecarSource, address
from tests.sources.servers import EXAMPLE, Behaviour, Handler, Server, send, serving

OM: Final = "application/openmetrics-text; version=1.0.0"
KINDS: Final = {"metrics.om": OM, "log.jsonl": JSON_LINES, "objects.jsonl": JSON_LINES, "setup.json": JSON_OBJECT}
TINY: Final = b"# TYPE workqueue_depth gauge\nworkqueue_depth 1 10.000\n# EOF\n"
DEPTH: Final = Selection(frozenset({"workqueue_depth"}), {})


def files(folder: Path = EXAMPLE) -> dict[str, bytes]:
    """What a sidecar beside the operator of a recording would hold."""
    recording = RecordingSource(folder)
    series = recording.series(SELECTION)
    lines = "".join(f"{line}\n" for line in series_lines(series))
    return {
        "metrics.om": lines.encode(),
        "log.jsonl": b"".join(msgspec.json.encode(one) + b"\n" for one in recording.log()),
        "objects.jsonl": b"".join(msgspec.json.encode(one) + b"\n" for one in recording.changes()),
        "setup.json": msgspec.json.encode(recording.setup()),
    }


def holding(held: dict[str, bytes], prefix: str = "") -> Behaviour:
    """Answers as a sidecar that holds these; others are not found."""

    def behave(handler: Handler) -> None:
        name = handler.path.removeprefix(f"{prefix}/v1/recording/")
        if name not in held:
            send(handler, b"Not Found\n", status=404)
            return
        packed = gzip.compress(held[name]) if "gzip" in handler.headers.get("Accept-Encoding", "") else held[name]
        send(handler, packed, kind=KINDS[name], Content_Encoding="gzip")

    return behave


@contextmanager
def source_of(held: dict[str, bytes]) -> Iterator[SidecarSource]:
    """A source on a sidecar that holds these."""
    with serving(holding(held)) as server, SidecarSource(address(root(server)), Access()) as source:
        yield source


def root(server: Server) -> str:
    """The URL without a path."""
    return server.url.removesuffix("/metrics")


class TestAddress:
    @pytest.mark.parametrize(
        ("url", "path", "instance"),
        [
            ("http://pod:8090", "", "pod:8090"),
            ("http://pod:8090/", "", "pod:8090"),
            ("http://pod:8090/metrics", "", "pod:8090"),
            (
                "https://api/api/v1/namespaces/ray/pods/op:8090/proxy/",
                "/api/v1/namespaces/ray/pods/op:8090/proxy",
                "api:443",
            ),
        ],
    )
    def test_what_is_one(self, url: str, path: str, instance: str) -> None:
        """With or without a path, also through the API server's proxy; and the address that Prometheus scrapes."""
        found = address(url)
        assert (found.path, found.instance) == (path, instance)

    @pytest.mark.parametrize("url", ["pod:8090", "ftp://pod", "http://pod/?a=b", "http://pod/#a", "http://a b"])
    def test_what_is_none(self, url: str) -> None:
        """Whatever else."""
        with pytest.raises(ValueError, match=r"URL|http"):
            address(url)


class TestReading:
    def test_the_same_report_as_from_the_recording(self) -> None:
        """Samples, log and objects come through whole."""
        with source_of(files()) as source:
            served = report_of(load_source(source), Options())
        recorded = report_of(load_source(RecordingSource(EXAMPLE)), Options())
        assert served.source.kind == "sidecar"
        assert served.source.notes == recorded.source.notes == ()
        assert served.source.samples == recorded.source.samples
        assert served.source.object_changes == recorded.source.object_changes > 0
        assert served.source.log_lines > 0
        for mine, theirs in zip(served.findings, recorded.findings, strict=True):
            assert (mine.code, mine.severity, mine.confidence) == (theirs.code, theirs.severity, theirs.confidence)
            assert [one.value for one in mine.evidence] == [one.value for one in theirs.evidence]
        assert {name: one.value for name, one in served.figures.items()} == {
            name: one.value for name, one in recorded.figures.items()
        }

    def test_its_origin(self) -> None:
        """Says which sidecar it was."""
        with serving(holding({"metrics.om": TINY})) as server, SidecarSource(address(server.url), Access()) as source:
            assert source.series(DEPTH).origin == f"sidecar {server.endpoint.instance}"

    def test_behind_a_path(self) -> None:
        """What comes before the sidecar's own path is kept."""
        with serving(holding({"metrics.om": TINY}, "/proxy")) as server:
            with SidecarSource(address(f"{root(server)}/proxy"), Access()) as source:
                assert source.series(DEPTH).sample_count() == 1
            assert {handler.path.rpartition("/")[0] for handler in server.requests} == {"/proxy/v1/recording"}

    def test_headers_are_sent(self) -> None:
        """With each request."""
        with serving(holding({"metrics.om": TINY})) as server:
            with SidecarSource(address(server.url), Access({"X-Scope": "a"})) as source:
                source.series(DEPTH)
            assert [handler.headers["X-Scope"] for handler in server.requests] == ["a"] * 4

    def test_nothing_is_left_behind(self) -> None:
        """The folder goes when the source is left."""
        with source_of({"metrics.om": TINY}) as source:
            source.series(DEPTH)
            folder = source._folder
            assert folder is not None
            assert folder.is_dir()
        assert not folder.exists()
        assert list(source.log()) == []

    def test_setup(self) -> None:
        """As far as it is known; nothing before the samples were read."""
        setup = Setup(version="1.7.0", args=("--qps=5",), start=1.0, end=2.0)
        with source_of({"metrics.om": TINY, "setup.json": msgspec.json.encode(setup)}) as source:
            assert (source.setup(), list(source.changes())) == (Setup(), [])
            source.series(DEPTH)
            assert source.setup() == setup


class TestProblems:
    def test_no_sidecar(self) -> None:
        """The error names the file and says how to look."""
        with (
            serving(holding({})) as server,
            SidecarSource(address(server.url), Access()) as source,
            pytest.raises(InputNotFoundError) as caught,
        ):
            source.series(DEPTH)
        assert str(caught.value) == (
            f"{root(server)}/v1/recording/metrics.om: status 404 Not Found "
            f"(check the address; curl -v {root(server)}/v1/recording/metrics.om shows what it answers)"
        )

    def test_something_else_answers(self) -> None:
        """A page is no recording."""
        with (
            serving(lambda handler: send(handler, b"<html>", kind="text/html")) as server,
            SidecarSource(address(server.url), Access()) as source,
            pytest.raises(InputNotFoundError, match="an HTML page came in place of application/openmetrics-text"),
        ):
            source.series(DEPTH)

    def test_nothing_is_held_yet(self) -> None:
        """A sidecar that has just started has no sample."""
        with (
            source_of({"metrics.om": b"# EOF\n"}) as source,
            pytest.raises(InputFormatError, match="no sample with a timestamp"),
        ):
            source.series(DEPTH)

    def test_what_is_missing_beside_the_samples(self) -> None:
        """Is said, and the samples are read."""
        with source_of({"metrics.om": TINY}) as source:
            assert source.series(DEPTH).sample_count() == 1
            assert (list(source.log()), list(source.changes()), source.setup()) == ([], [], Setup())
            notes = {note.where: note.message for note in source.notes}
        assert notes == dict.fromkeys(("log.jsonl", "objects.jsonl", "setup.json"), "status 404 Not Found")

    def test_damaged_lines(self) -> None:
        """Are skipped and counted, in log and objects."""
        held = files()
        held["log.jsonl"] = b'{"time":1.0,"subject":"start"}\n{"time":2.0,"subject":"of-a-later-version"}\n{"tim\n'
        held["objects.jsonl"] = b"[]\n" + held["objects.jsonl"]
        with source_of(held) as source:
            source.series(SELECTION)
            assert [record.time for record in source.log()] == [1.0]
            assert source.log_lines == 3
            assert len(list(source.changes())) > 0
            messages = [f"{note.where}: {note.message}" for note in source.notes]
        assert messages[0] == "log.jsonl: 2 of 3 lines skipped: not JSON of the expected form"
        assert messages[1].startswith("objects.jsonl: 1 of ")


def test_lines_of_no_series() -> None:
    """Only the end marker; a sidecar answers so before its first scrape."""
    empty: list[Series] = []
    assert list(series_lines(empty)) == ["# EOF"]
