"""The report as JSON, and the JSON Schema of it."""

import msgspec

from advisor.model.report import Report

__all__ = ["render_json", "report_schema"]

_SCHEMA_ID = "kuberay-advisor/report/v1"


def render_json(report: Report) -> str:
    """The report as indented JSON with a line end."""
    return msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n"


def report_schema() -> dict[str, object]:
    """The JSON Schema that every report fits."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": _SCHEMA_ID,
        **msgspec.json.schema(Report),
    }
