"""What sources deliver: raw samples, log records and object changes, before any arithmetic.

One record of each kind is the same whatever it was read from, so that the signals are computed once for all sources.
"""

import enum
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import msgspec

__all__ = ["LogRecord", "ObjectChange", "ReadNote", "Selection", "Series", "SeriesStore", "Setup", "Subject"]


@dataclass(frozen=True, slots=True)
class Series:
    """Samples of one series in ascending order of time; times in Unix seconds, two arrays of one length."""

    name: str
    labels: dict[str, str]
    times: "array[float]" = field(default_factory=lambda: array("d"))
    values: "array[float]" = field(default_factory=lambda: array("d"))

    def index_at(self, time: float) -> int:
        """Index of the last sample at or before ``time``; -1 where there is none."""
        return bisect_right(self.times, time) - 1

    def __len__(self) -> int:
        """Number of samples."""
        return len(self.times)


class SeriesStore:
    """Series by name. ``origin`` says where they come from, for the origin of every signal."""

    __slots__ = ("_by_name", "origin")

    def __init__(self, series: Iterable[Series] = (), *, origin: str = "") -> None:
        self.origin = origin
        self._by_name: dict[str, list[Series]] = {}
        for one in series:
            self._by_name.setdefault(one.name, []).append(one)

    def get(self, name: str) -> tuple[Series, ...]:
        """All series of one name, in the order of arrival."""
        return tuple(self._by_name.get(name, ()))

    def names(self) -> frozenset[str]:
        """Names that have at least one series."""
        return frozenset(self._by_name)

    def __iter__(self) -> Iterator[Series]:
        """Every series."""
        for group in self._by_name.values():
            yield from group

    def sample_count(self) -> int:
        """Number of samples over all series."""
        return sum(len(series) for series in self)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which samples a source has to deliver.

    ``names`` are sample names taken as they are. ``aggregated`` maps names of series that exist once an object to the
    labels to keep; values of the same time are summed over all others, so that ten thousand objects stay one series.
    """

    names: frozenset[str]
    aggregated: dict[str, tuple[str, ...]]


class Subject(enum.StrEnum):
    """What a log line reports, where that matters for a signal (research: kuberay 3.3, 3.4)."""

    LINE = "line"
    START = "start"
    END = "end"
    ERROR = "error"
    CONFLICT = "conflict"
    POD_CREATED = "pod_created"
    POD_DELETED = "pod_deleted"
    THROTTLED = "throttled"
    EXPECTATION = "expectation"
    LAST_LINE = "last_line"
    SOURCE_STARTED = "source_started"
    WORKERS_STARTED = "workers_started"
    LEADER_ACQUIRED = "leader_acquired"
    LEADER_LOST = "leader_lost"


class LogRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the operator's log, read by source-independent rules.

    ``controller`` is the controller's label as in the metrics, "" for lines of no controller. ``delay_seconds`` is a
    throttling wait or a requeue delay, by subject; an end without one says in ``detail`` whether it is
    requeued with backoff. ``detail`` is else the error text, the URL, the worker group or the number of workers.
    """

    time: float
    subject: Subject
    controller: str = ""
    namespace: str = ""
    name: str = ""
    reconcile_id: str = ""
    delay_seconds: float | None = None
    detail: str = ""
    exact: bool = False
    """Whether the line is one of the verbose exact start and end markers."""


class ObjectChange(msgspec.Struct, frozen=True, kw_only=True):
    """One observed change of one object (formats, section 3): ``event`` is ADDED, MODIFIED, DELETED or EXISTING."""

    t: float
    event: str
    kind: str
    namespace: str
    name: str
    state: str | None = None
    desired: int | None = None
    ready_workers: int | None = None
    generation: int | None = None
    observed: int | None = None
    phase: str | None = None
    ready: bool | None = None
    cluster: str | None = None
    node_type: str | None = None


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about the operator beside its samples: version text, command-line arguments, time range.

    ``profile`` names the profile that is right for it, or where somebody tells it, the file of one.
    """

    version: str | None = None
    args: tuple[str, ...] = ()
    start: float | None = None
    end: float | None = None
    profile: str | None = None

    @property
    def is_told(self) -> bool:
        """Whether it says a version or arguments."""
        return self.version is not None or bool(self.args)


class ReadNote(msgspec.Struct, frozen=True, kw_only=True):
    """Something in the input that was skipped or looked wrong; what could be read was kept."""

    where: str
    message: str
