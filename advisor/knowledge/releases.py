"""What each KubeRay release exposes, defaults to and accepts (research: kuberay 1.1-1.6, controller-runtime 0).

Each record states what changed against the one before it, so that a new release is one more ``replace``. The 1.3 series
has two records: 1.3.1 moved to another controller-runtime than 1.3.0 had.
"""

from typing import Final, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

__all__ = ["RELEASES", "KubeRayVersion", "QueueKind", "Release"]

QueueKind: TypeAlias = Literal["classic", "priority"]
Release: TypeAlias = tuple[int, int, int]


class KubeRayVersion(msgspec.Struct, frozen=True, kw_only=True):
    """One KubeRay series, or the part of a series from ``first_release`` on.

    Args:
        series: major and minor number, as "1.7".
        first_release: the first release that this record is about.
        released: date of that release, as far as it is known.
        controller_runtime: version of controller-runtime built in.
        client_go: version of client-go built in.
        queue: the queue every controller uses.
        default_qps: client limit in force when nothing is set; below zero: the client does not limit.
        default_burst: burst in force when nothing is set; 0 where there is no client limit.
        has_qps_flags: whether ``--qps`` and ``--burst`` exist.
        has_client_histograms: whether request duration and limiter wait of the client are exposed.
        depth_labels: names of the labels of ``workqueue_depth``.
        depth_priorities: values its label ``priority`` takes; empty where the label does not exist.
        queue_histogram_top_seconds: highest finite bucket bound of the two queue histograms.
        controller_labels: pairs of controller and the value of its ``controller`` label.
        gated_controllers: those of them that run only behind a feature gate.
        concurrency_reaches: the controllers that ``--reconcile-concurrency`` reaches.
        overall_retry_bucket: whether retries of a controller share one bucket of 10/s with a burst of 100.
        has_configuration_file: whether ``--config`` exists.
        configuration_file_carries_settings: whether the chart's configuration file carries concurrency, QPS and Burst.
        helm_value_paths: pairs of setting and its path in the chart's values; a missing setting has no value.
        helm_resources_path: path of the container's resources in the chart's values.
        helm_accepts_negative_qps: whether the chart lets a negative QPS through.
        scale_expectations: whether created and deleted Pods are remembered between reconciles.
        suspended_rayjobs_requeued: whether a suspended RayJob still comes back every 3 s.
        caches_all_pods: whether the informer holds every Pod of the watched namespaces, not only Ray's.
        caches_all_secrets: whether the informer holds every Secret of the watched namespaces.
        recovers_panics: whether a panic becomes an ordinary error instead of ending the process.
        dashboard_timeout_seconds: time-out of a direct call to a Ray dashboard.
        has_dashboard_proxy: whether ``--use-kubernetes-proxy`` exists.
        dashboard_proxy_timeout_seconds: time-out of a call through the API server's proxy; None: there is none.
        notes: what else to know when reading this release's figures.
    """

    series: str
    first_release: Release
    released: str
    controller_runtime: str
    client_go: str
    queue: QueueKind
    default_qps: float
    default_burst: int
    has_qps_flags: bool
    has_client_histograms: bool
    depth_labels: tuple[str, ...]
    depth_priorities: tuple[str, ...]
    queue_histogram_top_seconds: float
    controller_labels: tuple[tuple[str, str], ...]
    gated_controllers: tuple[str, ...]
    concurrency_reaches: tuple[str, ...]
    overall_retry_bucket: bool
    has_configuration_file: bool
    configuration_file_carries_settings: bool
    helm_value_paths: tuple[tuple[str, str], ...]
    helm_resources_path: str
    helm_accepts_negative_qps: bool
    scale_expectations: bool
    suspended_rayjobs_requeued: bool
    caches_all_pods: bool
    caches_all_secrets: bool
    recovers_panics: bool
    dashboard_timeout_seconds: float
    has_dashboard_proxy: bool
    dashboard_proxy_timeout_seconds: float | None
    notes: tuple[str, ...]

    @property
    def first_release_text(self) -> str:
        """The first release that this record is about, as "1.3.1"."""
        return ".".join(str(part) for part in self.first_release)

    @property
    def has_priority_queue(self) -> bool:
        """Whether ready keys are ordered by priority."""
        return self.queue == "priority"


_CORE_LABELS: Final = (("raycluster", "raycluster"), ("rayjob", "rayjob"), ("rayservice", "rayservice"))

_V1_0: Final = KubeRayVersion(
    series="1.0",
    first_release=(1, 0, 0),
    released="2023-11-05",
    controller_runtime="0.11.1",
    client_go="0.23.0",
    queue="classic",
    default_qps=20.0,
    default_burst=30,
    has_qps_flags=False,
    has_client_histograms=False,
    depth_labels=("name",),
    depth_priorities=(),
    queue_histogram_top_seconds=10.0,
    controller_labels=(
        ("raycluster", "raycluster-controller"),
        ("rayjob", "rayjob"),
        ("rayservice", "rayservice"),
    ),
    gated_controllers=(),
    concurrency_reaches=("raycluster",),
    overall_retry_bucket=True,
    has_configuration_file=False,
    configuration_file_carries_settings=False,
    helm_value_paths=(),
    helm_resources_path="resources",
    helm_accepts_negative_qps=False,
    scale_expectations=False,
    suspended_rayjobs_requeued=True,
    caches_all_pods=True,
    caches_all_secrets=False,
    recovers_panics=False,
    dashboard_timeout_seconds=120.0,
    has_dashboard_proxy=False,
    dashboard_proxy_timeout_seconds=None,
    notes=(
        "Logs are console text of zap's development mode, without reconcileID; RayCluster lines lack the namespace.",
        "A call to a dead dashboard holds its worker for up to 120 s.",
        "--reconcile-concurrency reaches the RayCluster controller alone; RayJob and RayService keep one worker.",
    ),
)

_V1_1: Final = replace(
    _V1_0,
    series="1.1",
    first_release=(1, 1, 0),
    released="2024-03-21",
    controller_runtime="0.16.3",
    client_go="0.28.4",
    controller_labels=_CORE_LABELS,
    has_configuration_file=True,
    dashboard_timeout_seconds=2.0,
    notes=(
        "--reconcile-concurrency reaches the RayCluster controller alone; RayJob and RayService keep one worker.",
        "Logs are JSON with reconcileID from this series on; standard output is sampled.",
    ),
)

_V1_2: Final = replace(
    _V1_1,
    series="1.2",
    first_release=(1, 2, 0),
    released="2024-08-29",
    controller_runtime="0.17.5",
    client_go="0.29.6",
    queue_histogram_top_seconds=1000.0,
    concurrency_reaches=("raycluster", "rayjob", "rayservice"),
    has_dashboard_proxy=True,
    notes=(
        "--reconcile-concurrency reaches RayJob and RayService from this series on.",
        "Dashboard calls through the API server's proxy have no time-out: a hung head holds a worker without limit.",
    ),
)

_V1_3_0: Final = replace(
    _V1_2,
    series="1.3",
    first_release=(1, 3, 0),
    released="2025-02-18",
    scale_expectations=True,
    notes=(
        "Same controller-runtime as 1.2: panics are not counted and queue series carry no controller label.",
        "Lines that client-go writes are JSON from this release on.",
    ),
)

_V1_3_1: Final = replace(
    _V1_3_0,
    first_release=(1, 3, 1),
    released="2025-03",
    controller_runtime="0.19.0",
    client_go="0.32.1",
    depth_labels=("name", "controller"),
    recovers_panics=True,
    notes=("Queue series carry a controller label, and panics are recovered and counted, from this release on.",),
)

_V1_4: Final = replace(
    _V1_3_1,
    series="1.4",
    first_release=(1, 4, 0),
    released="2025-06-20",
    controller_runtime="0.21.0",
    client_go="0.33.1",
    default_qps=-1.0,
    default_burst=0,
    depth_labels=("name", "controller", "priority"),
    depth_priorities=("",),
    notes=(
        "The client does not limit itself at all: controller-runtime switched its default off, KubeRay set none yet.",
        "The label priority of the depth exists and is always empty; a store that drops empty labels hides it.",
        "kuberay_* replaces ray_operator_clusters_* and needs --enable-metrics, which the chart turns on.",
        "The throttling line is structured and carries key and reconcileID from this series on.",
    ),
)

_V1_5: Final = replace(
    _V1_4,
    series="1.5",
    first_release=(1, 5, 0),
    released="2025-11-04",
    controller_runtime="0.22.1",
    client_go="0.34.1",
    default_qps=100.0,
    default_burst=200,
    has_qps_flags=True,
    helm_value_paths=(
        ("concurrency", "reconcileConcurrency"),
        ("qps", "kubeClient.qps"),
        ("burst", "kubeClient.burst"),
    ),
    helm_accepts_negative_qps=True,
    notes=(
        "configuration.enabled: the operator ignores the flags, the chart's file has no settings, and 1/100/200 hold.",
        "kuberay_* series carry a uid label, and duration gauges of deleted objects are removed, from this series on.",
    ),
)

_V1_6: Final = replace(
    _V1_5,
    series="1.6",
    first_release=(1, 6, 0),
    released="2026-03-18",
    controller_runtime="0.22.4",
    client_go="0.35.0",
    controller_labels=(*_CORE_LABELS, ("raycronjob", "raycronjob")),
    gated_controllers=("raycronjob",),
    concurrency_reaches=("raycluster", "rayjob", "rayservice", "raycronjob"),
    configuration_file_carries_settings=True,
    helm_accepts_negative_qps=False,
    suspended_rayjobs_requeued=False,
    caches_all_secrets=True,
    notes=(
        "The chart refuses a negative QPS from this series on; the flag itself still takes one.",
        "Secrets are cached from this series on: check memory again after the upgrade.",
        "The gate AsyncJobInfoQuery exists in this series alone and is off by default.",
        "The chart has a value for replicas from this series on; more replicas are standbys, not throughput.",
    ),
)

_V1_7: Final = replace(
    _V1_6,
    series="1.7",
    first_release=(1, 7, 0),
    released="2026-08-20",
    controller_runtime="0.24.1",
    client_go="0.36.0",
    queue="priority",
    has_client_histograms=True,
    depth_priorities=("0", "-100"),
    controller_labels=(
        *_CORE_LABELS,
        ("raycronjob", "raycronjob"),
        ("networkpolicy", "networkpolicy"),
        ("raycluster-mtls", "raycluster-mtls"),
    ),
    gated_controllers=("raycronjob", "networkpolicy", "raycluster-mtls"),
    concurrency_reaches=("raycluster", "rayjob", "rayservice", "raycronjob", "networkpolicy"),
    overall_retry_bucket=False,
    caches_all_pods=False,
    dashboard_proxy_timeout_seconds=10.0,
    notes=(
        "First release with the priority queue; sum the depth over priority before comparing it with older releases.",
        "Timers merge with events and the overall retry bucket is gone: fewer reconciles, faster retries than in 1.6.",
        "raycluster-mtls always runs with one worker.",
        "A stop may take the whole grace period of 30 s (deadlock in the queue's shutdown).",
    ),
)

RELEASES: Final = (_V1_0, _V1_1, _V1_2, _V1_3_0, _V1_3_1, _V1_4, _V1_5, _V1_6, _V1_7)
