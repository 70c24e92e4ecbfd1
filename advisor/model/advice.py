"""Advice: what to set, in which direction, why, and what it is expected to change."""

import enum

import msgspec

__all__ = ["Advice", "Direction", "KnobAdvice", "Patch", "Prediction"]


class Direction(enum.StrEnum):
    """Which way a setting should go; ``no-number`` means that the data carries no advice."""

    RAISE = "raise"
    KEEP = "keep"
    LOWER = "lower"
    NO_NUMBER = "no-number"


class KnobAdvice(msgspec.Struct, frozen=True, kw_only=True):
    """Advice on one setting. ``value`` is the value to set, equal to ``current`` for keep, None where there is none."""

    direction: Direction
    current: float | None
    value: float | None
    reason: str

    @property
    def moves(self) -> bool:
        """Whether there is another value to set."""
        return self.direction in (Direction.RAISE, Direction.LOWER) and self.value is not None


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """What a change is expected to do to one quantity, with an interval where the method gives one.

    ``simulated`` says that it comes from runs of the twin, whose interval holds the truth in four cases of five.
    """

    quantity: str
    unit: str
    now: float
    then: float
    low: float
    high: float
    method: str
    simulated: bool = False


class Patch(msgspec.Struct, frozen=True, kw_only=True):
    """A change ready to apply; the tool never applies it.

    ``kind`` is helm-values, deployment-args, deployment-resources, kustomize, arguments, configuration, environment, or
    words, which say what to set where nobody knows how.
    """

    kind: str
    title: str
    text: str


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """Advice on each setting. One flag serves all controllers, so there is one concurrency."""

    concurrency: KnobAdvice
    qps: KnobAdvice
    burst: KnobAdvice
    cpu_cores: KnobAdvice
    memory_bytes: KnobAdvice
    actions: tuple[str, ...] = ()
    """What to do beside or instead of changing a setting."""
    patches: tuple[Patch, ...] = ()

    @property
    def changes_settings(self) -> bool:
        """Whether any setting is to get another value."""
        return any(knob.moves for _, knob in self.knobs())

    def knobs(self) -> tuple[tuple[str, KnobAdvice], ...]:
        """Setting name and advice, in the order in which they are shown."""
        return (
            ("concurrency", self.concurrency),
            ("qps", self.qps),
            ("burst", self.burst),
            ("cpu_cores", self.cpu_cores),
            ("memory_bytes", self.memory_bytes),
        )
