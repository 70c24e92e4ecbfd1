"""Recordings in a real Prometheus: whole, labelled as a scrape would, and gone afterwards."""

import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.prometheusserver.server import ServerError, served
from tests.prometheusserver.synthetic import Fleet, Week
from tests.prometheusserver.targets import target
from tests.prometheusserver.tools import TOOLS, Tool, find_or_leave_out

NAME = "workqueue_adds_total"


@pytest.fixture(params=sorted(TOOLS))
def tool(request: pytest.FixtureRequest) -> Tool:
    """Each Prometheus that this machine has."""
    return find_or_leave_out(request.param)


def series_of(address: str, query: str, at: float) -> list[dict[str, Any]]:
    """What a query gives."""
    answer = httpx.get(f"{address}/api/v1/query", params={"query": query, "time": str(at)}, trust_env=False)
    found: list[dict[str, Any]] = answer.json()["data"]["result"]
    return found


def test_every_sample_of_a_recording_is_there(tool: Tool, data: Path) -> None:
    """As many samples of each series as the file has."""
    recording = data / "recordings" / "throttled-one-worker"
    lines = gzip.decompress((recording / "metrics.om.gz").read_bytes()).decode().splitlines()
    ours = [line.rsplit(" ", 2) for line in lines if line.startswith(f"{NAME}{{")]
    end = max(float(time) for _, _, time in ours)
    with served(tool, recording) as address:
        found = series_of(address, f"count_over_time({NAME}[1h])", end)
    assert sorted(Counter(key for key, _, _ in ours).values()) == sorted(int(one["value"][1]) for one in found)


def test_labels_of_a_target_are_put_on(tool: Tool, data: Path) -> None:
    """As a scrape configuration or an external label would."""
    recording = data / "recordings" / "throttled-one-worker"
    with served(tool, recording, target=target({"cluster": "eu"}, "keep")) as address:
        answer = httpx.get(f"{address}/api/v1/label/cluster/values", trust_env=False)
    assert answer.json()["data"] == ["eu"]


def test_nothing_is_left(tool: Tool, data: Path) -> None:
    """The server ends with the block."""
    with served(tool, data / "recordings" / "throttled-one-worker") as address:
        assert httpx.get(f"{address}/-/ready", trust_env=False).is_success
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{address}/-/ready", trust_env=False)


def test_text_that_is_no_openmetrics_is_refused(tool: Tool, tmp_path: Path) -> None:
    """With what the program says of it."""
    (tmp_path / "bad.om").write_text("no metric at all\n", encoding="utf-8")
    with pytest.raises(ServerError, match=r"bad\.om"), served(tool, tmp_path / "bad.om"):
        pytest.fail("it was served")


def test_histories_are_the_same_each_time() -> None:
    """From the same seed the same text, and another seed is another history."""
    first, again, other = ("".join(next(Fleet(2, seed=seed).texts())) for seed in (1, 1, 2))
    assert first == again != other
    assert first.endswith("# EOF\n")


def test_a_week_has_bursts_restarts_and_a_gap() -> None:
    """Three bursts a day, none of them in a restart or the gap."""
    week = Week()
    assert len(week.bursts) == 21
    assert len(week.restarts) == 2
    assert not any(burst.overlap(week.gap.start, week.gap.end) for burst in week.bursts)
