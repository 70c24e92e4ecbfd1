"""Rules as YAML: for Prometheus, as a PrometheusRule, and in a time scale that short recordings can exercise.

Placeholders in an expression: ``$queue``, ``$client`` and ``$container`` are matchers that select the operator's
series; ``$seconds(5m)`` is that many seconds as a number. It, ranges and offsets follow the time scale.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import yaml

from scripts.rules.model import Alert, Group, Record

__all__ = ["Settings", "expression", "manifest", "plain", "runbook", "seconds"]

_UNITS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_RANGE: Final = re.compile(r"\[(\d+[smhd])\]")
_OFFSET: Final = re.compile(r"\boffset (\d+[smhd])")
_SECONDS: Final = re.compile(r"\$seconds\((\d+[smhd])\)")
_HEAD: Final = "# Written by `make rules` from scripts/rules; change those.\n"


@dataclass(frozen=True, slots=True)
class Settings:
    """What may differ between installations.

    Attributes:
        job: a regular expression of the scrape jobs of operators.
        container: the name of the operator's container.
        advisor_job: a regular expression of the scrape jobs of the advisor's service and sidecars.
        runbooks: where the pages of ``docs/`` are.
        interval: from one evaluation to the next, before the time scale.
        scale: so many seconds become one.
    """

    job: str = ".*kuberay-operator.*"
    container: str = "kuberay-operator"
    advisor_job: str = ".*kuberay-advisor.*"
    runbooks: str = "https://kuberay-advisor.example/docs"
    interval: str = "1m"
    scale: float = 1.0

    def duration(self, text: str) -> str:
        """A duration in the time scale, to the millisecond; one second becomes no less than that."""
        if self.scale == 1.0:
            return text
        return f"{max(1, round(1000 * seconds(text) / self.scale))}ms"


def seconds(text: str) -> float:
    """A duration such as ``10m`` in seconds."""
    return float(text[:-1]) * _UNITS[text[-1]]


def expression(expr: str, settings: Settings) -> str:
    """An expression without placeholders."""
    # An advisor's sidecar has controllers of its own under controller-runtime's names.
    client = f'job=~"{settings.job}"'
    for name, matchers in (
        ("$queue", f'{client},controller!~"advisor-.*"'),
        ("$client", client),
        ("$container", f'container="{settings.container}"'),
        ("$advisor", f'job=~"{settings.advisor_job}"'),
    ):
        expr = expr.replace(name, matchers)
    expr = _RANGE.sub(lambda match: f"[{settings.duration(match[1])}]", expr)
    expr = _OFFSET.sub(lambda match: f"offset {settings.duration(match[1])}", expr)
    return _SECONDS.sub(lambda match: f"{seconds(match[1]) / settings.scale:g}", expr).strip()


def runbook(alert: Alert, settings: Settings) -> str:
    """The page that says what to do; where the finding is a label, it is a template."""
    if "code" in alert.labels:
        return f"{settings.runbooks}/findings/{{{{ $labels.code }}}}.md"
    if alert.findings:
        return f"{settings.runbooks}/findings/{alert.findings[0].value}.md"
    return f"{settings.runbooks}/alerts.md#{alert.name.lower()}"


def _rule(rule: Record | Alert, settings: Settings) -> dict[str, Any]:
    if isinstance(rule, Record):
        return {"record": rule.name, "expr": expression(rule.expr, settings)}
    return {
        "alert": rule.name,
        "expr": expression(rule.expr, settings),
        "for": settings.duration(rule.hold),
        "labels": {"severity": rule.severity.value},
        "annotations": {
            "summary": rule.summary,
            "description": rule.description,
            "runbook_url": runbook(rule, settings),
        },
    }


def _groups(groups: Iterable[Group], settings: Settings) -> dict[str, Any]:
    return {
        "groups": [
            {
                "name": group.name,
                "interval": settings.duration(settings.interval),
                "rules": [_rule(rule, settings) for rule in group.rules],
            }
            for group in groups
        ]
    }


def plain(groups: Iterable[Group], settings: Settings) -> str:
    """A rule file of Prometheus."""
    return _HEAD + dump(_groups(groups, settings))


def manifest(groups: Iterable[Group], settings: Settings) -> str:
    """The same as a PrometheusRule, for Prometheus Operator."""
    return _HEAD + dump(
        {
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "PrometheusRule",
            "metadata": {
                "name": "kuberay-advisor",
                "labels": {"app.kubernetes.io/name": "kuberay-advisor", "app.kubernetes.io/part-of": "kuberay-advisor"},
            },
            "spec": _groups(groups, settings),
        }
    )


class _Dumper(yaml.SafeDumper):
    """Long texts as blocks, lists indented."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002 - the signature of PyYAML
        """Indent lists below their key."""
        return super().increase_indent(flow, False)  # noqa: FBT003 - as above


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_represent: Callable[..., None] = _Dumper.add_representer
_represent(str, _text)


def dump(value: Mapping[str, Any]) -> str:
    """YAML in the order given."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=1000)
