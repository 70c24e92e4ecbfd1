"""The result of a fleet as JSON, and the JSON Schema of it."""

import msgspec

from advisor.model.fleet import SCHEMA, Fleet

__all__ = ["fleet_schema", "render_fleet_json"]


def render_fleet_json(fleet: Fleet) -> str:
    """The result as JSON with a line end and one line an operator, so that two results can be compared by line."""
    text = msgspec.json.format(msgspec.json.encode(msgspec.structs.replace(fleet, operators=())), indent=2)
    operators = b",\n    ".join(map(msgspec.json.encode, fleet.operators))
    # No string can hold a line end, so this is found in one place only.
    if fleet.operators:
        text = text.replace(b'\n  "operators": []', b'\n  "operators": [\n    ' + operators + b"\n  ]", 1)
    return text.decode() + "\n"


def fleet_schema() -> dict[str, object]:
    """The JSON Schema that every result fits."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": SCHEMA,
        **msgspec.json.schema(Fleet),
    }
