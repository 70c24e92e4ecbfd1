"""What is known of one kind of operator: how it is recognised, how its settings are set, and what they are by default.

A profile is data. Those that come with the advisor are in ``advisor.knowledge.profiles``; a user's own is a file with
the same keys (docs/profiles.md). What a profile does not say is not known, and nothing is claimed of it.
"""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from advisor.knowledge.program import ReconcileProgram
from advisor.knowledge.programs import program_of

__all__ = [
    "KUBERAY_NAME",
    "SCHEMA",
    "ControllerProfile",
    "Default",
    "Knob",
    "Profile",
    "Recognition",
    "fits",
]

SCHEMA: Final = "kuberay-advisor/profile/v1"
KUBERAY_NAME: Final = "kuberay"

Text = Annotated[str, Meta(min_length=1, max_length=1000)]
Name = Annotated[str, Meta(min_length=1, max_length=100, pattern=r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$")]
Flag = Annotated[str, Meta(pattern=r"^--[A-Za-z0-9][A-Za-z0-9._-]*$")]


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A part of a profile: an unknown key is an error."""


class Default(_Part, frozen=True, kw_only=True):
    """A value that is in force where nobody sets another.

    Args:
        value: the value; a QPS below zero: the client does not limit itself.
        source: where that is said.
        since: the release from which on it holds; "" where the source names none.
        controller: the one that it is for; "" for all.
    """

    value: Annotated[float, Meta(ge=-1.0)]
    source: Text
    since: str = ""
    controller: str = ""


class Knob(_Part, frozen=True, kw_only=True):
    """How one setting is set, in as many ways as are known.

    Args:
        flag: of the command line, for all controllers.
        flags: by controller, where each has one of its own; they go before ``flag``.
        variable: environment variable.
        field: of the configuration file.
        helm_value: path in the chart's values.
        words: how to set it where none of these is known, or what else to know.
        defaults: what is in force by default.
    """

    flag: Flag | None = None
    flags: dict[Text, Flag] = {}
    variable: Text | None = None
    field: Text | None = None
    helm_value: Text | None = None
    words: str = ""
    defaults: tuple[Default, ...] = ()

    def flag_for(self, controller: str) -> str | None:
        """The flag that sets it for a controller."""
        return self.flags.get(controller, self.flag)

    @property
    def default(self) -> Default | None:
        """The default for all controllers; None where there is none, or where it depends on the release."""
        general = [one for one in self.defaults if not one.controller]
        return general[0] if len(general) == 1 else None


class Recognition(_Part, frozen=True, kw_only=True):
    """What tells that an operator is of this kind. A trailing ``*`` in a label's value or a series stands for any rest.

    Args:
        operators: names in facts files.
        controllers: values of the label ``controller``.
        series: names of series.
        labels: values of labels, such as of ``job`` or ``container``.
    """

    operators: tuple[Text, ...] = ()
    controllers: tuple[Text, ...] = ()
    series: tuple[Text, ...] = ()
    labels: dict[Text, tuple[Text, ...]] = {}


class ControllerProfile(_Part, frozen=True, kw_only=True):
    """What is known of one controller.

    Args:
        name: its label ``controller``.
        workers: those that it has whatever the setting says; None where the setting reaches it.
        external_calls: whether its workers wait for something that is not the API server; None where nobody says.
        source: where that is said.
    """

    name: Text
    workers: Annotated[int, Meta(ge=1)] | None = None
    external_calls: bool | None = None
    source: Text


class Profile(_Part, frozen=True, kw_only=True):
    """One kind of operator.

    Args:
        name: by which it is chosen.
        title: what it is called in sentences.
        summary: what the profile is about, in a sentence.
        recognised_by: what tells that an operator is of this kind.
        concurrency: workers of a controller, MaxConcurrentReconciles.
        qps: refill rate of the client's token bucket.
        burst: its capacity.
        controllers: what is known of single ones.
        lease: what its replicas elect a leader for.
        deployment: name of its Deployment, for patches.
        container: name of its container there, the first one; patches need both.
        docs: where its own documentation speaks of tuning.
        notes: what else to know when reading its figures, each with its source.
    """

    schema: Annotated[str, Meta(pattern=f"^{SCHEMA}$")] = SCHEMA
    name: Name
    title: Text
    summary: Text
    recognised_by: Recognition = Recognition()
    concurrency: Knob = Knob()
    qps: Knob = Knob()
    burst: Knob = Knob()
    controllers: tuple[ControllerProfile, ...] = ()
    lease: Text | None = None
    deployment: Text | None = None
    container: Text | None = None
    docs: tuple[Text, ...] = ()
    notes: tuple[Text, ...] = ()

    @property
    def is_kuberay(self) -> bool:
        """Whether KubeRay's releases, chart and requests are what to go by."""
        return self.name == KUBERAY_NAME

    @property
    def fixed_workers(self) -> dict[str, int]:
        """Controllers that the concurrency does not reach, and the workers that they have."""
        return {one.name: one.workers for one in self.controllers if one.workers is not None}

    @property
    def external_callers(self) -> frozenset[str]:
        """Controllers whose workers may wait for something that no series of the client shows."""
        return frozenset(one.name for one in self.controllers if one.external_calls)

    @property
    def known_callers(self) -> frozenset[str]:
        """Controllers of which is known whether their workers wait for something outside the API server."""
        return frozenset(one.name for one in self.controllers if one.external_calls is not None)

    def stays_inside(self, controller: str) -> bool:
        """Whether a controller is known to call nothing but the API server; others may call anything."""
        return any(one.name == controller and one.external_calls is False for one in self.controllers)

    def program(self, controller: str) -> ReconcileProgram | None:
        """What a reconcile of a controller asks for; None where that is not known."""
        return program_of(controller) if self.is_kuberay else None

    def knob(self, name: str) -> Knob:
        """One of the settings: concurrency, qps or burst.

        Raises:
            KeyError: it is none of them.
        """
        return {"concurrency": self.concurrency, "qps": self.qps, "burst": self.burst}[name]

    def knobs(self) -> tuple[tuple[str, Knob], ...]:
        """Name and setting, in the order in which they are shown."""
        return (("concurrency", self.concurrency), ("qps", self.qps), ("burst", self.burst))


def fits(pattern: str, text: str) -> bool:
    """Whether a text is what a pattern says, in which a ``*`` at the end stands for any rest."""
    return text.startswith(pattern[:-1]) if pattern.endswith("*") else text == pattern
