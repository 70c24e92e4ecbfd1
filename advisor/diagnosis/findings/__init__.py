"""One module a finding. A new finding is a new module and its line in :data:`RULES`."""

from advisor.diagnosis.findings import (
    api_server_slow,
    bottleneck_elsewhere,
    cache_lag,
    client_throttled,
    contention,
    cpu_limited,
    error_retries,
    external_call_slow,
    healthy,
    hot_key,
    insufficient_data,
    memory_limited,
    metrics_misread,
    metrics_missing,
    not_leader,
    over_provisioned,
    priority_starvation,
    queue_limiter_bound,
    resync_load,
    setting_not_applied,
    workers_saturated,
    write_conflicts,
)
from advisor.diagnosis.rule import Rule

__all__ = ["RULES"]

RULES: tuple[Rule, ...] = (
    workers_saturated.RULE,
    client_throttled.RULE,
    api_server_slow.RULE,
    hot_key.RULE,
    external_call_slow.RULE,
    error_retries.RULE,
    write_conflicts.RULE,
    cpu_limited.RULE,
    contention.RULE,
    memory_limited.RULE,
    metrics_misread.RULE,
    priority_starvation.RULE,
    queue_limiter_bound.RULE,
    setting_not_applied.RULE,
    over_provisioned.RULE,
    resync_load.RULE,
    cache_lag.RULE,
    not_leader.RULE,
    metrics_missing.RULE,
    bottleneck_elsewhere.RULE,
    insufficient_data.RULE,
    healthy.RULE,
)
"""Every rule, in the order in which ``explain`` lists them."""
