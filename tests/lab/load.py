"""What scenarios do to the cluster: one function for each kind of step."""

import random
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from tests.lab.laboratory import Laboratory
from tests.lab.processes import LabError, wait_until
from tests.lab.rayobjects import ray_object
from tests.lab.scenario import Create, Existing, Hold, Nudge, Part, Scale, Step, Write

__all__ = ["make_existing", "take_step"]

_EXISTING_SECONDS: Final = 300.0
_SETTLE_SECONDS: Final = 8.0
_WORKERS_SELECTOR: Final = "ray.io/node-type=worker"
_FINALIZER: Final = "lab.example.com/hold"


def make_existing(lab: Laboratory, existing: Existing) -> None:
    """Make RayClusters and wait until all are ready and the operator has come to rest."""
    _create(lab, Create(count=existing.clusters, workers=existing.workers, namespaces=existing.namespaces))
    wait_until("the existing clusters", lab.cluster.all_ready, _EXISTING_SECONDS, pause=1.0)
    time.sleep(_SETTLE_SECONDS)


def take_step(lab: Laboratory, step: Step) -> None:
    """Do one step of a load, to its end.

    Raises:
        LabError: the API server or a part refuses.
    """
    kind, what = step.action()
    _ACTIONS[kind](lab, what)


def _create(lab: Laboratory, create: Create) -> None:
    for number in range(create.count):
        namespace = create.namespaces[number % len(create.namespaces)]
        body = ray_object(create.kind, namespace, f"{create.prefix}-{number:03d}", create.workers)
        lab.cluster.create_ray(body)
        time.sleep(create.every_seconds)


def _wait_ready(lab: Laboratory, seconds: float) -> None:
    """A load that is not ready in time is a result, not a failure of the lab."""
    try:
        wait_until("all clusters ready", lab.cluster.all_ready, seconds, pause=0.5)
    except LabError as error:
        lab.say(str(error))


def _scale(lab: Laboratory, scale: Scale) -> None:
    for cluster in scale.clusters:
        lab.cluster.scale(cluster, scale.workers)


def _names(lab: Laboratory) -> list[str]:
    return sorted(f"{one['metadata']['namespace']}/{one['metadata']['name']}" for one in lab.cluster.ray_clusters())


def _nudge(lab: Laboratory, nudge: Nudge) -> None:
    names, end, number = _names(lab), time.monotonic() + nudge.seconds, 0
    if not names:
        raise LabError("there is no cluster to write to")
    while time.monotonic() < end:
        name = names[number % len(names)]
        groups = lab.cluster.get(lab.cluster.ray_path(name))["spec"]["workerGroupSpecs"]
        lab.cluster.scale(name, groups[0]["replicas"] + (number + 1) % 2)
        number += 1
        time.sleep(nudge.every_seconds)


def _write(lab: Laboratory, write: Write) -> None:
    names, end = write.clusters or tuple(_names(lab)), time.monotonic() + write.seconds
    problems: list[LabError] = []

    def writer(seed: int) -> None:
        choose, begin, number = random.Random(seed), time.monotonic(), 0
        while time.monotonic() < end:
            number += 1
            body = {"metadata": {write.field: {"example.com/heartbeat": str(number)}}}
            try:
                lab.cluster.patch(lab.cluster.ray_path(choose.choice(names)), body, may_fail=True)
            except LabError as error:
                problems.append(error)
                return
            time.sleep(max(0.0, begin + number / write.per_second - time.monotonic()))

    writers = [threading.Thread(target=writer, args=(number,), daemon=True) for number in range(write.writers)]
    for thread in writers:
        thread.start()
    for thread in writers:
        thread.join()
    if problems:
        raise problems[0]


def _hold(lab: Laboratory, hold: Hold) -> None:
    path = f"/api/v1/namespaces/{hold.namespace}/pods"
    finalizers = None if hold.release else [_FINALIZER]
    for pod in lab.cluster.items(path, labelSelector=_WORKERS_SELECTOR):
        body = {"metadata": {"finalizers": finalizers}}
        lab.cluster.patch(f"{path}/{pod['metadata']['name']}", body, may_fail=True)


def _part(lab: Laboratory, part: Part) -> None:
    lab.plane.processes.do(part.name, part.do)


_ACTIONS: Final[Mapping[str, Callable[[Laboratory, Any], None]]] = {
    "create": _create,
    "wait_ready_seconds": _wait_ready,
    "scale": _scale,
    "nudge": _nudge,
    "write": _write,
    "hold": _hold,
    "part": _part,
    "faults": lambda lab, faults: lab.plane.set_faults(faults),
    "sleep_seconds": lambda _, seconds: time.sleep(seconds),
}
