"""The operator's settings in force, each with where it came from."""

import enum

import msgspec

__all__ = ["Setting", "SettingSource", "Settings"]


class SettingSource(enum.StrEnum):
    """Where a setting was learnt, most trustworthy first."""

    METRIC = "metric"
    ARGUMENT = "argument"
    CONFIGURATION = "configuration"
    STATED = "stated"
    VERSION_DEFAULT = "version_default"
    UNKNOWN = "unknown"


class Setting(msgspec.Struct, frozen=True):
    """One setting. ``value`` is None when it is not known; ``detail`` names the argument, series or default."""

    value: float | None
    source: SettingSource
    detail: str = ""

    @property
    def known(self) -> bool:
        """Whether the value is known."""
        return self.value is not None


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Concurrency, client limits and resources. ``qps`` below zero means that the client limiter is off.

    ``version_inferred`` says that the version was not stated but follows from what the operator exposes.
    """

    version: str | None
    version_inferred: bool = False
    is_kuberay: bool = True
    """Whether versions, defaults and the chart of KubeRay hold for it; told figures may be of another operator."""
    concurrency: Setting
    qps: Setting
    burst: Setting
    cpu_limit_cores: Setting
    memory_limit_bytes: Setting

    @property
    def limiter_off(self) -> bool:
        """Whether the client limiter is known to be off."""
        return self.qps.value is not None and self.qps.value < 0
