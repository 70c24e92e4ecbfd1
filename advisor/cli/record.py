"""The command ``record``: scrapes an operator into a folder that ``analyze --recording`` reads."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from advisor.analysis.loading import Progress
from advisor.cli.inputs import Given, live_options
from advisor.cli.progress import late_progress
from advisor.cli.scrapeoptions import Announcer
from advisor.cli.scraperequest import ScrapeRequest
from advisor.cli.told import told_options
from advisor.knowledge.profiles import built_in
from advisor.model.raw import ReadNote, Setup
from advisor.signals.names import SELECTION
from advisor.sources.profiles import chosen_profile
from advisor.sources.pseudonyms import Pseudonyms
from advisor.sources.recorder import Beside, Recorder
from advisor.sources.scraping import Clock, Scraping

if TYPE_CHECKING:
    from advisor.cli.prometheusrequest import PrometheusRequest

__all__ = ["record"]

_FILE = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)


@click.command()
@live_options
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="DIR", help="A new or empty folder.")
@click.option("--log", type=_FILE, metavar="FILE", help="The operator's log, copied when the scraping is over.")
@click.option("--objects", type=_FILE, metavar="FILE", help="Object changes as JSON lines, copied likewise.")
@told_options
@click.option("--all-series", is_flag=True, help="Keep every series, not only those that an analysis reads.")
@click.option(
    "--pseudonyms",
    is_flag=True,
    help="Replace names of namespaces, objects, Pods, hosts and addresses, and drop free text of the log.",
)
def record(
    *,
    given: Given,
    out: Path,
    log: Path | None,
    objects: Path | None,
    told: Setup,
    all_series: bool,
    pseudonyms: bool,
) -> None:
    """Record one operator into a folder, to analyse it later or elsewhere.

    --scrape records from now on; Ctrl-C ends it early, and what was recorded is kept. --prometheus records what a store
    already has.
    """
    if (given.scrape is None) == (given.prometheus is None):
        raise click.UsageError("Give --scrape URL or --prometheus URL.")
    # A file of one's own is not in the recording, so it is named again when that is read.
    chosen = chosen_profile(told.profile)
    profile = None if chosen is None or built_in(chosen.profile.name) != chosen.profile else chosen.profile.name
    with late_progress("recording") as progress:
        recorder = Recorder(
            out, Beside(log, objects, told.version, told.args, profile), Pseudonyms() if pseudonyms else None
        )
        if given.prometheus is not None:
            try:
                store = given.prometheus.looking_for(told.profile)
                notes = _from_store(store, recorder, progress, all_series=all_series)
            except BaseException:  # also Ctrl-C: of a store nothing is kept in part
                recorder.withdraw()
                raise
        else:
            assert given.scrape is not None  # noqa: S101 - one of the two is given
            notes = _from_operator(given.scrape, recorder, progress, all_series=all_series)
    for problem in (*(f"{note.where}: {note.message}" for note in notes), *recorder.problems):
        click.echo(problem, err=True)
    click.echo(f"recorded in {out}; read it with: kuberay-advisor analyze --recording {shlex.quote(str(out))}")


def _from_operator(
    scrape: ScrapeRequest, recorder: Recorder, progress: Progress, *, all_series: bool
) -> Sequence[ReadNote]:
    """Scrape for as long as is asked for."""
    selection = None if all_series else SELECTION
    scraping = Scraping(
        scrape.endpoints, scrape.access, scrape.plan, selection, reporter=Announcer(progress), clock=Clock()
    )
    return recorder.record(scraping, scrape.plan).notes


def _from_store(
    prometheus: "PrometheusRequest", recorder: Recorder, progress: Progress, *, all_series: bool
) -> Sequence[ReadNote]:
    """Read what the store has.

    Raises:
        UsageError: all series are asked for.
    """
    if all_series:
        raise click.UsageError("--all-series belongs to --scrape: of a store, what an analysis reads is taken.")
    with prometheus.client() as client:
        source = prometheus.source(client, progress)
        store = source.series(SELECTION)
    recorder.keep(store, source.setup().version, prometheus.span.start, prometheus.span.end)
    return source.notes
