"""Recordings in a real Prometheus: whole, labelled as a scrape would, and gone afterwards."""

import contextlib
import gzip
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.lab.controlplane import free_ports
from tests.lab.processes import wait_until
from tests.prometheusserver import server as module
from tests.prometheusserver.asking import Labels, instant, samples
from tests.prometheusserver.fixtures import PrometheusOf
from tests.prometheusserver.server import ServerError, create_tsdb, metrics_file, running, served
from tests.prometheusserver.targets import Target, target, with_target
from tests.prometheusserver.tools import Tool
from tests.support import ROOT

LABEL = re.compile(r'(\w+)="([^"]*)"')
RECORDINGS = ("standby-replica", "throttled-one-worker")


def in_file(lines: list[str]) -> dict[Labels, list[tuple[float, float]]]:
    """Samples by series, as text says; labels have no escapes here."""
    found: dict[Labels, list[tuple[float, float]]] = {}
    for line in lines:
        if not line.startswith("#"):
            series, value, time = line.rsplit(" ", 2)
            key = frozenset([("__name__", series.partition("{")[0]), *LABEL.findall(series)])
            found.setdefault(key, []).append((float(time), float(value)))
    return found


def in_store(address: str, start: float, end: float) -> dict[Labels, list[tuple[float, float]]]:
    """Samples by series, as the API says."""
    return {
        labels: [(float(time), float(value)) for time, value in values]
        for labels, values in samples(address, start, end).items()
    }


def lines_of(recording: Path) -> list[str]:
    """A recording's metrics."""
    return gzip.decompress(metrics_file(recording).read_bytes()).decode().splitlines()


def times_of(lines: list[str]) -> tuple[float, float]:
    """The first and the last time."""
    times = [float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")]
    return min(times), max(times)


def of_port(address: str) -> list[int]:
    """Processes that were told to listen at an address."""
    wanted = f"--web.listen-address={address.removeprefix('http://')}".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if wanted in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return found


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.mark.parametrize("name", RECORDINGS)
def test_every_sample_of_a_recording_is_there(prometheus_of: PrometheusOf, data: Path, name: str) -> None:
    """Series by series as many as the file has, with the same times and values, and nothing else."""
    lines = lines_of(data / "recordings" / name)
    stored = in_store(prometheus_of(data / "recordings" / name), *times_of(lines))
    wanted = in_file(lines)
    assert {key: len(found) for key, found in stored.items()} == {key: len(found) for key, found in wanted.items()}
    assert stored == wanted


def test_a_recording_of_types_unknown_is_whole(prometheus_tool: Tool, tmp_path: Path) -> None:
    """The product's own writer makes buckets, sums and counts families of their own."""
    text = (
        '# TYPE w_bucket unknown\nw_bucket{le="1.0",instance="a"} 1 10.5\nw_bucket{le="+Inf",instance="a"} 2 10.5\n'
        '# TYPE w_count unknown\nw_count{instance="a"} 2 10.5\n# TYPE w_sum unknown\nw_sum{instance="a"} 2.5 10.5\n'
        '# TYPE adds counter\nadds_total{instance="a"} 7 10.5\nadds_total{instance="a"} 8 12.5\n# EOF\n'
    )
    (tmp_path / "a.om").write_text(text, encoding="utf-8")
    with served(prometheus_tool, tmp_path / "a.om") as address:
        assert in_store(address, 10, 13) == in_file(text.splitlines())


def test_a_file_is_as_good_as_its_folder(prometheus_tool: Tool, data: Path, tmp_path: Path) -> None:
    """Packed or not, alone or in a list, or as text that is just being made."""
    recording = data / "recordings" / "standby-replica"
    plain = tmp_path / "metrics.om"
    plain.write_bytes(gzip.decompress(metrics_file(recording).read_bytes()))
    lines = lines_of(recording)
    wanted = in_file(lines)
    for source in (recording / "metrics.om.gz", plain, [recording]):
        with served(prometheus_tool, source) as address:
            assert in_store(address, *times_of(lines)) == wanted
    create_tsdb(prometheus_tool, [(f"{line}\n" for line in lines)], tmp_path / "tsdb")
    with running(prometheus_tool, tmp_path / "tsdb") as address:
        assert in_store(address, *times_of(lines)) == wanted


@pytest.mark.parametrize("added", [target({"cluster": "eu", "job": 'a"b\\', "pod": "p"}, "replace")])
def test_labels_of_a_target_are_on_every_series(prometheus_of: PrometheusOf, data: Path, added: Target) -> None:
    """As a scrape configuration or an external label would put them; samples are the same."""
    recording = data / "recordings" / "standby-replica"
    lines = lines_of(recording)
    found = in_store(prometheus_of(recording, target=added), *times_of(lines))
    assert all(set(added.labels) <= labels for labels in found)
    assert sum(map(len, found.values())) == sum(map(len, in_file(lines).values()))


def test_labels_of_a_target_come_to_text_being_made(prometheus_tool: Tool, tmp_path: Path) -> None:
    """And not to its comments."""
    text = ["# TYPE a gauge\n", "a 1 5\na 2 6\n", 'b{job="own"} 1 5\n', "# EOF\n"]
    added = target({"job": "new"})
    create_tsdb(prometheus_tool, [text], tmp_path, target=added)
    with running(prometheus_tool, tmp_path) as address:
        assert in_store(address, 5, 6) == in_file("".join(with_target(text, added)).splitlines())


def test_samples_of_any_date_are_kept(prometheus_tool: Tool, tmp_path: Path) -> None:
    """Decades ago or ahead, and in parts of one history."""
    times = [631152000.0, 1795980809.0, 2556144000.0]
    parts = [[f'a{{x="1"}} {number} {time}\n', "# EOF\n"] for number, time in enumerate(times)]
    create_tsdb(prometheus_tool, parts, tmp_path)
    with running(prometheus_tool, tmp_path) as address:
        assert [instant(address, "a", time)[0]["value"][1] for time in times] == ["0", "1", "2"]


def test_parts_of_one_history_are_one(prometheus_tool: Tool, tmp_path: Path) -> None:
    """Files that follow each other."""
    for number in range(2):
        text = f"a {number} {1000 + number}\n# EOF\n"
        (tmp_path / f"{number}.om").write_text(text, encoding="utf-8")
    with served(prometheus_tool, [tmp_path / "0.om", tmp_path / "1.om"]) as address:
        assert samples(address, 1000, 1001) == {frozenset({("__name__", "a")}): [[1000, "0"], [1001, "1"]]}


def test_a_server_knows_nothing_but_what_it_was_given(prometheus_of: PrometheusOf, data: Path) -> None:
    """It scrapes nothing, itself included, so there is nothing at its own time."""
    lines = lines_of(data / "recordings" / "standby-replica")
    address = prometheus_of(data / "recordings" / "standby-replica")
    targets = httpx.get(f"{address}/api/v1/targets", trust_env=False).json()["data"]
    assert targets["activeTargets"] == []
    names = httpx.get(f"{address}/api/v1/label/__name__/values", trust_env=False).json()["data"]
    assert set(names) == {dict(labels)["__name__"] for labels in in_file(lines)}


def test_nothing_is_left(prometheus_tool: Tool, data: Path, temporary: Path) -> None:
    """The process ends with the block, and its folder with it."""
    with served(prometheus_tool, data / "recordings" / "standby-replica") as address:
        assert of_port(address)
        assert list(temporary.iterdir())
    assert of_port(address) == []
    assert list(temporary.iterdir()) == []
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{address}/-/ready", trust_env=False)


def test_nothing_is_left_after_a_failure(prometheus_tool: Tool, data: Path, temporary: Path) -> None:
    """Whatever ends the block."""
    serving = served(prometheus_tool, data / "recordings" / "standby-replica")
    with pytest.raises(KeyboardInterrupt) as raised, serving as address:
        raise KeyboardInterrupt(address)
    assert of_port(str(raised.value)) == []
    assert list(temporary.iterdir()) == []


def test_the_server_dies_with_the_tests(prometheus_tool: Tool, data: Path, temporary: Path) -> None:
    """Even if they are killed."""
    program = (
        "import sys, time; from pathlib import Path; sys.path.insert(0, sys.argv[1]);"
        "from tests.prometheusserver.server import served; from tests.prometheusserver.tools import find\n"
        "with served(find(sys.argv[2]), Path(sys.argv[3])) as address: print(address, flush=True); time.sleep(600)"
    )
    arguments: list[str | Path] = [ROOT, prometheus_tool.name, data / "recordings" / "standby-replica"]
    with subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    ) as tests:
        assert tests.stdout is not None
        address = tests.stdout.readline().strip()
        assert of_port(address)
        tests.send_signal(signal.SIGKILL)
    wait_until("the server's end", lambda: not of_port(address), 10.0, pause=0.01)


@pytest.mark.parametrize(
    ("text", "said"),
    [("no metric at all\n", "invalid syntax"), ("a 1 5\n", "EOF"), ("a 1\n# EOF\n", "timestamp")],
    ids=["words", "cut", "without time"],
)
def test_text_that_is_no_openmetrics_is_refused(
    prometheus_tool: Tool, tmp_path: Path, temporary: Path, text: str, said: str
) -> None:
    """With the file's name and what the program says of it."""
    (tmp_path / "bad.om").write_text(text, encoding="utf-8")
    with pytest.raises(ServerError, match=rf"bad\.om: (?s:.*){said}"), served(prometheus_tool, tmp_path / "bad.om"):
        pytest.fail("it was served")
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    "content", [None, b"no gzip", gzip.compress(b"a 1 5\n# EOF\n" * 99, mtime=0)[:-20]], ids=["none", "plain", "cut"]
)
def test_a_file_that_cannot_be_read_is_named(prometheus_tool: Tool, tmp_path: Path, content: bytes | None) -> None:
    """One that is not there, is not packed, or is cut off."""
    path = tmp_path / "metrics.om.gz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ServerError, match=r"metrics\.om\.gz: "), served(prometheus_tool, path):
        pytest.fail("it was served")


def test_a_server_that_does_not_start_says_why(prometheus_tool: Tool, tmp_path: Path) -> None:
    """With the end of its log."""
    with pytest.raises(ServerError, match=r"(?s)ended with.*--no-such-flag"):
        running(prometheus_tool, tmp_path, flags=["--no-such-flag"]).__enter__()


def test_flags_reach_the_server(prometheus_tool: Tool, tmp_path: Path) -> None:
    """For tests of limits."""
    create_tsdb(prometheus_tool, [["a 1 5\nb 1 5\n", "# EOF\n"]], tmp_path)
    with running(prometheus_tool, tmp_path, flags=["--query.max-samples=1"]) as address:
        answer = httpx.get(f"{address}/api/v1/query", params={"query": '{__name__!=""}', "time": "5"}, trust_env=False)
    assert answer.status_code == 422
    assert "too many samples" in answer.json()["error"]


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that somebody has and does not answer at."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        yield one.getsockname()[1]


def ports(*numbers: int) -> Iterator[list[int]]:
    """These ports one after the other."""
    return iter([[number] for number in numbers])


def test_a_port_that_was_taken_is_left_for_another(
    prometheus_tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: int
) -> None:
    """Somebody else may be faster."""
    offered = ports(taken, *free_ports(1))
    monkeypatch.setattr(module, "free_ports", lambda count: next(offered))
    with running(prometheus_tool, tmp_path) as address:
        assert not address.endswith(f":{taken}")
        assert httpx.get(f"{address}/-/ready", trust_env=False).is_success


def test_another_prometheus_is_not_taken_for_ours(
    prometheus_of: PrometheusOf, prometheus_tool: Tool, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that has the port answers too, but about another folder."""
    other = prometheus_of(data / "recordings" / "standby-replica")
    offered = ports(int(other.rpartition(":")[2]), *free_ports(1))
    monkeypatch.setattr(module, "free_ports", lambda count: next(offered))
    with running(prometheus_tool, tmp_path) as address:
        assert address != other


def test_a_port_that_is_always_taken_ends_the_tries(
    prometheus_tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken: int
) -> None:
    """With what the server said."""
    monkeypatch.setattr(module, "free_ports", lambda count: [taken])
    with pytest.raises(ServerError, match="address already in use"):
        running(prometheus_tool, tmp_path).__enter__()
