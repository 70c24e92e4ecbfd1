"""Samples of a Prometheus-compatible store: Prometheus, Thanos, Mimir, Cortex, VictoriaMetrics.

Only ``client`` and what it stands on import requests, so a command that asks no store starts without it.
"""
