import pytest

from advisor.knowledge.defaults import DEFAULT_CONCURRENCY
from advisor.knowledge.versions import (
    VERSIONS,
    ClientLimits,
    KubeRayVersion,
    controller_label,
    controller_of,
    effective_limits,
    latest,
    lookup,
)


def known(text: str) -> KubeRayVersion:
    """The record of a release that must be known."""
    version = lookup(text)
    assert version is not None
    return version


@pytest.mark.parametrize(
    ("text", "series"),
    [
        ("1.7.0", "1.7"),
        ("v1.6.1", "1.6"),
        ("ray-operator-1.7.0", "1.7"),
        ("kuberay-operator-1.5.0", "1.5"),
        ("quay.io/kuberay/operator:v1.5.1", "1.5"),
        ("localhost:5000/kuberay/operator:v1.2.2", "1.2"),
        ("10.1.2.3:5000/operator:v1.6.0@sha256:0a1b2c", "1.6"),
        ("v1.4.0-rc.0", "1.4"),
        ("1.4.2+build.7", "1.4"),
        ("V1.1.1", "1.1"),
        ("  1.0.0\n", "1.0"),
        ("1.7", "1.7"),
        ("refs/tags/v1.6.0", "1.6"),
    ],
)
def test_lookup_reads_versions_tags_charts_and_images(text: str, series: str) -> None:
    """A release is found by its version, tag, chart name or image reference."""
    assert known(text).series == series


@pytest.mark.parametrize(
    "text",
    [
        "",
        "latest",
        "nightly",
        "1",
        "1.8.0",
        "v1.8.0-rc.0",
        "2.0.0",
        "0.6.0",
        "v0.5.2",
        "1.7.0.1",
        "1.x",
        "-1.7.0",
        "sha256:0a1b2c",
        "operator@sha256:1111111",
        "10.1.2.3:5000/operator",
        "operator:feeaf72",
        "1.7.0\nx",
        "99999999999.1.0",
    ],
)
def test_lookup_assumes_nothing_about_other_texts(text: str) -> None:
    """Newer and older series, branches, digests and broken numbers give None."""
    assert lookup(text) is None


def test_a_newer_patch_is_taken_as_its_series() -> None:
    """A patch release that came out later is as the newest one known of its series."""
    assert lookup("1.7.9") is latest()


@pytest.mark.parametrize(
    ("text", "controller_runtime", "depth_labels"),
    [
        ("1.3.0", "0.17.5", ("name",)),
        ("v1.3.0-rc.1", "0.17.5", ("name",)),
        ("1.3.1", "0.19.0", ("name", "controller")),
        ("1.3.2", "0.19.0", ("name", "controller")),
        ("1.3", "0.19.0", ("name", "controller")),
    ],
)
def test_the_1_3_series_is_split_by_patch(text: str, controller_runtime: str, depth_labels: tuple[str, ...]) -> None:
    """1.3.1 moved to another controller-runtime than 1.3.0; "1.3" alone means the newest patch."""
    version = known(text)
    assert version.controller_runtime == controller_runtime
    assert version.depth_labels == depth_labels


def test_versions_are_in_order_and_the_last_is_the_latest() -> None:
    """The releases ascend without repetition, and the newest one comes last."""
    releases = [version.first_release for version in VERSIONS]
    assert releases == sorted(set(releases))
    assert latest().series == "1.7"
    assert [version.first_release_text for version in VERSIONS][3:5] == ["1.3.0", "1.3.1"]


@pytest.mark.parametrize(
    ("series", "qps", "burst"),
    [
        ("1.0", 20.0, 30),
        ("1.1", 20.0, 30),
        ("1.2", 20.0, 30),
        ("1.3", 20.0, 30),
        ("1.4", -1.0, 0),
        ("1.5", 100.0, 200),
        ("1.6", 100.0, 200),
        ("1.7", 100.0, 200),
    ],
)
def test_default_limits_by_series(series: str, qps: float, burst: int) -> None:
    """1.4 has no client limit at all, between 20/30 before it and 100/200 after it."""
    version = known(series)
    assert (version.default_qps, version.default_burst) == (qps, burst)


def test_the_priority_queue_comes_with_1_7_alone() -> None:
    """Only 1.7 orders by priority, and only there the overall retry bucket is gone."""
    assert [version.series for version in VERSIONS if version.has_priority_queue] == ["1.7"]
    assert [version.series for version in VERSIONS if not version.overall_retry_bucket] == ["1.7"]
    assert [version.series for version in VERSIONS if version.has_client_histograms] == ["1.7"]


def test_chart_values_exist_from_1_5_on() -> None:
    """The chart sets the three settings from 1.5 on, and takes a negative QPS in 1.5 alone."""
    with_values = [version.series for version in VERSIONS if version.helm_value_paths]
    assert with_values == ["1.5", "1.6", "1.7"]
    assert dict(latest().helm_value_paths)["qps"] == "kubeClient.qps"
    assert [version.series for version in VERSIONS if version.helm_accepts_negative_qps] == ["1.5"]
    assert [version.series for version in VERSIONS if version.configuration_file_carries_settings] == ["1.6", "1.7"]


def test_the_concurrency_flag_reaches_only_rayclusters_up_to_1_1() -> None:
    """RayJob and RayService follow the flag from 1.2 on; the mTLS controller never does."""
    alone = [version.series for version in VERSIONS if version.concurrency_reaches == ("raycluster",)]
    assert alone == ["1.0", "1.1"]
    assert "raycluster-mtls" not in latest().concurrency_reaches
    assert DEFAULT_CONCURRENCY == 1


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.first_release_text)
def test_each_record_is_consistent(version: KubeRayVersion) -> None:
    """What a record says in one field does not contradict its others."""
    controllers = {controller for controller, _ in version.controller_labels}
    assert set(version.concurrency_reaches) <= controllers
    assert set(version.gated_controllers) <= controllers
    assert version.has_qps_flags == bool(version.helm_value_paths)
    assert bool(version.depth_priorities) == ("priority" in version.depth_labels)
    assert version.has_priority_queue != version.overall_retry_bucket
    assert version.notes


def test_controller_labels_by_release() -> None:
    """1.0 names the RayCluster controller differently; unknown controllers keep their name."""
    assert controller_label(known("1.0.0"), "raycluster") == "raycluster-controller"
    assert controller_label(known("1.7.0"), "raycluster") == "raycluster"
    assert controller_label(known("1.0.0"), "somebody-else") == "somebody-else"
    assert controller_of("raycluster-controller") == "raycluster"
    assert controller_of("rayjob") == "rayjob"
    assert controller_of("somebody-else") == "somebody-else"


@pytest.mark.parametrize(
    ("version", "qps", "burst", "expected"),
    [
        ("1.7.0", None, None, ClientLimits(qps=100.0, burst=200)),
        ("1.7.0", 0.0, 0, ClientLimits(qps=5.0, burst=10)),
        ("1.7.0", -1.0, 500, ClientLimits(qps=-1.0, burst=0)),
        ("1.7.0", 50.0, None, ClientLimits(qps=50.0, burst=200)),
        ("1.4.0", 50.0, 60, ClientLimits(qps=-1.0, burst=0)),
        ("1.3.0", 50.0, 60, ClientLimits(qps=20.0, burst=30)),
    ],
)
def test_effective_limits(version: str, qps: float | None, burst: int | None, expected: ClientLimits) -> None:
    """0 means client-go's own default, negative means none, and releases without the flags ignore them."""
    assert effective_limits(known(version), qps=qps, burst=burst) == expected
