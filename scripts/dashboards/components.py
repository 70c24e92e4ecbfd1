"""Components of our own for grafana-dashboard-builder: panels and variables of today's Grafana.

The builder knows a component by its class: ``StatPanel`` is written ``stat-panel`` in the sources. Sizes, ids and what
all panels share come later (`postprocess`). Needs the builder, which is in ``.venv-dashboards`` alone.
"""

from typing import Any, ClassVar

from grafana_dashboards.components.panels import PanelsItemBase
from grafana_dashboards.components.targets import Targets
from grafana_dashboards.components.templates import TemplatesItemBase

__all__ = ["HeatMap", "LabelledQuery", "Note", "SourceVariable", "StatPanel", "StateTimeline", "TablePanel"]

Json = dict[str, Any]
_WARN, _CRITICAL, _PLAIN = "orange", "red", "green"
_LEGEND = {"displayMode": "table", "placement": "bottom", "showLegend": True, "calcs": ["lastNotNull", "max"]}


class QueryPanel(PanelsItemBase):  # type: ignore[misc]  # the builder has no types
    """What every panel with queries has.

    Keys: title, description (how to read it), worry (when to), finding (code of the page that it links to), unit,
    no_data (why there may be none), targets; if wanted span (of 12), height (of Grafana's grid), min, max, decimals,
    and warn and critical, or steps, as thresholds.
    """

    _default_span = 6
    kind: ClassVar[str]

    def gen_json_from_data(self, data: Json, context: object) -> Json:
        """The panel, with its span, height and finding for `postprocess`."""
        panel: Json = super().gen_json_from_data(data, context)
        panel["type"] = self.kind
        panel["description"] = f"{data['description'].strip()}\n\nWorry: {data['worry'].strip()}"
        panel["height"] = data.get("height", 8)
        panel["finding"] = data["finding"]
        panel["targets"] = self.registry.create_component(Targets, {"targets": data["targets"]}).gen_json()
        defaults: Json = {
            "unit": data["unit"],
            "noValue": data["no_data"].strip(),
            "color": {"mode": self.colours()},
            "thresholds": {"mode": "absolute", "steps": _steps(data)},
            "custom": self.custom(data),
        }
        defaults |= {key: data[key] for key in ("min", "max", "decimals", "mappings") if key in data}
        panel["fieldConfig"] = {"defaults": defaults, "overrides": self.overrides(data)}
        panel["options"] = self.options(data)
        if "transformations" in data:
            panel["transformations"] = data["transformations"]
        return panel

    def colours(self) -> str:
        """How values get their colour."""
        return "thresholds"

    def custom(self, data: Json) -> Json:
        """What only this kind of panel has for each field."""
        return {}

    def options(self, data: Json) -> Json:
        """The panel's own options."""
        return {}

    def overrides(self, data: Json) -> list[Json]:
        """Other settings for some fields."""
        return [
            {
                "matcher": {"id": "byName", "options": name},
                "properties": [{"id": key, "value": value} for key, value in properties.items()],
            }
            for name, properties in data.get("overrides", {}).items()
        ]


def _steps(data: Json) -> list[Json]:
    if "steps" in data:
        return [{"value": one["from"], "color": one["colour"]} for one in data["steps"]]
    steps: list[Json] = [{"value": None, "color": _PLAIN}]
    steps += [
        {"value": data[key], "color": colour}
        for key, colour in (("warn", _WARN), ("critical", _CRITICAL))
        if key in data
    ]
    return steps


class Timeseries(QueryPanel):
    """Curves. Keys besides: stack, and dashed with the names of curves that are settings or limits."""

    kind = "timeseries"

    def colours(self) -> str:
        """Each curve has its own colour."""
        return "palette-classic"

    def custom(self, data: Json) -> Json:
        """Lines without points; thresholds as dashed lines where there are any."""
        stacked = data.get("stack", False)
        has_thresholds = "warn" in data or "critical" in data
        return {
            "drawStyle": "line",
            "lineInterpolation": "linear",
            "lineWidth": 1,
            "fillOpacity": 40 if stacked else 5,
            "showPoints": "never",
            "spanNulls": False,
            "stacking": {"mode": "normal" if stacked else "none", "group": "A"},
            "thresholdsStyle": {"mode": "dashed" if has_thresholds else "off"},
        }

    def options(self, data: Json) -> Json:
        """A table as legend, and all curves in the tooltip."""
        return {"legend": _LEGEND, "tooltip": {"mode": "multi", "sort": "desc"}}

    def overrides(self, data: Json) -> list[Json]:
        """Dashed curves have no area."""
        dashed = {
            name: {"custom.lineStyle": {"fill": "dash", "dash": [8, 6]}, "custom.fillOpacity": 0}
            for name in data.get("dashed", ())
        }
        return super().overrides({"overrides": {**data.get("overrides", {}), **dashed}})


class HeatMap(QueryPanel):
    """Counts by bucket over time; the bounds of the buckets are the axis, so nothing is made up between them."""

    kind = "heatmap"

    def options(self, data: Json) -> Json:
        """Buckets as they are exposed."""
        return {
            "calculate": False,
            "cellGap": 1,
            "color": {"mode": "scheme", "scheme": "Oranges", "scale": "exponential", "exponent": 0.5, "steps": 64},
            "filterValues": {"le": 1e-9},
            "legend": {"show": True},
            "rowsFrame": {"layout": "auto", "value": "keys"},
            "tooltip": {"mode": "single", "yHistogram": False},
            "yAxis": {"axisPlacement": "left", "unit": data["unit"]},
        }


class StatPanel(QueryPanel):
    """Single values."""

    kind = "stat"
    _default_span = 3

    def options(self, data: Json) -> Json:
        """The last value of each series, coloured by the thresholds."""
        return {
            "colorMode": "value",
            "graphMode": "area",
            "justifyMode": "auto",
            "orientation": "auto",
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
            "textMode": "auto",
        }


class TablePanel(QueryPanel):
    """Rows as of now. Keys besides: columns (from names of fields to titles, null to leave one out) and sort."""

    kind = "table"

    def gen_json_from_data(self, data: Json, context: object) -> Json:
        """Values of all queries side by side, with the columns asked for, in their order."""
        columns: dict[str, str | None] = data["columns"]
        shown = {name: title for name, title in columns.items() if title is not None}
        organised = {
            "excludeByName": {"Time": True, **{name: True for name in columns if name not in shown}},
            "indexByName": {name: place for place, name in enumerate(shown)},
            "renameByName": shown,
        }
        own = [{"id": "merge", "options": {}}, {"id": "organize", "options": organised}]
        panel: Json = super().gen_json_from_data({**data, "transformations": own}, context)
        return panel

    def custom(self, data: Json) -> Json:
        """Plain cells."""
        return {"align": "auto", "cellOptions": {"type": "auto"}, "filterable": True}

    def overrides(self, data: Json) -> list[Json]:
        """Why there may be no data is for the whole table; a cell without a value says less."""
        dash = [{"id": "noValue", "value": "-"}]
        return [{"matcher": {"id": "byType", "options": "number"}, "properties": dash}, *super().overrides(data)]

    def options(self, data: Json) -> Json:
        """Sorted by one column, largest first."""
        return {"showHeader": True, "cellHeight": "sm", "sortBy": [{"displayName": data["sort"], "desc": True}]}


class StateTimeline(QueryPanel):
    """States over time. Key besides: states, from values to text and colour."""

    kind = "state-timeline"

    def gen_json_from_data(self, data: Json, context: object) -> Json:
        """States as value mappings."""
        states = {
            str(one["value"]): {"text": one["text"], "color": one["colour"], "index": place}
            for place, one in enumerate(data["states"])
        }
        panel: Json = super().gen_json_from_data({**data, "mappings": [{"type": "value", "options": states}]}, context)
        return panel

    def custom(self, data: Json) -> Json:
        """Bars that are filled."""
        return {"fillOpacity": 70, "lineWidth": 0}

    def options(self, data: Json) -> Json:
        """One line for each series."""
        return {
            "mergeValues": True,
            "showValue": "auto",
            "rowHeight": 0.8,
            "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
            "tooltip": {"mode": "single", "sort": "none"},
        }


class Note(PanelsItemBase):  # type: ignore[misc]  # the builder has no types
    """Text. Keys: title, description, content (Markdown), span, height."""

    _default_span = 12

    def gen_json_from_data(self, data: Json, context: object) -> Json:
        """The text as Markdown."""
        panel: Json = super().gen_json_from_data(data, context)
        panel["type"] = "text"
        panel["height"] = data.get("height", 3)
        panel["options"] = {"mode": "markdown", "content": data["content"].strip()}
        return panel


class SourceVariable(TemplatesItemBase):  # type: ignore[misc]  # the builder has no types
    """Which data source; keys: name, label, query (its kind)."""

    def gen_json_from_data(self, data: Json, context: object) -> Json:
        """A choice of one."""
        return {
            **{key: data[key] for key in ("name", "label", "query")},
            "type": "datasource",
            "multi": False,
            "includeAll": False,
            "refresh": 1,
            "regex": "",
            "hide": 0,
            "options": [],
        }


class LabelledQuery(TemplatesItemBase):  # type: ignore[misc]  # the builder has no types
    """A choice of label values; keys: name, label, description, query, all (what All stands for), hidden."""

    def gen_json_from_data(self, data: Json, context: object) -> Json:
        """A choice of any number, all at first, renewed with the time range."""
        return {
            **{key: data[key] for key in ("name", "label", "description", "query")},
            "type": "query",
            "definition": data["query"],
            "datasource": {"type": "prometheus", "uid": "${datasource}"},
            "allValue": data["all"],
            "includeAll": True,
            "multi": True,
            "current": {"selected": True, "text": ["All"], "value": ["$__all"]},
            "refresh": 2,
            "regex": "",
            "sort": 1,
            "hide": 2 if data.get("hidden", False) else 0,
            "options": [],
        }


class TextVariable(TemplatesItemBase):  # type: ignore[misc]  # the builder has no types
    """A text that the reader may change; keys: name, label, description, text."""

    def gen_json_from_data(self, data: Json, context: object) -> Json:
        """A text box."""
        current = {"selected": True, "text": data["text"], "value": data["text"]}
        return {
            **{key: data[key] for key in ("name", "label", "description")},
            "type": "textbox",
            "query": data["text"],
            "current": current,
            "options": [current],
            "hide": 0,
        }
