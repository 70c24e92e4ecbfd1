"""What happens to Pods and Ray objects, as JSON lines: the recording format's object changes."""

import json
import threading
import time
from pathlib import Path
from typing import Any, Final

import httpx

from tests.lab.cluster import Cluster
from tests.lab.processes import LabError

__all__ = ["ObjectLog", "change"]

_WATCHED: Final = {
    "Pod": "/api/v1/pods",
    "RayCluster": "/apis/ray.io/v1/rayclusters",
    "RayJob": "/apis/ray.io/v1/rayjobs",
    "RayService": "/apis/ray.io/v1/rayservices",
}
_SILENCE_SECONDS: Final = 3.0
"""A watch on which nothing happens for so long is begun anew, so that ``stop`` is heeded."""


def change(event: str, kind: str, seen: float, one: dict[str, Any]) -> dict[str, Any]:
    """One line: what a watcher saw at a time (Unix seconds)."""
    metadata, status = one["metadata"], one.get("status", {})
    line = {
        "t": round(seen, 3),
        "event": event,
        "kind": kind,
        "namespace": metadata.get("namespace"),
        "name": metadata["name"],
        "rv": metadata["resourceVersion"],
    }
    if kind == "Pod":
        labels, conditions = metadata.get("labels", {}), status.get("conditions", [])
        line |= {
            "phase": status.get("phase"),
            "ready": any(one["type"] == "Ready" and one["status"] == "True" for one in conditions),
            "cluster": labels.get("ray.io/cluster"),
            "node_type": labels.get("ray.io/node-type"),
        }
    elif kind == "RayCluster":
        line |= {
            "state": status.get("state"),
            "desired": status.get("desiredWorkerReplicas"),
            "ready_workers": status.get("readyWorkerReplicas"),
            "generation": metadata.get("generation"),
            "observed": status.get("observedGeneration"),
        }
    else:
        line |= {"state": status.get("jobDeploymentStatus")}
    return line | {"created": metadata["creationTimestamp"]}


class ObjectLog:
    """Watches four kinds from its making to ``stop`` and keeps every change in a file, in the order seen."""

    def __init__(self, cluster: Cluster, path: Path) -> None:
        self._cluster = cluster
        self._file = path.open("w", encoding="utf-8")
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._follow, args=(kind, path), name=f"watch {kind}", daemon=True)
            for kind, path in _WATCHED.items()
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End the watches, and close the file."""
        self._over.set()
        for thread in self._threads:
            thread.join(_SILENCE_SECONDS + 1.0)
        with self._lock:
            self._file.close()

    def _follow(self, kind: str, path: str) -> None:
        version = None
        while not self._over.is_set():
            try:
                if version is None:
                    listed = self._cluster.get(path)
                    version = listed["metadata"]["resourceVersion"]
                    for one in listed["items"]:
                        self._keep("EXISTING", kind, one)
                version = self._watch(kind, path, version)
            except (LabError, httpx.HTTPError):
                self._over.wait(0.2)

    def _watch(self, kind: str, path: str, version: str) -> str | None:
        """Follow one watch until it ends; where to go on from, None for a new list."""
        try:
            with self._cluster.watch(path, version, _SILENCE_SECONDS) as lines:
                for line in lines:
                    event = json.loads(line)
                    if event["type"] == "ERROR":
                        return None
                    version = event["object"]["metadata"]["resourceVersion"]
                    self._keep(event["type"], kind, event["object"])
                    if self._over.is_set():
                        break
        except LabError:
            # It may be the version that is refused.
            self._over.wait(0.2)
            return None
        except httpx.ReadTimeout:
            pass
        except httpx.HTTPError:
            # Broken off; what was seen until then is not asked for again.
            self._over.wait(0.2)
        return version

    def _keep(self, event: str, kind: str, one: dict[str, Any]) -> None:
        with self._lock:
            if not self._file.closed:
                line = change(event, kind, time.time(), one)
                self._file.write(json.dumps(line, separators=(",", ":")) + "\n")
                self._file.flush()
