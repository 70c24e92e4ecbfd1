"""What a comparison of two analyses can be told: settings with a default and its reason."""

import msgspec

__all__ = ["ComparisonRules"]


class ComparisonRules(msgspec.Struct, frozen=True, kw_only=True):
    """How far runs of the same differ, and how far loads may differ to be compared; ratios are 0..1."""

    tolerance: float = 0.15
    """Change of a figure in proportion to the work that identical runs show by chance. Three identical runs of a real
    operator lay 7 to 9 % apart (wait per Pod, ready time, time of a write). The range of three is about 1.7 standard
    deviations, so one run has 5 % and a difference of two 7 %; twice that is 15 %."""
    tolerance_per_pass: float = 0.6
    """The same for figures per reconcile or per key handed out. How many notifications merge into one pass is chance:
    the same three runs took 104 to 144 passes for the same Pods, so such figures lay 28 to 38 % apart. By the same
    reckoning a difference of two is chance up to a factor 1.6."""
    least_seconds: float = 0.1
    """Waits and ready times less apart than this are the same to people: 0.1 s is felt as at once."""
    least_request_seconds: float = 0.01
    """Times of a request less apart than this are the same: a third of what a write takes at a usual API server."""
    least_ratio: float = 0.05
    """Shares of errors or conflicts less apart than this are the same: up to 5 % of the status writes of a healthy
    recorded operator conflicted, since it reads its own stale cache."""
    load_factor: float = 1.5
    """Loads (clusters, Pods, Pods per cluster) may differ by this factor. Load is taken out in proportion, but waiting
    grows faster than that as workers fill up (M/M/c), so the correction has to stay small."""
    reconciles_factor: float = 4.0
    """The same for reconciles, which stand for the load where no object timeline tells it. They are partly a result:
    one identical load took 104 to 353 passes over the recorded settings, a factor 3.4."""
    fewest_counted: float = 5.0
    """Fewer objects than this on both sides are chance, and not compared as a load."""
    paced_depth_ratio: float = 0.1
    """Deepest queue by reconciles of the episode, up to which work arrived over time and not at once. Paced arrivals
    of the recorded operators gave 0.02 at most, bursts 0.16 at least. Paced loads are compared by their rate,
    bursts by their size."""
    least_worker_yield: float = 0.5
    """Throughput gained by workers added, both as factors, below which most of the added workers bought little."""
