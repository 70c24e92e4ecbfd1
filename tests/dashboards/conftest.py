"""The real Prometheus that panels are asked of."""

from tests.prometheusserver.fixtures import system_prometheus_of

__all__ = ["system_prometheus_of"]
