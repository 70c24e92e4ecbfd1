"""Bounds of the advice: settings with a default and its reason."""

import msgspec

__all__ = ["Policy"]


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """What advice aims at and how far one step may go."""

    wait_target_seconds: float = 5.0
    """Longest wait in the queue to aim at."""
    target_utilisation: float = 0.7
    """Busy share of the workers to plan for: beyond it waiting grows steeply (M/M/c)."""
    largest_step: float = 4.0
    """Never more than this factor in one step: how contention grows cannot be seen from one operating point."""
    smallest_gain_ratio: float = 0.05
    """Part of the wait target by which one more worker has to shorten the longest wait to be worth it."""
    qps_headroom: float = 1.3
    """QPS above the largest demand on one kind's bucket, so that bursts do not empty it at once."""
    bucket_full_ratio: float = 0.85
    """Sustained rate of QPS from which a bucket has no room for more workers."""
    refused_ratio: float = 0.01
    """Share of answers 429 from which QPS and Burst are not raised: the server sheds load already, and what the client
    limiter lets through beyond that comes back refused."""
    burst_of_qps: float = 2.0
    """Burst as a multiple of QPS, as in KubeRay's own default."""
    largest_burst_of_qps: float = 10.0
    """Burst never more than this many seconds of QPS: it is what hits the API server at once."""
    cpu_headroom: float = 0.8
    """Part of a CPU limit to plan for."""
    memory_used_ratio: float = 0.9
    """Working set of the limit from which more memory is advised."""
    memory_factor: float = 1.5
    """By how much to raise a memory limit that is nearly used up."""
    fewest_workers: float = 4.0
    """Concurrency is not lowered below this: it costs nothing and covers one slow key."""
    lower_headroom: float = 4.0
    """Workers to keep for each one that was ever busy when concurrency is lowered."""
    most_simulated_pods: float = 10_000.0
    """Pods, those that stand included, up to which the effect of the advice is simulated: more would take longer than
    an analysis should, and ``whatif`` runs them. With 0 every effect is a closed form."""
