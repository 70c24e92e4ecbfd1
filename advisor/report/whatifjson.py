"""A what-if result as JSON, and the JSON Schema of it."""

import msgspec

from advisor.model.whatif import WhatIf

__all__ = ["render_whatif_json", "whatif_schema"]


def render_whatif_json(result: WhatIf) -> str:
    """The result as indented JSON with a line end."""
    return msgspec.json.format(msgspec.json.encode(result), indent=2).decode() + "\n"


def whatif_schema() -> dict[str, object]:
    """The JSON Schema that every result fits."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "kuberay-advisor/whatif/v1",
        **msgspec.json.schema(WhatIf),
    }
