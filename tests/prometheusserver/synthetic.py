"""Large histories of KubeRay operators as OpenMetrics text: a week of one, an hour of many.

Made by arithmetic alone from a seed: a queue that fills by the difference of what arrives and what workers get done,
so that counts, sums, buckets, depth and busy workers agree with each other. Series are those of KubeRay 1.7 as
Prometheus stores them, with the labels of a ServiceMonitor that honours the operator's own, of cAdvisor and of
kube-state-metrics. No more is held in memory than one text's values.
"""

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from advisor.model.signal import Window

__all__ = ["BLOCK_SECONDS", "NATURES", "START", "Fleet", "Nature", "Week"]

START: Final = 1795392000.0
"""Midnight of Monday, 23 November 2026 (UTC)."""
BLOCK_SECONDS: Final = 7200.0
"""Prometheus keeps two hours in a block, from even hours on; a text that spans no more becomes one block."""

_HOUR: Final = 3600.0
_DAY: Final = 86400.0
_INF: Final = math.inf
_CONTROLLERS: Final = ("raycluster", "rayjob", "rayservice")
_CALLS: Final = {"GET": 0.5, "POST": 0.5, "PUT": 1.5, "PATCH": 0.5}
_CALLS_PER_RECONCILE: Final = sum(_CALLS.values())
_CALL_SECONDS: Final = 0.02
_CONFLICTS: Final = 0.01
_ERRORS: Final = 0.01
_BACK_LATER: Final = 0.3
_BODY_BYTES: Final = 1500.0
_OBJECTS: Final = 200
_RAY_CLUSTERS: Final = 10
_CORES_PER_WORKER: Final = 0.15
_IDLE_CORES: Final = 0.005
_LIMIT_BYTES: Final = 512 * 2**20
_DOWN_STEPS: Final = 2


def _bounds(text: str) -> tuple[str, ...]:
    return (*text.split(), "+Inf")


# As KubeRay writes them.
_QUEUE_BOUNDS: Final = _bounds(
    "1e-08 1e-07 1e-06 9.999999999999999e-06 9.999999999999999e-05 0.001 0.01 0.1 1 10 100 1000"
)
_RECONCILE_BOUNDS: Final = _bounds(
    "0.005 0.01 0.025 0.05 0.1 0.15 0.2 0.25 0.3 0.35 0.4 0.45 0.5 0.6 0.7 0.8 0.9 1 1.25 1.5 1.75 2 2.5 3 3.5 4 4.5 5 "
    "6 7 8 9 10 15 20 25 30 40 50 60"
)
_CLIENT_BOUNDS: Final = _bounds("0.005 0.025 0.1 0.25 0.5 1 2 4 8 15 30 60")
_SIZE_BOUNDS: Final = _bounds("64 256 512 1024 4096 16384 65536 262144 1.048576e+06 4.194304e+06 1.6777216e+07")
_GO_BOUNDS: Final = _bounds(
    "6.399999999999999e-08 6.399999999999999e-07 7.167999999999999e-06 8.191999999999999e-05 0.0009175039999999999 "
    "0.010485759999999998 0.11744051199999998"
)


@dataclass(frozen=True, slots=True)
class Nature:
    """How an operator is set and loaded. A burst is this much more for so long; most of the time there is none."""

    workers: int = 1
    work_seconds: float = 0.2
    qps: float = 100.0
    quiet_per_second: float = 0.05
    burst_per_second: float = 0.0
    burst_seconds: float = 300.0


NATURES: Final[Mapping[str, Nature]] = {
    "quiet": Nature(),
    "saturated": Nature(work_seconds=0.5, burst_per_second=4.0),
    "throttled": Nature(workers=4, qps=5.0, burst_per_second=3.0),
    "wide": Nature(workers=10, burst_per_second=0.5),
}


@lru_cache(maxsize=4096)
def _shares(bounds: tuple[str, ...], mean: float) -> tuple[float, ...]:
    """How much of an exponential distribution lies at or below each bound."""
    return tuple(1.0 if bound == "+Inf" else -math.expm1(-float(bound) / mean) for bound in bounds)


class _Histogram:
    """Cumulative buckets, sum and count."""

    def __init__(self, bounds: tuple[str, ...]) -> None:
        self.bounds = bounds
        self._buckets = [0.0] * len(bounds)
        self._sum = 0.0

    def add(self, count: int, mean: float) -> None:
        """Observe so many values around a mean."""
        if count:
            # Three digits, so that quiet times share one distribution.
            shares = _shares(self.bounds, float(f"{mean:.3g}"))
            self._buckets = [bucket + count * share for bucket, share in zip(self._buckets, shares, strict=True)]
            self._sum += count * mean

    def read(self) -> list[float]:
        """Each bucket, the sum and the count."""
        return [*map(int, self._buckets), self._sum, int(self._buckets[-1])]


class _Counted:
    """A counter that grows by fractions and shows whole ones."""

    def __init__(self) -> None:
        self._exact = 0.0

    def add(self, amount: float) -> int:
        """Grow; by how many whole ones it now shows more."""
        before = int(self._exact)
        self._exact += amount
        return int(self._exact) - before

    def read(self) -> int:
        """What it shows."""
        return int(self._exact)


class _Controller:
    """One queue with its workers."""

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.backlog = 0.0
        self.active = 0
        self.oldest = 0.0
        self.adds, self.done, self.errors, self.back_later = _Counted(), _Counted(), _Counted(), _Counted()
        self.wait, self.work = _Histogram(_QUEUE_BOUNDS), _Histogram(_QUEUE_BOUNDS)
        self.reconcile = _Histogram(_RECONCILE_BOUNDS)

    def step(self, seconds: float, arrivals: float, work_seconds: float, chance: float) -> int:
        """Let time pass; how many reconciles ended."""
        before = self.backlog
        finished = min(before + arrivals, self.workers * seconds / work_seconds)
        self.backlog = before + arrivals - finished
        # Little's law: what waited on average, by what left a second.
        wait = 0.0005 + ((before + self.backlog) / 2 * seconds / finished if finished else 0.0)
        self.adds.add(arrivals)
        count = self.done.add(finished)
        self.wait.add(count, wait)
        self.work.add(count, work_seconds)
        self.reconcile.add(count, work_seconds)
        self.errors.add(count * _ERRORS)
        self.back_later.add(count * _BACK_LATER)
        # A scrape sees whole workers: with many waiting all are busy, else as many as the share of time says.
        busy = finished * work_seconds / seconds
        self.active = self.workers if self.backlog >= 1 else int(busy) + (chance < busy % 1)
        self.oldest = work_seconds * chance if self.active else 0.0
        return count

    def results(self) -> list[float]:
        """Reconciles by result: error, requeue, requeue_after, success."""
        errors, later = self.errors.read(), self.back_later.read()
        return [errors, 0, later, self.done.read() - errors - later]


class _Verb:
    """Calls of one verb."""

    def __init__(self) -> None:
        self.calls, self.conflicts = _Counted(), _Counted()
        self.limiter, self.request = _Histogram(_CLIENT_BOUNDS), _Histogram(_CLIENT_BOUNDS)
        self.sent, self.received = _Histogram(_SIZE_BOUNDS), _Histogram(_SIZE_BOUNDS)

    def step(self, amount: float, limiter_seconds: float, *, writes: bool) -> None:
        count = self.calls.add(amount)
        self.limiter.add(count, limiter_seconds + 0.0001)
        # As exported: with the limiter's wait.
        self.request.add(count, limiter_seconds + _CALL_SECONDS)
        self.sent.add(count, _BODY_BYTES)
        self.received.add(count, 2 * _BODY_BYTES)
        if writes:
            self.conflicts.add(count * _CONFLICTS)


class _Operator:
    """An operator's process from its start on."""

    def __init__(
        self, nature: Nature, busy: Sequence[str], verbs: Sequence[str], started: float, restarts: int = 0
    ) -> None:
        self._nature = nature
        self._busy = busy
        self.controllers = {name: _Controller(nature.workers if name in busy else 1) for name in _CONTROLLERS}
        self.verbs = {verb: _Verb() for verb in verbs}
        self.scheduled = _Histogram(_GO_BOUNDS)
        self.started = started
        self.restarts = restarts
        self.cpu = 0.0
        self.age = 0.0

    def step(self, seconds: float, arrivals: float, rng: random.Random) -> None:
        """Let time pass while so many objects change."""
        nature = self._nature
        done = 0
        busy_seconds = limiter = 0.0
        for name in self._busy:
            share = 1.0 if name == "raycluster" else 0.1
            # All calls pass one limiter; what it lets through bounds what workers get done.
            slowed = max(nature.work_seconds, nature.workers * _CALLS_PER_RECONCILE / nature.qps)
            controller = self.controllers[name]
            crowded = controller.backlog + arrivals * share > nature.workers * seconds / slowed
            work = slowed if crowded else nature.work_seconds
            count = controller.step(seconds, arrivals * share, work, rng.random())
            if name == "raycluster":
                limiter = (work - nature.work_seconds) / _CALLS_PER_RECONCILE
            done += count
            busy_seconds += count * work
        for verb, tracked in self.verbs.items():
            tracked.step(done * _CALLS[verb], limiter, writes=verb == "PUT")
        self.scheduled.add(done * 20, 2e-05)
        self.cpu += busy_seconds * _CORES_PER_WORKER + seconds * _IDLE_CORES
        self.age += seconds

    @property
    def memory(self) -> int:
        """Resident bytes."""
        return int(60e6 + 20e3 * sum(one.backlog for one in self.controllers.values()))


@dataclass(frozen=True, slots=True)
class _Metric:
    """A family: the beginning of each series up to its target's labels, whose target that is, and how to read all."""

    family: str
    kind: str
    heads: tuple[str, ...]
    place: str
    read: Callable[[_Operator], Sequence[float]]


def _heads(name: str, labels: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    return tuple(name + "{" + "".join(f'{label}="{value}",' for label, value in one.items()) for one in labels)


def _plain(
    name: str,
    kind: str,
    labels: Sequence[Mapping[str, str]],
    read: Callable[[_Operator], Sequence[float]],
    place: str = "operator",
) -> _Metric:
    family = name.removesuffix("_total") if kind == "counter" else name
    return _Metric(family, kind, _heads(name, labels), place, read)


def _histogram(
    name: str, bounds: Sequence[str], labels: Sequence[Mapping[str, str]], of: Callable[[_Operator], list[_Histogram]]
) -> _Metric:
    heads: list[str] = []
    for one in labels:
        heads += _heads(f"{name}_bucket", [{**one, "le": bound} for bound in bounds])
        heads += _heads(f"{name}_sum", [one]) + _heads(f"{name}_count", [one])
    return _Metric(
        name,
        "histogram",
        tuple(heads),
        "operator",
        lambda operator: [value for one in of(operator) for value in one.read()],
    )


def _controller_metrics(busy: Sequence[str]) -> Iterator[_Metric]:
    each = [{"controller": name} for name in _CONTROLLERS]
    queues = [{"controller": name, "name": name} for name in _CONTROLLERS]

    def of(read: Callable[[_Controller], float]) -> Callable[[_Operator], list[float]]:
        return lambda operator: [read(one) for one in operator.controllers.values()]

    def gauge(name: str, labels: Sequence[Mapping[str, str]], read: Callable[[_Controller], float]) -> _Metric:
        return _plain(name, "gauge", labels, of(read))

    def counter(name: str, labels: Sequence[Mapping[str, str]], read: Callable[[_Controller], float]) -> _Metric:
        return _plain(name, "counter", labels, of(read))

    yield gauge("controller_runtime_active_workers", each, lambda one: one.active)
    yield gauge("controller_runtime_max_concurrent_reconciles", each, lambda one: one.workers)
    yield counter("controller_runtime_reconcile_errors_total", each, lambda one: one.errors.read())
    for name in ("reconcile_panics", "reconcile_timeouts", "terminal_reconcile_errors"):
        yield counter(f"controller_runtime_{name}_total", each, lambda one: 0)
    yield _histogram(
        "controller_runtime_reconcile_time_seconds",
        _RECONCILE_BOUNDS,
        [{"controller": name} for name in busy],
        lambda operator: [operator.controllers[name].reconcile for name in busy],
    )
    results = ("error", "requeue", "requeue_after", "success")
    yield _plain(
        "controller_runtime_reconcile_total",
        "counter",
        [{"controller": name, "result": result} for name in _CONTROLLERS for result in results],
        lambda operator: [value for one in operator.controllers.values() for value in one.results()],
    )
    yield counter("workqueue_adds_total", queues, lambda one: one.adds.read())
    yield gauge("workqueue_depth", [{**one, "priority": "0"} for one in queues], lambda one: int(one.backlog))
    yield gauge("workqueue_longest_running_processor_seconds", queues, lambda one: one.oldest)
    yield counter("workqueue_retries_total", queues, lambda one: one.errors.read())
    yield gauge("workqueue_unfinished_work_seconds", queues, lambda one: one.oldest * one.active)
    yield _histogram(
        "workqueue_queue_duration_seconds",
        _QUEUE_BOUNDS,
        queues,
        lambda it: [one.wait for one in it.controllers.values()],
    )
    yield _histogram(
        "workqueue_work_duration_seconds",
        _QUEUE_BOUNDS,
        queues,
        lambda it: [one.work for one in it.controllers.values()],
    )


def _client_metrics(verbs: Sequence[str]) -> Iterator[_Metric]:
    host = {"host": "10.96.0.1:443"}
    labels = [{**host, "verb": verb} for verb in verbs]

    def each(read: Callable[[_Verb], _Histogram]) -> Callable[[_Operator], list[_Histogram]]:
        return lambda operator: [read(one) for one in operator.verbs.values()]

    limiter, request = each(lambda one: one.limiter), each(lambda one: one.request)
    yield _histogram("rest_client_rate_limiter_duration_seconds", _CLIENT_BOUNDS, labels, limiter)
    yield _histogram("rest_client_request_duration_seconds", _CLIENT_BOUNDS, labels, request)
    yield _histogram("rest_client_request_size_bytes", _SIZE_BOUNDS, labels, each(lambda one: one.sent))
    yield _histogram("rest_client_response_size_bytes", _SIZE_BOUNDS, labels, each(lambda one: one.received))
    codes = [{"code": "201" if verb == "POST" else "200", **host, "method": verb} for verb in verbs]
    yield _plain(
        "rest_client_requests_total",
        "counter",
        [*codes, {"code": "409", **host, "method": "PUT"}],
        lambda operator: [
            *(one.calls.read() - one.conflicts.read() for one in operator.verbs.values()),
            operator.verbs["PUT"].conflicts.read(),
        ],
    )


def _process_metrics() -> Iterator[_Metric]:
    none: list[dict[str, str]] = [{}]

    def gauge(name: str, read: Callable[[_Operator], float]) -> _Metric:
        return _plain(name, "gauge", none, lambda operator: [read(operator)])

    def counter(name: str, read: Callable[[_Operator], float]) -> _Metric:
        return _plain(name, "counter", none, lambda operator: [read(operator)])

    yield counter("controller_runtime_conversion_webhook_panics_total", lambda it: 0)
    yield gauge("go_goroutines", lambda it: 150 + 2 * sum(one.active for one in it.controllers.values()))
    yield gauge("go_memstats_alloc_bytes", lambda it: it.memory // 3)
    yield counter("go_memstats_alloc_bytes_total", lambda it: int(it.cpu * 5e7))
    yield gauge("go_memstats_heap_inuse_bytes", lambda it: it.memory // 2)
    yield gauge("go_sched_gomaxprocs_threads", lambda it: 1)
    yield _histogram("go_sched_latencies_seconds", _GO_BOUNDS, none, lambda it: [it.scheduled])
    yield _plain("leader_election_master_status", "gauge", [{"name": "ray-operator-leader"}], lambda it: [1])
    yield counter("process_cpu_seconds_total", lambda it: it.cpu)
    yield gauge("process_max_fds", lambda it: 1048576)
    yield counter("process_network_receive_bytes_total", lambda it: int(it.cpu * 1e6))
    yield counter("process_network_transmit_bytes_total", lambda it: int(it.cpu * 5e5))
    yield gauge("process_open_fds", lambda it: 12)
    yield gauge("process_resident_memory_bytes", lambda it: it.memory)
    yield gauge("process_start_time_seconds", lambda it: it.started)
    yield gauge("process_virtual_memory_bytes", lambda it: 1300000000)
    yield gauge("process_virtual_memory_max_bytes", lambda it: 1.8446744073709552e19)


def _object_metrics(clusters: int) -> Iterator[_Metric]:
    own = [
        {
            "name": f"rc-{number:03}",
            "namespace": f"team-{'abc'[number % 3]}",
            "uid": f"00000000-0000-4000-8000-{number:012}",
        }
        for number in range(clusters)
    ]
    conditions = [{"condition": value, **one} for value in ("false", "true") for one in own]
    # The operator's label is honoured, so the target's namespace is not there.
    yield _plain(
        "kuberay_cluster_condition_provisioned",
        "gauge",
        conditions,
        lambda it: [0] * clusters + [1] * clusters,
        place="objects",
    )
    info = [{**one, "owner_kind": "None"} for one in own]
    yield _plain("kuberay_cluster_info", "gauge", info, lambda it: [1] * clusters, place="objects")
    yield _plain(
        "kuberay_cluster_provisioned_duration_seconds",
        "gauge",
        own,
        lambda it: [20.0 + number for number in range(clusters)],
        place="objects",
    )


def _container_metrics() -> Iterator[_Metric]:
    none: list[dict[str, str]] = [{}]

    def counter(name: str, read: Callable[[_Operator], float]) -> _Metric:
        return _plain(name, "counter", none, lambda operator: [read(operator)], place="container")

    yield counter("container_cpu_cfs_periods_total", lambda it: int(it.age * 10))
    yield counter("container_cpu_cfs_throttled_periods_total", lambda it: 0)
    yield counter("container_cpu_cfs_throttled_seconds_total", lambda it: 0)
    total = [{"cpu": "total"}]
    yield _plain("container_cpu_usage_seconds_total", "counter", total, lambda it: [it.cpu], place="container")
    yield _plain("container_memory_working_set_bytes", "gauge", none, lambda it: [it.memory], place="container")
    limits = [{"resource": "cpu", "unit": "core"}, {"resource": "memory", "unit": "byte"}]
    yield _plain("kube_pod_container_resource_limits", "gauge", limits, lambda it: [1, _LIMIT_BYTES], place="state")
    yield _plain("kube_pod_container_status_restarts_total", "counter", none, lambda it: [it.restarts], place="state")


def _metrics(busy: Sequence[str], verbs: Sequence[str], clusters: int) -> list[_Metric]:
    return [
        *_container_metrics(),
        *_controller_metrics(busy),
        *_process_metrics(),
        *_object_metrics(clusters),
        *_client_metrics(verbs),
    ]


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.12g}"


class _Pod(NamedTuple):
    """Where an operator runs."""

    name: str
    instance: str


@dataclass(slots=True)
class _Stretch:
    """What one text has of one Pod: the values of each scrape with their time, and the ends of the lines of ``up``."""

    pod: _Pod
    rows: list[tuple[str, list[str]]] = field(default_factory=list)
    up: list[str] = field(default_factory=list)

    def scrape(self, time: float, values: Sequence[float] | None) -> None:
        """Take what a scrape has, or that it failed."""
        stamp = f"{time:.3f}\n"
        self.up.append(f"{int(values is not None)} {stamp}")
        if values is not None:
            self.rows.append((stamp, [_number(value) for value in values]))

    def columns(self) -> list[list[str]]:
        """The ends of lines by series."""
        stamps = [stamp for stamp, _ in self.rows]
        columns = zip(*(values for _, values in self.rows), strict=True)
        return [[f"{text} {stamp}" for text, stamp in zip(column, stamps, strict=True)] for column in columns]

    def places(self, cluster: str | None) -> dict[str, str]:
        """The end of a series' beginning, by where it comes from."""
        of_cluster = f',cluster="{cluster}"' if cluster is not None else ""
        endpoint = f'instance="{self.pod.instance}",job="kuberay-operator"{of_cluster}'
        in_pod = f'container="kuberay-operator",namespace="kuberay",pod="{self.pod.name}"{of_cluster}'
        return {
            "operator": f'{endpoint},namespace="kuberay",pod="{self.pod.name}"}} ',
            "objects": f'{endpoint},pod="{self.pod.name}"}} ',
            "container": f'{in_pod},instance="10.0.0.1:10250",job="kubelet",metrics_path="/metrics/cadvisor"}} ',
            "state": f'{in_pod},instance="10.1.0.9:8080",job="kube-state-metrics",node="node-1"}} ',
        }


def _text(metrics: Sequence[_Metric], parts: Sequence[tuple[_Stretch, list[list[str]], str | None]]) -> Iterator[str]:
    """One OpenMetrics text of several stretches, each with its columns and its cluster; a piece for each series."""
    placed = [(stretch.places(cluster), columns) for stretch, columns, cluster in parts]
    begin = 0
    for metric in metrics:
        yield f"# TYPE {metric.family} {metric.kind}\n"
        for places, columns in placed:
            # A Pod that was down all the time has no columns.
            for head, column in zip(metric.heads, columns[begin : begin + len(metric.heads)], strict=False):
                series = head + places[metric.place]
                yield series + series.join(column)
        begin += len(metric.heads)
    yield "# TYPE up gauge\n"
    for (stretch, _, _), (places, _) in zip(parts, placed, strict=True):
        series = f"up{{{places['operator']}"
        yield series + series.join(stretch.up)
    yield "# EOF\n"


@dataclass(frozen=True, slots=True)
class Week:
    """One operator for some days: mostly quiet, three bursts a day, two restarts, and one time without any scrape.

    It has one worker, which bursts saturate. With ``rollout`` its second restart is another Pod, else the same.
    """

    seed: int = 1
    start: float = START
    days: int = 7
    step: float = 60.0
    cluster: str | None = None
    rollout: bool = False

    @property
    def end(self) -> float:
        """When it ends."""
        return self.start + self.days * _DAY

    @property
    def bursts(self) -> tuple[Window, ...]:
        """When more arrives than one worker gets done; the backlog takes as long again to go."""
        rng = random.Random(f"bursts {self.seed}")
        seconds = NATURES["saturated"].burst_seconds
        starts = [
            self.start + day * _DAY + third * 8 * _HOUR + rng.uniform(2, 6) * _HOUR
            for day in range(self.days)
            for third in range(3)
        ]
        return tuple(Window(start, start + seconds) for start in starts)

    @property
    def restarts(self) -> tuple[float, ...]:
        """When its process starts anew, an hour after midnight, so never in a burst."""
        return tuple(self.start + day * _DAY + _HOUR for day in sorted({self.days // 3, 2 * self.days // 3}))

    @property
    def gap(self) -> Window:
        """Two hours of which nothing is stored, in the middle, from seven in the morning on, so never in a burst."""
        begin = self.start + (self.days // 2) * _DAY + 7 * _HOUR
        return Window(begin, begin + 2 * _HOUR)

    def texts(self) -> Iterator[Iterator[str]]:
        """A text for each block of two hours."""
        metrics = _metrics(_CONTROLLERS, tuple(_CALLS), _RAY_CLUSTERS)
        block = math.floor(self.start / BLOCK_SECONDS)
        held: list[_Stretch] = []
        for time, pod, values in self._scrapes(metrics):
            if math.floor(time / BLOCK_SECONDS) != block:
                if held:
                    yield self._text(metrics, held)
                held, block = [], math.floor(time / BLOCK_SECONDS)
            if not held or held[-1].pod != pod:
                held.append(_Stretch(pod))
            held[-1].scrape(time, values)
        yield self._text(metrics, held)

    def _text(self, metrics: Sequence[_Metric], stretches: Sequence[_Stretch]) -> Iterator[str]:
        return _text(metrics, [(one, one.columns(), self.cluster) for one in stretches])

    def _scrapes(self, metrics: Sequence[_Metric]) -> Iterator[tuple[float, _Pod, list[float] | None]]:
        """Time, Pod and values of each scrape that is stored; no values where the operator did not answer."""
        rng = random.Random(f"week {self.seed}")
        nature, bursts, gap = NATURES["saturated"], self.bursts, self.gap
        old, new = _pod(rng, "10.1.0.2:8080"), _pod(rng, "10.1.0.3:8080")
        starts = list(self.restarts)
        pod, down = old, 0
        operator = _Operator(nature, _CONTROLLERS, tuple(_CALLS), self.start - _DAY)
        for time in _times(rng, self.start, self.end, self.step):
            if starts and starts[0] <= time:
                del starts[0]
                down = _DOWN_STEPS
                if self.rollout and not starts:
                    pod = new
                restarts = operator.restarts + 1 if pod is old else 0
                started = time + (down - 1) * self.step
                operator = _Operator(nature, _CONTROLLERS, tuple(_CALLS), started, restarts)
            if down:
                down -= 1
                values = None
            else:
                arrivals = _arrivals(nature, bursts, time - self.step, time)
                if operator.age == 0 and operator.restarts + (pod is new):
                    # An operator comes to every object once when it starts.
                    arrivals += _OBJECTS
                operator.step(self.step, arrivals, rng)
                values = [value for metric in metrics for value in metric.read(operator)]
            if not gap.start <= time < gap.end:
                yield time, pod, values


def _pod(rng: random.Random, instance: str) -> _Pod:
    return _Pod(f"kuberay-operator-6d5f7c9b8-{rng.randrange(16**5):05x}", instance)


def _times(rng: random.Random, start: float, end: float, step: float) -> Iterator[float]:
    """Steps at an offset of a target's own, as Prometheus spreads its scrapes."""
    offset = round(rng.uniform(0, step), 3)
    return (start + offset + number * step for number in range(round((end - start) / step)))


def _arrivals(nature: Nature, bursts: Sequence[Window], start: float, end: float) -> float:
    more = sum(burst.overlap(start, end) for burst in bursts)
    return nature.quiet_per_second * (end - start) + nature.burst_per_second * more


_MIX: Final = ("quiet", "saturated", "quiet", "throttled", "quiet", "wide", "quiet", "quiet")


@dataclass(frozen=True, slots=True)
class Fleet:
    """Many operators for an hour, told apart by the label ``cluster``; a burst each where its nature has one.

    Their histories are eight, so that a thousand are made as fast as they are written. ``per_text`` operators share a
    text; more than one text of the same hours are blocks that overlap, which a server merges after a minute.
    """

    operators: int
    seed: int = 1
    start: float = START
    seconds: float = _HOUR
    step: float = 30.0
    per_text: int | None = None

    @property
    def end(self) -> float:
        """When it ends."""
        return self.start + self.seconds

    @property
    def clusters(self) -> list[str]:
        """Values of the label, in order."""
        return [f"cluster-{number:04}" for number in range(self.operators)]

    def nature_of(self, cluster: str) -> str:
        """Which of ``NATURES`` its operator has."""
        return _MIX[int(cluster.rpartition("-")[2]) % len(_MIX)]

    def texts(self) -> Iterator[Iterator[str]]:
        """A text for each ``per_text`` operators, or one for all."""
        busy, verbs = ("raycluster",), ("GET", "POST", "PUT")
        metrics = _metrics(busy, verbs, clusters=2)
        histories = [self._history(number, metrics, busy, verbs) for number in range(min(len(_MIX), self.operators))]
        columns = [history.columns() for history in histories]
        clusters = self.clusters
        size = self.per_text or self.operators
        for begin in range(0, self.operators, size):
            yield _text(
                metrics,
                [
                    (histories[number % len(_MIX)], columns[number % len(_MIX)], clusters[number])
                    for number in range(begin, min(begin + size, self.operators))
                ],
            )

    def _history(self, number: int, metrics: Sequence[_Metric], busy: Sequence[str], verbs: Sequence[str]) -> _Stretch:
        rng = random.Random(f"fleet {self.seed} {number}")
        nature = NATURES[_MIX[number]]
        begin = self.start + rng.uniform(0.2, 0.4) * self.seconds
        bursts = [Window(begin, begin + nature.burst_seconds)]
        stretch = _Stretch(_pod(rng, "10.1.0.2:8080"))
        operator = _Operator(nature, busy, verbs, self.start - _DAY)
        for time in _times(rng, self.start, self.end, self.step):
            operator.step(self.step, _arrivals(nature, bursts, time - self.step, time), rng)
            stretch.scrape(time, [value for metric in metrics for value in metric.read(operator)])
        return stretch
