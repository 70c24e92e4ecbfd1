import gzip
import itertools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.lab.measured import measure

START, END = 1000.0, 1100.0
WAIT, WORK = "workqueue_queue_duration_seconds", "workqueue_work_duration_seconds"
LIMITER, REQUESTS = "rest_client_rate_limiter_duration_seconds", "rest_client_request_duration_seconds"


def record(folder: Path, *, samples: str = "", changes: Iterable[dict[str, Any]] = ()) -> Path:
    """A recording of these samples and object changes."""
    with gzip.open(folder / "metrics.om.gz", "wt", encoding="utf-8") as text:
        text.write(f"{samples}# EOF\n")
    with gzip.open(folder / "objects.jsonl.gz", "wt", encoding="utf-8") as text:
        text.writelines(json.dumps(change) + "\n" for change in changes)
    return folder


def cluster(
    t: float, name: str, event: str, state: str | None = None, desired: int | None = None, ready: int | None = None
) -> dict[str, Any]:
    """One change of a RayCluster."""
    one = {"t": t, "event": event, "kind": "RayCluster", "namespace": "team-a", "name": name}
    return one | {"state": state, "desired": desired, "ready_workers": ready}


def life(name: str, created: float, ready: float, workers: int = 2) -> list[dict[str, Any]]:
    """A RayCluster from its creation to its being ready."""
    return [
        cluster(created, name, "ADDED"),
        cluster(created + 0.1, name, "MODIFIED", None, workers, 0),
        cluster(ready, name, "MODIFIED", "ready", workers, workers),
        cluster(ready + 20.0, name, "MODIFIED", "ready", workers, workers),
    ]


def samples(key: str, *points: tuple[float, float]) -> str:
    """Lines of one series."""
    return "".join(f"{key} {value} {time}\n" for time, value in points)


class TestReadyTimes:
    def test_makespan_and_percentiles(self, tmp_path: Path) -> None:
        """From creation to ready of each cluster; the makespan from the first creation until all are ready."""
        lives = [life(f"rc-{number:03d}", START + number, START + 2 * number + 1) for number in range(20)]
        changes = sorted(itertools.chain(*lives), key=lambda one: one["t"])
        assert measure(record(tmp_path, changes=changes), START, END) == {
            "load_start": START,
            "clusters_created": 20,
            "clusters_ready": 20,
            # 1, 2 and so on to 20 seconds.
            "ready_seconds_mean": 10.5,
            "ready_seconds_p50": 11.0,
            "ready_seconds_p90": 19.0,
            "ready_seconds_p95": 20.0,
            "ready_seconds_p100": 20.0,
            "makespan_seconds": 39.0,
            "cpu_seconds": 0,
        }

    def test_a_single_cluster(self, tmp_path: Path) -> None:
        """All percentiles are its time."""
        found = measure(record(tmp_path, changes=life("rc-000", START + 0.25, START + 5.5)), START, END)
        assert {value for name, value in found.items() if name.startswith("ready_seconds")} == {5.25}
        assert found["makespan_seconds"] == 5.25

    def test_what_was_there_before_does_not_count(self, tmp_path: Path) -> None:
        """Clusters that exist when the recording starts, and those made before the load, though changed in it."""
        changes = [
            cluster(START - 6.0, "old", "EXISTING", "ready", 2, 2),
            *life("early", START - 5.0, START - 2.0),
            cluster(START + 1.0, "old", "MODIFIED", "ready", 3, 3),
            *life("new", START + 2.0, START + 4.0),
        ]
        found = measure(record(tmp_path, changes=changes), START, END)
        assert (found["clusters_created"], found["clusters_ready"]) == (1, 1)
        assert (found["makespan_seconds"], found["ready_seconds_mean"]) == (2.0, 2.0)

    def test_a_creation_may_be_seen_just_before_the_load(self, tmp_path: Path) -> None:
        """Two clocks never agree: half a second early is in the load."""
        changes = [*life("new", START - 0.4, START + 1.6), *life("early", START - 0.6, START + 1.0)]
        found = measure(record(tmp_path, changes=changes), START, END)
        assert (found["clusters_created"], found["makespan_seconds"]) == (1, 2.0)

    def test_ready_means_with_all_workers(self, tmp_path: Path) -> None:
        """A state of ready with workers missing, or without any asked for, is not it."""
        changes = [
            cluster(START, "rc-000", "ADDED"),
            cluster(START + 1.0, "rc-000", "MODIFIED", "ready", None, None),
            cluster(START + 2.0, "rc-000", "MODIFIED", "ready", 0, 0),
            cluster(START + 3.0, "rc-000", "MODIFIED", "ready", 3, 2),
            cluster(START + 4.0, "rc-000", "MODIFIED", "suspended", 3, 3),
            cluster(START + 7.0, "rc-000", "MODIFIED", "ready", 3, 3),
            cluster(START + 8.0, "rc-000", "DELETED", "ready", 3, 3),
        ]
        assert measure(record(tmp_path, changes=changes), START, END)["ready_seconds_mean"] == 7.0

    def test_without_all_ready_there_is_no_makespan(self, tmp_path: Path) -> None:
        """Those that became ready are measured all the same."""
        changes = [*life("rc-000", START, START + 3.0), cluster(START, "rc-001", "ADDED")]
        found = measure(record(tmp_path, changes=changes), START, END)
        assert (found["clusters_created"], found["clusters_ready"]) == (2, 1)
        assert found["ready_seconds_p100"] == 3.0
        assert "makespan_seconds" not in found

    def test_other_kinds_are_none(self, tmp_path: Path) -> None:
        """Pods and jobs are not clusters, whatever they are called."""
        changes = [{**one, "kind": kind} for kind in ("Pod", "RayJob") for one in life("rc-000", START, START + 3.0)]
        found = measure(record(tmp_path, changes=changes), START, END)
        assert found == {"load_start": START, "clusters_created": 0, "clusters_ready": 0, "cpu_seconds": 0}


class TestCounters:
    def test_means_and_counts_are_of_the_load(self, tmp_path: Path) -> None:
        """From the last sample before the load to the last one until the end, summed over series."""
        text = (
            samples(f'{WORK}_count{{controller="raycluster",name="raycluster"}}', (996, 7), (998, 10), (1002, 15))
            + samples(f'{WORK}_count{{controller="raycluster",name="raycluster"}}', (1100, 30), (1102, 99))
            + samples(f'{WORK}_sum{{controller="raycluster",name="raycluster"}}', (998, 1.5), (1100, 4.5), (1102, 99))
            + samples(f'{WAIT}_count{{name="raycluster",priority="0"}}', (998, 10), (1100, 26))
            + samples(f'{WAIT}_sum{{name="raycluster",priority="0"}}', (998, 10), (1100, 40))
            + samples(f'{WAIT}_count{{name="raycluster",priority="-100"}}', (998, 0), (1100, 4))
            + samples(f'{WAIT}_sum{{name="raycluster",priority="-100"}}', (998, 0), (1100, 10))
            + samples('controller_runtime_reconcile_errors_total{controller="raycluster"}', (998, 1), (1100, 4))
            + samples('controller_runtime_reconcile_errors_total{controller="rayjob"}', (998, 0), (1100, 50))
            + samples(f'{WORK}_count{{name="rayjob"}}', (998, 3), (1100, 3))
            + samples("process_cpu_seconds_total", (998, 2.25), (1100, 5.375))
        )
        assert measure(record(tmp_path, samples=text), START, END) == {
            "load_start": START,
            "clusters_created": 0,
            "clusters_ready": 0,
            "raycluster": {
                "reconciles": 20.0,
                "queue_wait_seconds_mean": 2.0,
                "work_seconds_mean": 0.15,
                "errors": 3.0,
            },
            "cpu_seconds": 3.12,
        }

    def test_a_series_that_begins_in_the_load_had_counted_nothing(self, tmp_path: Path) -> None:
        """Its first value counts in full, as for the first key of a priority or the first code of a verb."""
        text = (
            samples(f'{WORK}_count{{name="raycluster"}}', (1010, 5), (1100, 8))
            + samples(f'{WORK}_sum{{name="raycluster"}}', (1010, 1), (1100, 4))
            + samples('controller_runtime_reconcile_errors_total{controller="raycluster"}', (1050, 2))
        )
        found = measure(record(tmp_path, samples=text), START, END)["raycluster"]
        assert found == {
            "reconciles": 8.0,
            "queue_wait_seconds_mean": None,
            "work_seconds_mean": 0.5,
            "errors": 2.0,
        }

    def test_a_series_that_ended_before_counts_nothing(self, tmp_path: Path) -> None:
        """As that of the operator which made what exists."""
        text = samples('process_cpu_seconds_total{instance="a"}', (990, 50.0)) + samples(
            'process_cpu_seconds_total{instance="b"}', (998, 1.0), (1100, 3.0)
        )
        assert measure(record(tmp_path, samples=text), START, END)["cpu_seconds"] == 2.0

    def test_a_restart_begins_from_nothing(self, tmp_path: Path) -> None:
        """What was counted before the operator ended and what it counted since are both there."""
        text = (
            samples(f'{WORK}_count{{name="raycluster"}}', (998, 10), (1010, 25), (1020, 4), (1030, 6), (1040, 1))
            + samples(f'{WORK}_sum{{name="raycluster"}}', (998, 1), (1010, 4), (1020, 1), (1030, 2), (1040, 0.5))
            + samples("process_cpu_seconds_total", (998, 5), (1020, 0.5), (1100, 1))
        )
        found = measure(record(tmp_path, samples=text), START, END)
        assert (found["raycluster"]["reconciles"], found["cpu_seconds"]) == (22.0, 1.0)
        assert found["raycluster"]["work_seconds_mean"] == 0.25

    def test_the_client(self, tmp_path: Path) -> None:
        """Requests with the mean of their wait in the limiter and of all their time, over verbs and hosts."""
        text = "".join(
            samples(f'{name}_count{{host="a:1",verb="{verb}"}}', (998, 0), (1100, count))
            + samples(f'{name}_sum{{host="a:1",verb="{verb}"}}', (998, 0), (1100, total))
            for name, verb, count, total in (
                (LIMITER, "GET", 30, 3.0),
                (LIMITER, "POST", 10, 5.0),
                (REQUESTS, "GET", 30, 6.0),
                (REQUESTS, "POST", 10, 14.0),
            )
        )
        assert measure(record(tmp_path, samples=text), START, END)["client"] == {
            "requests": 40.0,
            "limiter_wait_seconds_mean": 0.2,
            "request_seconds_mean": 0.5,
        }

    def test_all_three_controllers(self, tmp_path: Path) -> None:
        """Those that worked are there, under their names."""
        text = "".join(
            samples(f'{WORK}_count{{name="{name}"}}', (998, 0), (1100, count))
            for name, count in (("raycluster", 1), ("rayjob", 2), ("rayservice", 3), ("networkpolicy", 4))
        )
        found = measure(record(tmp_path, samples=text), START, END)
        reconciles = {name: one["reconciles"] for name, one in found.items() if isinstance(one, dict)}
        assert reconciles == {"raycluster": 1.0, "rayjob": 2.0, "rayservice": 3.0}

    def test_comments_and_labels_with_quotes(self, tmp_path: Path) -> None:
        """Lines without a time are none, and a label's text may hold anything."""
        text = (
            "# TYPE process_cpu_seconds counter\nprocess_cpu_seconds_total 5\n"
            'process_cpu_seconds_total{pod="a\\"} 1,b"} 1.5 998\n'
            'process_cpu_seconds_total{pod="a\\"} 1,b"} 2e0 1002.5\n'
        )
        assert measure(record(tmp_path, samples=text), START, END)["cpu_seconds"] == 0.5


def test_files_may_be_absent(tmp_path: Path) -> None:
    """Nothing was seen then."""
    found = measure(tmp_path, 1000.12345, END)
    assert found == {"load_start": 1000.123, "clusters_created": 0, "clusters_ready": 0, "cpu_seconds": 0}


@pytest.mark.parametrize("name", ["saturated-one-worker", "throttled-client", "api-server-slow"])
def test_the_shared_recordings_measure_as_they_did(shared: Path, name: str) -> None:
    """The figures that were published with recordings come out of the recordings, by this arithmetic too."""
    folder = shared / "recordings" / name
    wanted: dict[str, Any] = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["measured"]
    setup = json.loads((folder / "setup.json").read_text(encoding="utf-8"))
    found = measure(folder, wanted["load_start"], setup["end"])
    # There it was polled, from before the first creation on.
    assert 0.0 < wanted.pop("makespan_seconds") - found.pop("makespan_seconds") < 1.0
    wanted["ready_seconds_p100"] = wanted.pop("ready_seconds_max")
    for part in ("raycluster", "client"):
        assert found.pop(part) == pytest.approx(wanted.pop(part), rel=0.02, abs=1e-6)
    assert found == wanted
