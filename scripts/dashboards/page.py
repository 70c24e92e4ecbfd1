"""docs/dashboards.md: each panel, what it shows, when to worry, and its queries, from the committed dashboards."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

__all__ = ["page"]

Json = dict[str, Any]
_FOLDER: Final = Path(__file__).resolve().parents[2] / "dashboards"
_ORDER: Final = ("operator-overview", "queue-and-priorities", "client-and-api", "keys")
_UNITS: Final = {"s": "seconds", "percentunit": "share", "bytes": "bytes", "Bps": "bytes per second", "none": "number"}
_UNITS_PER_SECOND: Final = {"ops": "per second", "reqps": "requests per second"}
_FINDING: Final = re.compile(r"/findings/([a-z0-9-]+)$")

_HEAD: Final = """# Dashboards

Four dashboards for Grafana, in `dashboards/`: {names}.

They read the operator's own series, and those of the advisor's [sidecar](sidecar.md) and [service](service.md) where
these are scraped; each panel that has no data says what it would need. They are made for KubeRay 1.4 to 1.7.

{index}

## Into Grafana

They are written for Grafana 11.6 and newer (schema version 41), with a data source of the kind Prometheus; no Grafana
was at hand to show them in, only what is checked [below](#how-they-are-made). Either import the files by hand
(Dashboards, New, Import), or provision the folder:

```yaml
apiVersion: 1
providers:
  - name: kuberay-advisor
    folder: KubeRay
    type: file
    options: {{path: /var/lib/grafana/dashboards/kuberay-advisor}}
```

With the sidecar of Grafana's Helm chart, put the files into ConfigMaps with the label that it looks for:

```
kubectl create configmap kuberay-dashboards --namespace monitoring $(printf -- '--from-file=%s ' dashboards/*.json)
kubectl label configmap kuberay-dashboards --namespace monitoring grafana_dashboard=1
```

They cannot be edited in Grafana, so that an upgrade loses nothing; save a copy to change one. A copy with the choice
of a cluster in sight, for a store of several, is written by `make dashboards DASHBOARDS_ARGS="--clusters --out DIR"`.

| choice | what it is |
| --- | --- |
{choices}

What belongs to one operator is added up over its replicas; standby replicas are left out where they would count as
one more. Rates are over `$__rate_interval`, so set the scrape interval in the data source. Thresholds are the
defaults of the advisor's own [settings](settings.md). A link at each panel leads to the page of its finding, at the
address in "Advisor at".

## How they are made

Sources are YAML of grafana-dashboard-builder in `dashboards/sources`, with panels and variables of our own in
`scripts/dashboards`, which also bring the result to today's schema. `make dashboards` writes the files anew, `make
test` fails where they are stale. Tests hold the rules of grafana/dashboard-linter, and ask a real Prometheus every
query over recordings of real operators: [what each panel shows of which](dashboards-data.md). Pictures are drawn from
such recordings, by the project's own charts and not by Grafana (`make dashboards-pictures`)."""


def page() -> str:
    """The whole page."""
    dashboards = {name: json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8")) for name in _ORDER}
    titles = [one["title"].removeprefix("KubeRay / ") for one in dashboards.values()]
    index = "\n".join(f"- [{title}](#{_anchor(title)})" for title in titles)
    head = _HEAD.format(names=", ".join(titles), index=index, choices="\n".join(_choices(dashboards)))
    parts = [head.strip(), *(part for name, one in dashboards.items() for part in _dashboard(name, one))]
    return "\n\n".join(parts) + "\n"


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")


def _choices(dashboards: dict[str, Json]) -> Iterator[str]:
    """Each variable once, in the order of the dashboards."""
    seen: dict[str, str] = {}
    for one in dashboards.values():
        for variable in one["templating"]["list"]:
            seen.setdefault(variable["label"], variable.get("description", "Which Prometheus is asked."))
    return (f"| {label} | {text} |" for label, text in seen.items())


def _dashboard(name: str, dashboard: Json) -> Iterator[str]:
    title = dashboard["title"].removeprefix("KubeRay / ")
    yield f"## {title}"
    yield f"`dashboards/{name}.json`"
    yield f"![{title}, drawn from a recording](pictures/dashboard-{name}.svg)"
    for panel in dashboard["panels"]:
        if panel["type"] == "row":
            yield f"### {title}: {panel['title']}"
        elif panel["type"] == "text":
            yield panel["options"]["content"]
        else:
            yield from _panel(panel)


def _panel(panel: Json) -> Iterator[str]:
    reads, _, worry = panel["description"].partition("\n\nWorry: ")
    found = _FINDING.search(panel["links"][0]["url"])
    assert found is not None, panel["title"]
    yield f"#### {panel['title']}"
    yield reads
    facts = (
        f"- **Worry**: {worry}",
        f"- **Shows**: {_shown(panel)}",
        f"- **Finding**: [{found[1]}](findings/{found[1]}.md)",
    )
    yield "\n".join(facts)
    queries = "\n".join(target["expr"] for target in panel["targets"])
    yield f"```promql\n{queries}\n```"


def _shown(panel: Json) -> str:
    """Kind, unit and thresholds."""
    defaults = panel["fieldConfig"]["defaults"]
    unit = {**_UNITS, **_UNITS_PER_SECOND}[defaults["unit"]]
    steps = [one for one in defaults["thresholds"]["steps"] if one["value"] is not None]
    lines = ", ".join(f"{one['color']} from {_number(one['value'], defaults['unit'])}" for one in steps)
    return f"{panel['type']}, {unit}{f'; {lines}' if lines else ''}"


def _number(value: float, unit: str) -> str:
    return f"{value:.0%}" if unit == "percentunit" else f"{value:g} s" if unit == "s" else f"{value:g}"
