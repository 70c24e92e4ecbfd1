"""What an endpoint answers: families as Prometheus text or as OpenMetrics."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Protocol

from advisor.sources.openmetricswriter import series_key

__all__ = ["OPENMETRICS_TYPE", "TEXT_TYPE", "FamilyLike", "SampleLike", "exposition_text", "wants_openmetrics"]

TEXT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS_TYPE: Final = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_MEDIA_TYPE: Final = "application/openmetrics-text"


class SampleLike(Protocol):
    """One sample."""

    @property
    def name(self) -> str:
        """Its name, with ``_bucket``, ``_sum``, ``_count`` or ``_total`` where it has such an end."""
        ...

    @property
    def labels(self) -> tuple[tuple[str, str], ...]:
        """Names and values of its labels."""
        ...

    @property
    def value(self) -> float:
        """Its value."""
        ...


class FamilyLike(Protocol):
    """The samples of one name."""

    @property
    def name(self) -> str:
        """Its name as in the text format: a counter's with ``_total``."""
        ...

    @property
    def kind(self) -> str:
        """Its type."""
        ...

    @property
    def samples(self) -> Sequence[SampleLike]:
        """Its samples, those of one series of a histogram together."""
        ...


def wants_openmetrics(accept: str) -> bool:
    """Whether a header ``Accept`` asks for OpenMetrics; a weight of zero refuses it."""
    for one in accept.split(","):
        media_type, *parameters = (part.strip() for part in one.split(";"))
        if media_type == _MEDIA_TYPE:
            return not any(parameter.replace(" ", "") in ("q=0", "q=0.0") for parameter in parameters)
    return False


def exposition_text(families: Iterable[FamilyLike], *, openmetrics: bool) -> str:
    """One answer; families without samples are left out, as real clients do."""
    return "".join(f"{line}\n" for line in _lines(families, openmetrics=openmetrics))


def _lines(families: Iterable[FamilyLike], *, openmetrics: bool) -> Iterator[str]:
    for family in families:
        if not family.samples:
            continue
        is_counter = family.kind == "counter"
        name = family.name.removesuffix("_total") if openmetrics and is_counter else family.name
        yield f"# TYPE {name} {family.kind}"
        for sample in family.samples:
            yield f"{series_key(sample.name, sample.labels)} {_number(sample.value)}"
    if openmetrics:
        yield "# EOF"


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)
