"""What a rule and an alert are, before they become YAML."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from advisor.model.finding import FindingCode, Severity

__all__ = ["NEEDS", "Alert", "Group", "Need", "Record"]

Need = Literal["operator", "operator 1.7", "operator 1.4", "cadvisor", "kube-state-metrics", "sidecar", "service"]

NEEDS: Final[Mapping[Need, str]] = MappingProxyType(
    {
        "operator": "the operator's own series, KubeRay 1.3.1 or newer",
        "operator 1.7": "the operator's own series, KubeRay 1.7 or newer",
        "operator 1.4": "the operator's own series, KubeRay 1.4 or newer, with --enable-metrics as its chart sets it",
        "cadvisor": "the operator's own series; cAdvisor's and kube-state-metrics' of its container",
        "kube-state-metrics": "kube-state-metrics' series of the operator's container",
        "sidecar": "the advisor's sidecar",
        "service": "the advisor's service",
    }
)
"""Whose series have to be there, in words; without them the alert stays silent."""


@dataclass(frozen=True, slots=True)
class Record:
    """A recording rule.

    Attributes:
        name: ``level:metric:operations``.
        expr: PromQL, with the placeholders that :mod:`scripts.rules.rendering` fills in.
        means: one sentence, with the unit.
    """

    name: str
    expr: str
    means: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """An alert.

    Attributes:
        name: its name, which begins with KubeRay.
        expr: PromQL with placeholders.
        hold: how long it has to be true, such as ``10m``.
        severity: critical is for now, warning for today, info for when there is time.
        summary: a sentence without values.
        description: with labels and value as templates; what to do comes from the finding's page.
        findings: what the product calls it; the first one's page is the runbook. None are of this project's own health.
        labels: the labels that the alert has beside its severity.
        need: whose series it needs.
        inhibited_by: alerts that explain it, so that one cause pages once.
    """

    name: str
    expr: str
    hold: str
    severity: Severity
    summary: str
    description: str
    labels: tuple[str, ...]
    findings: tuple[FindingCode, ...] = ()
    need: Need = "operator"
    inhibited_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Rules that are evaluated one after the other.

    Attributes:
        name: its name.
        rules: the recording rules or the alerts.
    """

    name: str
    rules: tuple[Record, ...] | tuple[Alert, ...]
