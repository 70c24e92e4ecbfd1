"""Thresholds of the diagnosis: settings with a default and its reason."""

import msgspec

__all__ = ["Thresholds"]


class Thresholds(msgspec.Struct, frozen=True, kw_only=True):
    """Every number that a finding's condition compares with; ratios are 0..1."""

    wait_target_seconds: float = 5.0
    """Queue wait that users should not exceed: what a person takes for "at once" when creating a cluster."""
    wait_warning_seconds: float = 1.0
    """Mean queue wait from which waiting is worth a warning: shorter waits vanish beside a Pod's start."""
    target_utilisation: float = 0.7
    """Busy share of the workers to plan for; above it waiting grows steeply with any burst (M/M/c)."""
    limiter_share: float = 0.3
    """Share of a busy worker's second spent in the client limiter from which the limiter is the thing to change."""
    limiter_noticed_share: float = 0.1
    """Share from which the limiter is named as well when many single requests wait: the bucket runs empty already."""
    limited_requests_share: float = 0.25
    """Share of requests that waited more than 5 ms: a bucket that runs empty this often is at its ceiling."""
    plateau_tolerance: float = 0.15
    """How close a request rate must stay to QPS to look like the limiter's ceiling, where its histogram is absent."""
    slow_write_seconds: float = 0.1
    """Mean time of a write at the API server that is slow: a write usually takes 5 to 30 ms in a healthy cluster, and
    Kubernetes' own objective bounds the 0.99 quantile, not the mean, at 1 s."""
    usual_write_seconds: float = 0.03
    """Mean time of a write that an API server of usual speed takes; what is above it counts as lost."""
    api_share: float = 0.5
    """Share of busy worker time in API calls from which a slow API server explains the wait."""
    too_many_requests_ratio: float = 0.05
    """Share of answers 429: the server sheds load, and client-go sleeps for what Retry-After says."""
    external_share: float = 0.5
    """Share of the busy time of the controllers that call dashboards, spent outside the API server."""
    hot_key_share: float = 0.5
    """Share of busy worker time that one key takes from which it, and not the load, decides."""
    hot_key_per_second: float = 1.0
    """Reconciles of one key per second; the fastest regular poll of KubeRay is one in 2 s (RayService)."""
    error_ratio: float = 0.2
    """Failed reconciles, conflicts and control flow left out, from which retries are a load of their own."""
    fewest_errors: int = 5
    """Fewer failures than this are chance."""
    conflict_ratio: float = 0.1
    """Refused share of PUT and PATCH; a few per cent happen in a healthy operator that reads its own stale cache."""
    passive_reconciles_per_write: float = 2.0
    """Reconciles for each write of the operator from which most of its events come from other writers."""
    cpu_throttled_ratio: float = 0.25
    """Share of CFS periods in which the operator was stopped."""
    cpu_used_ratio: float = 0.8
    """CPU used of the limit from which a quota binds: use within a period is bursty, so 100 % is never seen."""
    over_provisioned_workers: float = 16.0
    """Workers below this cost nothing worth a change: an idle worker is one sleeping goroutine."""
    over_provisioned_ratio: float = 0.25
    """Largest part of the workers ever busy, below which the setting is more risk than use."""
    peak_of_mean: float = 4.0
    """Workers busy at a peak for each one busy on average, where no peak is known."""
    initial_list_keys: float = 10.0
    """Keys at priority -100 that make a start-up worth naming."""
    elsewhere_seconds: float = 60.0
    """Cluster seconds of waiting outside the operator from which it is named."""
    elsewhere_share: float = 0.5
    """Share of the unready time for which the operator neither queued nor worked."""
    blocked_group_seconds: float = 30.0
    """An unmet expectation older than this is a delete: a create counts as met after 30 s (research: kuberay 4.5)."""
    idle_workers: float = 0.5
    """Mean busy workers below which the operator is idle."""
    lease_errors_per_hour: float = 1.0
    """Lease errors from which the operator keeps starting anew; one in days is an outage that is over."""
    memory_used_ratio: float = 0.9
    """Working set of the limit from which the next burst may kill the process."""
    hot_key_loop_per_second: float = 5.0
    """Reconciles of one key per second that no chain of its own writes and events explains: a loop or a busy writer."""
    slower_with_more_ratio: float = 0.1
    """Part by which throughput is lower with more workers, from measured points, to be more than noise."""
    late_periods_ratio: float = 0.2
    """Part by which a periodic load asks for more than is done, from which objects visibly come round late."""
    initial_list_ratio: float = 0.8
    """Depth as part of all objects after a restart that is the initial list."""
    starved_keys: float = 1.0
    """Keys at priority -100 and at 0, on average, from which the lower priority never gets its turn."""
    retry_bucket_tolerance: float = 0.15
    """How close to ten a second the adds must stay to look like the classic queue's retry bucket."""
    surplus_ratio: float = 0.05
    """Part by which more was created than asked for that is no chance."""
    misread_quantile_factor: float = 3.0
    """Factor between a wait's 0.99 quantile and its mean from which decade buckets may have made it up."""
    fewest_scrapes: int = 4
    """Scrapes below which rates and means are chance."""
    fewest_reconciles: float = 20.0
    """Reconciles below which shares of keys and errors are chance."""
