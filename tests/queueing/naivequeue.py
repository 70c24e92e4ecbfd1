"""The rules of research: controller-runtime 1 in their plainest form: one list of records, looked through each time.

What happens at one time is in the order of its section 9: what the operation gives back, delays that end, buffered
adds, the operation's own adds, hand-offs.
"""

from dataclasses import dataclass, field

from advisor.queueing.types import AddOptions

__all__ = ["Item", "NaiveQueue"]

_OTHERS = "exceeded_cardinality_limit"


@dataclass
class Item:
    """A pending key; ready if it has no ready time."""

    key: str
    number: int
    priority: int
    ready_at: int | None
    ready_since: int = 0
    why: str = ""


@dataclass
class NaiveMetrics:
    """What was counted, with every duration kept."""

    depth: dict[int | str, int] = field(default_factory=dict)
    adds: dict[int | str, int] = field(default_factory=dict)
    gets: dict[int | str, int] = field(default_factory=dict)
    waited: dict[int | str, int] = field(default_factory=dict)
    queue_durations: list[int] = field(default_factory=list)
    work_durations: list[int] = field(default_factory=list)
    retries: int = 0
    deduplicated: int = 0
    discarded: int = 0

    def label(self, priority: int) -> int | str:
        """The series of a priority; 25 have their own until there is a 26th."""
        if _OTHERS in self.depth or (priority not in self.depth and len(self.depth) == 25):
            return _OTHERS
        return priority

    def move(self, priority: int, change: int) -> int | str:
        """Change the depth of a priority."""
        label = self.label(priority)
        self.depth[label] = self.depth.get(label, 0) + change
        return label


class NaiveQueue:
    """A priority queue without any thought of cost."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.locked: list[tuple[str, int]] = []
        self.waiters: list[object] = []
        self.buffered: list[tuple[AddOptions, tuple[str, ...]]] = []
        self.failures: list[str] = []
        self.handed_out: list[tuple[object, str | None, int]] = []
        self.metrics = NaiveMetrics()
        self.numbers = 0
        self.ended = False

    def add(self, now: int, options: AddOptions, *keys: str) -> None:
        """Add keys."""
        if not self.ended:
            self.settle(now, (options, keys))

    def buffer(self, options: AddOptions, *keys: str) -> None:
        """Keep an add for the next operation."""
        if not self.ended:
            self.buffered.append((options, keys))

    def get(self, now: int, waiter: object) -> None:
        """Wait for a key."""
        if self.ended:
            self.handed_out.append((waiter, None, 0))
        else:
            self.waiters.append(waiter)
            self.settle(now)

    def done(self, now: int, key: str) -> None:
        """Unlock a key."""
        self.metrics.work_durations += [now - began for locked, began in self.locked if locked == key]
        self.locked = [each for each in self.locked if each[0] != key]
        if not self.ended:
            self.settle(now)

    def tick(self, now: int) -> None:
        """Do what is due."""
        if not self.ended:
            self.settle(now)

    def forget(self, key: str) -> None:
        """Forget a key's failures."""
        self.failures = [each for each in self.failures if each != key]

    def shut_down(self) -> None:
        """Tell all waiters to stop."""
        self.ended = True
        self.buffered = []
        self.handed_out += [(waiter, None, 0) for waiter in self.waiters]
        self.waiters = []

    def deadline(self) -> int | None:
        """When the first delay ends."""
        return None if self.ended else min((i.ready_at for i in self.items if i.ready_at is not None), default=None)

    def is_locked(self, key: str) -> bool:
        """Whether a worker has the key."""
        return any(locked == key for locked, _ in self.locked)

    def ready(self) -> list[Item]:
        """Ready items in their order, those whose key is locked included."""
        return sorted((i for i in self.items if i.ready_at is None), key=lambda i: (-i.priority, i.number))

    def settle(self, now: int, *adds: tuple[AddOptions, tuple[str, ...]]) -> None:
        """Let delays end, apply adds, hand out."""
        waiting = [(i.ready_at, -i.priority, i.number, i) for i in self.items if i.ready_at is not None]
        for ready_at, _, _, item in sorted(waiting, key=lambda each: each[:3]):
            if ready_at - now <= 0:
                item.number = self.next_number()
                self.become_ready(now, item)
        for options, keys in (*self.buffered, *adds):
            for key in keys:
                self.add_one(now, options, key)
        self.buffered = []
        self.hand_out(now)

    def next_number(self) -> int:
        """A fresh sequence number."""
        self.numbers += 1
        return self.numbers

    def delay(self, options: AddOptions, key: str) -> int:
        """How long an add is delayed."""
        if not options.rate_limited:
            return options.after_ns
        backoff = min(5_000_000 << self.failures.count(key), 1_000_000_000_000)
        self.failures.append(key)
        return backoff if options.after_ns == 0 else min(backoff, options.after_ns)

    def add_one(self, now: int, options: AddOptions, key: str) -> None:
        """Add one key, or merge it with its pending item."""
        delay = self.delay(options, key)
        priority = 0 if options.priority is None else options.priority
        why = "BACKOFF" if options.rate_limited else "REQUEUE" if self.is_locked(key) else "DELAYED_ADD"
        self.metrics.retries += delay > 0
        item = next((i for i in self.items if i.key == key), None)
        if item is None:
            item = Item(key, self.next_number(), priority, now + max(delay, 0), why=why)
            self.items.append(item)
            if delay <= 0:
                self.become_ready(now, item)
            return
        before = item.priority
        if priority > before:
            item.priority, item.number = priority, self.next_number()
        if item.ready_at is None:
            self.metrics.deduplicated += 1
            self.metrics.discarded += delay > 0
            if priority > before:
                self.metrics.move(before, -1)
                self.metrics.move(priority, 1)
        elif delay <= 0:
            self.become_ready(now, item)
        elif now + delay < item.ready_at:
            item.ready_at, item.why = now + delay, why

    def become_ready(self, now: int, item: Item) -> None:
        """Make an item ready and count it."""
        item.ready_at, item.ready_since = None, now
        label = self.metrics.move(item.priority, 1)
        self.metrics.adds[label] = self.metrics.adds.get(label, 0) + 1

    def hand_out(self, now: int) -> None:
        """Give the first items whose keys are not locked to the first waiters."""
        for item in self.ready():
            if not self.waiters:
                return
            if self.is_locked(item.key):
                continue
            self.items.remove(item)
            self.locked.append((item.key, now))
            self.handed_out.append((self.waiters.pop(0), item.key, item.priority))
            waited = now - item.ready_since
            self.metrics.queue_durations.append(waited)
            label = self.metrics.move(item.priority, -1)
            self.metrics.gets[label] = self.metrics.gets.get(label, 0) + 1
            self.metrics.waited[label] = self.metrics.waited.get(label, 0) + waited
