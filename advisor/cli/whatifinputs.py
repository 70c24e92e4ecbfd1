"""What ``whatif`` is asked about: the options that name it, as one argument of the command."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from advisor.analysis.loading import Progress
from advisor.cli.scrapeoptions import Announcer, scrape_options
from advisor.cli.told import told_options
from advisor.model.raw import Setup

if TYPE_CHECKING:
    from advisor.analysis.loading import Loaded
    from advisor.analysis.situations import Situation
    from advisor.cli.scraperequest import ScrapeRequest

__all__ = ["WhatIfInputs", "whatif_inputs"]

_Command = Callable[..., object]
_PATH = click.Path(path_type=Path)
_FIRST_SEED = 1
_OPTIONS = (
    click.option(
        "--recording",
        "recordings",
        type=_PATH,
        multiple=True,
        metavar="PATH",
        help="A recording to calibrate on; the load of the first one is tried. Two with different concurrency say "
        "most.",
    ),
    scrape_options,
    told_options,
    click.option(
        "--workload",
        type=_PATH,
        metavar="FILE",
        help="A workload file: a load to try, and a world if nothing is observed.",
    ),
    click.option("--facts", type=_PATH, metavar="FILE", help="A facts file with a batch, or with rates and means."),
)


@dataclass(frozen=True, slots=True)
class WhatIfInputs:
    """Where the load and the times of the world come from; of these, what was given.

    Raises:
        UsageError: none or several were given, or what is told belongs to none of them.
    """

    recordings: tuple[Path, ...]
    scrape: "ScrapeRequest | None"
    workload: Path | None
    facts: Path | None
    told: Setup

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        ways_in = sum((bool(self.recordings), self.scrape is not None, self.facts is not None))
        if ways_in > 1 or (self.facts is not None and self.workload is not None) or not (ways_in or self.workload):
            raise click.UsageError(
                "Give --recording PATH, --scrape URL or --facts FILE; or --workload FILE, alone or with one of the "
                "first two."
            )
        if self.told.is_told and len(self.recordings) + (self.scrape is not None) != 1:
            raise click.UsageError("--version and --args belong to --scrape or to a single --recording.")

    def situation(self, progress: Progress) -> tuple["Situation", int]:
        """What is asked about, and the seed that goes with it.

        Raises:
            InputError: something cannot be read.
            NothingToAnalyseError: there is no load.
        """
        from advisor.analysis.situations import of_inputs, of_workload

        named = None
        if self.workload is not None:
            from advisor.sources.workloadfile import read_workload

            progress("reading the workload")
            named = (self.workload.name, read_workload(self.workload))
        seed = _FIRST_SEED if named is None else named[1].seed
        loaded = self._loaded(progress)
        if named is not None and not loaded:
            return of_workload(*named), seed
        return of_inputs(loaded, named, progress), seed

    def _loaded(self, progress: Progress) -> list[tuple[str, "Loaded"]]:
        """What was observed or told, each with its name."""
        from advisor.analysis.loading import load_facts, load_source

        if self.facts is not None:
            from advisor.sources.facts import read_facts

            progress("reading facts")
            return [(self.facts.name, load_facts(read_facts(self.facts), self.told.profile))]
        if self.scrape is not None:
            from advisor.sources.scrape import ScrapeSource

            scrape = self.scrape
            source = ScrapeSource(scrape.endpoints, scrape.access, scrape.plan, reporter=Announcer(progress))
            return [(scrape.endpoints[0].url, load_source(source, progress, self.told))]
        from advisor.sources.recording import RecordingSource

        loaded = []
        for path in self.recordings:
            progress(f"reading {path.name}")
            loaded.append((path.resolve().name, load_source(RecordingSource(path), told=self.told)))
        return loaded


def whatif_inputs(command: _Command) -> _Command:
    """Options that become the argument ``inputs``."""

    @functools.wraps(command)
    def with_inputs(**arguments: Any) -> object:  # noqa: ANN401 - whatever options the command has
        given = {name: arguments.pop(name) for name in ("recordings", "scrape", "workload", "facts", "told")}
        return command(inputs=WhatIfInputs(**given), **arguments)

    wrapped: _Command = with_inputs
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped
