"""The operator's process: its controllers, its client's buckets and its lease, and what a restart does to them.

What the process knew is lost with it: its queue, expectations, backoff, event series and requests under way (those that
the API server has not answered have no effect). What it has done stays counted.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from advisor.queueing.tokenbucket import ClientBuckets
from advisor.twin.events import EventRecorder
from advisor.twin.lease import Lease
from advisor.twin.parameters import OperatorSettings
from advisor.twin.workers import Program, TwinController, Workshop

__all__ = ["Controlled", "OperatorProcess"]


@dataclass(frozen=True, slots=True)
class Controlled:
    """What one controller is for.

    Attributes:
        program: its reconcile.
        connect: tells the objects which controller to wake.
        list_all: reads all objects as they are and names their keys.
        workers: how many it has whatever the flag says; None for as many as that.
    """

    program: Program
    connect: Callable[[TwinController], None]
    list_all: Callable[[], Iterable[str]]
    workers: int | None = None


class OperatorProcess:
    """One operator over all its processes.

    Args:
        shop: what controllers share.
        events: the event recorder.
        kinds: what there are controllers for, by label.

    Attributes:
        controllers: of the process that runs, or ran last, by label.
        ended: controllers of earlier processes, by label.
        lease: of the process that runs.
        is_up: whether a process runs.
    """

    def __init__(self, shop: Workshop, events: EventRecorder, kinds: Mapping[str, Controlled]) -> None:
        self.controllers: dict[str, TwinController] = {}
        self.ended: dict[str, list[TwinController]] = {name: [] for name in kinds}
        self.is_up = False
        self._shop = shop
        self._events = events
        self._kinds = kinds
        self.lease = Lease(shop.engine, shop.client)

    def set_up(self, settings: OperatorSettings) -> None:
        """Start the next process with other settings."""
        self._shop = replace(self._shop, settings=settings)

    def start(self, *, is_first: bool = False) -> None:
        """Begin: full buckets, empty queues, a lease that is held.

        Caches are read before workers start. All that is in them comes at low priority, except in the first process of
        a run: that one has been at work for long.
        """
        self.is_up = True
        shop = self._shop
        observer = shop.engine.observer
        if observer is not None and not is_first:
            observer.restarted(shop.engine.now_ns)
        shop.client.start(ClientBuckets(shop.settings.qps, shop.settings.burst))
        self._events.start()
        for name, kind in self._kinds.items():
            self.controllers[name] = controller = TwinController(name, _shop_of(kind, shop), kind.program)
            kind.connect(controller)
            if not is_first:
                controller.add_listed(kind.list_all())
            controller.start()
        self.lease.start()

    def stop(self) -> None:
        """End: whatever was under way never happens."""
        self.is_up = False
        self.lease.stop()
        for name, controller in self.controllers.items():
            controller.stop()
            self.ended[name].append(controller)
        self._shop.engine.drop((self._shop.client, self._events, self.lease, *self.controllers.values()))


def _shop_of(kind: Controlled, shop: Workshop) -> Workshop:
    if kind.workers is None:
        return shop
    return replace(shop, settings=replace(shop.settings, concurrency=kind.workers))
