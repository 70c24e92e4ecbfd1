"""The Ray objects that scenarios make."""

from typing import Any, Final

__all__ = ["PLURALS", "is_ready", "ray_object"]

PLURALS: Final = {"RayCluster": "rayclusters", "RayJob": "rayjobs", "RayService": "rayservices"}
_IMAGE: Final = "rayproject/ray:2.50.0"
_RESOURCES: Final = {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}}
_MOST_REPLICAS: Final = 10_000
_SERVE: Final = "applications:\n- name: app\n  import_path: app:main\n"


def _cluster_spec(workers: int) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "ray", "image": _IMAGE, "resources": _RESOURCES}]}}
    return {
        "rayVersion": "2.50.0",
        "headGroupSpec": {"rayStartParams": {}, "template": template},
        "workerGroupSpecs": [
            {
                "groupName": "g0",
                "replicas": workers,
                "minReplicas": 0,
                "maxReplicas": _MOST_REPLICAS,
                "rayStartParams": {},
                "template": template,
            }
        ],
    }


def ray_object(kind: str, namespace: str, name: str, workers: int) -> dict[str, Any]:
    """A RayCluster, RayJob or RayService with one worker group."""
    cluster = _cluster_spec(workers)
    specs = {
        "RayCluster": cluster,
        "RayJob": {"entrypoint": "python -c 1", "submissionMode": "HTTPMode", "rayClusterSpec": cluster},
        "RayService": {"serveConfigV2": _SERVE, "rayClusterConfig": cluster},
    }
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "ray.io/v1", "kind": kind, "metadata": metadata, "spec": specs[kind]}


def is_ready(cluster: dict[str, Any]) -> bool:
    """Whether a RayCluster says that it is ready, with all the workers that it asks for."""
    status = cluster.get("status", {})
    wanted = sum(group["replicas"] for group in cluster["spec"]["workerGroupSpecs"])
    return bool(status.get("state") == "ready" and status.get("readyWorkerReplicas", 0) >= wanted)
