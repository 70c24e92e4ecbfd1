"""What docs/concepts.md tells, run by the real code: each story is a function from nothing to a block of Markdown.

All runs have fixed seeds, and figures are rounded to two digits. What the prose around a story claims is asserted in
it, so that the page cannot go on saying what the code no longer does.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from random import Random

from advisor.queueing.classicqueue import ClassicQueue
from advisor.queueing.expectations import CREATE_TIMEOUT_NS, ScaleExpectations
from advisor.queueing.handlers import LOW_PRIORITY
from advisor.queueing.priorityqueue import PriorityQueue
from advisor.queueing.records import PLACE_WAITING, Record
from advisor.queueing.retrylimiters import OVERALL_BURST
from advisor.queueing.types import IMMEDIATE, AddOptions, WorkQueue
from advisor.twin.parameters import OperatorSettings, QueueKind, WorldParameters
from advisor.twin.result import ControllerResult, RunResult
from advisor.twin.simulation import simulate
from advisor.twin.workload import Arrival, Existing, Restart, Workload, Writer

__all__ = ["STORIES", "page"]

_PAGE = Path(__file__).resolve().parent.parent / "docs" / "concepts.md"
_STORY = re.compile(r"(<!-- story: ([a-z-]+) -->\n).*?(?=<!-- end of story -->)", re.DOTALL)

_SECOND_NS = 1_000_000_000
_SEED = 1
_CLUSTERS = 100
_WORKERS = (1, 4, 16)
_PRIORITY, _CLASSIC = QueueKind.PRIORITY, QueueKind.CLASSIC

# A quiet world, so that what is seen is the queue: everything is as long as it says, and the API server answers a
# thousand requests a second.
_WORLD = WorldParameters(
    request_seconds=dict.fromkeys(("POST", "PUT", "PATCH", "DELETE"), 0.02),
    server_work_seconds=0.001,
    pod_work_seconds=0.001,
    pod_start_seconds=1.0,
    pod_starters=1000,
    watch_lag_seconds=0.005,
    watch_share=1.0,
    reconcile_seconds=0.005,
)
# Reconciles that take time without a write, as those of an operator that is short of CPU do.
_SLOW_SECONDS = 0.2
_SLOW = replace(_WORLD, reconcile_seconds=_SLOW_SECONDS)


def _arrivals(pace_seconds: float) -> Workload:
    return Workload(
        arrivals=tuple(Arrival(number * pace_seconds, f"team/cluster-{number:03}", 4) for number in range(_CLUSTERS))
    )


_AT_ONCE = _arrivals(0.0)
_ALONE = Workload(arrivals=_AT_ONCE.arrivals[:1])


def page() -> str:
    """The text of docs/concepts.md as it is, with the output of each story put in anew."""
    text = _PAGE.read_text(encoding="utf-8")
    named = [match[2] for match in _STORY.finditer(text)]
    assert sorted(named) == sorted(STORIES), f"the page has the stories {named}, there are {list(STORIES)}"
    return _STORY.sub(lambda match: f"{match[1]}\n{_told(match[2])}\n\n", text)


@cache
def _told(name: str) -> str:
    return STORIES[name]()


# Texts and figures.


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows))


def _figure(value: float) -> str:
    """Two digits, without an exponent."""
    rounded = float(f"{value:.2g}")
    return f"{rounded:.6f}".rstrip("0").rstrip(".")


def _seconds(value: float) -> str:
    """A length of time; what is below a second in milliseconds."""
    if 0.0 < value < 0.001:  # noqa: PLR2004 - a millisecond
        return "below 1 ms"
    return f"{_figure(1000 * value)} ms" if 0.0 < value < 1.0 else f"{_figure(value)} s"


def _wait(controller: ControllerResult) -> str:
    return _seconds(controller.queue_wait_seconds_mean or 0.0)


# Runs.


def _run(load: Workload, settings: OperatorSettings, world: WorldParameters = _WORLD) -> RunResult:
    return simulate(load, settings, world, Random(_SEED), sample_seconds=0.5)  # noqa: S311 - no secrets are made here


@cache
def _burst(concurrency: int, queue: QueueKind = _PRIORITY, replicas: int = 1) -> RunResult:
    settings = OperatorSettings(concurrency=concurrency, queue=queue, replicas=replicas)
    return _run(_AT_ONCE, settings)


@cache
def _throttled(concurrency: int) -> RunResult:
    settings = OperatorSettings(concurrency=concurrency, qps=20.0, burst=20)
    return _run(_AT_ONCE, settings)


def _main(result: RunResult) -> ControllerResult:
    found = result.controller("raycluster")
    assert found is not None
    return found


def _ready(result: RunResult) -> tuple[float, float, float]:
    """When the first, the middle and the last cluster are ready, each since it came."""
    ready = sorted(result.ready_seconds)
    return ready[0], ready[len(ready) // 2], ready[-1]


def _errors(controller: ControllerResult) -> int:
    return controller.reconciles["error"]


def _reconciles(controller: ControllerResult) -> int:
    return sum(controller.reconciles.values())


# One queue, by hand.


class _ByHand:
    """A priority queue whose every step becomes a row of a table."""

    def __init__(self) -> None:
        self.queue = PriorityQueue()
        self.rows: list[tuple[str, ...]] = []

    def add(self, now: int, key: str, *, after: int = 0, priority: int | None = None) -> None:
        words = f"add `{key}`"
        words += f" after {after} s" if after else ""
        words += f" at {priority}" if priority is not None else ""
        options = AddOptions(after_ns=after * _SECOND_NS, priority=priority)
        self.queue.add(now * _SECOND_NS, options, key)
        self._note(now, words)

    def get(self, now: int, worker: str) -> None:
        self.queue.get(now * _SECOND_NS, worker)
        self._note(now, f"worker {worker} asks")

    def done(self, now: int, key: str) -> None:
        self.queue.done(now * _SECOND_NS, key)
        self._note(now, f"`{key}` is done")

    def tick(self, now: int, words: str) -> None:
        self.queue.tick(now * _SECOND_NS)
        self._note(now, words)

    def told(self) -> str:
        return _table(("at", "what happens", "handed out", "ready, in order", "waiting", "in work"), self.rows)

    def _note(self, now: int, words: str) -> None:
        queue = self.queue
        out = [f"`{each.key}` to worker {each.waiter}" for each in queue.handoffs]
        queue.handoffs.clear()
        ready = sorted(
            (each for each in queue.pending() if each.place != PLACE_WAITING),
            key=lambda each: (-each.priority, each.sequence),
        )
        waiting = [
            f"`{each.key}` till {each.ready_at_ns // _SECOND_NS} s"
            for each in queue.pending()
            if each.place == PLACE_WAITING
        ]
        lists = (out, [self._ready_key(each) for each in ready], waiting, [f"`{key}`" for key in queue.started_ns])
        self.rows.append((f"{now} s", words, *(", ".join(each) for each in lists)))

    def _ready_key(self, record: Record) -> str:
        at = f" at {record.priority}" if record.priority else ""
        return f"`{record.key}`{at}" + (" (locked)" if record.key in self.queue.started_ns else "")


def _queue_by_hand() -> str:
    """De-duplication, and the key that is ready and locked at the same time."""
    hand = _ByHand()
    hand.add(0, "a")
    hand.add(0, "b")
    hand.add(0, "a")
    hand.get(0, "1")
    hand.add(1, "a")
    hand.get(1, "2")
    hand.get(1, "3")
    assert len(hand.queue) == 1, "a is ready"
    assert hand.queue.waiters == 1, "and yet worker 3 has to wait"
    hand.done(3, "a")
    assert hand.queue.waiters == 0
    hand.add(4, "b", after=2)
    hand.done(5, "b")
    hand.get(6, "2")
    return hand.told()


def _timers_and_priorities() -> str:
    """What waits, what a merge does to it, and who goes first."""
    hand = _ByHand()
    hand.add(0, "timer", after=10)
    hand.add(0, "old-1", priority=LOW_PRIORITY)
    hand.add(0, "old-2", priority=LOW_PRIORITY)
    hand.add(1, "new")
    hand.add(2, "old-2")
    hand.add(3, "timer")
    for at, worker in enumerate("1234", start=4):
        hand.get(at, worker)
    assert [row[2].split("`")[1] for row in hand.rows[-4:]] == ["timer", "new", "old-2", "old-1"]
    hand.tick(10, "nothing: the timer is gone")
    return hand.told()


# A hundred clusters.


def _events_become_reconciles() -> str:
    """How much the queue merges, and that more workers leave it less to merge."""
    results = {workers: _main(_burst(workers)) for workers in _WORKERS}
    reconciles = [_reconciles(each) for each in results.values()]
    assert reconciles == sorted(reconciles)
    assert all(each.deduplicated_adds > 3 * each.adds for each in results.values())
    rows = [
        (
            str(workers),
            _figure(each.adds + each.deduplicated_adds),
            _figure(each.deduplicated_adds),
            _figure(_reconciles(each)),
            _figure(_reconciles(each) / _CLUSTERS),
        )
        for workers, each in results.items()
    ]
    return _table(
        ("workers", "events, timers and retries", "merged by the queue", "reconciles", "for each cluster"), rows
    )


def _depth_over_time() -> str:
    """Depth and ready clusters over time with one worker: nothing for long, and then all of them."""
    result = _burst(1)
    first, _, last = _ready(result)
    assert first > 0.75 * last, "the first one is ready late"
    samples = {round(each.at_seconds, 1): sum(each.depth_by_priority.values()) for each in result.depth_samples}
    assert all(depth >= _CLUSTERS - 2 for at, depth in samples.items() if 1.0 <= at < first - 1.0)
    header = ("after", "keys ready for a worker", "clusters ready")
    times = [1, *range(4, int(last), 4), *range(int(first) + 1, int(last) + 2)]
    rows = [
        (f"{at} s", _figure(samples[at]), str(sum(ready <= at for ready in result.ready_seconds)))
        for at in sorted(set(times))
    ]
    return _table(header, rows)


def _burst_and_pace() -> str:
    """When clusters are ready, by how they come and how many workers there are."""
    paced = _run(_arrivals(0.25), OperatorSettings())
    assert _ready(paced)[2] < _ready(_burst(1))[0] / 5
    assert _ready(_burst(4))[2] < _ready(_burst(1))[2] / 3
    few, many = (_main(_burst(workers)).budget_seconds["client_limiter"] for workers in _WORKERS[1:])
    assert few < many / 10, "with many workers Pods wait in the client"
    runs = [(f"all at once, {workers} worker{'s' * (workers > 1)}", _burst(workers)) for workers in _WORKERS]
    runs.append(("one every 250 ms, 1 worker", paced))
    rows = [(name, *(_seconds(each) for each in _ready(result)), _wait(_main(result))) for name, result in runs]
    return _table(("the clusters come", "first ready after", "the middle one", "the last one", "mean wait"), rows)


def _hot_key() -> str:
    """Twenty writes a second on one cluster, and the same writes spread over twenty."""
    rows = []
    seen: dict[str, list[tuple[float, float]]] = {}
    for name, clusters in (("one key", 1), ("twenty keys", 20)):
        keys = tuple(f"team/cluster-{number:03}" for number in range(clusters))
        load = Workload(
            existing=tuple(Existing(key, 4) for key in keys),
            writers=(Writer(keys, 20.0, 0.0, 60.0),),
            duration_seconds=60.0,
        )
        for workers in _WORKERS:
            main = _main(_run(load, OperatorSettings(concurrency=workers), _SLOW))
            pace, wait = _reconciles(main) / 60.0, main.queue_wait_seconds_mean or 0.0
            seen.setdefault(name, []).append((pace, wait))
            rows.append((name, str(workers), _figure(pace), _figure(main.utilisation * workers), _seconds(wait)))
    assert len(set(seen["one key"])) == 1, "no number of workers changes anything"
    assert seen["twenty keys"][1][0] > 3.5 * seen["twenty keys"][0][0]
    assert seen["twenty keys"][1][1] < seen["twenty keys"][0][1] / 10
    return _table(("written are", "workers", "reconciles a second", "workers busy", "mean wait"), rows)


def _conflicts() -> str:
    """An operator in conflict with itself, by how far its cache lags behind and by what comes in between."""
    rows, seen = [], []
    for lag_seconds in (0.005, 0.05, 0.2):
        world = replace(_WORLD, watch_lag_seconds=lag_seconds)
        cases = ((_ALONE, 1), (_AT_ONCE, 1), (_AT_ONCE, 4))
        found = [_run(load, OperatorSettings(concurrency=workers), world) for load, workers in cases]
        seen.append([each.conflicts for each in found])
        assert all(_errors(_main(each)) == each.conflicts for each in found), "each is a reconcile that failed"
        rows.append((_seconds(lag_seconds), *(_figure(each.conflicts) for each in found)))
    assert [each[1] for each in seen] == [0, 0, 0]
    assert all(few[at] < many[at] for few, many in pairwise(seen) for at in (0, 2))
    return _table(("cache lag", "1 cluster, 1 worker", "100 clusters, 1 worker", "100 clusters, 4 workers"), rows)


def _expectations() -> str:
    """Whether a group of workers may be scaled, after a create and after a delete that have not been seen."""
    cluster, group, pod = "team/cluster-000", "workers", "team/pod-0"
    rows = []
    for at in (0, 1, 29, 31, 3600):
        now_ns = at * _SECOND_NS
        answers = []
        for create, cache_view in ((True, {pod}), (True, set()), (False, set()), (False, {pod})):
            expectations = ScaleExpectations()
            expect = expectations.expect_create if create else expectations.expect_delete
            expect(0, cluster, group, pod)
            answers.append(expectations.is_satisfied(now_ns, cluster, group, cache_view))
        assert answers == [True, now_ns > CREATE_TIMEOUT_NS, True, False]
        rows.append((f"{at} s", *("goes on" if each else "held" for each in answers)))
    header = ("after", "created, and seen", "created, never seen", "deleted, and gone", "deleted, still Terminating")
    return _table(header, rows)


def _buckets() -> str:
    """Waits in each bucket of a throttled client, with one worker and with many."""
    few, many = _throttled(1), _throttled(16)
    rows = []
    for one, other in zip(few.requests, many.requests, strict=True):
        assert (one.verb, one.kind) == (other.verb, other.kind)
        waits = [_seconds(each.limiter_seconds / each.attempts) for each in (one, other)]
        rows.append((f"{one.verb} {one.kind}", _figure(one.requests), _figure(one.requests / few.run_seconds), *waits))
    total = sum(each.requests for each in few.requests)
    assert total / few.run_seconds > 1.5 * few.settings.qps, "all kinds together go beyond QPS"
    rows.append(("all", _figure(total), _figure(total / few.run_seconds), "", ""))
    return _table(("requests", "in all", "a second, 1 worker", "mean wait, 1 worker", "mean wait, 16 workers"), rows)


def _throttled_client() -> str:
    """What a throttled client looks like from outside, and that workers do not help it."""
    rows = []
    for workers in (1, 16):
        result, free = _throttled(workers), _burst(workers)
        main = _main(result)
        waits = result.limiter_wait_seconds_mean or 0.0
        share = main.budget_seconds["client_limiter"] / sum(main.budget_seconds.values())
        last, last_free = _ready(result)[2], _ready(free)[2]
        reconcile = _seconds(main.reconcile_seconds_mean or 0.0)
        rows.append((str(workers), _seconds(last_free), _seconds(last), reconcile, _seconds(waits), f"{share:.0%}"))
    assert _ready(_throttled(16))[2] > 0.9 * _ready(_throttled(1))[2], "16 workers are hardly faster than one"
    assert _ready(_throttled(16))[2] > 5 * _ready(_burst(16))[2]
    longest = max(each.limiter_seconds / each.attempts for each in _throttled(1).requests)
    assert longest < 1.0 / _throttled(1).settings.qps, "one worker never waits for more than one token"
    header = (
        "workers",
        "last ready, QPS 100 / Burst 200",
        "last ready, QPS 20 / Burst 20",
        "one reconcile",
        "mean wait of a request",
        "workers' time in the limiter",
    )
    return _table(header, rows)


def _replicas() -> str:
    """The same burst on one, two and three replicas."""
    results = {replicas: _burst(1, replicas=replicas) for replicas in (1, 2, 3)}
    last = [_ready(each)[2] for each in results.values()]
    assert max(last) < 1.01 * min(last)
    rows = [
        (str(replicas), _seconds(_ready(each)[2]), _figure(_reconciles(_main(each))))
        for replicas, each in results.items()
    ]
    return _table(("replicas", "last cluster ready after", "reconciles"), rows)


# After a restart.

_UP_AT, _NEW_AT = 5, 6


@cache
def _restarted(queue: QueueKind) -> RunResult:
    """A hundred clusters at rest, an operator that has just come up, and five clusters that come a second later."""
    load = Workload(
        existing=tuple(Existing(f"team/old-{number:03}", 4) for number in range(_CLUSTERS)),
        arrivals=tuple(Arrival(_NEW_AT, f"team/new-{number}", 4) for number in range(5)),
        restarts=(Restart(0.0, _UP_AT),),
        duration_seconds=60.0,
    )
    return _run(load, OperatorSettings(queue=queue), _SLOW)


def _restart_depth() -> str:
    """Depth by priority after a restart."""
    result = _restarted(_PRIORITY)
    low = str(LOW_PRIORITY)
    depths = {each.at_seconds: each.depth_by_priority for each in result.depth_samples}
    assert depths[7].get("0", 0) > 0, "new clusters wait as well"
    assert depths[7][low] - depths[8][low] <= 1, "and hold the list up"
    end = next(at for at in range(_NEW_AT + 1, 60) if not sum(depths[at].values()))
    times = [_UP_AT, 6, 7, 8, 10, 12, *range(16, end, 4), end]
    rows = [(f"{at - _UP_AT} s", _figure(depths[at].get(low, 0)), _figure(depths[at].get("0", 0))) for at in times]
    return _table(("after the start", f"depth at {low}", "depth at 0"), rows)


def _restart_waits() -> str:
    """Whom a restart holds up, with either queue."""
    rows = []
    for name, queue in (("priority (KubeRay 1.7)", _PRIORITY), ("classic (up to 1.6)", _CLASSIC)):
        result = _restarted(queue)
        waits = _main(result).queue_wait_seconds_by_priority
        found = (waits.get(str(LOW_PRIORITY)), waits.get("0"), waits.get(""))
        waited = ("-" if each is None else _seconds(each) for each in found)
        rows.append((name, *waited, _seconds(_ready(result)[2])))
    assert _ready(_restarted(_PRIORITY))[2] < _ready(_restarted(_CLASSIC))[2] / 2
    header = ("queue", f"mean wait at {LOW_PRIORITY}", "at 0", "without priorities", "last new cluster ready after")
    return _table(header, rows)


# The classic queue.


def _runs(queue: WorkQueue) -> list[int]:
    """Add a key after 10 s, and a second later at once: when a worker that is always there runs it, in seconds."""
    queue.add(0, AddOptions(after_ns=10 * _SECOND_NS), "a")
    queue.get(0, "worker")
    queue.add(1 * _SECOND_NS, IMMEDIATE, "a")
    found = []
    for at in range(1, 31):
        now_ns = at * _SECOND_NS
        queue.tick(now_ns)
        while queue.handoffs:
            found.append(at)
            queue.done(now_ns, queue.handoffs.popleft().key or "")
            queue.get(now_ns, "worker")
    return found


def _double_run() -> str:
    """A timer and an event of the same key."""
    priority, classic = _runs(PriorityQueue()), _runs(ClassicQueue())
    assert (priority, classic) == ([1], [1, 10])
    rows = [
        (name, str(len(runs)), ", ".join(f"{at} s" for at in runs))
        for name, runs in (("priority", priority), ("classic", classic))
    ]
    return _table(("queue", "runs of the key", "at"), rows)


def _retry_bucket() -> str:
    """Keys that fail at the same moment for the first time: when the last one is tried again."""
    rows = []
    for failing in (100, 1000, 10_000):
        last = []
        for queue in (PriorityQueue(), ClassicQueue()):
            queue.add(0, AddOptions(rate_limited=True), *(f"team/cluster-{number}" for number in range(failing)))
            end_ns = 0
            while (due_ns := queue.next_deadline_ns()) is not None:
                end_ns = due_ns
                queue.tick(due_ns)
            assert len(queue) == failing
            last.append(end_ns / _SECOND_NS)
        assert last[1] >= 10 * last[0] or failing <= OVERALL_BURST
        rows.append((f"{failing}", *(_seconds(each) for each in last)))
    return _table(("keys that fail at once", "priority: last retry after", "classic: last retry after"), rows)


STORIES: Mapping[str, Callable[[], str]] = {
    "queue-by-hand": _queue_by_hand,
    "timers-and-priorities": _timers_and_priorities,
    "events-become-reconciles": _events_become_reconciles,
    "depth-over-time": _depth_over_time,
    "burst-and-pace": _burst_and_pace,
    "hot-key": _hot_key,
    "conflicts": _conflicts,
    "expectations": _expectations,
    "buckets": _buckets,
    "throttled-client": _throttled_client,
    "replicas": _replicas,
    "restart-depth": _restart_depth,
    "restart-waits": _restart_waits,
    "double-run": _double_run,
    "retry-bucket": _retry_bucket,
}
