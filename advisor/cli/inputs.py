"""Which input a command reads: one place, so that every command offers the same ways in."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from advisor.analysis import Loaded, load_facts, load_source
from advisor.analysis.loading import Progress
from advisor.cli.prometheusoptions import prometheus_options
from advisor.cli.scrapeoptions import Announcer, scrape_options
from advisor.cli.sidecaroptions import SidecarRequest, sidecar_options
from advisor.model.raw import Setup

if TYPE_CHECKING:
    from advisor.cli.prometheusrequest import PrometheusRequest
    from advisor.cli.scraperequest import ScrapeRequest

__all__ = ["Given", "input_options", "live_options", "load_input"]

Command = Callable[..., object]

_NOTHING_TOLD = Setup()
_PATH = click.Path(path_type=Path)
_FILES = (
    click.option("--facts", type=_PATH, metavar="FILE", help="A facts file: what somebody knows, as YAML."),
    click.option(
        "--recording",
        type=_PATH,
        metavar="PATH",
        help="A recording's folder, or an OpenMetrics file (.om, .om.gz) alone.",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """The inputs that were named; one is to be."""

    recording: Path | None = None
    facts: Path | None = None
    scrape: "ScrapeRequest | None" = None
    prometheus: "PrometheusRequest | None" = None
    sidecar: SidecarRequest | None = None

    def check(self) -> None:
        """See that there is exactly one.

        Raises:
            UsageError: none was given, or more than one.
        """
        named = (getattr(self, field.name) for field in fields(self))
        if sum(one is not None for one in named) != 1:
            raise click.UsageError(
                "Give one input: --prometheus URL, --scrape URL, --sidecar URL, --recording PATH or --facts FILE."
            )


def input_options(command: Command) -> Command:
    """The options that name an input, as the argument ``given``; exactly one is to be named."""
    wrapped = sidecar_options(live_options(command))
    for option in _FILES:
        wrapped = option(wrapped)
    return wrapped


def live_options(command: Command) -> Command:
    """Those of them that ask an operator or a store, and can be recorded."""

    @functools.wraps(command)
    def with_given(**arguments: Any) -> object:  # noqa: ANN401 - whatever options the command has
        named = {field.name: arguments.pop(field.name) for field in fields(Given) if field.name in arguments}
        return command(given=Given(**named), **arguments)

    return prometheus_options(scrape_options(with_given))


def load_input(given: Given, progress: Progress, told: Setup = _NOTHING_TOLD) -> Loaded:
    """Read the one input that was given.

    Raises:
        UsageError: none was given, or more than one.
        InputError: it cannot be read.
        NothingToAnalyseError: it was read and holds nothing to analyse.
        UnknownNameError: the store has several operators.
    """
    given.check()
    if given.facts is not None:
        if told.is_told:
            raise click.UsageError("--version and --args belong to another input: facts say such themselves.")
        from advisor.sources.facts import read_facts

        progress("reading facts")
        return load_facts(read_facts(given.facts), told.profile)
    if given.prometheus is not None:
        prometheus = given.prometheus.looking_for(told.profile)
        with prometheus.client() as client:
            return load_source(prometheus.source(client, progress), progress, told)
    if given.scrape is not None:
        from advisor.sources.scrape import ScrapeSource

        scrape = given.scrape
        source = ScrapeSource(scrape.endpoints, scrape.access, scrape.plan, reporter=Announcer(progress))
        return load_source(source, progress, told)
    if given.sidecar is not None:
        from advisor.sources.sidecar import SidecarSource

        with SidecarSource(given.sidecar.sidecar, given.sidecar.access) as sidecar:
            return load_source(sidecar, progress, told)
    from advisor.sources.recording import RecordingSource

    assert given.recording is not None  # noqa: S101 - exactly one was given
    return load_source(RecordingSource(given.recording), progress, told)
