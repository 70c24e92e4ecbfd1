import gzip
import re
import threading
import urllib.request
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest, start_http_server
from prometheus_client.parser import text_string_to_metric_families

from advisor.queueing.classicqueue import ClassicQueue
from advisor.queueing.controller import ControllerLoop, Work
from advisor.queueing.controlleroptions import ControllerOptions, ManagerDefaults, resolve
from advisor.queueing.metrics import EXCEEDED_CARDINALITY_LIMIT, MAX_PRIORITIES
from advisor.queueing.outcome import SUCCESS, Failure, Outcome
from advisor.queueing.priorityqueue import PriorityQueue
from advisor.queueing.tokenbucket import ClientBuckets
from advisor.queueing.topkeys import TopKeys
from advisor.queueing.types import AddOptions
from advisor.runtime.collector import RuntimeCollector
from advisor.runtime.context import Cancellation, ReconcileContext, ReconcileRequest
from advisor.runtime.driver import Driver
from advisor.runtime.families import ADDS, ALL, QUEUE_DURATION, Families
from advisor.runtime.histogram import HistogramSnapshot
from advisor.runtime.limiter import ApiRequest, ClientLimiter
from advisor.runtime.snapshot import ControllerSnapshot
from advisor.sources.exposition import ExpositionParser
from tests.support import Golden

MILLISECOND = 1_000_000
SECOND = 1_000_000_000


@dataclass
class Controller:
    """A controller in virtual time."""

    name: str
    queue: PriorityQueue | ClassicQueue
    workers: int = 2
    now_ns: int = 0
    top: TopKeys = field(default_factory=lambda: TopKeys(2))

    def __post_init__(self) -> None:
        self.loop = ControllerLoop(self.name, self.queue, self.workers)
        self.loop.start_workers(0)

    def add(self, *keys: str, **options: int) -> None:
        """Add keys."""
        self.queue.add(self.now_ns, AddOptions(**options), *keys)  # type: ignore[arg-type] # numbers only

    def begin(self, *, late_ns: int = 0) -> Work:
        """Begin the next hand-off, so much later than it was made."""
        handed_out_ns = self.now_ns
        self.now_ns += late_ns
        work = self.loop.begin(self.now_ns, self.queue.handoffs.popleft(), handed_out_ns=handed_out_ns)
        assert work is not None
        return work

    def end(self, work: Work, outcome: Outcome = SUCCESS) -> None:
        """End a reconcile."""
        self.top.add(work.key, self.now_ns - work.began_ns, failed=outcome.failure is not None)
        self.loop.finish(self.now_ns, work, outcome)

    def run(self, *, took_ns: int, outcome: Outcome = SUCCESS) -> None:
        """Take the next hand-off through a reconcile."""
        work = self.begin()
        self.now_ns += took_ns
        self.end(work, outcome)

    def snapshot(self) -> ControllerSnapshot:
        """What it stands at."""
        return ControllerSnapshot.take(self.now_ns, self.loop, self.top)


def busy() -> Controller:
    """A controller on the priority queue, in the middle of everything that it can be in."""
    made = Controller("advisor-raycluster", PriorityQueue())
    made.add("ns/a", "ns/b", priority=-100)
    made.run(took_ns=30 * MILLISECOND)
    made.run(took_ns=700 * MILLISECOND, outcome=Outcome(failure=Failure.RETRIABLE))
    made.add("ns/c")
    made.run(took_ns=2 * SECOND, outcome=Outcome(requeue_after_ns=300 * SECOND, timed_out=True))
    # The retry of ns/b was due meanwhile.
    made.run(took_ns=MILLISECOND, outcome=Outcome(failure=Failure.TERMINAL))
    made.add("ns/d", "ns/e", "ns/f", "ns/g")
    made.run(took_ns=5 * MILLISECOND, outcome=Outcome(failure=Failure.PANIC))
    made.begin(late_ns=20_000)
    made.begin()
    made.now_ns += 50 * MILLISECOND
    made.add("ns/e", "ns/h")
    made.add("ns/g", after_ns=SECOND)
    made.add("ns/i", after_ns=20 * SECOND)
    made.queue.refresh_unfinished(made.now_ns)
    made.now_ns += 250 * MILLISECOND
    made.queue.tick(made.now_ns)
    return made


def classic() -> Controller:
    """A controller on the classic queue."""
    made = Controller("advisor-rayjob", ClassicQueue(), workers=1)
    made.add("ns/a", "ns/b", "cluster-scoped")
    made.run(took_ns=123_456_789)
    made.begin()
    made.add("ns/b")
    made.add("ns/x", after_ns=7 * SECOND)
    made.now_ns += SECOND
    return made


def throttled() -> ClientLimiter:
    """A limiter that has let some requests through."""
    made = ClientLimiter(ClientBuckets(20.0, 2), "10.0.0.1:443", lambda: 0)
    context = ReconcileContext(lambda: 0, Cancellation())
    made.wait(ApiRequest("typed", "Pod", "POST"), context)
    made.wait(ApiRequest("typed", "Pod", "GET"), context)
    made.wait(ApiRequest("unstructured", "RayCluster/status", "PUT"), context)
    return made


@contextmanager
def serving(collector: RuntimeCollector) -> Iterator[str]:
    """A real server of the collector's metrics; its address."""
    registry = CollectorRegistry()
    registry.register(collector)
    server, thread = start_http_server(0, addr="127.0.0.1", registry=registry)
    try:
        yield f"http://127.0.0.1:{server.server_port}/metrics"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def scraped(collector: RuntimeCollector, accept: str = "text/plain") -> str:
    """What a scrape gets."""
    with serving(collector) as url:
        request = urllib.request.Request(url, headers={"Accept": accept})  # noqa: S310 - the address is our own
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310 - same
            body = answer.read()
    assert isinstance(body, bytes)
    return body.decode()


def exposed(collector: RuntimeCollector) -> str:
    """The same without a server."""
    registry = CollectorRegistry()
    registry.register(collector)
    return generate_latest(registry).decode()


def values(text: str) -> dict[str, float]:
    """Every sample of an answer, by name and labels as written."""
    lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {key: float(value) for key, _, value in lines}


def test_the_whole_answer(golden: Golden) -> None:
    """A real scrape gets exactly these families, in this order, with controller-runtime's names, help and bounds."""
    golden.check("runtime/metrics.txt", scraped(RuntimeCollector([busy(), classic()], [throttled()])))


def test_a_controller_that_has_done_nothing(golden: Golden) -> None:
    """All series of a controller exist from the start, except depth of the priority queue, which follows the keys."""
    idle = [Controller("advisor-raycluster", PriorityQueue()), Controller("advisor-rayjob", ClassicQueue())]
    golden.check("runtime/idle.txt", scraped(RuntimeCollector(idle)))


def test_our_own_reader_reads_it() -> None:
    """The product's parser finds every sample, none of them malformed, and the types as they are."""
    text = scraped(RuntimeCollector([busy(), classic()], [throttled()]))
    parser = ExpositionParser(None, "here:1")
    parser.feed(text.encode())
    found = parser.finish()
    assert found.malformed == 0
    assert len(found.samples) == len(values(text))
    assert found.types == {family.name: family.type for family in ALL}


def test_others_read_it_too() -> None:
    """The client library's own parser finds the same, and there is no series twice."""
    text = exposed(RuntimeCollector([busy(), classic()], [throttled()]))
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    assert len({(sample.name, *sorted(sample.labels.items())) for sample in samples}) == len(samples)
    assert len(samples) == len(values(text))


def test_openmetrics_is_served_as_well() -> None:
    """A scraper that asks for OpenMetrics gets it, with the same values."""
    collector = RuntimeCollector([busy()])
    text = scraped(collector, "application/openmetrics-text; version=1.0.0")
    assert text.endswith("# EOF\n")
    assert values(text) == values(scraped(collector))


def series_shapes(lines: Iterable[str]) -> dict[str, set[tuple[str, ...]]]:
    """Names of the labels of each series by its name, with the value of le, and without those of a scrape."""
    scrape = {"instance", "job", "namespace", "pod"}
    shapes: dict[str, set[tuple[str, ...]]] = {}
    for line in lines:
        if line.startswith(("workqueue_", "controller_runtime_", "rest_client_rate_limiter_")):
            labels = dict(re.findall(r'(\w+)="([^"]*)"', line))
            shape = (*sorted(labels.keys() - scrape), labels.get("le", ""))
            shapes.setdefault(line.partition("{")[0], set()).add(shape)
    return shapes


def test_series_are_those_of_a_real_operator(shared: Path) -> None:
    """Names, labels and bounds, as written, are those that KubeRay 1.7.0 was recorded with."""
    with gzip.open(shared / "recordings" / "throttled-client" / "metrics.om.gz", "rt", encoding="utf-8") as file:
        recorded = series_shapes(file)
    for name in [name for name in recorded if "webhook" in name]:
        del recorded[name]
    assert series_shapes(exposed(RuntimeCollector([busy()], [throttled()])).splitlines()) == recorded


def test_identities_hold() -> None:
    """What controller-runtime's metrics agree on among each other, ours do too (research: controller-runtime 8.1)."""
    found = values(exposed(RuntimeCollector([busy()])))
    queue, own = 'controller="advisor-raycluster",name="advisor-raycluster"', 'controller="advisor-raycluster"'
    depth = sum(value for key, value in found.items() if key.startswith("workqueue_depth"))
    handed_out = found[f"workqueue_queue_duration_seconds_count{{{queue}}}"]
    assert found[f"workqueue_adds_total{{{queue}}}"] - handed_out == depth
    errors = found[f"controller_runtime_reconcile_errors_total{{{own}}}"]
    assert found[f'controller_runtime_reconcile_total{{{own},result="error"}}'] == errors == 3
    of_priorities = "kuberay_advisor_workqueue_queue_duration_seconds_count"
    assert sum(value for key, value in found.items() if key.startswith(of_priorities)) == handed_out
    busy_time = sum(value for key, value in found.items() if key.startswith("kuberay_advisor_key_busy_seconds_total"))
    assert busy_time == pytest.approx(found[f"controller_runtime_reconcile_time_seconds_sum{{{own}}}"])


def test_bounds_are_written_as_go_does() -> None:
    """Whole numbers have no fraction, and the two decades that are not round in Go are not round here."""
    text = exposed(RuntimeCollector([busy()]))
    bounds = re.findall(r'workqueue_work_duration_seconds_bucket\{.*le="([^"]*)"', text)
    assert bounds == [
        *("1e-08", "1e-07", "1e-06", "9.999999999999999e-06", "9.999999999999999e-05", "0.001", "0.01", "0.1"),
        *("1", "10", "100", "1000", "+Inf"),
    ]
    bounds = re.findall(r'controller_runtime_reconcile_time_seconds_bucket\{.*le="([^"]*)"', text)
    assert (len(bounds), bounds[:3], bounds[17:19], bounds[-2:]) == (
        41,
        ["0.005", "0.01", "0.025"],
        ["1", "1.25"],
        ["60", "+Inf"],
    )


def test_priorities_are_bounded() -> None:
    """However many priorities there are, their series are at most those that the queue's own metrics have."""
    made = Controller("x", PriorityQueue(), workers=1)
    made.add("running", priority=10_000)
    made.begin()
    for priority in range(5 * MAX_PRIORITIES):
        made.add(f"k{priority}", priority=priority)
    made.now_ns = SECOND
    made.add("running", priority=20_000)
    found = values(exposed(RuntimeCollector([made])))
    for name in ("oldest_ready_age_seconds", "blocked_keys", "workqueue_adds_total"):
        series = [key for key in found if key.startswith(f"kuberay_advisor_{name}{{")]
        assert len(series) == MAX_PRIORITIES + 1
        assert sum(f'priority="{EXCEEDED_CARDINALITY_LIMIT}"' in key for key in series) == 1
    placeholder = f'{{controller="x",priority="{EXCEEDED_CARDINALITY_LIMIT}",quality="exact"}}'
    assert found[f"kuberay_advisor_blocked_keys{placeholder}"] == 1
    assert found[f"kuberay_advisor_oldest_ready_age_seconds{placeholder}"] == 1
    assert sum(value for key, value in found.items() if key.startswith("kuberay_advisor_active_workers")) == 1


def test_objects_without_a_place_are_in_the_rest() -> None:
    """Series by object are bounded, and an object that is called like the rest makes no series twice."""
    made = Controller("x", PriorityQueue(), workers=1, top=TopKeys(3))
    for number, key in enumerate(["other", "x", "/x", "ns/a", "ns/b", "ns/b"], 1):
        made.add(key)
        made.run(took_ns=number * SECOND)
    found = {key: value for key, value in values(exposed(RuntimeCollector([made]))).items() if "object_name" in key}
    busy_time = {key: value for key, value in found.items() if "busy_seconds_total" in key}
    assert sum(busy_time.values()) == 21
    assert len(busy_time) <= 4
    rest = 'kuberay_advisor_key_busy_seconds_total{controller="x",object_name="other",object_namespace=""}'
    assert rest in busy_time
    assert busy_time[rest] >= 1


def test_a_scrape_sees_one_time_only() -> None:
    """While reconciles run, every scrape is consistent in itself."""

    def reconciler(request: ReconcileRequest, context: ReconcileContext) -> Outcome:
        return Outcome(requeue_after_ns=1000)

    options = resolve(ControllerOptions("x", max_concurrent_reconciles=2), ManagerDefaults())
    registry = CollectorRegistry()
    with Driver(options, reconciler) as driver:
        registry.register(RuntimeCollector([driver]))
        driver.add(*(f"k{number}" for number in range(10)))
        for _ in range(20):
            found = values(generate_latest(registry).decode())
            adds = found['workqueue_adds_total{controller="x",name="x"}']
            gets = found['workqueue_queue_duration_seconds_count{controller="x",name="x"}']
            depth = sum(value for key, value in found.items() if key.startswith("workqueue_depth"))
            assert adds - gets == depth
            done = sum(value for key, value in found.items() if key.startswith("controller_runtime_reconcile_total"))
            assert done == found['workqueue_work_duration_seconds_count{controller="x",name="x"}']
            threading.Event().wait(0.002)


def test_two_collectors_in_one_registry_are_refused() -> None:
    """Families would be there twice; one collector takes any number of controllers."""
    registry = CollectorRegistry()
    registry.register(RuntimeCollector([]))
    with pytest.raises(ValueError, match="Duplicated timeseries"):
        registry.register(RuntimeCollector([]))
    assert generate_latest(registry) == b""


def test_samples_fit_their_family() -> None:
    """A histogram takes no single value, and nothing else takes a histogram."""
    families = Families()
    with pytest.raises(TypeError, match="workqueue_queue_duration_seconds is a histogram"):
        families.add(QUEUE_DURATION, ("x", "x"), 1.0)
    with pytest.raises(TypeError, match="workqueue_adds_total is no histogram"):
        families.observe(ADDS, ("x", "x"), HistogramSnapshot.of_totals(0, 0))
