"""The command ``demo``: a simulated operator goes through a story of faults, and the service watches it."""

import socket
import threading
import time
from typing import TYPE_CHECKING

import click

from advisor.cli.durations import Duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from advisor.cli.demowatch import LiveDemo
    from advisor.demo.check import Judgement
    from advisor.demo.story import Story

__all__ = ["demo"]

_HOST = "127.0.0.1"
_PORT = 8095
_TICK_SECONDS = 0.1
_CHECK_START = 1_767_225_600.0
"""2026-01-01 00:00 UTC: nobody sees it."""
_WRONG = 1


@click.command()
@click.option(
    "--listen-port",
    "port",
    type=click.IntRange(0, 65535),
    help=f"Port to serve at; {_PORT} by default, or a free one where that is taken.",
)
@click.option("--open", "opens", is_flag=True, help="Show it in a browser.")
@click.option("--for", "seconds", type=Duration(), metavar="DURATION", help="How long; till Ctrl-C if not given.")
@click.option("--check", is_flag=True, help="Play the story at once, say what was found of each fault, and end.")
def demo(*, port: int | None, opens: bool, seconds: float | None, check: bool) -> int:
    """Watch a simulated operator with a hundred RayClusters go through a story of faults, on pages in a browser.

    Nothing else is needed, nothing leaves this machine, and nothing stays behind: the history is kept in memory. With
    --check, exit code 1 says that a finding was not the expected one.
    """
    if check:
        for option, is_given in (
            ("--listen-port", port is not None),
            ("--open", opens),
            ("--for", seconds is not None),
        ):
            if is_given:
                raise click.UsageError(f"{option} does not belong to --check.")
        return _check()
    return _run(port, opens=opens, seconds=seconds)


def _check() -> int:
    from advisor.cli.demowatch import PastService, main_actor
    from advisor.demo.check import Seen, judge
    from advisor.demo.past import Past, Rhythm
    from advisor.demo.story import Story
    from advisor.store.store import Store
    from advisor.web.history import StoreSink
    from advisor.web.notify import Notifier, NotifyRules

    story, rhythm, seen = Story(), Rhythm(), list[Seen]()
    end = _CHECK_START + story.seconds
    with Store.open(None, now=_CHECK_START) as store:
        service = PastService(
            store,
            StoreSink(store, Notifier(NotifyRules()), lambda _: None),
            rhythm,
            lambda _, at, report: seen.append(Seen(at - _CHECK_START, report.findings[0].code)),
        )
        actor = main_actor(story, _CHECK_START, store)
        actor.serve()
        try:
            Past(actor, service, rhythm, _CHECK_START).play(lambda: end, threading.Event())
        finally:
            actor.end()
    judged = judge(story, seen)
    click.echo(_table(judged))
    return 0 if all(one.is_right for one in judged) else _WRONG


def _table(judged: "Sequence[Judgement]") -> str:
    rows = [("chapter", "expected", "found", "after", "")]
    for one in judged:
        found = "no analysis" if one.found is None else one.found.value
        after = "" if one.after_seconds is None else f"{one.after_seconds:.0f} s"
        rows.append((one.chapter.name, one.chapter.expected.value, found, after, "right" if one.is_right else "WRONG"))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def _run(port: int | None, *, opens: bool, seconds: float | None) -> int:
    from advisor.cli.demowatch import LiveDemo
    from advisor.cli.stderrlog import log_to_stderr
    from advisor.demo.past import Rhythm
    from advisor.demo.story import Story
    from advisor.sources.interruption import first_signal

    log_to_stderr()
    stop, story = threading.Event(), Story()
    end = None if seconds is None else time.monotonic() + seconds
    with first_signal(stop.set):
        live = LiveDemo(_free_port() if port is None else port, story, Rhythm())
        try:
            click.echo(f"serving {live.address}; Ctrl-C ends it", err=True)
            live.begin(stop)
            if not stop.is_set():
                _introduce(live, opens=opens)
            _follow(live, story, stop, end)
        finally:
            live.end()
    return 0


def _free_port() -> int:
    """The usual port, or 0 for any where somebody has it."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, _PORT))
        except OSError:
            return 0
    return _PORT


def _introduce(live: "LiveDemo", *, opens: bool) -> None:
    from advisor.cli.demowatch import MAIN

    click.echo(
        f"the last {live.seconds / 60:.0f} minutes are there; from now on two simulated operators are live\n"
        f"  {live.address}  both of them, worst first\n"
        f"  {live.address}operators/{MAIN}  what holds one of them back, what to set, and what became of it",
        err=True,
    )
    if opens:
        import webbrowser

        if not webbrowser.open(live.address):
            click.echo("no browser was found: open the address in one", err=True)


def _follow(live: "LiveDemo", story: "Story", stop: threading.Event, end: float | None) -> None:
    """Keep in step with the clock, and tell each chapter as it begins, until it is time to stop."""
    told = -1
    while not stop.wait(_TICK_SECONDS) and (end is None or time.monotonic() < end):
        live.tick()
        place = story.at(live.seconds)
        if place.number != told:
            told, chapter = place.number, place.chapter
            click.echo(f"{_clock()} {chapter.name}: {chapter.title} Expect {chapter.expected.value}.", err=True)


def _clock() -> str:
    """The time of day where this machine is."""
    return time.strftime("%H:%M:%S")
