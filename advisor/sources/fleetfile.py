"""A fleet file: which operators to analyse, as YAML that is checked strictly (docs/fleet.md).

Everything that can be wrong in it is found before anything is read or asked, except what others decide: whether files
are there, and whether anybody answers.
"""

import shlex
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import msgspec

from advisor.errors import AdvisorError, InputFormatError
from advisor.sources.endpoint import Access as ScrapeAccess
from advisor.sources.endpoint import Endpoint
from advisor.sources.fleetspec import FleetEntry, FleetSpec, PrometheusSpec, ScrapeSpec
from advisor.sources.logtime import duration_seconds
from advisor.sources.profiles import absolute_profile, check_profile
from advisor.sources.prometheus.address import Address
from advisor.sources.prometheus.auth import Access
from advisor.sources.prometheus.promql import Matcher
from advisor.sources.scraping import Plan, distinct
from advisor.sources.strictyaml import load_document, refusal, refuse_unreal, with_place

__all__ = ["access_of", "checked_entry", "file_stem", "read_fleet", "scrape_plan"]

_LARGEST_BYTES: Final = 16 << 20
_KINDS: Final = ("prometheus", "recording", "facts", "scrape")
_FILES: Final = ("bearer_token_file", "password_file", "client_cert", "client_key", "ca_file")
_PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
_LONGEST_STEM: Final = 180
_DIGEST_LENGTH: Final = 12
_OWN_STEM: Final = "fleet"


def read_fleet(path: Path) -> tuple[FleetEntry, ...]:
    """Read and check a fleet file; paths in it are relative to its folder.

    Raises:
        InputNotFoundError: the file cannot be opened.
        InputFormatError: it is not YAML, has an unknown key or an impossible value, or an operator twice; the error
            names the place in it.
    """
    document = load_document(path, kind="fleet file", largest_bytes=_LARGEST_BYTES)
    if not isinstance(document, dict):
        raise InputFormatError("holds no mapping", where=str(path), hint="see docs/fleet.md")
    try:
        refuse_unreal(document)
        return _entries(document, path.absolute().parent)
    except msgspec.ValidationError as error:
        raise refusal(error, path, FleetSpec, "docs/fleet.md") from error


def _entries(document: dict[str, Any], folder: Path) -> tuple[FleetEntry, ...]:
    """The operators with their defaults.

    Raises:
        ValidationError: with the place of what is wrong.
    """
    # The file without its operators first, so that each of them is looked at by itself.
    operators = document.get("operators")
    stand_in = {"operators": [{"name": "any"}]} if isinstance(operators, list) and operators else {}
    msgspec.convert({**document, **stand_in}, FleetSpec)
    assert isinstance(operators, list)  # noqa: S101 - anything else was refused just now
    defaults = document.get("defaults") or {}
    entries = [_placed(f"$.operators[{place}]", _entry, one, defaults) for place, one in enumerate(operators)]
    seen: dict[str, int] = {}
    for place, entry in enumerate(entries):
        stem = file_stem(entry.name).casefold()
        if stem in seen:
            first = entries[seen[stem]].name
            same = "stands twice" if first == entry.name else f"makes the same file name as {first!r}"
            message = f"the name {entry.name!r} {same}, first in operators[{seen[stem]}]"
            raise msgspec.ValidationError(f"{message} - at `$.operators[{place}].name`")
        seen[stem] = place
    return tuple(
        _placed(f"$.operators[{place}]", checked_entry, _resolved(entry, folder)) for place, entry in enumerate(entries)
    )


def _placed(place: str, make: Callable[..., FleetEntry], *arguments: object) -> FleetEntry:
    try:
        return make(*arguments)
    except msgspec.ValidationError as error:
        raise msgspec.ValidationError(with_place(str(error), place)) from error


def _entry(given: object, defaults: dict[str, Any]) -> FleetEntry:
    """An operator with what it does not say itself."""
    if not isinstance(given, dict):
        raise msgspec.ValidationError("a mapping is needed, with a name and a source")
    merged = dict(given)
    for kind in ("prometheus", "scrape"):
        if isinstance(given.get(kind), dict):
            both = {**(defaults.get(kind) or {}), **given[kind]}
            merged[kind] = {key: value for key, value in both.items() if value is not None}
    if "facts" not in given:
        for key in ("version", "args"):
            if key not in given and defaults.get(key) is not None:
                merged[key] = defaults[key]
    if "profile" not in given:
        merged["profile"] = defaults.get("profile")
    return msgspec.convert({key: value for key, value in merged.items() if value is not None}, FleetEntry)


def _resolved(entry: FleetEntry, folder: Path) -> FleetEntry:
    """The entry with absolute paths."""
    changed: dict[str, Any] = {
        kind: str(folder / path) for kind in ("recording", "facts") if (path := getattr(entry, kind)) is not None
    }
    if entry.profile is not None:
        changed["profile"] = absolute_profile(entry.profile, folder)
    for kind in ("prometheus", "scrape"):
        source = getattr(entry, kind)
        if source is not None:
            named = {name: getattr(source, name, None) for name in _FILES}
            files: dict[str, Any] = {name: str(folder / path) for name, path in named.items() if path is not None}
            if kind == "prometheus":
                files["header_files"] = {name: str(folder / path) for name, path in source.header_files.items()}
            changed[kind] = msgspec.structs.replace(source, **files)
    return msgspec.structs.replace(entry, **changed)


def checked_entry(entry: FleetEntry) -> FleetEntry:
    """The entry with its arguments as words, once everything about it has been looked at.

    Raises:
        ValidationError: it has no source or several, or one that cannot be.
    """
    kinds = [kind for kind in _KINDS if getattr(entry, kind) is not None]
    if len(kinds) != 1:
        has = f"has {' and '.join(kinds)}" if kinds else "has no source"
        raise msgspec.ValidationError(f"{entry.name!r} {has}: exactly one of {', '.join(_KINDS)} is needed")
    if entry.facts is not None and (entry.version is not None or entry.args):
        raise msgspec.ValidationError("version and args belong to another source: facts say such themselves")
    if entry.name != entry.name.strip() or not entry.name.isprintable():
        raise msgspec.ValidationError("a name has no blanks around it and nothing that cannot be shown - at `$.name`")
    if entry.prometheus is not None:
        _check_prometheus(entry.prometheus)
    if entry.scrape is not None:
        _check("$.scrape.urls", scrape_plan, entry.scrape)
    if entry.profile is not None:
        _check("$.profile", check_profile, entry.profile)
    args = entry.args
    if isinstance(args, str):
        args = _check("$.args", lambda text: tuple(shlex.split(text)), args)
    return msgspec.structs.replace(entry, args=args)


def _check(place: str, make: Callable[[Any], Any], value: object) -> Any:  # noqa: ANN401 - whatever is made
    """What is made of a value.

    Raises:
        ValidationError: it cannot be made.
    """
    try:
        return make(value)
    except AdvisorError as error:
        hint = f" ({error.hint})" if error.hint else ""
        raise msgspec.ValidationError(f"{error.message}{hint} - at `{place}`") from None
    except ValueError as error:
        raise msgspec.ValidationError(f"{error} - at `{place}`") from None


def _check_prometheus(spec: PrometheusSpec) -> None:
    if spec.url is None:
        raise msgspec.ValidationError("a url is needed here, or in defaults.prometheus - at `$.prometheus`")
    address = _check("$.prometheus.url", Address.parse, spec.url)
    access = _check("$.prometheus", access_of, spec)
    _check("$.prometheus", access.with_user_of, address)
    _check("$.prometheus.last", duration_seconds, spec.last)
    for place, text in enumerate(spec.matchers):
        _check(f"$.prometheus.matchers[{place}]", Matcher.parse, text)


def access_of(spec: PrometheusSpec) -> Access:
    """How to get into a store.

    Raises:
        SettingsError: the ways in exclude each other, or one cannot be.
        ValueError: the command is not quoted as for a shell.
    """
    return Access(
        bearer_token_file=_path(spec.bearer_token_file),
        user=spec.user,
        password_file=_path(spec.password_file),
        headers=dict(spec.headers),
        header_files={name: Path(path) for name, path in spec.header_files.items()},
        tenant=spec.tenant,
        token_command=tuple(shlex.split(spec.token_command or "")),
        client_cert=_path(spec.client_cert),
        client_key=_path(spec.client_key),
        ca_file=_path(spec.ca_file),
        insecure=spec.insecure,
        sigv4_region=spec.sigv4_region,
    )


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)


def scrape_plan(spec: ScrapeSpec) -> tuple[tuple[Endpoint, ...], Plan]:
    """Where to scrape, how long and how often.

    Raises:
        ValueError: a URL, a time or a header is none, or they do not fit.
    """
    if not spec.urls:
        raise ValueError("a list of at least one URL is needed")
    for name, value in spec.headers.items():
        ScrapeAccess.header(f"{name}: {value}")
    plan = Plan(duration_seconds(spec.duration), duration_seconds(spec.interval))
    return distinct([Endpoint.parse(url) for url in spec.urls]), plan


def file_stem(name: str) -> str:
    """A name as the beginning of a file's, on any system: letters, digits, and ``._-`` stay, ``/`` becomes ``+``.

    Everything else is written as in a URL. The name of the fleet's own file is no operator's, and what would be too
    long ends with a digest.
    """
    stem = "".join(map(_escaped, name))
    if stem.startswith(".") or stem.casefold() == _OWN_STEM:
        stem = f"%{ord(stem[0]):02X}{stem[1:]}"
    if len(stem) > _LONGEST_STEM:
        stem = f"{stem[: _LONGEST_STEM - _DIGEST_LENGTH - 1]}-{sha256(name.encode()).hexdigest()[:_DIGEST_LENGTH]}"
    return stem


def _escaped(character: str) -> str:
    if character in _PLAIN:
        return character
    return "+" if character == "/" else "".join(f"%{byte:02X}" for byte in character.encode())
