"""The command ``serve``: watches operators on a schedule, keeps history, and shows it."""

import logging
import os
import signal
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from advisor.web.assembly import Advisor
    from advisor.web.config import Config

__all__ = ["serve"]

_FILE = click.Path(path_type=Path)
_NAME = "kuberay"
_END, _AGAIN = "end", "again"


@click.command()
@click.option(
    "--config",
    type=_FILE,
    envvar="KUBERAY_ADVISOR_CONFIG",
    metavar="FILE",
    help="Settings and operators as TOML; docs/service-configuration.md.",
)
@click.option("--prometheus", metavar="URL", help="Watch every KubeRay operator that this store has.")
@click.option(
    "--scrape", multiple=True, metavar="URL", help="Watch an operator by its /metrics, once for each replica."
)
@click.option("--sidecar", metavar="URL", help="Watch the operator that this sidecar follows.")
@click.option("--listen-host", metavar="HOST", help="Address to serve at; from this machine only by default.")
@click.option(
    "--listen-port", type=click.IntRange(0, 65535), help="Port to serve at; 8095 by default, 0 for a free one."
)
@click.option("--store-path", type=_FILE, metavar="FILE", help="The database of history.")
@click.option("--schedule-interval", metavar="DURATION", help="From one analysis to the next; 5m by default.")
@click.option("--print-config", is_flag=True, help="Show each setting with its value and where that is from, and end.")
def serve(**asked: Any) -> int:  # noqa: ANN401 - the options
    """Watch operators on a schedule, keep what is found, and show it on pages, an API and /metrics.

    It reads from stores and operators and changes nothing there. SIGTERM or Ctrl-C ends it, SIGHUP reads the settings
    again.
    """
    from advisor.cli.stderrlog import log_to_stderr
    from advisor.web.config import load_config, print_config

    given = _flags(asked)
    config = load_config(asked["config"], os.environ, given)
    if asked["print_config"]:
        click.echo(print_config(config), nl=False)
        return 0
    log_to_stderr()
    return _run(config, lambda before: _again(before, asked["config"], given))


def _again(before: "Config", file: Path | None, given: dict[str, object]) -> "Config":
    """The settings as they are now; those before where that cannot be."""
    from advisor.errors import AdvisorError
    from advisor.web.config import reload_config

    log = logging.getLogger(__name__)
    try:
        found = reload_config(before, file, os.environ, given)
    except AdvisorError as error:
        log.error("the settings before go on to hold: %s", error)  # noqa: TRY400 - said in full by the error
        return before
    log.info("settings read again; changed: %s", ", ".join(found.changed) or "none")
    if found.after_restart:
        log.warning("these take effect when the service starts anew: %s", ", ".join(found.after_restart))
    return found.config


def _flags(asked: dict[str, Any]) -> dict[str, object]:
    """Settings by name, as the configuration takes flags."""
    operators: list[dict[str, object]] = []
    if asked["prometheus"]:
        operators.append({"name": "store", "fleet": {"url": asked["prometheus"]}})
    if asked["scrape"]:
        operators.append({"name": _NAME, "scrape": {"urls": list(asked["scrape"])}})
    if asked["sidecar"]:
        operators.append({"name": "sidecar", "sidecar": {"url": asked["sidecar"]}})
    return {
        "listen.host": asked["listen_host"],
        "listen.port": asked["listen_port"],
        "store.path": None if asked["store_path"] is None else str(asked["store_path"]),
        "schedule.interval": asked["schedule_interval"],
        "operators": operators or None,
    }


def _run(config: "Config", again: "Callable[[Config], Config]") -> int:
    from advisor.sources.interruption import first_signal
    from advisor.web.assembly import Advisor

    asked: SimpleQueue[str] = SimpleQueue()
    with first_signal(lambda: asked.put(_END)), _hangup(lambda: asked.put(_AGAIN)):
        advisor = Advisor(config)
        advisor.start()
        for warning in config.warnings:
            click.echo(f"warning: {warning}", err=True)
        click.echo(f"serving {advisor.address}; Ctrl-C ends it", err=True)
        try:
            while asked.get() == _AGAIN:
                config = _applied(advisor, config, again(config))
        finally:
            advisor.stop()
    return 0


def _applied(advisor: "Advisor", before: "Config", config: "Config") -> "Config":
    """The settings that hold once these were given to the service: those before where it cannot do as they say."""
    from advisor.errors import AdvisorError

    try:
        advisor.apply(config)
    except AdvisorError as error:
        logging.getLogger(__name__).error("the settings before go on to hold: %s", error)  # noqa: TRY400 - as above
        return before
    return config


@contextmanager
def _hangup(act: "Callable[[], None]") -> "Iterator[None]":
    """While inside, SIGHUP calls ``act``, where the system has it."""
    number = getattr(signal, "SIGHUP", None)
    if number is None:
        yield
        return
    before = signal.signal(number, lambda *_: act())
    try:
        yield
    finally:
        signal.signal(number, before)
