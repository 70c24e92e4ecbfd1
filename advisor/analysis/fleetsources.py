"""From an operator of a fleet to what was observed of it."""

import datetime as dt
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from advisor.analysis.loading import Loaded, Source, load_facts, load_source
from advisor.errors import NothingToAnalyseError
from advisor.model.raw import Setup
from advisor.report.markup import printable
from advisor.sources.fleetfile import access_of, file_stem, scrape_plan
from advisor.sources.fleetspec import FleetEntry, PrometheusSpec, ScrapeSpec
from advisor.sources.logtime import duration_seconds, unix_seconds
from advisor.sources.profiles import chosen_profile

if TYPE_CHECKING:
    from advisor.knowledge.profile import Profile
    from advisor.sources.prometheus.auth import Access
    from advisor.sources.prometheus.discovery import Where
    from advisor.sources.prometheus.operators import Operator

__all__ = ["discovered", "load_entry", "observing_seconds", "open_prometheus", "store_spec"]

_ACCESS_FILES: Final = ("bearer_token_file", "password_file", "client_cert", "client_key", "ca_file")
_LONGEST_NAME: Final = 190
_NOTHING_TOLD: Final = Setup()


def load_entry(entry: FleetEntry, now: float) -> Loaded:
    """Read the source of one operator to its end.

    Args:
        entry: which operator, checked.
        now: the Unix time at which a range without an end of its own ends.

    Raises:
        InputError: it cannot be read.
        NothingToAnalyseError: it was read and holds nothing to analyse.
        UnknownNameError: the store has several operators that fit.
    """
    # Each kind is imported where it is needed: a worker mostly needs one.
    if entry.facts is not None:
        from advisor.sources.facts import read_facts  # noqa: PLC0415

        return load_facts(read_facts(Path(entry.facts)), entry.profile)
    assert isinstance(entry.args, tuple)  # noqa: S101 - they are words once an entry is checked
    told = Setup(version=entry.version, args=entry.args, profile=entry.profile)
    if entry.recording is not None:
        from advisor.sources.recording import RecordingSource  # noqa: PLC0415

        return load_source(RecordingSource(Path(entry.recording)), told=told)
    if entry.scrape is not None:
        return load_source(_scraping(entry.scrape), told=told)
    assert entry.prometheus is not None  # noqa: S101 - an entry has one source
    with open_prometheus(entry.prometheus, now, entry.profile) as source:
        return load_source(source, told=told)


def observing_seconds(entry: FleetEntry) -> float:
    """How long reading takes by its nature, however fast everything is."""
    return 0.0 if entry.scrape is None else duration_seconds(entry.scrape.duration)


def _scraping(spec: ScrapeSpec) -> Source:
    from advisor.sources.endpoint import Access, tls_context  # noqa: PLC0415
    from advisor.sources.scrape import ScrapeSource  # noqa: PLC0415

    endpoints, plan = scrape_plan(spec)
    token_file = None if spec.bearer_token_file is None else Path(spec.bearer_token_file)
    ca_file = None if spec.ca_file is None else Path(spec.ca_file)
    return ScrapeSource(endpoints, Access(spec.headers, token_file, tls_context(ca_file, insecure=spec.insecure)), plan)


@contextmanager
def open_prometheus(spec: PrometheusSpec, now: float, profile: str | None = None) -> Iterator[Source]:
    """The one operator that is meant in a store, over its own connections, which are closed at the end.

    Raises:
        InputError: the store does not answer as it should.
        NothingToAnalyseError: there is no operator.
        UnknownNameError: there are several.
    """
    from advisor.model.signal import Window  # noqa: PLC0415
    from advisor.sources.prometheus.client import PrometheusClient  # noqa: PLC0415
    from advisor.sources.prometheus.discovery import Where, find_operator  # noqa: PLC0415
    from advisor.sources.prometheus.promql import Matcher  # noqa: PLC0415
    from advisor.sources.prometheus.source import PrometheusSource  # noqa: PLC0415

    assert spec.url is not None  # noqa: S101 - a checked entry has one
    until = _unix(spec.until, now)
    span = Window(until - duration_seconds(spec.last), until)
    where = Where(
        spec.cluster or "",
        spec.cluster_label or "",
        spec.namespace or "",
        spec.job or "",
        tuple(map(Matcher.parse, spec.matchers)),
        None if (chosen := chosen_profile(profile)) is None else chosen.profile,
    )
    with PrometheusClient(spec.url, access_of(spec)) as client:
        yield PrometheusSource(client, find_operator(client, where, span), span)


def _unix(time: dt.datetime | float | None, now: float) -> float:
    if time is None:
        return now
    return unix_seconds(time) if isinstance(time, dt.datetime) else time


def store_spec(url: str, access: "Access", where: "Where", *, seconds: float, until: float | None) -> PrometheusSpec:
    """What a fleet file would say of a store that was named in another way.

    Args:
        url: the store.
        access: how to get in; secrets are in files or in the URL.
        where: where to look in it.
        seconds: length of the range.
        until: its end where somebody names one.
    """
    files = {name: getattr(access, name) for name in _ACCESS_FILES}
    return PrometheusSpec(
        url=url,
        cluster=where.cluster or None,
        cluster_label=where.cluster_label or None,
        namespace=where.namespace or None,
        job=where.job or None,
        matchers=tuple(map(str, where.matchers)),
        last=f"{seconds:g}s",
        until=until,
        user=access.user,
        headers=dict(access.headers),
        header_files={name: str(path.absolute()) for name, path in access.header_files.items()},
        tenant=access.tenant,
        token_command=shlex.join(access.token_command) or None,
        insecure=bool(access.insecure),
        sigv4_region=access.sigv4_region,
        **{name: str(path.absolute()) for name, path in files.items() if path is not None},
    )


def discovered(
    operators: "Sequence[Operator]",
    spec: PrometheusSpec,
    *,
    narrowed: bool,
    told: Setup = _NOTHING_TOLD,
    profile: "Profile | None" = None,
) -> tuple[FleetEntry, ...]:
    """An entry for each of KubeRay's operators in one store, or of another profile where somebody asks for it.

    Without a profile, others than KubeRay's are taken only where somebody narrowed the choice.

    Args:
        operators: those found.
        spec: the store they were found in.
        narrowed: whether somebody named a cluster, namespace, job or matcher.
        told: version, arguments and profile of all of them, if somebody states them.
        profile: the profile that is told, read; None where nobody told one.

    Raises:
        NothingToAnalyseError: there is none.
    """
    from advisor.sources.prometheus.operators import meant  # noqa: PLC0415 - as for an entry

    chosen = meant(operators, narrowed=narrowed, profile=profile)
    if not chosen:
        found = "only operators of others" if operators else "no operator"
        raise NothingToAnalyseError(
            f"there is {found} in this store and this time",
            where="--all",
            hint="is the operator's /metrics scraped into it? --namespace or --job take those of others",
        )
    entries: list[FleetEntry] = []
    taken: set[str] = set()
    for one in chosen:
        name = _distinct_name(one.name, taken)
        place = {"cluster": one.cluster, "cluster_label": one.cluster_label, "namespace": one.namespace, "job": one.job}
        source = msgspec.structs.replace(spec, **{key: value for key, value in place.items() if value})
        entries.append(
            FleetEntry(name=name, prometheus=source, version=told.version, args=told.args, profile=told.profile)
        )
    return tuple(entries)


def _distinct_name(name: str, taken: set[str]) -> str:
    """A name that can be shown and makes a file name of its own: labels may hold anything, and differ in case alone."""
    base = printable(name).strip()[:_LONGEST_NAME]
    count, found = 1, base
    while file_stem(found).casefold() in taken:
        count += 1
        found = f"{base} ({count})"
    taken.add(file_stem(found).casefold())
    return found
