"""This folder's own use of the fixtures that it offers."""

from tests.prometheusserver.fixtures import prometheus_of, prometheus_tool, system_prometheus_of

__all__ = ["prometheus_of", "prometheus_tool", "system_prometheus_of"]
