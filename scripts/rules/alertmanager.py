"""An example for Alertmanager: one notice for each operator, and one cause pages once."""

from typing import Any, Final

from scripts.rules.rendering import dump
from scripts.rules.sources import ALERTS

__all__ = ["example"]

_HEAD: Final = """\
# Written by `make rules` from scripts/rules; change those. An example: take route and inhibit_rules into your own.
# A source that fires mutes its targets of the same operator; KubeRay's own alerts name their operator by cluster and
# namespace. The sidecar's job is another than the operator's, so job is not compared.
"""
_WITHOUT_NAMESPACE: Final = frozenset({"KubeRayClustersNotProvisioned", "KubeRayNoOperatorScraped"})


def _inhibitions() -> list[dict[str, Any]]:
    sources = {source for alert in ALERTS.values() for source in alert.inhibited_by}
    found: list[dict[str, Any]] = []
    for source in ALERTS:
        if source not in sources:
            continue
        targets = [name for name, alert in ALERTS.items() if source in alert.inhibited_by]
        for equal, names in (
            (["cluster", "namespace"], [name for name in targets if name not in _WITHOUT_NAMESPACE]),
            (
                ["cluster"],
                [name for name in targets if name in _WITHOUT_NAMESPACE and "cluster" in ALERTS[name].labels],
            ),
            ([], [name for name in targets if "cluster" not in ALERTS[name].labels]),
        ):
            if names:
                found.append(
                    {
                        "source_matchers": [f'alertname="{source}"'],
                        "target_matchers": [f'alertname=~"{"|".join(names)}"'],
                        **({"equal": equal} if equal else {}),
                    }
                )
    return found


def example() -> str:
    """The configuration."""
    return _HEAD + dump(
        {
            "route": {
                "receiver": "default",
                "group_by": ["cluster", "namespace"],
                "routes": [
                    {
                        "receiver": "page",
                        "matchers": ['alertname=~"KubeRay.+"', 'severity="critical"'],
                        "repeat_interval": "4h",
                    },
                    {
                        "receiver": "ticket",
                        "matchers": ['alertname=~"KubeRay.+"', 'severity="warning"'],
                        "repeat_interval": "24h",
                    },
                    {
                        "receiver": "digest",
                        "matchers": ['alertname=~"KubeRay.+"', 'severity="info"'],
                        "group_wait": "1h",
                        "repeat_interval": "7d",
                    },
                ],
            },
            "inhibit_rules": _inhibitions(),
            "receivers": [{"name": name} for name in ("default", "page", "ticket", "digest")],
        }
    )
