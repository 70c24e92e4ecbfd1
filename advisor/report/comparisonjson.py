"""The comparison as JSON, and the JSON Schema of it."""

import msgspec

from advisor.model.comparison import Comparison

__all__ = ["comparison_schema", "render_comparison_json"]


def render_comparison_json(comparison: Comparison) -> str:
    """The comparison as indented JSON with a line end."""
    return msgspec.json.format(msgspec.json.encode(comparison), indent=2).decode() + "\n"


def comparison_schema() -> dict[str, object]:
    """The JSON Schema that every comparison fits."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "kuberay-advisor/comparison/v1",
        **msgspec.json.schema(Comparison),
    }
