"""What a fleet file may hold (docs/fleet.md)."""

import datetime as dt
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

__all__ = ["SCHEMA", "DefaultsSpec", "FleetEntry", "FleetSpec", "PrometheusSpec", "ScrapeSpec"]

SCHEMA: Final = "kuberay-advisor/fleet/v1"

Text = Annotated[str, Meta(min_length=1, max_length=4096)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a fleet file: an unknown key is an error."""


class PrometheusSpec(_Part, frozen=True, kw_only=True):
    """A Prometheus-compatible store, where in it the operator is, for which time, and how to get in."""

    url: Text | None = None
    cluster: Text | None = None
    cluster_label: Text | None = None
    namespace: Text | None = None
    job: Text | None = None
    matchers: tuple[Text, ...] = ()
    last: Text = "6h"
    until: dt.datetime | float | None = None
    bearer_token_file: Text | None = None
    user: Text | None = None
    password_file: Text | None = None
    headers: dict[Text, str] = {}
    header_files: dict[Text, Text] = {}
    tenant: Text | None = None
    token_command: Text | None = None
    client_cert: Text | None = None
    client_key: Text | None = None
    ca_file: Text | None = None
    insecure: bool = False
    sigv4_region: Text | None = None

    def __repr__(self) -> str:
        """Nothing that may be secret, as a URL's password and headers are."""
        return f"{type(self).__name__}(...)"


class ScrapeSpec(_Part, frozen=True, kw_only=True):
    """The operator's own ``/metrics``, one URL for each replica."""

    urls: tuple[Text, ...] = ()
    duration: Text = msgspec.field(name="for", default="5m")
    interval: Text = "2s"
    headers: dict[Text, str] = {}
    bearer_token_file: Text | None = None
    ca_file: Text | None = None
    insecure: bool = False

    def __repr__(self) -> str:
        """Nothing that may be secret, as headers are."""
        return f"{type(self).__name__}(...)"


class DefaultsSpec(_Part, frozen=True, kw_only=True):
    """What operators have where they say nothing themselves."""

    prometheus: PrometheusSpec = PrometheusSpec()
    scrape: ScrapeSpec = ScrapeSpec()
    version: Text | None = None
    args: Text | tuple[str, ...] = ()
    profile: Text | None = None


class FleetEntry(_Part, frozen=True, kw_only=True):
    """One operator: its name, exactly one source, and what is known of it beside.

    Once read, defaults are in it, paths are absolute, and ``args`` are words.
    """

    name: Name
    prometheus: PrometheusSpec | None = None
    recording: Text | None = None
    facts: Text | None = None
    scrape: ScrapeSpec | None = None
    version: Text | None = None
    args: Text | tuple[str, ...] = ()
    profile: Text | None = None


class FleetSpec(_Part, frozen=True, kw_only=True):
    """A whole fleet file."""

    schema: Literal["kuberay-advisor/fleet/v1"] = SCHEMA
    defaults: DefaultsSpec = DefaultsSpec()
    operators: Annotated[tuple[FleetEntry, ...], Meta(min_length=1, max_length=100_000)]
