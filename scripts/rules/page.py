"""The page docs/alerts.md."""

from pathlib import Path
from typing import Final

from advisor.diagnosis.findings import RULES
from scripts.rules.model import NEEDS, Alert, Record
from scripts.rules.rendering import Settings, expression, runbook
from scripts.rules.sources import ALERT_GROUPS, ALERTS, RECORDING_GROUPS, WITHOUT, alerts_of

__all__ = ["page"]

_SETTINGS: Final = Settings(runbooks=".")
_REPLAY: Final = Path(__file__).with_name("replay.md")

_HEAD: Final = f"""\
# Rules and alerts

`rules/` has recording rules and alerts about KubeRay's operator, its container, and this advisor.

| file | for |
| --- | --- |
| [`recording.yaml`](../rules/recording.yaml), [`alerts.yaml`](../rules/alerts.yaml) | `rule_files` of Prometheus; the \
alerts need the recording rules |
| [`prometheusrule.yaml`](../rules/prometheusrule.yaml) | both as a PrometheusRule for Prometheus Operator. It usually \
selects by label (`release: ...`); add that label |
| [`alertmanager-example.yaml`](../rules/alertmanager-example.yaml) | one notice for each operator, and inhibition, so \
that one cause pages once |

They are written by `make rules` from `scripts/rules`, as is this page. Thresholds that a finding has are those of
[the settings](settings.md), so that an alert and a report say the same.

## What has to be scraped

- Operators are found by their scrape job, `{_SETTINGS.job}`; its container is `{_SETTINGS.container}`, and the
  advisor's jobs are `{_SETTINGS.advisor_job}`. Others:
  `python -m scripts.rules --job REGEX --container NAME --advisor-job REGEX`.
- `--runbooks BASE` says where this folder is served; the links of alerts lead below it.
- Nothing but the operator's own series is needed. Alerts that need more say so, and are silent without it. What KubeRay
  before 1.7 does not expose (request times, limiter waits) has no stand-in: `KubeRaySlowWritesOfUnknownCause` says that
  it cannot be told.
- Series keep `cluster`, `namespace`, `job` and `controller`, where there are such labels. Priorities are summed over.
- Evaluated once a minute. An operator of three controllers adds about {{series}} recorded series.

## Findings and their alerts

An alert is a finding that series alone can prove, for long enough. The analysis sees more: log, objects, time.

| finding | alerts | if none, why |
| --- | --- | --- |
"""

_BETWEEN: Final = """
## Alerts

Durations are how long the condition has to hold. "Muted by" is what the example for Alertmanager has as inhibition.
"""


def page() -> str:
    """All of it."""
    records = [rule for group in RECORDING_GROUPS for rule in group.rules if isinstance(rule, Record)]
    levels = {"controller": 3, "operator": 1, "container": 1}
    series = sum(levels[record.name.partition(":")[0]] for record in records)
    parts = [_HEAD.replace("{series}", f"{series}"), *_findings(), _BETWEEN]
    for group in ALERT_GROUPS:
        parts += [_alert(rule) for rule in group.rules if isinstance(rule, Alert)]
    parts.append("\n## Recording rules\n\n| series | means |\n| --- | --- |\n")
    parts += [f"| `{record.name}` | {record.means} |\n" for record in records]
    parts.append("\n" + _REPLAY.read_text(encoding="utf-8"))
    return "".join(parts)


def _findings() -> list[str]:
    rows = []
    for rule in RULES:
        alerts = ", ".join(f"[`{alert.name}`](#{alert.name.lower()})" for alert in alerts_of(rule.code))
        code, why = rule.code.value, WITHOUT.get(rule.code, "")
        rows.append(f"| [`{code}`](findings/{code}.md) | {alerts or 'none'} | {why} |\n")
    return rows


def _alert(alert: Alert) -> str:
    findings = ", ".join(f"[`{code.value}`](findings/{code.value}.md)" for code in alert.findings) or "none: see below"
    muted = ", ".join(f"`{name}`" for name in alert.inhibited_by if name in ALERTS) or "nothing"
    link = f"\n\nIts link: `{runbook(alert, Settings())}`." if "code" in alert.labels else ""
    return f"""
### {alert.name}

**{alert.summary}** {alert.severity.value}, after {alert.hold}.

{alert.description}

- finding: {findings if alert.findings else "none, it is about the advisor or a process"}
- needs: {NEEDS[alert.need]}
- labels: {", ".join(f"`{name}`" for name in alert.labels) or "none"}
- muted by: {muted}{link}

```
{expression(alert.expr, _SETTINGS)}
```
"""
