from collections.abc import Collection

import pytest

from advisor.knowledge.versions import VERSIONS, infer

CORE = ("raycluster", "rayjob", "rayservice")
BASE = (
    "controller_runtime_reconcile_total",
    "rest_client_requests_total",
    "workqueue_depth",
    "go_goroutines",
)
PANICS = "controller_runtime_reconcile_panics_total"
TIMEOUTS = "controller_runtime_reconcile_timeouts_total"
LATENCIES = "go_sched_latencies_seconds_bucket"
CONVERSION = "controller_runtime_conversion_webhook_panics_total"
DURATION = "rest_client_request_duration_seconds_count"
LIMITER = "rest_client_rate_limiter_duration_seconds_sum"


def inferred(
    series: Collection[str] = (),
    priorities: Collection[str] | None = None,
    labelled: bool | None = None,
    controllers: Collection[str] = CORE,
) -> list[str]:
    """First releases of what is compatible."""
    versions = infer(
        series=series, depth_priorities=priorities, queue_has_controller_label=labelled, controllers=controllers
    )
    return [version.first_release_text for version in versions]


def test_1_7_by_its_own_features() -> None:
    """Numbered priorities, time-outs and client histograms are 1.7."""
    series = (*BASE, PANICS, TIMEOUTS, LATENCIES, CONVERSION, DURATION, LIMITER)
    assert inferred(series, {"0", "-100"}, labelled=True) == ["1.7.0"]


@pytest.mark.parametrize(
    ("series", "priorities", "controllers"),
    [
        ((TIMEOUTS,), None, ()),
        ((LIMITER,), None, ()),
        ((), {"0"}, ()),
        ((), {"exceeded_cardinality_limit"}, ()),
        ((), None, {"raycluster-mtls", "raycluster"}),
    ],
)
def test_one_feature_of_1_7_is_enough(
    series: Collection[str], priorities: Collection[str] | None, controllers: Collection[str]
) -> None:
    """Each feature that 1.7 brought proves it alone."""
    assert inferred(series, priorities, controllers=controllers) == ["1.7.0"]


def test_a_limiter_that_is_off_does_not_exclude_1_7() -> None:
    """Without the limiter there are no samples of its wait, and 1.7 stays."""
    series = (*BASE, PANICS, TIMEOUTS, LATENCIES, CONVERSION, DURATION)
    assert inferred(series, {"0"}, labelled=True) == ["1.7.0"]


@pytest.mark.parametrize("priorities", [{""}, set()], ids=["scraped", "from a store that drops empty labels"])
def test_1_6_is_told_from_1_7_but_not_from_1_5(priorities: Collection[str]) -> None:
    """1.5 and 1.6 expose the same; an empty priority label may have been dropped on the way."""
    series = (*BASE, PANICS, LATENCIES, CONVERSION)
    assert inferred(series, priorities, labelled=True) == ["1.5.0", "1.6.0"]


def test_1_6_by_its_gated_controller() -> None:
    """RayCronJob exists from 1.6 on, and time-outs that are absent exclude 1.7."""
    series = (*BASE, PANICS, LATENCIES, CONVERSION)
    assert inferred(series, {""}, labelled=True, controllers=(*CORE, "raycronjob")) == ["1.6.0"]


def test_1_3_1_by_what_it_has_and_lacks() -> None:
    """Panics and the controller label are there, the full Go runtime set is not."""
    assert inferred((*BASE, PANICS), set(), labelled=True) == ["1.3.1"]


def test_1_3_0_lacks_the_controller_label() -> None:
    """1.3.0 looks like 1.1 and 1.2: no panics, no controller label."""
    assert inferred(BASE, set(), labelled=False) == ["1.1.0", "1.2.0", "1.3.0"]


def test_1_0_by_its_controller_label() -> None:
    """Only 1.0 calls the RayCluster controller raycluster-controller."""
    assert inferred(BASE, set(), labelled=False, controllers=("raycluster-controller", "rayjob")) == ["1.0.0"]


def test_the_old_object_counters_exclude_newer_releases() -> None:
    """ray_operator_clusters_* is gone in 1.4, kuberay_* begins there."""
    assert inferred(("ray_operator_clusters_created_total",)) == ["1.1.0", "1.2.0", "1.3.0", "1.3.1"]
    assert inferred(("kuberay_cluster_info",))[0] == "1.4.0"


def test_nothing_known_excludes_nothing() -> None:
    """Without any feature all releases are compatible, and foreign series say nothing."""
    assert infer() == VERSIONS
    assert infer(series=("somebody_elses_series", "up")) == VERSIONS


def test_a_standby_replica_is_judged_by_what_it_has() -> None:
    """No queue and no controller series: the client's histograms still tell 1.7."""
    assert inferred(("leader_election_master_status", "rest_client_requests_total", DURATION), controllers=()) == [
        "1.7.0"
    ]


def test_absences_give_way_to_presence() -> None:
    """Numbered priorities prove 1.7 even where a store dropped the time-outs that 1.7 exposes."""
    assert inferred(BASE, {"0"}, labelled=True) == ["1.7.0"]


def test_another_operator_is_no_kuberay_release() -> None:
    """Controllers without a single one of KubeRay's are compatible with no release."""
    assert inferred(BASE, {"0"}, labelled=True, controllers=("cronjobset",)) == []


def test_controllers_beside_kuberays_are_disregarded() -> None:
    """Another component's controllers in the same job do not disturb."""
    assert inferred((TIMEOUTS,), controllers=("advisor-raycluster", "raycluster")) == ["1.7.0"]


def test_a_window_across_an_upgrade_fits_no_release() -> None:
    """Empty and numbered priorities together come from two releases."""
    assert inferred((), {"", "0"}) == []
