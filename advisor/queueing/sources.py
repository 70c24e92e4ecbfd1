"""A controller's sources at start: workers begin only when every one has synced (research: controller-runtime 3.1)."""

from collections.abc import Callable
from enum import Enum

from advisor.queueing.controlleroptions import CACHE_SYNC_TIMEOUT_NS, StartupError

__all__ = ["SourceState", "Sources"]


class SourceState(Enum):
    """How far one source is."""

    STARTING = "starting"
    SYNCING = "syncing"
    SYNCED = "synced"


class Sources:
    """The sources of one controller, each bounded by the cache sync timeout.

    A source is started once, whoever asks; one added after the start begins at once and holds nobody up. The driver
    reports what happens, and asks `tick` whether the time is up.

    Args:
        controller: the controller's name, for messages.
        timeout_ns: how long each source may take to start and to sync.
    """

    def __init__(self, controller: str, timeout_ns: int = CACHE_SYNC_TIMEOUT_NS) -> None:
        self._controller = controller
        self._timeout_ns = timeout_ns
        self._starters: dict[str, Callable[[], None]] = {}
        self._states: dict[str, SourceState] = {}
        self._late: set[str] = set()
        self._started_ns: int | None = None
        self._has_controller_started = False
        self._is_over = False

    @property
    def is_synced(self) -> bool:
        """Whether the start has been asked for and every source it waits for has synced."""
        return self._started_ns is not None and all(state is SourceState.SYNCED for state in self._states.values())

    @property
    def held(self) -> int:
        """Sources that are kept for the start; none after it, so that nothing holds on to their caches."""
        return len(self._starters)

    def watch(self, name: str, start: Callable[[], None]) -> None:
        """Add a source; after the start of the others it starts at once.

        Raises:
            StartupError: the name is taken.
        """
        if name in self._states or name in self._starters or name in self._late:
            raise StartupError(f"{self._controller}: a source named {name} exists already")
        if self._started_ns is None:
            self._starters[name] = start
        else:
            self._late.add(name)
            start()

    def warm_up(self, now_ns: int) -> None:
        """Start all sources, unless that has been done: before the election with warmup, else as part of `start`.

        Raises:
            Exception: what a source's start raises; it is not waited for any more.
        """
        if self._started_ns is not None:
            return
        self._started_ns = now_ns
        starters, self._starters = self._starters, {}
        self._states = dict.fromkeys(starters, SourceState.STARTING)
        try:
            for start in starters.values():
                start()
        except BaseException:
            self._is_over = True
            raise

    def start(self, now_ns: int) -> None:
        """Start the controller, and with it all sources that have not been started before.

        Raises:
            StartupError: called a second time.
            Exception: as `warm_up`.
        """
        if self._has_controller_started:
            raise StartupError(f"{self._controller}: started more than once")
        self._has_controller_started = True
        self.warm_up(now_ns)

    def started(self, name: str) -> None:
        """The source's own start call has returned."""
        if self._states.get(name) is SourceState.STARTING:
            self._states[name] = SourceState.SYNCING

    def synced(self, name: str) -> None:
        """The source is in sync: its initial list has gone through every handler."""
        if name not in self._late:
            self._states[name] = SourceState.SYNCED

    def failed(self, name: str, reason: str) -> None:
        """The source could not start or sync; the manager ends.

        Raises:
            StartupError: always, with the source's reason.
        """
        self._is_over = True
        raise StartupError(f"{self._controller}: source {name}: {reason}")

    def next_deadline_ns(self) -> int | None:
        """When waiting for the sources ends; None when nothing is waited for."""
        if self._started_ns is None or self.is_synced or self._is_over:
            return None
        return self._started_ns + self._timeout_ns

    def tick(self, now_ns: int) -> None:
        """Give up on sources whose time is over.

        Raises:
            StartupError: a source has not started or not synced within the time.
        """
        deadline_ns = self.next_deadline_ns()
        if deadline_ns is None or now_ns < deadline_ns:
            return
        for name, state in self._states.items():
            if state is SourceState.STARTING:
                self.failed(name, "timed out: its start must not block")
            if state is SourceState.SYNCING:
                self.failed(name, "timed out waiting for its cache to sync")

    def cancel(self) -> None:
        """Stop waiting without an error: the process ends."""
        self._is_over = True
