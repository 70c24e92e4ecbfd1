"""``.lint`` for dashboard-linter: series that come from another target than the operator have another job."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

__all__ = ["FOREIGN", "lint_file"]

FOREIGN: Final = {
    "kuberay_advisor_": "the advisor's service and its sidecar are targets of their own, with variables of their own",
    "container_": "the kubelet's series about the operator's container have the kubelet's job and instance",
    "kube_pod_": "kube-state-metrics' series about the operator's Pod have its own job and instance",
}
"""Beginnings of names of series that are not the operator's, and whose they are."""
_NAME: Final = re.compile(r"\b([a-z][a-z0-9_]*)(?=\{)")


def lint_file(dashboards: Sequence[Mapping[str, Any]]) -> str:
    """Each query that may do without the operator's job and instance, with the reason."""
    lines = ["# Written by `make dashboards`. For grafana/dashboard-linter.", "exclusions:"]
    for rule in ("target-job-rule", "target-instance-rule"):
        lines += [f"  {rule}:", f"    reason: {'; '.join(FOREIGN.values())}", "    entries:"]
        for title, panel, index in _foreign(dashboards):
            lines += [f"      - dashboard: {title}", f"        panel: {panel}", f"        targetIdx: {index}"]
    return "\n".join(lines) + "\n"


def _foreign(dashboards: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, int]]:
    for one in dashboards:
        for panel in one["panels"]:
            for index, target in enumerate(panel.get("targets", ())):
                if any(name.startswith(tuple(FOREIGN)) for name in _NAME.findall(target["expr"])):
                    yield one["title"], panel["title"], index
