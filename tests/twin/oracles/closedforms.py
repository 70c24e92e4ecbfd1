"""Queueing theory in closed form: what the twin's parts must agree with.

All times are seconds, all rates a second. An offered load is arrivals times service time; stations must be stable
(offered load below the number of servers) unless said otherwise.
"""

from itertools import pairwise

__all__ = [
    "ClosedNetwork",
    "bucket_throughput",
    "bucket_wait_seconds",
    "closed_network",
    "erlang_c",
    "least_throughput",
    "md1_wait_seconds",
    "mmc_wait_by_class_seconds",
    "mmc_wait_seconds",
    "most_throughput",
    "quota_waits_ns",
]


def erlang_c(servers: int, offered: float) -> float:
    """Probability that an arrival at M/M/c has to wait."""
    blocked = 1.0  # Erlang B by its recursion, which does not overflow as factorials do
    for server in range(1, servers + 1):
        blocked = offered * blocked / (server + offered * blocked)
    return blocked / (1.0 - offered / servers * (1.0 - blocked))


def mmc_wait_seconds(servers: int, arrivals: float, service_seconds: float) -> float:
    """Mean wait in the queue of M/M/c, over all arrivals."""
    offered = arrivals * service_seconds
    return erlang_c(servers, offered) * service_seconds / (servers - offered)


def mmc_wait_by_class_seconds(servers: int, arrivals: tuple[float, ...], service_seconds: float) -> tuple[float, ...]:
    """Mean wait of each class of M/M/c, the first one served first and nobody interrupted (Cobham)."""
    offered = sum(arrivals) * service_seconds
    residual_seconds = erlang_c(servers, offered) * service_seconds / servers
    loads = [0.0]
    for rate in arrivals:
        loads.append(loads[-1] + rate * service_seconds / servers)
    return tuple(residual_seconds / ((1.0 - above) * (1.0 - own)) for above, own in pairwise(loads))


def md1_wait_seconds(arrivals: float, service_seconds: float) -> float:
    """Mean wait in the queue of M/D/1: half of that of M/M/1."""
    load = arrivals * service_seconds
    return load * service_seconds / (2.0 * (1.0 - load))


class ClosedNetwork:
    """What a closed network comes to.

    Attributes:
        throughput: rounds of all customers together, a second.
        station_seconds: time of one visit to the station, waiting included.
    """

    def __init__(self, throughput: float, station_seconds: float) -> None:
        self.throughput = throughput
        self.station_seconds = station_seconds


def closed_network(customers: int, work_seconds: float, delay_seconds: float) -> ClosedNetwork:
    """Mean value analysis of customers who visit one server with exponential work, and then are away for a delay.

    Exact, whatever the distribution of the delay.
    """
    present = throughput = station_seconds = 0.0
    for number in range(1, customers + 1):
        station_seconds = work_seconds * (1.0 + present)
        throughput = number / (station_seconds + delay_seconds)
        present = throughput * station_seconds
    return ClosedNetwork(throughput, station_seconds)


def most_throughput(customers: int, work_seconds: float, delay_seconds: float) -> float:
    """The asymptotes of a closed network: nobody ever waits, or the server never rests. Reached without chance."""
    return min(customers / (work_seconds + delay_seconds), 1.0 / work_seconds)


def least_throughput(customers: int, work_seconds: float, delay_seconds: float) -> float:
    """The other bound: everybody finds all others at the server."""
    return customers / (customers * work_seconds + delay_seconds)


def bucket_throughput(callers: int, qps: float, other_seconds: float) -> float:
    """Calls a second of callers who share a token bucket and need `other_seconds` around each call."""
    return min(qps, callers / other_seconds)


def bucket_wait_seconds(callers: int, qps: float, other_seconds: float) -> float:
    """Mean wait of these callers in the bucket, once its burst is spent."""
    return max(0.0, callers / qps - other_seconds)


def quota_waits_ns(pieces: int, every_ns: int, work_ns: int, share_ns: int, period_ns: int) -> int:
    """Total wait of steady pieces of work under a CPU quota that is too small for them.

    Each period grants a share; what a piece needs comes after what all pieces before it need.
    """
    total = 0
    for piece in range(pieces):
        asked_ns, through_ns = piece * every_ns, (piece + 1) * work_ns
        first, last = piece * work_ns // share_ns, -(-through_ns // share_ns) - 1
        in_one_period = max(asked_ns, first * period_ns) + work_ns
        over_several = max(asked_ns + work_ns, last * period_ns + through_ns - last * share_ns)
        total += (in_one_period if first == last else over_several) - asked_ns - work_ns
    return total
