"""Leader election, process and Go runtime series (research: kuberay 2.5, controller-runtime 3.6, 4.2)."""

from typing import Final

from advisor.knowledge.metric import Metric

__all__ = ["ELECTION_METRICS", "NEVER_EXPOSED", "PROCESS_METRICS"]

NEVER_EXPOSED: Final = ("leader_election_slowpath_total",)
"""Names that occur in controller-runtime's code but are registered nowhere, so no operator exposes them."""

ELECTION_METRICS: Final[tuple[Metric, ...]] = (
    Metric(
        name="leader_election_master_status",
        kind="gauge",
        labels=("name",),
        unit="boolean",
        family="election",
        exposed_by="controller-runtime",
        meaning="1 while this replica holds the lease ray-operator-leader, 0 while it stands by.",
        not_meaning="0 is not a broken replica: a standby has no queue and no controller series, by design.",
        note="Join other series on the instance that shows 1; losing the lease ends the process.",
        since="1.1",
    ),
)

_PROCESS: Final[tuple[Metric, ...]] = (
    Metric(
        name="process_cpu_seconds_total",
        kind="counter",
        labels=(),
        unit="seconds",
        family="process",
        exposed_by="process",
        meaning="CPU time used by the operator.",
        not_meaning="Below the limit on average does not exclude CPU throttling: the quota is per 100 ms.",
    ),
    Metric(
        name="process_resident_memory_bytes",
        kind="gauge",
        labels=(),
        unit="bytes",
        family="process",
        exposed_by="process",
        meaning="Memory of the process that is resident.",
        not_meaning="Not what the kernel compares with the limit; that is the container's working set.",
    ),
    Metric(
        name="process_start_time_seconds",
        kind="gauge",
        labels=(),
        unit="unix seconds",
        family="process",
        exposed_by="process",
        meaning="When the process started; a change is a restart and resets every counter.",
        not_meaning="Not the time since when this replica leads.",
    ),
    Metric(
        name="process_virtual_memory_bytes",
        kind="gauge",
        labels=(),
        unit="bytes",
        family="process",
        exposed_by="process",
        meaning="Address space of the process.",
        not_meaning="Not memory in use: Go reserves far more than it touches.",
    ),
    Metric(
        name="process_virtual_memory_max_bytes",
        kind="gauge",
        labels=(),
        unit="bytes",
        family="process",
        exposed_by="process",
        meaning="Limit of the address space, as set for the process.",
        not_meaning="Not the container's memory limit.",
    ),
    Metric(
        name="process_open_fds",
        kind="gauge",
        labels=(),
        unit="file descriptors",
        family="process",
        exposed_by="process",
        meaning="Open file descriptors.",
        not_meaning="Not requests in flight: those share few connections.",
    ),
    Metric(
        name="process_max_fds",
        kind="gauge",
        labels=(),
        unit="file descriptors",
        family="process",
        exposed_by="process",
        meaning="Limit of open file descriptors.",
        not_meaning="Not a limit of concurrent requests.",
    ),
    Metric(
        name="process_network_receive_bytes_total",
        kind="counter",
        labels=(),
        unit="bytes",
        family="process",
        exposed_by="process",
        meaning="Bytes received in the process's network namespace.",
        not_meaning="Not API traffic alone: scrapes, probes and other containers of the Pod are in it.",
        since=None,
    ),
    Metric(
        name="process_network_transmit_bytes_total",
        kind="counter",
        labels=(),
        unit="bytes",
        family="process",
        exposed_by="process",
        meaning="Bytes sent from the process's network namespace.",
        not_meaning="Not API traffic alone: scrapes, probes and other containers of the Pod are in it.",
        since=None,
    ),
)

_GO: Final[tuple[Metric, ...]] = (
    Metric(
        name="go_goroutines",
        kind="gauge",
        labels=(),
        unit="goroutines",
        family="process",
        exposed_by="go",
        meaning="Goroutines that exist.",
        not_meaning="Not busy workers: informers, watches and idle connections have goroutines too.",
    ),
    Metric(
        name="go_memstats_alloc_bytes",
        kind="gauge",
        labels=(),
        unit="bytes",
        family="process",
        exposed_by="go",
        meaning="Heap in use by live and not yet collected objects.",
        not_meaning="Not the memory that counts against the limit.",
    ),
    Metric(
        name="go_memstats_alloc_bytes_total",
        kind="counter",
        labels=(),
        unit="bytes",
        family="process",
        exposed_by="go",
        meaning="Bytes ever allocated; its rate is the pressure on the garbage collector.",
        not_meaning="Not growth of memory.",
    ),
    Metric(
        name="go_memstats_heap_inuse_bytes",
        kind="gauge",
        labels=(),
        unit="bytes",
        family="process",
        exposed_by="go",
        meaning="Heap spans that hold at least one object.",
        not_meaning="Not the memory that counts against the limit.",
    ),
    Metric(
        name="go_sched_gomaxprocs_threads",
        kind="gauge",
        labels=(),
        unit="threads",
        family="process",
        exposed_by="go",
        meaning="Threads that may run Go code at once.",
        not_meaning="Not the CPU limit: it is a whole number of threads, and before 1.6 it follows the node.",
        since="1.4",
    ),
    Metric(
        name="go_sched_latencies_seconds",
        kind="histogram",
        labels=(),
        unit="seconds",
        family="process",
        exposed_by="go",
        meaning="Time goroutines were ready to run and waited for a thread: CPU starvation seen from inside.",
        not_meaning="Low values do not exclude CPU throttling: a stopped container does not see its own pause.",
        note="Bounds are about a factor of ten apart: use sum and count.",
        since="1.4",
        buckets=(6.4e-08, 6.4e-07, 7.168e-06, 8.192e-05, 0.000917504, 0.01048576, 0.117440512),
    ),
)

PROCESS_METRICS: Final[tuple[Metric, ...]] = _PROCESS + _GO
