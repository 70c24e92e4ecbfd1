"""What goes wrong beside analyses that fail, in words that pages show."""

from collections.abc import Collection, Iterator, Mapping

from advisor.web.state import Trouble
from advisor.web.webhook import WebhookFigures

__all__ = ["troubles_of"]


def troubles_of(
    problem: str | None,
    not_kept: Mapping[str, str],
    scrapes: Mapping[str, tuple[str, str]],
    webhooks: Mapping[str, WebhookFigures],
    hanging: Collection[str],
) -> Iterator[Trouble]:
    """What goes wrong now.

    Args:
        problem: what was wrong with the history when it was opened.
        not_kept: by operator why its last result or scrape was not kept.
        scrapes: by name of a scrape whose it is, and why the last one failed; "" where it did not.
        webhooks: by name how it goes.
        hanging: operators whose analysis took too long and has still not ended.
    """
    if problem:
        yield Trouble("", problem, is_grave=True)
    if not_kept:
        error = list(not_kept.values())[-1]
        yield Trouble("", f"What is new is not kept, of {len(not_kept)} operators: {error}", is_grave=True)
    for operator, error in sorted(not_kept.items()):
        yield Trouble(operator, f"Its last result was not kept: {error}")
    for name, (operator, error) in scrapes.items():
        if error:
            yield Trouble(operator, f"The last {name} failed: {error}")
    for operator in hanging:
        yield Trouble(operator, "Its analysis hangs: it took too long, was given up, and has still not ended")
    for name, figures in webhooks.items():
        if figures.last_error or figures.lost:
            told = f"{figures.last_error or 'works again'}; {figures.waiting} wait, {figures.lost} are lost"
            yield Trouble("", f"Notices to {name}: {told}")
