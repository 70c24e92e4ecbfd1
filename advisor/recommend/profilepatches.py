"""The advised change of an operator that is not KubeRay's, as far as its profile knows how settings are set.

A setting goes in by as many ways as are known: a value of the chart, an argument, a field, a variable. What no way is
known for is said in words, so that nothing that is advised is missing here.
"""

from collections.abc import Iterator

from advisor.knowledge.profile import Knob, Profile
from advisor.model.advice import Advice, Patch
from advisor.recommend.patches import (
    advised_changes,
    command,
    flags_of,
    inserted,
    json_patch,
    kustomize,
    limits_of,
    nested_values,
    plain,
    replaced,
    resources,
    right_container,
)

__all__ = ["profile_patches"]

_WORDS = {"concurrency": "workers", "qps": "QPS", "burst": "Burst"}


def profile_patches(advice: Advice, profile: Profile, args: tuple[str, ...], subject: str) -> tuple[Patch, ...]:
    """Patches for every advised change that has a value; none where nothing changes.

    Args:
        advice: the advice, patches not yet in it.
        profile: how the operator's settings are set.
        args: its command line, if known.
        subject: the controller that the advice on workers is for; "" where it is for all.
    """
    changes = advised_changes(advice)
    if not changes:
        return ()
    made = _Patches(profile, flags_of(args), subject, changes)
    return tuple(made.all())


class _Patches:
    def __init__(self, profile: Profile, args: tuple[str, ...], subject: str, changes: dict[str, float]) -> None:
        self._profile = profile
        self._args = args
        self._subject = subject
        self._settings = [(name, profile.knob(name), changes[name]) for name in _WORDS if name in changes]
        self._limits = limits_of(changes)

    def all(self) -> Iterator[Patch]:
        """Every way that is known, then words for what is left."""
        title = self._profile.title
        values = {knob.helm_value: plain(value) for _, knob, value in self._settings if knob.helm_value}
        if values:
            text = "".join(f"{line}\n" for line in nested_values(values))
            yield Patch(kind="helm-values", title=f"values for the chart of {title}", text=text)
        yield from self._deployment([(flag, plain(value)) for flag, value in self._flags()])
        fields = [
            f"{knob.field}: {plain(value)}\n"
            for _, knob, value in self._settings
            if knob.field and not self._flag(knob)
        ]
        if fields:
            yield Patch(kind="configuration", title=f"fields of {title}'s configuration file", text="".join(fields))
        variables = [f"{knob.variable}={plain(value)}\n" for _, knob, value in self._settings if knob.variable]
        if variables:
            yield Patch(kind="environment", title=f"environment variables of {title}", text="".join(variables))
        words = [*self._setting_words(), *self._limit_words()]
        if words:
            yield Patch(kind="words", title="what to set, where no flag or value of it is known", text="".join(words))

    def _flag(self, knob: Knob) -> str | None:
        return knob.flag_for(self._subject)

    def _flags(self) -> Iterator[tuple[str, float]]:
        for _, knob, value in self._settings:
            if (flag := self._flag(knob)) is not None:
                yield flag, value

    def _deployment(self, flags: list[tuple[str, str]]) -> Iterator[Patch]:
        """Arguments and resources: as patches of the Deployment where it and its container are known."""
        deployment, container = self._profile.deployment, self._profile.container
        operations = merged = ""
        if flags and self._args and deployment and container:
            operations = json_patch(_operations(flags, self._args, container))
            yield Patch(kind="deployment-args", title=command("json", deployment), text=operations)
        elif flags:
            known = (
                "these go in place of what is there" if self._args else "the present ones are not known: replace them"
            )
            text = "".join(f"{flag}={value}\n" for flag, value in flags)
            yield Patch(kind="arguments", title=f"arguments of {self._profile.title}; {known}", text=text)
        if self._limits and deployment and container:
            merged = resources(self._limits, deployment, container)
            yield Patch(kind="deployment-resources", title=command("strategic", deployment), text=merged)
        if deployment and (operations or merged):
            text = kustomize(operations, merged, deployment=deployment)
            yield Patch(kind="kustomize", title="kustomization.yaml", text=text)

    def _setting_words(self) -> Iterator[str]:
        for name, knob, value in self._settings:
            if self._flag(knob) or knob.helm_value or knob.field or knob.variable:
                continue
            whose = f" of {self._subject}" if name == "concurrency" and self._subject else ""
            yield f"{_WORDS[name]}{whose}: {plain(value)}{f' ({knob.words})' if knob.words else ''}\n"

    def _limit_words(self) -> Iterator[str]:
        if not (self._profile.deployment and self._profile.container):
            yield from (f"{name} limit of its container: {text}\n" for name, text in self._limits)


def _operations(flags: list[tuple[str, str]], args: tuple[str, ...], container: str) -> Iterator[dict[str, str]]:
    """Tests, then replacements, then insertions, since an insertion moves what stands behind it."""
    yield right_container(container)
    insertions = []
    for flag, value in flags:
        place = _place(args, flag)
        if place is None:
            insertions.append(f"{flag}={value}")
        else:
            yield from replaced(args, place, value)
    yield from inserted(insertions)


def _place(args: tuple[str, ...], flag: str) -> tuple[int, bool] | None:
    """The last word that is a flag, and whether its value is in the same word; None where it is not given."""
    found = None
    for index, word in enumerate(args):
        name, joined, _ = word.partition("=")
        if name in (flag, flag[1:]) and (joined or index + 1 < len(args)):
            found = (index, bool(joined))
    return found
