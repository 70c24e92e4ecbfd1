"""client-go's work queue, which controllers used before the priority queue, as a state machine without a clock.

First in, first out, with a set of waiting delays beside it (research: controller-runtime 1.8). Two calls differ in it:
`add` follows the adapter that controller-runtime puts around this queue, `add_after` is the queue's own.
"""

from collections import deque
from collections.abc import Hashable

from advisor.queueing.metrics import QueueMetrics
from advisor.queueing.retrylimiters import default_classic_limiter
from advisor.queueing.types import AddOptions, Handoff, RetryLimiter

__all__ = ["ClassicQueue"]

# The priority that controller-runtime's metrics show for this queue.
_LABEL = ""


class ClassicQueue:
    """A first-in-first-out work queue; a key is with at most one worker at a time, and there are no priorities.

    Unlike in the priority queue, an immediate add leaves a pending delay standing, so that the key runs twice; and a
    key added while it is in work goes to the end of the queue when it is given back.

    Args:
        limiter: delays of rate-limited adds; the default of controllers with this queue where None.

    Attributes:
        handoffs: answers to waiters, in order; the driver takes them out.
        metrics: what has been counted so far, with depth under the empty label.
        started_ns: keys in work and when they were handed out.
    """

    __slots__ = (
        "_delays",
        "_limiter",
        "_queue",
        "_ready_since_ns",
        "_shut_down",
        "_waiters",
        "handoffs",
        "metrics",
        "started_ns",
    )

    has_priorities = False

    def __init__(self, limiter: RetryLimiter | None = None) -> None:
        self.handoffs: deque[Handoff] = deque()
        self.metrics = QueueMetrics()
        self.started_ns: dict[str, int] = {}
        self._limiter = limiter if limiter is not None else default_classic_limiter()
        self._queue: deque[str] = deque()
        # Keys in the queue and keys held aside, which are also in work.
        self._ready_since_ns: dict[str, int] = {}
        self._delays = _Delays()
        self._waiters: deque[Hashable] = deque()
        self._shut_down = False

    def __len__(self) -> int:
        """Keys in the queue as of the last operation; those held aside or waiting for a delay are not."""
        return len(self._queue)

    @property
    def blocked(self) -> int:
        """Keys that are held aside because they are in work."""
        return len(self._ready_since_ns) - len(self._queue)

    @property
    def delayed(self) -> int:
        """Keys that wait for a delay; they may be in the queue or in work at the same time."""
        return len(self._delays)

    @property
    def waiters(self) -> int:
        """Callers of `get` without an answer."""
        return len(self._waiters)

    @property
    def is_shut_down(self) -> bool:
        """Whether the queue takes no more keys."""
        return self._shut_down

    def add(self, now_ns: int, options: AddOptions, *keys: str) -> None:
        """Add keys as controller-runtime's adapter does: rate-limited beats a delay, and priority means nothing.

        The adapter adds them one by one, and a waiter takes each at once; in the real queue it depends on the scheduler
        whether it does so before the next key is in. Ignored after shutdown, except that the limiter still counts the
        failure.
        """
        self._expire(now_ns)
        for key in keys:
            if options.rate_limited:
                self._add_after(now_ns, self._limiter.when_ns(now_ns, key), key)
            elif options.after_ns > 0:
                self._add_after(now_ns, options.after_ns, key)
            else:
                self._add(now_ns, key)
            self._dispatch(now_ns)

    def add_after(self, now_ns: int, delay_ns: int, key: str) -> None:
        """Add a key after a delay; one of zero or less adds it at once, yet counts as a retry. Ignored after shutdown.

        The ready time is fixed at the call; of two delays of a key the one that ends first stays.
        """
        self._expire(now_ns)
        self._add_after(now_ns, delay_ns, key)
        self._dispatch(now_ns)

    def get(self, now_ns: int, waiter: Hashable) -> None:
        """Line up for the next key; after shutdown the answer has no key, but only once the queue is empty."""
        self._expire(now_ns)
        self._waiters.append(waiter)
        self._dispatch(now_ns)

    def done(self, now_ns: int, key: str) -> None:
        """Give back a key; added again in the meantime, it goes to the end of the queue, even after shutdown."""
        self._expire(now_ns)
        started_ns = self.started_ns.pop(key, None)
        if started_ns is None:
            return
        self.metrics.work_duration.observe(now_ns - started_ns)
        if key in self._ready_since_ns:
            self._queue.append(key)
            self._dispatch(now_ns)

    def forget(self, key: str) -> None:
        """Drop the key's failures from the retry limiter."""
        self._limiter.forget(key)

    def num_requeues(self, key: str) -> int:
        """Failures of the key that the retry limiter holds."""
        return self._limiter.num_requeues(key)

    def tick(self, now_ns: int) -> None:
        """Queue the keys whose delay is over."""
        self._expire(now_ns)
        self._dispatch(now_ns)

    def next_deadline_ns(self) -> int | None:
        """When the next delay is over; None when there is none."""
        return self._delays.next_due_ns()

    def shut_down(self, now_ns: int) -> None:
        """Take no more keys: delays are dropped, what is queued or held aside is still handed out.

        Waiters are answered without a key, even while keys are in work. Safe to call again.
        """
        self._expire(now_ns)
        self._shut_down = True
        self._delays.clear()
        self._dispatch(now_ns)

    def refresh_unfinished(self, now_ns: int) -> None:
        """Refresh the two gauges of unfinished work; the real queue does every 500 ms until shutdown."""
        if not self._shut_down:
            self.metrics.refresh_unfinished(now_ns, self.started_ns)

    def _expire(self, now_ns: int) -> None:
        """Queue what is due, so that it is ahead of whatever happens now, and serve waiters with it."""
        due_ns = self._delays.next_due_ns()
        if due_ns is None or due_ns > now_ns:
            return
        while due_ns is not None and due_ns <= now_ns:
            self._add(now_ns, self._delays.pop())
            due_ns = self._delays.next_due_ns()
        self._dispatch(now_ns)

    def _add(self, now_ns: int, key: str) -> None:
        if self._shut_down:
            return
        if key in self._ready_since_ns:
            self.metrics.deduplicated_adds += 1
            return
        self.metrics.became_ready(_LABEL)
        self._ready_since_ns[key] = now_ns
        if key not in self.started_ns:
            self._queue.append(key)

    def _add_after(self, now_ns: int, delay_ns: int, key: str) -> None:
        if self._shut_down:
            return
        self.metrics.retries += 1
        if delay_ns <= 0:
            self._add(now_ns, key)
        else:
            self._delays.insert(now_ns + delay_ns, key)

    def _dispatch(self, now_ns: int) -> None:
        """Serve waiters in order of arrival; an empty queue that was shut down has no key for them."""
        waiters, queue = self._waiters, self._queue
        while waiters and queue:
            key = queue.popleft()
            self.started_ns[key] = now_ns
            self.metrics.handed_out(_LABEL, now_ns - self._ready_since_ns.pop(key))
            self.handoffs.append(Handoff(waiters.popleft(), key, 0))
        while waiters and self._shut_down:
            self.handoffs.append(Handoff(waiters.popleft(), None, 0))


class _Delays:
    """Keys by the end of their delay: a binary heap that knows where each key is, so that nothing stale stays in it.

    Keys whose delays end at the same time come out in the order in which Go's container/heap, which has no tie-break,
    yields them: the same parents, the same children, the left one unless the right one is smaller.
    """

    __slots__ = ("_due_ns", "_keys", "_places")

    def __init__(self) -> None:
        self._due_ns: list[int] = []
        self._keys: list[str] = []
        self._places: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def next_due_ns(self) -> int | None:
        """The earliest end of a delay; None without any."""
        return self._due_ns[0] if self._due_ns else None

    def insert(self, due_ns: int, key: str) -> None:
        """Add a key, or move one that is there already to an earlier end. O(log n)."""
        place = self._places.get(key)
        if place is None:
            place = len(self._keys)
            self._due_ns.append(due_ns)
            self._keys.append(key)
            self._rise(place, due_ns, key)
        elif due_ns < self._due_ns[place]:
            self._rise(place, due_ns, key)

    def pop(self) -> str:
        """Take out the key whose delay ends first. O(log n)."""
        first = self._keys[0]
        del self._places[first]
        due_ns, key = self._due_ns.pop(), self._keys.pop()
        if self._keys:
            self._sink(due_ns, key)
        return first

    def clear(self) -> None:
        """Drop all keys."""
        self._due_ns.clear()
        self._keys.clear()
        self._places.clear()

    def _rise(self, place: int, due_ns: int, key: str) -> None:
        dues, keys, places = self._due_ns, self._keys, self._places
        while place:
            parent = (place - 1) // 2
            if due_ns >= dues[parent]:
                break
            dues[place] = dues[parent]
            keys[place] = keys[parent]
            places[keys[place]] = place
            place = parent
        dues[place] = due_ns
        keys[place] = key
        places[key] = place

    def _sink(self, due_ns: int, key: str) -> None:
        dues, keys, places = self._due_ns, self._keys, self._places
        size = len(keys)
        place = 0
        while (child := 2 * place + 1) < size:
            if child + 1 < size and dues[child + 1] < dues[child]:
                child += 1
            if dues[child] >= due_ns:
                break
            dues[place] = dues[child]
            keys[place] = keys[child]
            places[keys[place]] = place
            place = child
        dues[place] = due_ns
        keys[place] = key
        places[key] = place
