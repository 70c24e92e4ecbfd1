"""Advice on the KubeRay operator's concurrency, QPS and burst, from what the operator itself shows."""

__all__ = ["__version__"]

__version__ = "0.1.0"
