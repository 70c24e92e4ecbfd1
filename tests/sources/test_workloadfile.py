from pathlib import Path
from typing import Final

import pytest

from advisor.errors import InputFormatError, InputNotFoundError
from advisor.sources.workloadfile import WorkloadFile, read_workload
from advisor.twin.parameters import OperatorSettings, QueueKind, WorldParameters
from tests.support import ROOT

EXAMPLES: Final = sorted((ROOT / "advisor" / "examples" / "workloads").glob("*.yaml"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the test's file stands."""
    return tmp_path / "some.yaml"


def read(path: Path, text: str) -> WorkloadFile:
    """The file with this text."""
    path.write_text(text, encoding="utf-8")
    return read_workload(path)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_examples_can_be_read(example: Path) -> None:
    """Each is a workload with something in it."""
    workload = read_workload(example).workload
    assert workload.arrivals
    assert len(EXAMPLES) >= 4


def test_an_almost_empty_file_means_the_defaults(path: Path) -> None:
    """Settings and world are those of the model where nothing is said."""
    made = read(path, "duration_seconds: 10\n")
    assert made.settings == OperatorSettings()
    assert made.seed == 1
    usual = WorldParameters()
    assert made.world.request_seconds["POST"] + made.world.server_work_seconds == pytest.approx(0.02)
    assert (made.world.watch_lag_seconds, made.world.faults) == (usual.watch_lag_seconds, usual.faults)
    assert made.workload.arrivals == ()


def test_settings_come_through(path: Path) -> None:
    """A negative QPS is no limiter; the classic queue brings the older way of events."""
    made = read(path, "duration_seconds: 1\noperator: {concurrency: 8, qps: -1, queue: classic, cpu_limit_cores: 2}\n")
    settings = made.settings
    assert (settings.concurrency, settings.qps, settings.cpu_limit_cores) == (8, -1.0, 2.0)
    assert (settings.queue, settings.events_as_series) == (QueueKind.CLASSIC, False)


def test_the_servers_work_is_part_of_a_request(path: Path) -> None:
    """What is told is the whole time of a request; each verb may have its own."""
    text = "world: {request_seconds: 0.03, request_seconds_by_verb: {PUT: 0.05}, server_requests_per_second: 100}\n"
    world = read(path, f"duration_seconds: 1\n{text}").world
    assert world.server_work_seconds == world.pod_work_seconds == 0.01
    assert world.request_seconds == pytest.approx({"POST": 0.02, "PUT": 0.04, "PATCH": 0.02, "DELETE": 0.02})


@pytest.mark.parametrize(
    ("pace", "times"),
    [
        ("", [0.0, 0.0, 0.0, 0.0]),
        ("from_seconds: 5", [5.0, 5.0, 5.0, 5.0]),
        ("from_seconds: 5, per_second: 2", [5.0, 5.5, 6.0, 6.5]),
        ("over_seconds: 8", [0.0, 2.0, 4.0, 6.0]),
    ],
)
def test_arrivals_keep_their_pace(pace: str, times: list[float], path: Path) -> None:
    """At once, so many a second, or spread over a time."""
    made = read(path, f"clusters:\n  new: {{count: 4, workers: 3, groups: 2, namespaces: [a, b], {pace}}}\n")
    assert [one.at_seconds for one in made.workload.arrivals] == times
    assert [one.key for one in made.workload.arrivals] == ["a/new-0", "b/new-1", "a/new-2", "b/new-3"]
    assert {(one.workers, one.groups, one.kind) for one in made.workload.arrivals} == {(3, 2, "RayCluster")}


@pytest.mark.parametrize("pace", ["per_second: 2", "over_seconds: 100"])
def test_chance_is_the_seeds(pace: str, path: Path) -> None:
    """The same seed gives the same times, another one others; about as many as at an even pace."""
    text = f"clusters: {{new: {{count: 200, spacing: random, {pace}}}}}\n"
    first, again, other = (read(path, f"seed: {seed}\n{text}").workload.arrivals for seed in (1, 1, 2))
    assert first == again != other
    assert first[0].at_seconds >= 0.0
    assert 60.0 < first[-1].at_seconds < 140.0
    assert [one.at_seconds for one in first] == sorted(one.at_seconds for one in first)


def test_kinds_have_their_own_sections(path: Path) -> None:
    """Jobs run for a time and may be shut down; what exists may be of any kind; all arrivals are in order of time."""
    made = read(
        path,
        "existing: {old: {kind: RayJob, count: 1, run_seconds: 9}}\n"
        "services: {serve: {count: 1, from_seconds: 3}}\n"
        "jobs: {job: {count: 1, from_seconds: 2, run_seconds: 7, makes_job: true, is_shut_down: true}}\n"
        "clusters: {new: {count: 1, from_seconds: 4}}\n",
    )
    assert [(one.kind, one.at_seconds) for one in made.workload.arrivals] == [
        ("RayJob", 2.0),
        ("RayService", 3.0),
        ("RayCluster", 4.0),
    ]
    job, old = made.workload.arrivals[0], made.workload.existing[0]
    assert (job.run_seconds, job.makes_job, job.is_shut_down) == (7.0, True, True)
    assert (old.kind, old.run_seconds) == ("RayJob", 9.0)


def test_events_name_objects(path: Path) -> None:
    """The first so many of a name, at their pace; deletions know the kind."""
    made = read(
        path,
        "existing: {old: {count: 3}}\njobs: {job: {count: 2, from_seconds: 1}}\n"
        "scale: [{of: old, count: 2, workers: 9, from_seconds: 5, per_second: 1}]\n"
        "delete: [{of: job, from_seconds: 9}]\n"
        "writers: [{of: old, writes_per_second: 2, to_seconds: 4}]\n"
        "restarts: [{at_seconds: 3}]\n",
    )
    workload = made.workload
    assert [(one.at_seconds, one.key, one.workers) for one in workload.scalings] == [
        (5.0, "default/old-0", 9),
        (6.0, "default/old-1", 9),
    ]
    assert [(one.key, one.kind) for one in workload.deletions] == [
        ("default/job-0", "RayJob"),
        ("default/job-1", "RayJob"),
    ]
    assert workload.writers[0].keys == ("default/old-0", "default/old-1", "default/old-2")
    assert workload.restarts[0].down_seconds == 5.0
    assert workload.limit_seconds > 7200.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "holds no mapping"),
        ("seed: 1\nseed: 2", "the key 'seed' stands twice, again in line 2"),
        ("existing: &a {}\nclusters: *a", "refers with *a to another place, in line 2"),
        ("a: [", "is not YAML"),
        ("clusters: {new: {count: 1}, new: {count: 2}}", "the key 'new' stands twice"),
        ("schema: kuberay-advisor/workload/v2", "`$.schema`"),
        ("speed: 3", "there is no key `speed`"),
        ("clusters: {new: {workers: 3}}", "it lacks the required field `count` - at `$.clusters[...]`"),
        ("clusters: {New: {count: 3}}", "`key` in `$.clusters`"),
        ("clusters: {new: {count: two}}", "Expected `int`, got `str` - at `$.clusters[...].count`"),
        ("clusters: {new: {count: 1, namespaces: []}}", "`$.clusters[...].namespaces`"),
        ("clusters: {new: {count: 1, kind: RayJob}}", "there is no key `kind`"),
        ("operator: {qps: off}", "`$.operator.qps`"),
        (
            "duration_seconds: 1\noperator: {qps: 0}",
            "0 lets nothing through; below 0 there is no limiter - at `$.operator.qps`",
        ),
        ("operator: {concurrency: 0}", "`$.operator.concurrency`"),
        ("duration_seconds: .inf", "is no figure; leave out what is unknown - at `$.duration_seconds`"),
        (
            "operator: {concurrency: 1}",
            "is needed where nothing is created, as the run would have no end - at `$.duration_seconds`",
        ),
        ("clusters: {new: {count: 50001}}", "`$.clusters[...].count`"),
        (
            "clusters: {a: {count: 30000}, b: {count: 30000}}",
            "more than 50,000 objects or 500,000 Pods - at `$.clusters.b.count`",
        ),
        ("clusters: {a: {count: 100, workers: 9000}}", "- at `$.clusters.a.count`"),
        (
            "duration_seconds: 9\ncron_jobs: {a: {every_seconds: 1}}",
            "nobody runs these without raycronjob in $.operator.gates - at `$.cron_jobs.a`",
        ),
        (
            "duration_seconds: 9\noperator: {gates: [raycronjob]}\ncron_jobs: {a: {every_seconds: 0.5}}",
            "`$.cron_jobs[...].every_seconds`",
        ),
        (
            "duration_seconds: 99999\noperator: {gates: [raycronjob]}\ncron_jobs: {a: {every_seconds: 1}}",
            "more than 50,000 RayJobs or 500,000 Pods - at `$.cron_jobs.a.every_seconds`",
        ),
        (
            "operator: {gates: [raycronjob]}\ncron_jobs: {a: {every_seconds: 1}}\nscale: [{of: a, workers: 1}]",
            "'a' names no objects of this file - at `$.scale[0].of`",
        ),
        (
            "existing: {a: {count: 1}}\noperator: {gates: [raycronjob]}\ncron_jobs: {a: {every_seconds: 1}}",
            "the name stands for other objects already - at `$.cron_jobs.a`",
        ),
        (
            "duration_seconds: 9\noperator: {gates: [networkpolicy], queue: classic}",
            "networkpolicy came with KubeRay 1.7, whose queue is priority - at `$.operator.gates`",
        ),
        ("operator: {gates: [rayjob]}", "`$.operator.gates[0]`"),
        (
            "existing: {a: {count: 1}}\njobs: {a: {count: 1}}",
            "the name stands for other objects already - at `$.jobs.a`",
        ),
        (
            "existing: {a: {count: 1, run_seconds: 3}}",
            "belongs to RayJobs, not to a RayCluster - at `$.existing.a.run_seconds`",
        ),
        (
            "clusters: {a: {count: 1, per_second: 1, over_seconds: 1}}",
            "exclude each other - at `$.clusters.a.over_seconds`",
        ),
        (
            "clusters: {a: {count: 1}}\nscale: [{of: b, workers: 1}]",
            "'b' names no objects of this file - at `$.scale[0].of`",
        ),
        ("clusters: {a: {count: 1}}\ndelete: [{of: a, count: 2}]", "'a' has 1 objects - at `$.delete[0].count`"),
        (
            "jobs: {a: {count: 1}}\nscale: [{of: a, workers: 1}]",
            "names a RayJob; only RayClusters can be - at `$.scale[0].of`",
        ),
        (
            "services: {a: {count: 1}}\nwriters: [{of: a, writes_per_second: 1, to_seconds: 1}]",
            "- at `$.writers[0].of`",
        ),
        (
            "clusters: {a: {count: 1, from_seconds: 9}}\nscale: [{of: a, workers: 1, from_seconds: 3}]",
            "default/a-0 is created at 9 s, after 3 s - at `$.scale[0].from_seconds`",
        ),
        (
            "clusters: {a: {count: 1}}\ndelete: [{of: a}, {of: a}]",
            "default/a-0 is deleted already - at `$.delete[1].of`",
        ),
        (
            "clusters: {a: {count: 1}}\nwriters: [{of: a, writes_per_second: 1, from_seconds: 5, to_seconds: 5}]",
            "not after from_seconds (5) - at `$.writers[0].to_seconds`",
        ),
        (
            "clusters: {a: {count: 1}}\nwriters: [{of: a, writes_per_second: 1000, to_seconds: 2000}]",
            "more than 1,000,000 writes in all - at `$.writers[0].writes_per_second`",
        ),
        (
            "duration_seconds: 1\nfaults: {from_seconds: 5, to_seconds: 3}",
            "not after from_seconds (5) - at `$.faults.to_seconds`",
        ),
        (
            "duration_seconds: 1\nworld: {request_spread: [1, 3]}",
            "the factors have a mean of 2, not 1 - at `$.world.request_spread`",
        ),
        (
            "duration_seconds: 1\nworld: {server_requests_per_second: 10}",
            "0.02 s is no more than the server's own work on a request (0.1 s) - at `$.world.request_seconds`",
        ),
        (
            "duration_seconds: 1\nworld: {request_seconds_by_verb: {PUT: 0.001}}",
            "- at `$.world.request_seconds_by_verb.PUT`",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(text: str, message: str, path: Path) -> None:
    """The error names the file and the path in it."""
    with pytest.raises(InputFormatError) as error:
        read(path, text)
    assert message in error.value.message
    assert error.value.where == str(path)


def test_a_file_that_is_none(path: Path, tmp_path: Path) -> None:
    """One that is absent, a folder, and one that is far too long."""
    for absent in (path, tmp_path):
        with pytest.raises(InputNotFoundError):
            read_workload(absent)
    with pytest.raises(InputFormatError, match="is longer than 256 KiB, which no workload file is"):
        read(path, "# " + "x" * 300_000)
