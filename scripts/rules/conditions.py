"""Conditions that several alerts ask: the columns of the decision table as PromQL.

An alert that recommends more workers is refuted by each cause that more workers would not cure
(``advisor.diagnosis.causes``); numbers are those of the product's own findings.
"""

from typing import Final

from advisor.diagnosis.thresholds import Thresholds
from scripts.rules.recording import OPERATOR

__all__ = ["CPU_BOUND", "EXTERNAL", "FAILING", "FEW", "KEYS_WAIT", "LIMITER", "LIMITS", "SHEDS", "SLOW_API", "WORKING"]

LIMITS: Final = Thresholds()
_ON: Final = f"and on ({OPERATOR})"

WORKING: Final = f"operator:workqueue_busy_workers:rate5m >= {LIMITS.idle_workers:g}"
"""The operator is not idle."""

KEYS_WAIT: Final = (
    "controller:workqueue_backlog:sum >= 1\n"
    f"and controller:workqueue_queue_duration_seconds:mean5m >= {LIMITS.wait_warning_seconds:g}"
)
"""Keys wait for a worker, long enough to be noticed."""

CPU_BOUND: Final = (
    f"container:cpu_throttled:ratio5m >= {LIMITS.cpu_throttled_ratio:g}\n"
    f"and container:cpu_used:ratio5m >= {LIMITS.cpu_used_ratio:g}"
)
"""A CPU quota stops the process."""

LIMITER: Final = (
    f"operator:rest_client_limiter_share:ratio5m >= {LIMITS.limiter_share:g}\n"
    "or (\n"
    f"  operator:rest_client_limiter_share:ratio5m >= {LIMITS.limiter_noticed_share:g}\n"
    f"  and operator:rest_client_limited:ratio5m >= {LIMITS.limited_requests_share:g}\n"
    ")"
)
"""The client's own token bucket takes the time."""

SHEDS: Final = (
    f"operator:rest_client_too_many_requests:ratio5m >= {LIMITS.too_many_requests_ratio:g}\n"
    f'{_ON} sum by ({OPERATOR}) (increase(rest_client_requests_total{{$client,code="429"}}[10m])) '
    f">= {LIMITS.fewest_errors}"
)
"""The API server refuses a material part of the requests, and more than a few."""

SLOW_API: Final = (
    f"operator:rest_client_write_seconds:mean5m >= {LIMITS.slow_write_seconds:g}\n"
    f"{_ON} operator:rest_client_api_share:ratio5m >= {LIMITS.api_share:g}"
)
"""Writes take long at the API server, and that is most of what workers wait for."""

FEW: Final = (
    f"sum by ({OPERATOR}) (increase(controller_runtime_reconcile_errors_total{{$queue}}[15m])) "
    f">= {LIMITS.fewest_errors}"
)
"""Failures are more than chance."""

FAILING: Final = f"operator:controller_runtime_reconcile_failures:ratio15m >= {LIMITS.error_ratio:g}\n{_ON} {FEW}"
"""A material part of the reconciles fails, conflicts left out."""

EXTERNAL: Final = (
    "operator:workqueue_busy_workers:rate5m - operator:explained_seconds:rate5m\n"
    f">= {LIMITS.external_share:g} * operator:external_callers_busy_workers:rate5m\n"
    f"{_ON} operator:external_callers_busy_workers:rate5m >= {LIMITS.idle_workers:g}"
)
"""Controllers that call dashboards are busy, and neither requests nor CPU explain it."""
