"""What the injection of a sidecar can be told."""

import re
from dataclasses import dataclass
from typing import Final

from advisor.errors import SettingsError

__all__ = ["ANNOTATION", "REPOSITORY", "SIDECAR_NAME", "SIDECAR_PORT", "VOLUME", "Options", "cores_of", "mebibytes_of"]

ANNOTATION: Final = "kuberay-advisor/sidecar"
"""Annotation of the Pod template in which is recorded what was added."""
REPOSITORY: Final = "kuberay-advisor"
SIDECAR_NAME: Final = "kuberay-advisor-sidecar"
SIDECAR_PORT: Final = 8090
VOLUME: Final = "kuberay-logs"
"""As KubeRay's chart calls it."""
_SMALLEST_MEBIBYTES: Final = 48
"""The sidecar takes no lower limit than 32 MiB, which is two thirds of it."""
_LARGEST_PORT: Final = 65_535
_LARGEST_CORES: Final = 1024.0
_QUANTITY: Final = re.compile(r"([0-9]+(?:\.[0-9]+)?|\.[0-9]+)(m|Ki|[MGTPE]i|[kMGTPE]|[eE][+-]?[0-9]+|)")
_FACTORS: Final = {"m": 1e-3, "": 1.0} | {
    f"{prefix}{kind}": float(base**power)
    for power, prefix in enumerate("kMGTPE", start=1)
    for kind, base in (("", 1000), ("i", 1024))
}
_FACTORS["Ki"] = _FACTORS.pop("ki")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What is put in, and into which Deployment.

    Raises:
        SettingsError: one cannot be.
    """

    image: str
    """With its tag or digest."""
    native: bool = False
    """Whether it is an init container that is restarted, which Kubernetes starts first and ends last."""
    name: str | None = None
    """The Deployment's name; None where labels, container or image tell it."""
    namespace: str | None = None
    """Its namespace."""
    container: str | None = None
    """The operator's container in it."""
    port: int = SIDECAR_PORT
    """Where the sidecar serves."""
    cpu: str = "100m"
    """Requested and at most, so that a Pod whose requests are its limits stays one."""
    memory: str = "192Mi"
    """Likewise."""
    log_folder: str | None = None
    """Where the operator is to write its log if it writes none; None for /var/log/kuberay."""
    log_name: str | None = None
    """The file's name there; None for operator.log."""
    arguments: tuple[str, ...] = ()
    """More arguments of the sidecar."""

    def __post_init__(self) -> None:
        """Refuse what Kubernetes or the sidecar would."""
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._/:@-]*", self.image):
            raise SettingsError(f"{self.image!r} is no image", where="--image")
        if not 0 < self.port <= _LARGEST_PORT:
            raise SettingsError(f"{self.port} is no port", where="--port")
        cores, mebibytes = cores_of(self.cpu), mebibytes_of(self.memory)
        if cores is None or not 0 < cores <= _LARGEST_CORES:
            raise SettingsError(f"{self.cpu!r} is no quantity such as 100m", where="--cpu")
        if mebibytes is None or mebibytes < _SMALLEST_MEBIBYTES:
            message = f"{self.memory!r} is no quantity such as 192Mi, or less than {_SMALLEST_MEBIBYTES}Mi"
            raise SettingsError(message, where="--memory")
        folder, name = self.log_folder, self.log_name
        if folder is not None and (not re.fullmatch(r"/[^\s$]*[^\s$/]", folder) or ".." in folder.split("/")):
            raise SettingsError(f"{folder!r} is no absolute path of a folder", where="--log-dir")
        if name is not None and (not re.fullmatch(r"[^\s$/]+", name) or name in (".", "..")):
            raise SettingsError(f"{name!r} is no name of a file", where="--log-file-name")

    @property
    def log_path(self) -> str:
        """Where a log goes that is written nowhere yet."""
        return f"{self.log_folder or '/var/log/kuberay'}/{self.log_name or 'operator.log'}"


def cores_of(quantity: str) -> float | None:
    """Cores of a CPU quantity, None where it is none."""
    found = _QUANTITY.fullmatch(quantity)
    if found is None:
        return None
    number, unit = found.groups()
    return float(number) * _FACTORS[unit] if unit in _FACTORS else float(number + unit)


def mebibytes_of(quantity: str) -> float | None:
    """Mebibytes of a quantity of memory or storage, None where it is none."""
    number = cores_of(quantity)
    return None if number is None else number / 1024**2
