"""All rules, and which finding has which alert."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from advisor.model.finding import FindingCode
from scripts.rules import advisor_alerts, operator_alerts, process_alerts, recording
from scripts.rules.model import Alert, Group

__all__ = ["ALERTS", "ALERT_GROUPS", "RECORDING_GROUPS", "WITHOUT", "alerts_of"]

RECORDING_GROUPS: Final[tuple[Group, ...]] = recording.GROUPS
ALERT_GROUPS: Final[tuple[Group, ...]] = (*operator_alerts.GROUPS, *process_alerts.GROUPS, *advisor_alerts.GROUPS)
ALERTS: Final[Mapping[str, Alert]] = MappingProxyType(
    {rule.name: rule for group in ALERT_GROUPS for rule in group.rules if isinstance(rule, Alert)}
)
"""By name."""

WITHOUT: Final[Mapping[FindingCode, str]] = MappingProxyType(
    {
        FindingCode.OVER_PROVISIONED: (
            "Idle workers cost next to nothing, so nobody has to be told now; `KubeRayAdviceOpen` tells of the advice."
        ),
        FindingCode.HEALTHY: "There is nothing to do.",
    }
)
"""Findings that have no alert, and why."""


def alerts_of(code: FindingCode) -> tuple[Alert, ...]:
    """The alerts that tell of a finding."""
    return tuple(alert for alert in ALERTS.values() if code in alert.findings)
