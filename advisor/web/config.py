"""All settings of the service, merged once: defaults, then a file, the environment, and flags, the last one wins."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final

from advisor.errors import SettingsError, nearest
from advisor.web.configfile import ConfigFile, read_file
from advisor.web.configkeys import KEYS, OPERATORS, PREFIX, Key
from advisor.web.configoperators import OperatorSpec, read_operators, shown_operator
from advisor.web.configvalues import shown_duration

__all__ = [
    "Config",
    "Listen",
    "Login",
    "Notify",
    "Reload",
    "ScheduleSettings",
    "Store",
    "WhatIfSettings",
    "load_config",
    "print_config",
    "reload_config",
]

_DEFAULT: Final = "default"
_BY_NAME: Final = {key.name: key for key in KEYS}
# The sidecar's own, and what Kubernetes sets in every Pod beside a Service that is called kuberay-advisor.
_FOREIGN: Final = re.compile(
    r"CONFIG|SIDECAR_.*|(?:\w+_)?(?:SERVICE_(?:HOST|PORT(?:_\w+)?)|PORT_\d+_(?:TCP|UDP|SCTP)(?:_(?:PROTO|PORT|ADDR))?)"
)
_SERVICE_PORT: Final = re.compile(r"(?:tcp|udp|sctp)://\S+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listen:
    """Where the service serves, and under which names beside localhost and the host's own."""

    host: str
    port: int
    allowed_hosts: tuple[str, ...]

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """Who may read: who has the token, and whom a trusted proxy names; everybody where neither is set."""

    token_file: Path | None
    proxy_header: str | None
    proxy_trusted: tuple[str, ...]

    @property
    def is_needed(self) -> bool:
        """Whether readers have to show who they are."""
        return self.token_file is not None or self.proxy_header is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    """The database of history, and how long what is kept in it; docs/store.md says what each is.

    Without a path it is kept in memory, which only a program can ask for.
    """

    path: Path | None
    each_report_seconds: float
    reports_seconds: float
    failures_seconds: float
    changes_seconds: float
    samples_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleSettings:
    """When operators are analysed; docs/service-configuration.md says what each is."""

    interval_seconds: float
    jitter_ratio: float
    timeout_seconds: float
    last_seconds: float
    longest_pause_seconds: float
    at_a_time: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfSettings:
    """How much what-ifs of readers may take."""

    at_a_time: int
    timeout_seconds: float
    per_minute: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Notify:
    """Who is told of which findings, and how often."""

    webhook_url_file: Path | None
    slack_url_file: Path | None
    severities: tuple[str, ...]
    cooldown_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything that the service is told.

    Attributes:
        operators: what is watched.
        origins: by name of a setting, where its value is from: ``default``, ``file PATH line N``, ``environment NAME``
            or ``flag NAME``.
        warnings: what is allowed but hardly meant, one sentence each.
    """

    listen: Listen
    login: Login
    store: Store
    schedule: ScheduleSettings
    whatif: WhatIfSettings
    notify: Notify
    operators: tuple[OperatorSpec, ...]
    origins: Mapping[str, str] = field(compare=False)
    warnings: tuple[str, ...] = field(compare=False, default=())

    def value(self, name: str) -> object:
        """The value of a setting by its name, such as ``listen.port``."""
        if name == OPERATORS:
            return self.operators
        key = _BY_NAME[name]
        value: object = getattr(getattr(self, key.section), key.field)
        return value


@dataclass(frozen=True, slots=True)
class Reload:
    """What another reading came to.

    Attributes:
        config: the new settings.
        changed: names of settings that differ.
        after_restart: those of them that take effect only when the service starts anew.
    """

    config: Config
    changed: tuple[str, ...]
    after_restart: tuple[str, ...]


def load_config(file: Path | None, environ: Mapping[str, str], flags: Mapping[str, object]) -> Config:
    """Merge all settings.

    Args:
        file: the TOML file; None where there is none. Paths in it are relative to its folder.
        environ: variables; those that begin with ``KUBERAY_ADVISOR_`` count. Lists have commas between their words.
        flags: by name of a setting, such as ``listen.port``; None is as if not given. ``operators`` is a list of tables
            as in the file, and takes the place of the file's.

    Raises:
        SettingsError: a setting is unknown, cannot be, or contradicts another; it names setting and origin.
    """
    read = ConfigFile(Path(), {}) if file is None else read_file(file)
    given = {key.name: (key.default, _DEFAULT) for key in KEYS}
    given.update(_from_file(read))
    given.update(_from_environment(environ))
    given.update(_from_flags(flags))
    values: dict[str, Any] = {name: value for name, (value, _) in given.items()}
    origins = {name: origin for name, (_, origin) in given.items()}
    _check_together(values, origins)
    operators, origins[OPERATORS] = _operators(read, flags, values["schedule.last"], has_file=file is not None)
    config = Config(
        listen=Listen(**_section(values, "listen")),
        login=Login(**_section(values, "login")),
        store=Store(**_section(values, "store")),
        schedule=ScheduleSettings(**_section(values, "schedule")),
        whatif=WhatIfSettings(**_section(values, "whatif")),
        notify=Notify(**_section(values, "notify")),
        operators=operators,
        origins=origins,
    )
    return _with_warnings(config)


def _section(values: Mapping[str, Any], section: str) -> dict[str, Any]:
    return {key.field: values[key.name] for key in KEYS if key.section == section}


def _read(key: Key, given: object, origin: str) -> tuple[Any, str]:
    """A value and its origin.

    Raises:
        SettingsError: what is given is none.
    """
    try:
        return key.read(given), origin
    except ValueError as error:
        raise SettingsError(f"{key.name} cannot be {given!r:.80}", where=origin, hint=f"allowed: {error}") from None


def _from_file(read: ConfigFile) -> dict[str, tuple[Any, str]]:
    found = {}
    for name, given in read.values.items():
        key = _BY_NAME[name]
        value, origin = _read(key, given, read.origin(name))
        found[name] = (read.path.parent / value if key.is_path else value, origin)
    return found


def _from_environment(environ: Mapping[str, str]) -> dict[str, tuple[Any, str]]:
    known = {key.variable: key for key in KEYS}
    found = {}
    for name, given in sorted(environ.items()):
        if not name.startswith(PREFIX):
            continue
        if name in known:
            found[known[name].name] = _read(known[name], given, f"environment {name}")
        elif not _FOREIGN.fullmatch(name.removeprefix(PREFIX)) and not _SERVICE_PORT.fullmatch(given):
            raise SettingsError(
                f"there is no setting for {name}", where=f"environment {name}", hint=nearest(name, tuple(known))
            )
    return found


def _from_flags(flags: Mapping[str, object]) -> dict[str, tuple[Any, str]]:
    found = {}
    for name, given in flags.items():
        if given is None or name == OPERATORS:
            continue
        key = _BY_NAME.get(name)
        if key is None:
            raise SettingsError(f"there is no setting {name!r}", where="flags", hint=nearest(name, tuple(_BY_NAME)))
        found[name] = _read(key, given, f"flag {key.flag}")
    return found


def _operators(
    read: ConfigFile, flags: Mapping[str, object], last_seconds: float, *, has_file: bool
) -> tuple[tuple[OperatorSpec, ...], str]:
    given, origin, where, folder = flags.get(OPERATORS), "flags", "flags", Path.cwd()
    if given is None:
        if not has_file or (read.operators is None and read.defaults is None):
            return (), _DEFAULT
        given, origin, where, folder = read.operators or [], read.origin(OPERATORS), str(read.path), read.path.parent
    found = read_operators(given, read.defaults, where=where, folder=folder, last_seconds=last_seconds)
    return found, origin


def _check_together(values: Mapping[str, Any], origins: Mapping[str, str]) -> None:
    """Refuse settings that contradict each other.

    Raises:
        SettingsError: two do.
    """
    if values["login.proxy_header"] is not None and not values["login.proxy_trusted"]:
        raise SettingsError(
            "login.proxy_header needs login.proxy_trusted: else anybody could send the header",
            where=origins["login.proxy_header"],
            hint="give the proxy's address, such as 127.0.0.1",
        )
    if values["store.keep_samples"] < values["schedule.last"]:
        raise SettingsError(
            "store.keep_samples is less than schedule.last, so analyses would miss what they look back at",
            where=origins["store.keep_samples"],
            hint=f"keep at least {shown_duration(values['schedule.last'])}",
        )
    if values["login.proxy_trusted"] and values["login.proxy_header"] is None:
        raise SettingsError(
            "login.proxy_trusted belongs to login.proxy_header",
            where=origins["login.proxy_trusted"],
            hint="name the header that the proxy sets, such as X-Forwarded-User",
        )


def _with_warnings(config: Config) -> Config:
    told = []
    listen = config.listen
    if not listen.is_loopback and not config.login.is_needed:
        told.append(f"anybody who reaches {listen.host}:{listen.port} can read everything: set login.token_file")
    if not config.operators:
        told.append(
            "no operator is named, so nothing is watched: give --prometheus, --scrape or --sidecar, or [[operators]]"
        )
    return replace(config, warnings=tuple(told))


def reload_config(before: Config, file: Path | None, environ: Mapping[str, str], flags: Mapping[str, object]) -> Reload:
    """Read everything again; ``before`` stays what it is.

    Raises:
        SettingsError: as for :func:`load_config`; then the settings before go on to hold.
    """
    config = load_config(file, environ, flags)
    changed = tuple(name for name in (*_BY_NAME, OPERATORS) if config.value(name) != before.value(name))
    late = tuple(name for name in changed if name in _BY_NAME and _BY_NAME[name].needs_restart)
    return Reload(config, changed, late)


def print_config(config: Config) -> str:
    """Each setting with its value and where that is from, as ``--print-config`` shows it; secrets are masked."""
    rows = [(key.name, _shown(key, config.value(key.name)), config.origins[key.name]) for key in KEYS]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    lines = [f"{name:<{widths[0]}} = {value:<{widths[1]}}  # {origin}" for name, value, origin in rows]
    lines.append(f"{OPERATORS} = {len(config.operators)}  # {config.origins[OPERATORS]}")
    lines += [f"  {shown_operator(one)}" for one in config.operators]
    return "\n".join(lines) + "\n"


def _shown(key: Key, value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, float) and key.field.endswith("_seconds"):
        return shown_duration(value)
    if isinstance(value, tuple):
        return ",".join(map(str, value)) or "none"
    return str(value)
