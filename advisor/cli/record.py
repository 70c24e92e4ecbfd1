"""The command ``record``: scrapes an operator into a folder that ``analyze --recording`` reads."""

import shlex
from pathlib import Path

import click

from advisor.cli.progress import late_progress
from advisor.cli.scrapeoptions import Announcer, scrape_options
from advisor.cli.scraperequest import ScrapeRequest
from advisor.cli.told import told_options
from advisor.model.raw import Setup
from advisor.signals.names import SELECTION
from advisor.sources.pseudonyms import Pseudonyms
from advisor.sources.recorder import Beside, Recorder
from advisor.sources.scraping import Clock, Scraping

__all__ = ["record"]

_FILE = click.Path(exists=True, dir_okay=False, readable=True, path_type=Path)


@click.command()
@scrape_options
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
    scrape: ScrapeRequest | None,
    out: Path,
    log: Path | None,
    objects: Path | None,
    told: Setup,
    all_series: bool,
    pseudonyms: bool,
) -> None:
    """Record one operator into a folder, to analyse it later or elsewhere.

    Ctrl-C ends it early, and what was recorded is kept.
    """
    if scrape is None:
        raise click.UsageError("Missing option '--scrape'.")
    with late_progress("recording") as progress:
        recorder = Recorder(out, Beside(log, objects, told.version, told.args), Pseudonyms() if pseudonyms else None)
        scraping = Scraping(
            scrape.endpoints,
            scrape.access,
            scrape.plan,
            None if all_series else SELECTION,
            reporter=Announcer(progress),
            clock=Clock(),
        )
        outcome = recorder.record(scraping, scrape.plan)
    for problem in (*(f"{note.where}: {note.message}" for note in outcome.notes), *recorder.problems):
        click.echo(problem, err=True)
    click.echo(f"recorded in {out}; read it with: kuberay-advisor analyze --recording {shlex.quote(str(out))}")
