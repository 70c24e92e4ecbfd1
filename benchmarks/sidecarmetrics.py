"""The sidecar's whole answer to a scrape, against prometheus_client's own metric objects with the same series.

``python -m benchmarks.sidecarmetrics [RUNS]``. The view is the largest that fits: three KubeRay controllers with two
priorities, twenty keys, three controllers of its own. The second line has twice the controllers, so that series have to
be dropped. Then what 10 000 keys with 50 000 Pods cost in the tables of what state keys are in. One thread; times are
the processor's.
"""

import gc
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics, generate_latest
from prometheus_client.metrics_core import Metric

from advisor.queueing.informer import Change, ChangeType
from advisor.queueing.objectstore import OwnerReference
from advisor.sidecar.collector import SidecarCollector, SidecarView, exposed
from advisor.sidecar.families import ALL
from advisor.sidecar.keystate import KeyState
from advisor.sidecar.observed import Observed
from tests.sidecar.sidecarviews import KUBERAY, worst_case

RUNS = 50
_MANY = (*KUBERAY, "raycronjob", "networkpolicy", "raycluster-mtls")
_KEYS, _PODS_EACH = 10_000, 5


def library_registry(view: SidecarView) -> CollectorRegistry:
    """The same series as objects of the client library."""
    disable_created_metrics()  # type: ignore[no-untyped-call] # the library has no types for it
    registry = CollectorRegistry()
    labels = {family.empty().name: family.labels for family in ALL}
    for metric in exposed(view):
        names = labels[metric.name]
        if metric.type == "histogram":
            _histogram(metric, names, registry)
            continue
        made = (Counter if metric.type == "counter" else Gauge)(
            metric.name, metric.documentation, names, registry=registry
        )
        for sample in metric.samples:
            child = made.labels(**sample.labels) if names else made
            child.inc(sample.value)
    return registry


def _histogram(metric: Metric, names: tuple[str, ...], registry: CollectorRegistry) -> None:
    bounds = sorted({float(one.labels["le"]) for one in metric.samples if "le" in one.labels})
    # The library makes no histogram of one bucket.
    buckets = bounds if len(bounds) > 1 else (1.0, *bounds)
    made = Histogram(metric.name, metric.documentation, names, registry=registry, buckets=buckets)
    for sample in metric.samples:
        if sample.name.endswith("_count"):
            child = made.labels(**sample.labels)
            for _ in range(int(sample.value)):
                child.observe(bounds[0])


def seconds_of(action: Callable[[], object], runs: int) -> float:
    """Median of the processor time."""
    times = []
    for _ in range(runs):
        gc.collect()
        began = time.process_time()
        action()
        times.append(time.process_time() - began)
    return statistics.median(times)


def print_answers(runs: int) -> None:
    """Print what an answer costs, and what the library's own takes."""
    view, large = worst_case(), worst_case(_MANY)
    library = library_registry(view)
    registry, dropping = CollectorRegistry(), CollectorRegistry()
    registry.register(SidecarCollector(lambda: view))
    dropping.register(SidecarCollector(lambda: large))
    rows = {
        "the sidecar's answer": seconds_of(lambda: generate_latest(registry), runs),
        "with series to be dropped": seconds_of(lambda: generate_latest(dropping), runs),
        "prometheus_client's objects": seconds_of(lambda: generate_latest(library), runs),
    }
    print(f"{runs} runs, medians; {exposed(view).series} series, at most {exposed(large).series} of the larger view")
    theirs = rows["prometheus_client's objects"]
    for name, seconds in rows.items():
        print(f"{name:30} {seconds * 1e3:7.2f} ms  ratio {seconds / theirs:5.2f}")


def clusters() -> list[Change[Observed]]:
    """The first lists of many clusters and their Pods."""
    found = []
    for number in range(_KEYS):
        name = f"cluster-{number}"
        owner = (OwnerReference("RayCluster", name, f"uid-{number}"),)
        one = Observed(
            kind="RayCluster",
            namespace=f"team-{number % 50}",
            name=name,
            generation=2,
            observed_generation=2 - number % 2,
            state="ready",
            desired_workers=_PODS_EACH,
            ready_workers=_PODS_EACH,
        )
        found.append(Change(ChangeType.CREATE, None, one, is_initial_list=True))
        for pod in range(_PODS_EACH):
            part = Observed(kind="Pod", namespace=one.namespace, name=f"{name}-{pod}", owners=owner)
            found.append(Change(ChangeType.CREATE, None, part, is_initial_list=True))
    return found


def print_key_state() -> None:
    """Print what the tables of many keys take, half of which lag."""
    changes = clusters()
    gc.collect()
    tracemalloc.start()
    state = KeyState()
    for change in changes:
        state.update(0.0, change)
    allocated, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    timed = KeyState()
    began = time.process_time()
    for change in changes:
        timed.update(0.0, change)
    took = time.process_time() - began
    look = seconds_of(lambda: state.view(100.0), 5)
    print(f"\n{_KEYS:,} RayClusters with {_PODS_EACH} Pods each")
    print(f"a change                       {took / len(changes) * 1e6:7.2f} us")
    print(f"a view                         {look * 1e3:7.2f} ms")
    print(f"memory without the objects     {allocated / 2**20:7.2f} MiB")


def main() -> None:
    """Measure and print all."""
    print_answers(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
    print_key_state()


if __name__ == "__main__":
    main()
