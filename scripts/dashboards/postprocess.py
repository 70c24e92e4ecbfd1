"""The builder's dashboards, which have rows and no schema version, as today's Grafana stores them."""

import string
from collections.abc import Iterator
from typing import Any, Final

__all__ = ["SCHEMA_VERSION", "TAG", "finished"]

Json = dict[str, Any]
SCHEMA_VERSION: Final = 41
TAG: Final = "kuberay-advisor"
_SOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
_COLUMNS: Final = 24
_SPAN: Final = 12


def finished(built: Json, name: str, *, shows_cluster: bool = False) -> Json:
    """A dashboard as it is committed.

    Args:
        built: what the builder made.
        name: its file's name, which the uid is made of.
        shows_cluster: whether the choice of a cluster is seen; with one cluster it would only take room.
    """
    variables = built["templating"]["list"]
    for one in variables:
        if shows_cluster and one["name"] == "cluster":
            one["hide"] = 0
    return {
        "uid": f"{TAG}-{name}",
        "title": built["title"],
        "tags": [TAG],
        "editable": False,
        "graphTooltip": 1,
        "schemaVersion": SCHEMA_VERSION,
        "version": 1,
        "timezone": "browser",
        "refresh": built["refresh"],
        "time": built["time"],
        "timepicker": {},
        "annotations": {"list": []},
        "links": [_dropdown()],
        "templating": {"list": variables},
        "panels": list(_panels(built["rows"])),
    }


def _dropdown() -> Json:
    """To the other dashboards, with the same choices and times."""
    return {
        "type": "dashboards",
        "title": "KubeRay operator",
        "tags": [TAG],
        "asDropdown": True,
        "includeVars": True,
        "keepTime": True,
        "targetBlank": False,
        "icon": "external link",
        "tooltip": "",
        "url": "",
    }


def _panels(rows: list[Json]) -> Iterator[Json]:
    """All panels from the top, each row under its title, with numbers in that order."""
    top = number = 0
    for row in rows:
        number += 1
        yield {
            "id": number,
            "type": "row",
            "title": row["title"],
            "collapsed": False,
            "gridPos": {"x": 0, "y": top, "w": _COLUMNS, "h": 1},
            "panels": [],
        }
        top += 1
        left = tallest = 0
        for panel in row["panels"]:
            number += 1
            width = panel.pop("span") * _COLUMNS // _SPAN
            height = panel.pop("height")
            if left + width > _COLUMNS:
                top, left, tallest = top + tallest, 0, 0
            place = {"x": left, "y": top, "w": width, "h": height}
            yield {"id": number, "gridPos": place, **_completed(panel)}
            left, tallest = left + width, max(tallest, height)
        top += tallest


def _completed(panel: Json) -> Json:
    """With its data source, letters for its queries and a link to its finding."""
    finding = panel.pop("finding", None)
    if finding is not None:
        page = f"${{advisor}}/findings/{finding}"
        panel["links"] = [{"title": f"What it means: {finding}", "url": page, "targetBlank": True}]
        panel["datasource"] = _SOURCE
        panel["targets"] = [
            _target(one, letter) for one, letter in zip(panel["targets"], string.ascii_uppercase, strict=False)
        ]
    return panel


def _target(target: Json, letter: str) -> Json:
    instant = bool(target.pop("instant", False))
    return {
        "refId": letter,
        "datasource": _SOURCE,
        "editorMode": "code",
        "instant": instant,
        "range": not instant,
        **target,
        "expr": " ".join(target["expr"].split()),
    }
