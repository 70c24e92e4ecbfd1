"""The settings in force: from the metrics, else the arguments, else the version's defaults.

Effective QPS and Burst are in no metric. A concurrency argument may not have taken effect, so the metric wins over it
(research: kuberay 1.1, 1.3, 1.6).
"""

import math

from advisor.knowledge.defaults import ZERO_BURST_MEANS, ZERO_QPS_MEANS
from advisor.knowledge.profile import Knob, Profile
from advisor.knowledge.profiles import KUBERAY
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


def _profile_setting(name: str, setup: Setup, profile: Profile) -> Setting:
    """QPS or Burst of an operator that is not KubeRay's: its flag, else its default where the arguments do not set it.

    Where a profile knows no flag, or the arguments are not known, somebody may have set it, so nothing is assumed.
    """
    knob: Knob = profile.knob(name)
    flag, default = knob.flag, knob.default
    if flag is None:
        return Setting(None, SettingSource.UNKNOWN, f"{name} is in no metric, and no flag of {profile.title} is known")
    given = _number(argument(setup.args, flag.removeprefix("--")))
    if given == 0:
        return Setting(_CLIENT_GO_DEFAULTS[name], SettingSource.ARGUMENT, f"{flag}=0, which is client-go's default")
    if given is not None:
        return Setting(given, SettingSource.ARGUMENT, flag)
    if setup.args and default is not None:
        return Setting(default.value, SettingSource.VERSION_DEFAULT, f"default of {profile.title}: {default.source}")
    return Setting(None, SettingSource.UNKNOWN, f"{flag} is in no metric and the arguments do not tell it")


def flag_concurrency(setup: Setup, profile: Profile = KUBERAY, controller: str = "") -> float | None:
    """What the flag says of a controller's workers; None where it is not given, or a configuration file hides it."""
    flag = profile.concurrency.flag_for(controller)
    if flag is None or argument(setup.args, "config") is not None:
        return None
    return _number(argument(setup.args, flag.removeprefix("--")))


def resolve_settings(
    setup: Setup,
    *,
    profile: Profile = KUBERAY,
    exposed: tuple[KubeRayVersion, ...] = (),
    limiter_silent: bool = False,
    workers: float | None,
    cpu_limit: float | None,
    memory_limit: float | None,
) -> Settings:
    """Settings with their sources.

    Args:
        setup: version and arguments as the source knows them.
        profile: of the operator; versions are KubeRay's, and count for that alone.
        exposed: the releases that are compatible with what the operator exposes; a single one stands in for a version
            that is not stated.
        limiter_silent: request durations are exposed and the limiter's histogram, which is registered along with them,
            has no sample: there is no limiter (research: controller-runtime 5.2).
        workers: the smallest ``controller_runtime_max_concurrent_reconciles`` over the controllers that the flag sets.
        cpu_limit: the container's CPU limit in cores.
        memory_limit: the container's memory limit in bytes.
    """
    inferred = setup.version is None and len(exposed) == 1
    told = setup.version if profile.is_kuberay else None
    stated = exposed[0].series if inferred else told
    version = lookup(stated) if stated else None
    flag = flag_concurrency(setup, profile)
    if workers is not None:
        concurrency = Setting(workers, SettingSource.METRIC, "controller_runtime_max_concurrent_reconciles")
    elif flag is not None:
        concurrency = Setting(flag, SettingSource.ARGUMENT, profile.concurrency.flag or "")
    else:
        concurrency = Setting(None, SettingSource.UNKNOWN, "no series and no argument tells")
    qps, burst = (_limit_setting(name, setup, version, profile) for name in ("qps", "burst"))
    if not qps.known and limiter_silent and version is not None and version.has_client_histograms:
        qps = Setting(-1.0, SettingSource.METRIC, "request durations without any limiter sample: the limiter is off")
    return Settings(
        version=stated,
        version_inferred=inferred,
        is_kuberay=profile.is_kuberay,
        concurrency=concurrency,
        qps=qps,
        burst=burst,
        cpu_limit_cores=_limit(cpu_limit),
        memory_limit_bytes=_limit(memory_limit),
    )


def _limit_setting(name: str, setup: Setup, version: KubeRayVersion | None, profile: Profile) -> Setting:
    return _client_setting(name, setup, version) if profile.is_kuberay else _profile_setting(name, setup, profile)


def _limit(value: float | None) -> Setting:
    if value is None:
        return Setting(None, SettingSource.UNKNOWN, "no kube_pod_container_resource_limits")
    return Setting(value, SettingSource.METRIC, "kube_pod_container_resource_limits")
