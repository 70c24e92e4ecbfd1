"""Asking a service that a test has started, and finding out where it serves."""

from collections.abc import Mapping
from http.client import HTTPConnection
from pathlib import Path
from typing import Final

__all__ = ["OPERATOR_METRICS", "get", "port_of"]

OPERATOR_METRICS: Final = b"""\
controller_runtime_active_workers{controller="raycluster"} 1
controller_runtime_max_concurrent_reconciles{controller="raycluster"} 1
controller_runtime_reconcile_total{controller="raycluster",result="success"} 3
workqueue_depth{controller="raycluster",name="raycluster",priority="0"} 9
workqueue_adds_total{controller="raycluster",name="raycluster"} 3
process_start_time_seconds 1700000000
"""
"""What a small operator exposes; enough for a report."""


def get(port: int, path: str, headers: Mapping[str, str] | None = None) -> tuple[int, str]:
    """Status and text of a page; 0 where there is none."""
    connection = HTTPConnection("127.0.0.1", port, timeout=20.0)
    try:
        connection.request("GET", path, headers=dict(headers or {}))
        response = connection.getresponse()
        return response.status, response.read().decode()
    except OSError:
        return 0, ""
    finally:
        connection.close()


def port_of(log: Path) -> int | None:
    """Where a program serves, from what it tells; None as long as it does not say so."""
    line = next((one for one in log.read_text().splitlines() if one.startswith("serving ")), None)
    return None if line is None else int(line.partition(";")[0].rstrip("/").rpartition(":")[2])
