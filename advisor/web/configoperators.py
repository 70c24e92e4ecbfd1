"""The operators that the service watches, as its file names them: entries of a fleet, sidecars, and whole stores."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from advisor.errors import SettingsError, nearest
from advisor.sources.endpoint import Access
from advisor.sources.fleetfile import checked_entry, file_stem
from advisor.sources.fleetspec import FleetEntry, Name, PrometheusSpec, ScrapeSpec, Text
from advisor.sources.logtime import duration_seconds
from advisor.sources.profiles import absolute_profile
from advisor.sources.sidecar import address
from advisor.sources.strictyaml import refuse_unreal, with_place, worded

__all__ = ["DEFAULTS", "KINDS", "OperatorSpec", "SidecarSpec", "read_operators", "shown_operator"]

KINDS: Final = ("prometheus", "scrape", "sidecar", "fleet")
DEFAULTS: Final = "defaults"
_FILES: Final = ("bearer_token_file", "password_file", "client_cert", "client_key", "ca_file")
_MASK: Final = "***"
_MOST_OPERATORS: Final = 10_000
_STAND_IN: Final = "http://localhost:1"
_SHORTEST_SECONDS, _LONGEST_SECONDS = 1.0, 600.0
"""From one scrape of a sidecar to the next."""


class SidecarSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A sidecar of the advisor: its URL, how often what it tells is kept, and how to get in."""

    url: Text
    interval: Text = "15s"
    headers: dict[Text, str] = {}
    bearer_token_file: Text | None = None
    ca_file: Text | None = None
    insecure: bool = False

    def __repr__(self) -> str:
        """Nothing that may be secret, as headers are."""
        return f"{type(self).__name__}(...)"


class OperatorSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One operator, or with ``fleet`` every KubeRay operator of one store; exactly one source is there.

    Once read, defaults are in it, paths are absolute, and ``args`` are words.
    """

    name: Name
    prometheus: PrometheusSpec | None = None
    scrape: ScrapeSpec | None = None
    sidecar: SidecarSpec | None = None
    fleet: PrometheusSpec | None = None
    version: Text | None = None
    args: Text | tuple[str, ...] = ()
    profile: Text | None = None

    @property
    def kind(self) -> str:
        """Which source it has: one of `KINDS`."""
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    def entry(self) -> FleetEntry:
        """The same as an entry of a fleet; of a whole store, the one that names no operator in it yet.

        Raises:
            ValueError: it is a sidecar, which no fleet has.
        """
        if self.sidecar is not None:
            raise ValueError(f"{self.name!r} is a sidecar")
        return FleetEntry(
            name=self.name,
            prometheus=self.prometheus or self.fleet,
            scrape=self.scrape,
            version=self.version,
            args=self.args,
            profile=self.profile,
        )


class _Defaults(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What sources have where they say nothing themselves; only checked, and merged as it is written."""

    prometheus: PrometheusSpec = PrometheusSpec()
    scrape: ScrapeSpec = ScrapeSpec()
    sidecar: SidecarSpec = SidecarSpec(url=_STAND_IN)
    profile: Text | None = None


def read_operators(
    given: object, defaults: object, *, where: str, folder: Path, last_seconds: float
) -> tuple[OperatorSpec, ...]:
    """The operators of a file or of flags.

    Args:
        given: the list of tables under ``operators``.
        defaults: the table ``defaults``; None where there is none.
        where: what errors name, such as the file.
        folder: what paths are relative to.
        last_seconds: how far back stores are read that say nothing themselves.

    Raises:
        SettingsError: one cannot be; it names the place, such as ``operators[1].prometheus.url``.
    """
    place = DEFAULTS
    try:
        shared = _checked_defaults(defaults)
        place, found = "operators", []
        for index, one in enumerate(_listed(given)):
            place = f"operators[{index}]"
            found.append(_operator(one, shared, folder, last_seconds))
        _refuse_twice(found)
    except msgspec.ValidationError as error:
        raise SettingsError(_worded(error, place), where=where, hint=_hint(error, place)) from None
    return tuple(found)


def _listed(given: object) -> Sequence[object]:
    if not isinstance(given, list | tuple) or len(given) > _MOST_OPERATORS:
        raise msgspec.ValidationError(f"a list of at most {_MOST_OPERATORS} tables is needed: [[operators]]")
    return given


def _checked_defaults(given: object) -> dict[str, dict[str, Any]]:
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise msgspec.ValidationError("a table is needed")
    refuse_unreal(given)
    sidecar = given.get("sidecar")
    stand_in = {"sidecar": {"url": _STAND_IN, **sidecar}} if isinstance(sidecar, dict) else {}
    msgspec.convert({**given, **stand_in}, _Defaults)
    return given


def _operator(given: object, defaults: dict[str, dict[str, Any]], folder: Path, last_seconds: float) -> OperatorSpec:
    """One operator, checked.

    Raises:
        ValidationError: it cannot be.
    """
    if isinstance(given, OperatorSpec):
        return given
    if not isinstance(given, dict):
        raise msgspec.ValidationError("a table is needed, with a name and a source")
    refuse_unreal(given)
    merged = dict(given)
    for kind in KINDS:
        table = given.get(kind)
        if isinstance(table, dict):
            own = {"last": f"{last_seconds:g}s"} if kind in ("prometheus", "fleet") else {}
            merged[kind] = {**own, **defaults.get("prometheus" if kind == "fleet" else kind, {}), **table}
    if defaults.get("profile") is not None:
        merged.setdefault("profile", defaults["profile"])
    spec = _resolved(msgspec.convert(merged, OperatorSpec), folder)
    kinds = [kind for kind in KINDS if getattr(spec, kind) is not None]
    if len(kinds) != 1:
        has = f"has {' and '.join(kinds)}" if kinds else "has no source"
        raise msgspec.ValidationError(f"{spec.name!r} {has}: exactly one of {', '.join(KINDS)} is needed")
    return _checked(spec)


def _checked(spec: OperatorSpec) -> OperatorSpec:
    if spec.sidecar is not None:
        _check_sidecar(spec.sidecar)
        # A stand-in, so that name and arguments are looked at in the one place that knows how.
        stand_in = FleetEntry(
            name=spec.name, recording="none", version=spec.version, args=spec.args, profile=spec.profile
        )
        return msgspec.structs.replace(spec, args=checked_entry(stand_in).args)
    try:
        entry = checked_entry(spec.entry())
    except msgspec.ValidationError as error:
        if spec.fleet is None:
            raise
        raise msgspec.ValidationError(str(error).replace("$.prometheus", "$.fleet")) from None
    source = spec.prometheus or spec.fleet
    if source is not None and source.until is not None:
        raise msgspec.ValidationError(f"a service looks at what is, so there is no until - at `$.{spec.kind}.until`")
    return msgspec.structs.replace(spec, args=entry.args)


def _check_sidecar(spec: SidecarSpec) -> None:
    try:
        address(spec.url)
    except ValueError as error:
        raise msgspec.ValidationError(f"{error} - at `$.sidecar.url`") from None
    try:
        seconds = duration_seconds(spec.interval)
    except ValueError as error:
        raise msgspec.ValidationError(f"{error} - at `$.sidecar.interval`") from None
    if not _SHORTEST_SECONDS <= seconds <= _LONGEST_SECONDS:
        limits = f"{_SHORTEST_SECONDS:g}s to {_LONGEST_SECONDS:g}s"
        raise msgspec.ValidationError(f"{limits} is possible, not {spec.interval!r} - at `$.sidecar.interval`")
    try:
        for name, value in spec.headers.items():
            Access.header(f"{name}: {value}")
    except ValueError as error:
        raise msgspec.ValidationError(f"{error} - at `$.sidecar.headers`") from None


def _resolved(spec: OperatorSpec, folder: Path) -> OperatorSpec:
    """The operator with absolute paths."""
    changed: dict[str, Any] = {}
    for kind in KINDS:
        source = getattr(spec, kind)
        if source is None:
            continue
        named = {name: getattr(source, name, None) for name in _FILES}
        files: dict[str, Any] = {name: str(folder / path) for name, path in named.items() if path is not None}
        if isinstance(source, PrometheusSpec):
            files["header_files"] = {name: str(folder / path) for name, path in source.header_files.items()}
        changed[kind] = msgspec.structs.replace(source, **files)
    if spec.profile is not None:
        changed["profile"] = absolute_profile(spec.profile, folder)
    return msgspec.structs.replace(spec, **changed)


def _refuse_twice(operators: list[OperatorSpec]) -> None:
    """Refuse a name that stands twice, also where only the case differs or what addresses cannot hold.

    Raises:
        ValidationError: one does.
    """
    seen: dict[str, str] = {}
    for one in operators:
        stem = file_stem(one.name).casefold()
        if stem in seen:
            raise msgspec.ValidationError(f"the name {one.name!r} stands twice, or {seen[stem]!r} is too much like it")
        seen[stem] = one.name


def _worded(error: msgspec.ValidationError, place: str) -> str:
    message = with_place(str(error), "$").replace("`$`", f"`{place}`").replace("`$.", f"`{place}.")
    return worded(message)


def _hint(error: msgspec.ValidationError, place: str) -> str:
    """The nearest known key where one is unknown."""
    _, found, rest = str(error).partition("unknown field `")
    if not found:
        return "docs/service-configuration.md lists the keys"
    unknown, _, after = rest.partition("`")
    kinds: dict[str, type[msgspec.Struct]] = {
        "$.prometheus": PrometheusSpec,
        "$.fleet": PrometheusSpec,
        "$.scrape": ScrapeSpec,
        "$.sidecar": SidecarSpec,
    }
    whole: type[msgspec.Struct] = _Defaults if place == DEFAULTS else OperatorSpec
    table = next((kind for at, kind in kinds.items() if f"`{at}`" in after), whole)
    return nearest(unknown, tuple(field.encode_name for field in msgspec.structs.fields(table)))


def shown_operator(spec: OperatorSpec) -> str:
    """One operator on one line; what may be secret is masked."""
    source = getattr(spec, spec.kind)
    told = [
        f"{field.encode_name}={_masked(field.encode_name, value)}"
        for field in msgspec.structs.fields(source)
        if (value := getattr(source, field.name)) not in (None, (), {}, False)
    ]
    if spec.version is not None:
        told.append(f"version={spec.version}")
    if spec.profile is not None:
        told.append(f"profile={spec.profile}")
    if spec.args:
        # Only options' names would not do: they are what is watched, and hold no secret in KubeRay.
        told.append(f"args={' '.join(spec.args)}")
    return f"{spec.name}: {spec.kind} {' '.join(told)}"


def _masked(name: str, value: object) -> str:
    if name == "token_command":
        return _MASK
    if name == "headers" and isinstance(value, dict):
        return ",".join(f"{header}:{_MASK}" for header in value)
    if isinstance(value, dict):
        return ",".join(f"{header}:{path}" for header, path in value.items())
    if isinstance(value, tuple):
        return ",".join(_without_user(str(one)) for one in value)
    return _without_user(str(value)) if name == "url" else str(value)


def _without_user(url: str) -> str:
    scheme, found, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    if not found:
        return url
    # A query may hold a key as well as a user does.
    path = path.partition("?")[0] + (f"?{_MASK}" if "?" in path else "")
    return f"{scheme}://{f'{_MASK}@' if '@' in authority else ''}{authority.rpartition('@')[2]}{slash}{path}"
