"""Which input a command reads: one place, so that every command offers the same ways in."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from advisor.analysis import Loaded, load_facts, load_source
from advisor.analysis.loading import Progress
from advisor.cli.scrapeoptions import Announcer, scrape_options
from advisor.model.raw import Setup

if TYPE_CHECKING:
    from advisor.cli.scraperequest import ScrapeRequest

__all__ = ["input_options", "load_input"]

Command = Callable[..., object]

_NOTHING_TOLD = Setup()
_PATH = click.Path(path_type=Path)


def input_options(command: Command) -> Command:
    """The options that name an input; exactly one is to be given."""
    for option in (
        click.option("--facts", type=_PATH, metavar="FILE", help="A facts file: what somebody knows, as YAML."),
        click.option(
            "--recording",
            type=_PATH,
            metavar="PATH",
            help="A recording's folder, or an OpenMetrics file (.om, .om.gz) alone.",
        ),
    ):
        command = option(command)
    return scrape_options(command)


def load_input(
    *,
    recording: Path | None,
    facts: Path | None,
    scrape: "ScrapeRequest | None",
    progress: Progress,
    told: Setup = _NOTHING_TOLD,
) -> Loaded:
    """Read the one input that was given.

    Raises:
        UsageError: none was given, or more than one.
        InputError: it cannot be read.
        NothingToAnalyseError: it was read and holds nothing to analyse.
    """
    if sum(one is not None for one in (recording, facts, scrape)) != 1:
        raise click.UsageError("Give one input: --recording PATH, --scrape URL or --facts FILE.")
    if facts is not None:
        if told != _NOTHING_TOLD:
            raise click.UsageError("--version and --args belong to --recording or --scrape: facts say such themselves.")
        from advisor.sources.facts import read_facts

        progress("reading facts")
        return load_facts(read_facts(facts))
    if scrape is not None:
        from advisor.sources.scrape import ScrapeSource

        source = ScrapeSource(scrape.endpoints, scrape.access, scrape.plan, reporter=Announcer(progress))
        return load_source(source, progress, told)
    from advisor.sources.recording import RecordingSource

    assert recording is not None  # noqa: S101 - exactly one was given
    return load_source(RecordingSource(recording), progress, told)
