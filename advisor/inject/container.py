"""The sidecar's container, as Kubernetes takes it.

Defaults of the API server are written out, so that an object read back from it holds what was put in and nothing else.
"""

import math
import re
from dataclasses import dataclass
from typing import Final

from advisor.inject.options import SIDECAR_NAME, SIDECAR_PORT, Options, cores_of, mebibytes_of
from advisor.inject.tree import Value
from advisor.inject.workload import Mount, Workload
from advisor.knowledge.defaults import METRICS_PORT

__all__ = ["PORT_NAME", "Log", "container", "metrics_port"]

PORT_NAME: Final = "advisor"
_ADDRESS: Final = re.compile(r"(?P<host>.*):(?P<port>[0-9]+)")
_ANYWHERE: Final = ("", "0.0.0.0", "[::]")  # noqa: S104 - what the operator listens at
_DEFAULT_MEMORY_MEBIBYTES: Final = 128
_MEMORY_SHARE: Final = 2 / 3
"""Of the container's limit, at which the sidecar holds less of the past; the rest is what it cannot choose."""


@dataclass(frozen=True, slots=True)
class Log:
    """The operator's log file and the mount in which it is."""

    path: str
    mount: Mount


def metrics_port(workload: Workload, metrics_address: str | None) -> tuple[str, int] | None:
    """Host and port of the operator's metrics as the sidecar reaches them; None where they are off.

    Args:
        workload: the operator's container.
        metrics_address: what its configuration file says; its flag counts where there is none.
    """
    text = metrics_address or workload.flag("metrics-addr") or f":{METRICS_PORT}"
    found = _ADDRESS.fullmatch(text)
    if found is None or not int(found["port"]):
        return None
    host = found["host"]
    return ("127.0.0.1" if host in _ANYWHERE else host), int(found["port"])


def container(
    options: Options, workload: Workload, log: Log, metrics: tuple[str, int] | None, namespaces: tuple[str, ...]
) -> dict[str, Value]:
    """The container.

    Args:
        options: what it is told.
        workload: the operator's container.
        log: the log that it follows.
        metrics: host and port of the operator's metrics, None where they are off.
        namespaces: which the operator watches; none for all.
    """
    mount: dict[str, Value] = {"name": log.mount.volume, "mountPath": log.mount.path, "readOnly": True}
    if log.mount.sub_path is not None:
        mount["subPath"] = log.mount.sub_path
    restart: dict[str, Value] = {"restartPolicy": "Always"} if options.native else {}
    quantities: Value = {"cpu": options.cpu, "memory": options.memory}
    return {
        "name": SIDECAR_NAME,
        "image": options.image,
        "imagePullPolicy": "IfNotPresent",
        **restart,
        "args": list(_arguments(options, workload, log, metrics, namespaces)),
        "ports": [{"name": PORT_NAME, "containerPort": options.port, "protocol": "TCP"}],
        "resources": {"limits": quantities, "requests": quantities},
        "securityContext": _security(workload),
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [mount],
    }


def _arguments(
    options: Options, workload: Workload, log: Log, metrics: tuple[str, int] | None, namespaces: tuple[str, ...]
) -> list[str]:
    words = ["sidecar", f"--log-file={log.path}"]
    if metrics is not None:
        words.append(f"--operator-metrics=http://{metrics[0]}:{metrics[1]}/metrics")
    cores = cores_of(workload.cpu_limit or "")
    if cores is not None and cores > 0:
        words.append(f"--operator-cpu-limit={cores:g}")
    words += [f"--namespace={name}" for name in namespaces]
    if options.port != SIDECAR_PORT:
        words.append(f"--listen=0.0.0.0:{options.port}")
    mebibytes = math.floor((mebibytes_of(options.memory) or 0) * _MEMORY_SHARE)
    if mebibytes != _DEFAULT_MEMORY_MEBIBYTES:
        words.append(f"--memory-limit={mebibytes}")
    return [*words, *options.arguments]


def _security(workload: Workload) -> dict[str, Value]:
    context: dict[str, Value] = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
        **({} if workload.root else {"runAsNonRoot": True}),
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    for key, value in (("runAsUser", workload.user), ("runAsGroup", workload.group)):
        if value is not None and value.isdigit():
            context[key] = int(value)
    return context
