"""KubeRay's own series about its objects (research: kuberay 2.4)."""

from typing import Final

from advisor.knowledge.metric import Metric

__all__ = ["OBJECT_METRICS"]

_OBJECT: Final = ("name", "namespace", "uid")

_CURRENT: Final[tuple[Metric, ...]] = (
    Metric(
        name="kuberay_cluster_info",
        kind="gauge",
        labels=(*_OBJECT, "owner_kind"),
        unit="objects",
        family="objects",
        exposed_by="kuberay",
        meaning="1 for each RayCluster; owner_kind is None, RayJob or RayService.",
        not_meaning="Absence is not zero clusters: the series need --enable-metrics, off unless the chart sets it.",
        note="Made by listing every object at each scrape and probe. Label uid since 1.5.",
        since="1.4",
    ),
    Metric(
        name="kuberay_cluster_condition_provisioned",
        kind="gauge",
        labels=(*_OBJECT, "condition"),
        unit="objects",
        family="objects",
        exposed_by="kuberay",
        meaning="1 for each RayCluster, with condition true or false: whether all its Pods were ready once.",
        not_meaning="The value is always 1; the answer is in the label. true is not ready now.",
        since="1.4",
    ),
    Metric(
        name="kuberay_cluster_provisioned_duration_seconds",
        kind="gauge",
        labels=_OBJECT,
        unit="seconds",
        family="objects",
        exposed_by="kuberay",
        meaning="Time from the creation of a RayCluster until all its Pods were ready for the first time.",
        not_meaning="Not operator time: scheduling, images and start of Ray are in it. Clusters not yet ready are "
        "missing.",
        note="Stays after deletion up to 1.4.",
        since="1.4",
    ),
    Metric(
        name="kuberay_job_info",
        kind="gauge",
        labels=_OBJECT,
        unit="objects",
        family="objects",
        exposed_by="kuberay",
        meaning="1 for each RayJob.",
        not_meaning="Not the number of RayJobs that poll: finished ones are counted.",
        since="1.4",
    ),
    Metric(
        name="kuberay_job_deployment_status",
        kind="gauge",
        labels=(*_OBJECT, "deployment_status"),
        unit="objects",
        family="objects",
        exposed_by="kuberay",
        meaning="1 for each RayJob, with its deployment status as a label; Initializing and Running poll every 3 s.",
        not_meaning="The value is always 1; the answer is in the label.",
        since="1.4",
    ),
    Metric(
        name="kuberay_job_execution_duration_seconds",
        kind="gauge",
        labels=(*_OBJECT, "job_deployment_status", "retry_count"),
        unit="seconds",
        family="objects",
        exposed_by="kuberay",
        meaning="Time from Initializing until the RayJob ended or is retried.",
        not_meaning="Not operator time: it is mostly the job's own run.",
        since="1.4",
    ),
    Metric(
        name="kuberay_service_info",
        kind="gauge",
        labels=_OBJECT,
        unit="objects",
        family="objects",
        exposed_by="kuberay",
        meaning="1 for each RayService; each is reconciled every 2 s.",
        not_meaning="Not the number of RayClusters behind them: there are two during an upgrade.",
        since="1.4",
    ),
    Metric(
        name="kuberay_service_condition_ready",
        kind="gauge",
        labels=(*_OBJECT, "condition"),
        unit="objects",
        family="objects",
        exposed_by="kuberay",
        meaning="1 for each RayService, with condition true or false: whether it can serve.",
        not_meaning="The value is always 1; the answer is in the label.",
        since="1.4",
    ),
    Metric(
        name="kuberay_service_condition_upgrade_in_progress",
        kind="gauge",
        labels=(*_OBJECT, "condition"),
        unit="objects",
        family="objects",
        exposed_by="kuberay",
        meaning="1 for each RayService, with condition true or false: whether a second RayCluster is being prepared.",
        not_meaning="The value is always 1; the answer is in the label.",
        since="1.4",
    ),
)

_OLD: Final[tuple[Metric, ...]] = tuple(
    Metric(
        name=f"ray_operator_clusters_{event}_total",
        kind="counter",
        labels=("namespace",),
        unit=unit,
        family="objects",
        exposed_by="kuberay",
        meaning=meaning,
        not_meaning=not_meaning,
        until="1.4",
    )
    for event, unit, meaning, not_meaning in (
        ("created", "head Pods", "Attempts to create a head Pod.", "Not RayClusters: each retry counts again."),
        ("deleted", "RayClusters", "RayClusters deleted.", "Not Pods deleted."),
        ("successful", "head Pods", "Head Pods created.", "Not clusters that became ready."),
        ("failed", "head Pods", "Head Pods that could not be created.", "Not failed clusters: each retry counts."),
    )
)

OBJECT_METRICS: Final[tuple[Metric, ...]] = _CURRENT + _OLD
