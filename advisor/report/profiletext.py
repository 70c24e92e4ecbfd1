"""What a profile says, as text for a terminal and as rows for the page about profiles."""

import textwrap
from collections.abc import Iterator

from advisor.knowledge.profile import Default, Knob, Profile
from advisor.report.layout import PIPE_WIDTH
from advisor.report.settingwording import setting_name, setting_value

__all__ = ["defaults_text", "plain_profile", "profile_row", "ways_text"]

_LABEL_WIDTH = 16


def plain_profile(profile: Profile) -> str:
    """Everything that is known of a kind of operator, with the source of each value."""
    lines = [f"{profile.name}: {profile.summary}"]
    for label, text in _rows(profile):
        lines += _wrapped(label, text)
    return "".join(f"{line}\n" for line in lines)


def profile_row(profile: Profile) -> tuple[str, ...]:
    """Name, how it is recognised, and for each setting how it is set and what it is by default."""
    settings = (f"{ways_text(knob)}; {_plain_defaults(name, knob)}" for name, knob in profile.knobs())
    return (profile.name, "; ".join(_recognised(profile)) or "when none fits", *settings)


def ways_text(knob: Knob) -> str:
    """How a setting is set, in as many ways as are known."""
    ways = [
        *((f"{knob.flag}",) if knob.flag else ()),
        *(f"{flag} for {controller}" for controller, flag in knob.flags.items()),
        *((f"variable {knob.variable}",) if knob.variable else ()),
        *((f"field {knob.field}",) if knob.field else ()),
        *((f"chart value {knob.helm_value}",) if knob.helm_value else ()),
    ]
    return ", ".join(ways) or "no flag is known"


def defaults_text(name: str, knob: Knob) -> Iterator[str]:
    """Each default with what it holds for and where that is said."""
    for one in knob.defaults:
        yield f"{_default(name, one)} ({one.source})"


def _plain_defaults(name: str, knob: Knob) -> str:
    return (
        f"default {', '.join(_default(name, one) for one in knob.defaults)}" if knob.defaults else "default not known"
    )


def _default(name: str, default: Default) -> str:
    of = f" for {default.controller}" if default.controller else ""
    since = f" since {default.since}" if default.since else ""
    return f"{setting_value(name, default.value)}{of}{since}"


def _recognised(profile: Profile) -> Iterator[str]:
    by = profile.recognised_by
    if by.operators:
        yield f"called {', '.join(by.operators)}"
    if by.controllers:
        yield f"controllers {', '.join(by.controllers)}"
    if profile.lease is not None:
        yield f"lease {profile.lease}"
    if by.series:
        yield f"series {', '.join(by.series)}"
    yield from (f"{label} {', '.join(values)}" for label, values in by.labels.items())


def _rows(profile: Profile) -> Iterator[tuple[str, str]]:
    yield from (("recognised by", text) for text in _recognised(profile))
    for name, knob in profile.knobs():
        label = setting_name(name)
        yield label, ways_text(knob)
        if knob.words:
            yield "", knob.words
        yield from (("", f"default {text}") for text in defaults_text(name, knob))
    for one in profile.controllers:
        fixed = f"always {one.workers} worker{'s' if one.workers > 1 else ''}" if one.workers is not None else ""
        waits = {True: "waits for others than the API server", False: "calls the API server alone", None: ""}
        about = ", ".join(filter(None, (fixed, waits[one.external_calls]))) or "nothing else is known"
        yield f"controller {one.name}", f"{about} ({one.source})"
    if profile.deployment is not None:
        yield "deployment", f"{profile.deployment}, container {profile.container or 'not known'}"
    yield from (("documentation", text) for text in profile.docs)
    yield from (("note", text) for text in profile.notes)


def _wrapped(label: str, text: str) -> list[str]:
    head = f"  {label + ':' if label else '':{_LABEL_WIDTH}} "
    return textwrap.wrap(
        text,
        PIPE_WIDTH,
        initial_indent=head,
        subsequent_indent=" " * (_LABEL_WIDTH + 3),
        break_long_words=False,
        break_on_hyphens=False,
    )
