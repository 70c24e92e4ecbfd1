"""Which profile an operator has, from what is seen of it: always one, and always the same of the same.

What somebody says goes first, then its controllers, its lease, its series, its labels. The profile that most fits is
taken, of equal ones the first of the list.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import msgspec

from advisor.knowledge.profile import Profile, fits
from advisor.knowledge.profiles import GENERIC, KUBERAY, PROFILES
from advisor.model.text import format_some

__all__ = ["Choice", "Seen", "recognise", "recognised"]

_MOST_NAMED: Final = 4


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What is seen of an operator.

    Args:
        operator: its name where somebody tells it; None where nobody does.
        controllers: values of the label ``controller``, or controllers that are told.
        leases: what replicas elect a leader for.
        series: names of its series.
        labels: values by label, of its own series.
    """

    operator: str | None = None
    controllers: Collection[str] = ()
    leases: Collection[str] = ()
    series: Collection[str] = ()
    labels: Mapping[str, Collection[str]] = {}


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """A profile, and why it is that one, as a part of a sentence."""

    profile: Profile
    why: str


def recognise(seen: Seen, profiles: Sequence[Profile] = PROFILES) -> Choice:
    """The profile of an operator.

    Args:
        seen: what is seen of it.
        profiles: those to choose from; the first of them that fit most.
    """
    if seen.operator is not None:
        named = next((one for one in profiles if seen.operator.lower() in one.recognised_by.operators), None)
        if named is not None:
            return Choice(profile=named, why=f"it is called {seen.operator}")
    best, found = max(((one, recognised(one, seen)) for one in profiles), key=lambda pair: _rank(pair[1]))
    if any(found.values()):
        what, names = next((what, names) for what, names in found.items() if names)
        return Choice(profile=best, why=f"{what} {format_some(names, _MOST_NAMED)}")
    if seen.operator is not None:
        return Choice(profile=GENERIC, why=f"no profile is for an operator called {seen.operator}")
    if seen.controllers:
        return Choice(
            profile=GENERIC,
            why=f"no profile knows its controllers {format_some(sorted(seen.controllers), _MOST_NAMED)}",
        )
    return Choice(profile=KUBERAY, why="no controller was seen, and nothing tells of another operator")


def recognised(profile: Profile, seen: Seen) -> dict[str, list[str]]:
    """What of a profile is seen, by what it is, what tells most first; empty lists where nothing is."""
    by = profile.recognised_by
    return {
        "by its controllers": sorted(set(by.controllers).intersection(seen.controllers)),
        "by its lease": [profile.lease] if profile.lease in seen.leases and profile.lease is not None else [],
        "by its series": sorted(name for name in seen.series if any(fits(one, name) for one in by.series)),
        "by its labels": sorted(
            f"{label}={value}"
            for label, patterns in by.labels.items()
            for value in seen.labels.get(label, ())
            if any(fits(one, value) for one in patterns)
        ),
    }


def _rank(found: dict[str, list[str]]) -> tuple[int, ...]:
    return tuple(map(len, found.values()))
