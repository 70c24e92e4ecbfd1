import pytest

from advisor.knowledge.programs import (
    EXTERNAL_CALLERS,
    FIXED_WORKERS,
    PROGRAMS,
    ReconcileProgram,
    base_load_by_controller,
    base_load_per_second,
    first_pass_requests,
    program_of,
)
from advisor.knowledge.versions import latest, lookup


def known(controller: str) -> ReconcileProgram:
    """The program of a controller that must be known."""
    program = program_of(controller)
    assert program is not None
    return program


@pytest.mark.parametrize(
    ("rayclusters", "active_rayjobs", "rayservices", "expected"),
    [(0, 1000, 0, 333.3), (0, 0, 500, 250.0), (10_000, 0, 0, 33.3), (10_000, 1000, 500, 616.7), (0, 0, 0, 0.0)],
)
def test_base_load(rayclusters: int, active_rayjobs: int, rayservices: int, expected: float) -> None:
    """Timers alone cause objects divided by their period."""
    load = base_load_per_second(rayclusters=rayclusters, active_rayjobs=active_rayjobs, rayservices=rayservices)
    assert load == pytest.approx(expected, abs=0.05)


def test_base_load_by_controller_adds_up() -> None:
    """Each controller has its own share, and a longer resync lowers that of RayClusters alone."""
    load = base_load_by_controller(rayclusters=600, active_rayjobs=3, rayservices=2, resync_seconds=600.0)
    assert load == {"raycluster": 1.0, "rayjob": 1.0, "rayservice": 1.0}
    total = base_load_per_second(rayclusters=600, active_rayjobs=3, rayservices=2, resync_seconds=600.0)
    assert total == pytest.approx(3.0)


@pytest.mark.parametrize("counts", [(-1, 0, 0), (0, -1, 0), (0, 0, -1)])
def test_negative_counts_are_refused(counts: tuple[int, int, int]) -> None:
    """A negative number of objects is a mistake of the caller."""
    rayclusters, active_rayjobs, rayservices = counts
    with pytest.raises(ValueError, match="negative"):
        base_load_per_second(rayclusters=rayclusters, active_rayjobs=active_rayjobs, rayservices=rayservices)


@pytest.mark.parametrize("resync_seconds", [0.0, -300.0, float("nan")])
def test_a_resync_that_is_no_period_is_refused(resync_seconds: float) -> None:
    """The resync must be a positive time."""
    with pytest.raises(ValueError, match="resync_seconds"):
        base_load_per_second(rayclusters=1, active_rayjobs=0, rayservices=0, resync_seconds=resync_seconds)


def test_the_first_pass_grows_with_the_worker_pods() -> None:
    """A head Service, a head Pod, each worker Pod and a status; events apart, as they hold no worker."""
    requests = first_pass_requests(1000)
    assert requests.by_bucket == (("Service", 1), ("Pod", 1001), ("RayCluster", 1))
    assert requests.held == 1003
    assert requests.event_writes == 1002
    assert requests.in_bucket("Pod") == 1001
    assert requests.in_bucket("Event") == 0


def test_a_cluster_without_workers_still_has_a_head() -> None:
    """Without worker Pods the first pass makes three requests."""
    assert first_pass_requests(0).held == 3
    with pytest.raises(ValueError, match="worker_pods"):
        first_pass_requests(-1)


def test_timers_of_the_controllers() -> None:
    """An idle RayCluster comes back after 300 s, 2 s after a status write; jobs and services poll."""
    raycluster = known("raycluster")
    assert (raycluster.requeue_seconds, raycluster.settle_requeue_seconds) == (300.0, 2.0)
    assert known("rayjob").requeue_seconds == 3.0
    assert known("rayservice").requeue_seconds == 2.0
    assert known("networkpolicy").requeue_seconds is None


def test_only_jobs_and_services_call_ray_heads() -> None:
    """Workers of the others wait for nothing but the API server."""
    assert sorted(EXTERNAL_CALLERS) == ["rayjob", "rayservice"]
    assert not known("raycluster").makes_external_calls
    assert [call.target for call in known("rayservice").polling_calls] == ["Serve proxy health", "Serve details"]
    assert [call.method for call in known("rayjob").polling_calls] == ["GET"]


def test_unknown_controllers_have_no_program() -> None:
    """Nothing is assumed about somebody else's controller."""
    assert program_of("cronjobset") is None


def test_programs_fit_the_newest_release() -> None:
    """Each controller of the newest release has a program, gated ones name their gate, fixed ones ignore the flag."""
    version = latest()
    assert [program.controller for program in PROGRAMS] == [label for _, label in version.controller_labels]
    gated = {program.controller for program in PROGRAMS if program.feature_gate}
    assert gated == set(version.gated_controllers)
    assert not set(FIXED_WORKERS) & set(version.concurrency_reaches)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.controller)
def test_requests_are_sound(program: ReconcileProgram) -> None:
    """Each request costs something, passes through the bucket of its kind, and only events hold no worker."""
    assert lookup(program.since) is not None
    for request in program.requests:
        assert request.requests(1) > 0
        assert request.bucket == request.kind.removesuffix("/status")
        assert request.holds_worker == (request.kind != "Event")
        assert request in program.requests_in(request.phase)
