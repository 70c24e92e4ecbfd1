"""Keeps up with one kind: a paged list, then a watch from its version, for as long as it takes.

A watch that ends is resumed from the last version told, by an event or a bookmark. Only a version that the server no
longer has (410) makes a new list. Nothing ends a reflector but being stopped: whatever fails is tried again, ever more
slowly.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from random import random as evenly
from typing import Protocol

from advisor.queueing.objectstore import WatchEvent
from advisor.sidecar.kube.backoff import Backoff
from advisor.sidecar.kube.kinds import Selection
from advisor.sidecar.kube.objects import Bookmark, ObjectDecoder
from advisor.sidecar.kube.reading import ByteStream, KubeError, KubeReader, Wait, lines
from advisor.sidecar.observed import Observed

__all__ = ["Reflector", "ReflectorState", "Sink"]

_WATCH_SECONDS = 300
"""The least time after which the server is asked to end a watch; up to twice that, as client-go does."""
_SHORT_WATCH_SECONDS = 1.0
"""A watch that ends within it without a word counts as a failure, so that it is not resumed in a tight loop."""
_RELIST_STATUSES = frozenset({400, 404, 410, 504})
"""What a watch is refused with when its version is of no use: gone, not understood, or, after etcd was restored from a
backup, in the future."""


class Sink(Protocol):
    """Who is told. Times are Unix seconds of when it was received."""

    def listed(self, time: float, objects: list[Observed]) -> None:
        """All objects as they are now: at the start, and after a version was lost."""
        ...

    def event(self, time: float, event: WatchEvent[Observed]) -> None:
        """One change; `old` is set for a delete only."""
        ...

    def failed(self, text: str) -> None:
        """A try failed; the next one follows by itself."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectorState:
    """How a reflector fares.

    Attributes:
        synced: whether the first list is through.
        last_event: Unix seconds of the last word of the server: a list, an event or a bookmark; None before.
        version: the last version told.
        relists: lists after the first.
        errors: tries that failed.
        skipped: objects that could not be understood.
        problem: why it is not up to date now; "" where it is, as far as it knows.
    """

    synced: bool = False
    last_event: float | None = None
    version: str = ""
    relists: int = 0
    errors: int = 0
    skipped: int = 0
    problem: str = ""


class Reflector:
    """One kind's list and watch.

    Args:
        reader: the client.
        selection: what to watch.
        sink: is told, from the thread that calls `run`.
        wait: sleeps between tries; what it returns ends the reflector.
        clock: Unix seconds, of events only.
        monotonic: seconds of a clock that never goes back.
        random: evenly distributed between 0 and 1.
    """

    def __init__(
        self,
        reader: KubeReader,
        selection: Selection,
        sink: Sink,
        wait: Wait,
        *,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        random: Callable[[], float] = evenly,
    ) -> None:
        self.selection = selection
        self._reader = reader
        self._sink = sink
        self._wait = wait
        self._clock = clock
        self._monotonic = monotonic
        self._random = random
        self._backoff = Backoff(random)
        self._decoder = ObjectDecoder(selection.kind)
        self._version = ""
        self._has_synced = False
        self._last_event: float | None = None
        self._relists = 0
        self._errors = 0
        self._problem = ""

    def state(self) -> ReflectorState:
        """How it fares, from any thread."""
        return ReflectorState(
            synced=self._has_synced,
            last_event=self._last_event,
            version=self._version,
            relists=self._relists,
            errors=self._errors,
            skipped=self._decoder.skipped,
            problem=self._problem,
        )

    def run(self) -> None:
        """List and watch until `wait` says that it is over."""
        while not self._wait(self._step()):
            pass

    def _step(self) -> float:
        """List or watch once; seconds to wait before the next."""
        try:
            if not self._version:
                self._list()
            return self._watch()
        except KubeError as error:
            if self._wait(0.0):
                # The stream was closed on purpose.
                return 0.0
            self._errors += 1
            self._problem = str(error)
            self._sink.failed(self._problem)
            return self._backoff.next_seconds(error.retry_after_seconds)

    def _list(self) -> None:
        objects: list[Observed] = []
        token = ""
        while True:
            # Page by page: the text of a page is some ten times what is kept of it.
            page = self._decoder.page(self._reader.list_page(self.selection, token))
            objects += page.objects
            if not (token := page.continue_token):
                break
        if not page.version:
            raise KubeError(f"the list of {self.selection.kind.plural} has no version")
        self._relists += self._has_synced
        self._sink.listed(self._told(), objects)
        self._version = page.version
        self._has_synced = True
        self._problem = ""

    def _watch(self) -> float:
        seconds = round(_WATCH_SECONDS * (1.0 + self._random()))
        began = self._monotonic()
        try:
            stream = self._reader.watch(self.selection, self._version, seconds)
            self._problem = ""
            try:
                has_told = self._follow(stream)
            finally:
                stream.close()
        except KubeError as error:
            if error.status in _RELIST_STATUSES:
                self._version = ""
            raise
        if not has_told and self._monotonic() - began < _SHORT_WATCH_SECONDS:
            raise KubeError(f"the watch of {self.selection.kind.plural} ended at once")
        return 0.0

    def _follow(self, stream: ByteStream) -> bool:
        """Tell what a watch tells until it ends; whether that was anything."""
        has_told = False
        for line in lines(stream):
            event = self._decoder.event(line)
            if event is None:
                continue
            if isinstance(event, Bookmark):
                self._told()
                self._version = event.version
            else:
                one = event.old if event.new is None else event.new
                self._sink.event(self._told(), event)
                self._version = self._version if one is None else str(one.resource_version)
            if not has_told:
                has_told = True
                self._backoff.reset()
        return has_told

    def _told(self) -> float:
        now = self._clock()
        self._last_event = now
        return now
