"""From entries of a fleet to sources, and from a store to entries."""

import datetime as dt
from pathlib import Path
from typing import Self

import pytest

from advisor.analysis.fleetsources import discovered, load_entry, observing_seconds, open_prometheus, store_spec
from advisor.errors import InputNotFoundError, NothingToAnalyseError
from advisor.model.raw import Setup
from advisor.model.signal import Window
from advisor.sources.fleetfile import access_of, checked_entry, file_stem
from advisor.sources.fleetspec import FleetEntry, PrometheusSpec, ScrapeSpec
from advisor.sources.prometheus import client as client_module
from advisor.sources.prometheus import discovery as discovery_module
from advisor.sources.prometheus import source as source_module
from advisor.sources.prometheus.auth import Access
from advisor.sources.prometheus.discovery import Where
from advisor.sources.prometheus.operators import Operator
from advisor.sources.prometheus.promql import Matcher
from advisor.sources.prometheus.source import PrometheusSource
from tests.sources.servers import sequence, serving, snapshots

STORE = "http://store:9090"
RAY = Operator("eu", "ray", "operator", "cluster", controllers=("raycluster",), pods=("operator-1",))
OTHER = Operator("eu", "cert", "manager", "cluster", controllers=("certificate",))


def test_scraping() -> None:
    """The operator is looked at for as long as the entry says, and known by what it says beside."""
    with serving(sequence(snapshots())) as server:
        scrape = ScrapeSpec(urls=(server.url,), duration="0.6s", interval="0.1s")
        entry = FleetEntry(name="live", scrape=scrape, version="1.7.0", args=("--qps=30",))
        assert observing_seconds(entry) == 0.6
        loaded = load_entry(entry, 0.0)
        # A scrape that is late on a busy machine is left out.
        assert 2 <= len(server.requests) <= 7
    assert (loaded.info.kind, loaded.args) == ("scrape", ("--qps=30",))
    assert loaded.info.samples > 50
    assert observing_seconds(FleetEntry(name="told", facts="some.yaml")) == 0.0


def test_scraping_with_an_authority_that_is_not_there(tmp_path: Path) -> None:
    """Files of the settings are looked at when the operator's turn comes."""
    scrape = ScrapeSpec(urls=("https://127.0.0.1:1",), ca_file=str(tmp_path / "ca.pem"))
    with pytest.raises(InputNotFoundError, match="holds no certificate"):
        load_entry(FleetEntry(name="live", scrape=scrape), 0.0)


class Asked:
    """A store that only remembers how it was asked."""

    name = STORE

    def __init__(self, url: str, access: Access) -> None:
        self.url = url
        self.access = access
        self.closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.closed = True


@pytest.mark.parametrize(
    ("until", "end"),
    [
        (None, 5000.0),
        (4000.0, 4000.0),
        (dt.datetime(1970, 1, 1, 1, tzinfo=dt.UTC), 3600.0),
        (dt.datetime(1970, 1, 1, 1), 3600.0),  # noqa: DTZ001 - without a zone it is UTC
    ],
)
def test_a_store_is_opened_and_closed(
    until: dt.datetime | float | None, end: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one operator that is meant, for the time that is meant; the connections are closed afterwards."""
    found: list[tuple[Asked, Where, Window]] = []

    def find(client: Asked, where: Where, span: Window) -> Operator:
        found.append((client, where, span))
        return RAY

    monkeypatch.setattr(client_module, "PrometheusClient", Asked)
    monkeypatch.setattr(discovery_module, "find_operator", find)
    spec = PrometheusSpec(
        url=STORE, cluster="eu", namespace="ray", matchers=('env="prod"',), last="10m", until=until, tenant="t"
    )
    with open_prometheus(spec, 5000.0) as source:
        assert isinstance(source, PrometheusSource)
        ((client, where, span),) = found
        was_closed = client.closed
    assert (was_closed, client.closed) == (False, True)
    assert (client.url, client.access) == (STORE, Access(tenant="t"))
    assert where == Where("eu", "", "ray", "", (Matcher("env", "=", "prod"),))
    assert span == Window(end - 600.0, end)


def test_a_store_is_read_with_what_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """An entry with a store goes the same way as any other source."""

    def empty(self: PrometheusSource, selection: object) -> object:
        raise NothingToAnalyseError("no samples", where="here")

    monkeypatch.setattr(client_module, "PrometheusClient", Asked)
    monkeypatch.setattr(discovery_module, "find_operator", lambda *_: RAY)
    monkeypatch.setattr(source_module.PrometheusSource, "series", empty)
    with pytest.raises(NothingToAnalyseError, match="here: no samples"):
        load_entry(FleetEntry(name="a", prometheus=PrometheusSpec(url=STORE)), 0.0)


def test_what_the_options_say_can_stand_in_a_file(tmp_path: Path) -> None:
    """A store named on the command line becomes the spec that means the same."""
    access = Access(
        bearer_token_file=tmp_path / "token",
        headers={"X-A": "1"},
        header_files={"X-B": tmp_path / "b"},
        client_cert=tmp_path / "c.pem",
        ca_file=tmp_path / "ca.pem",
        tenant="t",
    )
    where = Where("eu", "site", "ray", "", (Matcher("env", "=~", 'a"b|c'),))
    spec = store_spec(STORE, access, where, seconds=21600.0, until=None)
    assert access_of(spec) == access
    assert (spec.cluster, spec.cluster_label, spec.namespace, spec.job) == ("eu", "site", "ray", None)
    assert (tuple(map(Matcher.parse, spec.matchers)), spec.last, spec.until) == (where.matchers, "21600s", None)
    checked_entry(FleetEntry(name="a", prometheus=spec))
    command = Access(token_command=("print-token", "of me"))
    assert access_of(store_spec(STORE, command, Where(), seconds=60.0, until=7.0)) == command


def test_each_operator_that_is_found_is_an_entry() -> None:
    """KubeRay's alone, with where it is; the matchers that found it stay."""
    spec = PrometheusSpec(url=STORE, matchers=('env="prod"',), last="1h")
    (entry,) = discovered([RAY, OTHER], spec, narrowed=False, told=Setup(version="1.7.0", args=("--qps=1",)))
    assert entry == FleetEntry(
        name="eu/ray/operator",
        prometheus=PrometheusSpec(
            url=STORE,
            matchers=('env="prod"',),
            last="1h",
            cluster="eu",
            cluster_label="cluster",
            namespace="ray",
            job="operator",
        ),
        version="1.7.0",
        args=("--qps=1",),
    )
    assert checked_entry(entry) == entry


def test_operators_of_others_have_to_be_asked_for() -> None:
    """Where somebody narrowed the choice to them they are entries; else it is an error."""
    (entry,) = discovered([OTHER], PrometheusSpec(url=STORE), narrowed=True)
    assert entry.name == "eu/cert/manager"
    with pytest.raises(NothingToAnalyseError, match="there is only operators of others in this store"):
        discovered([OTHER], PrometheusSpec(url=STORE), narrowed=False)
    with pytest.raises(NothingToAnalyseError, match="there is no operator in this store"):
        discovered([], PrometheusSpec(url=STORE), narrowed=True)


def test_names_that_are_found_are_made_fit() -> None:
    """Labels may hold anything and differ in case alone: each entry has a name to show and a file of its own."""
    names = ("Ray", "ray", "RAY", "r\x1bay", "", "x" * 500)
    found = [Operator("", name, "", controllers=("rayjob",)) for name in names]
    entries = discovered(found, PrometheusSpec(url=STORE), narrowed=False)
    shown = [entry.name for entry in entries]
    assert shown[:5] == ["Ray", "ray (2)", "RAY (3)", "r\ufffday", "unnamed"]
    assert len({file_stem(name).casefold() for name in shown}) == len(names)
    assert [entry.prometheus.namespace for entry in entries if entry.prometheus][3] == "r\x1bay"
    for entry in entries:
        checked_entry(entry)
