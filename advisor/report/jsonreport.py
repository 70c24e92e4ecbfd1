"""The report as JSON, and the JSON Schema of it."""

import msgspec

from advisor.model.report import Report

__all__ = ["render_json", "report_schema"]

_SCHEMA_ID = "kuberay-advisor/report/v1"
_NO_TIMELINE = b'\n  "timeline": null'


def render_json(report: Report) -> str:
    """The report as indented JSON with a line end; the timeline, being long, with one line a series."""
    text = msgspec.json.format(msgspec.json.encode(msgspec.structs.replace(report, timeline=None)), indent=2)
    if report.timeline is not None:
        series = b",\n      ".join(map(msgspec.json.encode, report.timeline.series))
        bounds = msgspec.json.encode(report.timeline.bounds)
        timeline = b'{\n    "bounds": %b,\n    "series": [\n      %b\n    ]\n  }' % (bounds, series)
        # No string can hold a line end, so this is found in one place only.
        text = text.replace(_NO_TIMELINE, _NO_TIMELINE.removesuffix(b"null") + timeline)
    return text.decode() + "\n"


def report_schema() -> dict[str, object]:
    """The JSON Schema that every report fits."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": _SCHEMA_ID,
        **msgspec.json.schema(Report),
    }
