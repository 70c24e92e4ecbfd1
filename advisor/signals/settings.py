"""The settings in force: from the metrics, else the arguments, else the version's defaults.

Effective QPS and Burst are in no metric. A concurrency argument may not have taken effect, so the metric wins over it
(research: kuberay 1.1, 1.3, 1.6).
"""

import math

from advisor.knowledge.defaults import ZERO_BURST_MEANS, ZERO_QPS_MEANS
from advisor.knowledge.versions import KubeRayVersion, lookup
from advisor.model.raw import Setup
from advisor.model.settings import Setting, Settings, SettingSource

__all__ = ["argument", "flag_concurrency", "resolve_settings"]

_CLIENT_GO_DEFAULTS = {"qps": ZERO_QPS_MEANS, "burst": float(ZERO_BURST_MEANS)}
"""What client-go takes for an explicit zero."""


def argument(args: tuple[str, ...], name: str) -> str | None:
    """The value of ``--name=value``, ``--name value`` or ``-name=value``; the last wins, as in Go's flag package."""
    found = None
    for index, text in enumerate(args):
        flag, equals, value = text.lstrip("-").partition("=")
        if text.startswith("-") and flag == name:
            if equals:
                found = value
            elif index + 1 < len(args):
                found = args[index + 1]
    return found


def _number(text: str | None) -> float | None:
    try:
        value = math.nan if text is None else float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _client_setting(name: str, setup: Setup, version: KubeRayVersion | None) -> Setting:
    given = _number(argument(setup.args, name))
    if argument(setup.args, "config") is not None:
        return Setting(None, SettingSource.UNKNOWN, "the operator reads a configuration file that is not in the input")
    if given is not None and (version is None or version.has_qps_flags):
        if given == 0:
            return Setting(
                _CLIENT_GO_DEFAULTS[name], SettingSource.ARGUMENT, f"--{name}=0, which is client-go's default"
            )
        return Setting(given, SettingSource.ARGUMENT, f"--{name}")
    if version is not None and (setup.args or not version.has_qps_flags):
        default = version.default_qps if name == "qps" else float(version.default_burst)
        return Setting(default, SettingSource.VERSION_DEFAULT, f"default of KubeRay {version.series}")
    return Setting(None, SettingSource.UNKNOWN, f"--{name} is in no metric and the arguments are not known")


def flag_concurrency(setup: Setup) -> float | None:
    """What ``--reconcile-concurrency`` says; None where it is not given or a configuration file hides it."""
    if argument(setup.args, "config") is not None:
        return None
    return _number(argument(setup.args, "reconcile-concurrency"))


def resolve_settings(
    setup: Setup,
    *,
    exposed: tuple[KubeRayVersion, ...] = (),
    limiter_silent: bool = False,
    workers: float | None,
    cpu_limit: float | None,
    memory_limit: float | None,
) -> Settings:
    """Settings with their sources.

    Args:
        setup: version and arguments as the source knows them.
        exposed: the releases that are compatible with what the operator exposes; a single one stands in for a version
            that is not stated.
        limiter_silent: request durations are exposed and the limiter's histogram, which is registered along with them,
            has no sample: there is no limiter (research: controller-runtime 5.2).
        workers: the smallest ``controller_runtime_max_concurrent_reconciles`` over the controllers that the flag sets.
        cpu_limit: the container's CPU limit in cores.
        memory_limit: the container's memory limit in bytes.
    """
    inferred = setup.version is None and len(exposed) == 1
    stated = exposed[0].series if inferred else setup.version
    version = lookup(stated) if stated else None
    flag = flag_concurrency(setup)
    if workers is not None:
        concurrency = Setting(workers, SettingSource.METRIC, "controller_runtime_max_concurrent_reconciles")
    elif flag is not None:
        concurrency = Setting(flag, SettingSource.ARGUMENT, "--reconcile-concurrency")
    else:
        concurrency = Setting(None, SettingSource.UNKNOWN, "no series and no argument tells")
    qps = _client_setting("qps", setup, version)
    if not qps.known and limiter_silent and version is not None and version.has_client_histograms:
        qps = Setting(-1.0, SettingSource.METRIC, "request durations without any limiter sample: the limiter is off")
    return Settings(
        version=stated,
        version_inferred=inferred,
        concurrency=concurrency,
        qps=qps,
        burst=_client_setting("burst", setup, version),
        cpu_limit_cores=_limit(cpu_limit),
        memory_limit_bytes=_limit(memory_limit),
    )


def _limit(value: float | None) -> Setting:
    if value is None:
        return Setting(None, SettingSource.UNKNOWN, "no kube_pod_container_resource_limits")
    return Setting(value, SettingSource.METRIC, "kube_pod_container_resource_limits")
