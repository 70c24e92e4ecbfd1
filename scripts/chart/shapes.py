"""Shapes of values, as JSON Schema draft-07, that the chart's schema is put together from.

Patterns have to be RE2, which Helm has: no looking ahead.
"""

from typing import Any, Final

__all__ = [
    "ANY_MAP",
    "BOOLEAN",
    "CPU_CORES",
    "DURATION",
    "HOSTS",
    "MAPS",
    "NAME",
    "NAMES",
    "NODE_PORT",
    "PORT",
    "PROBE",
    "PROMETHEUS_DURATION",
    "QUANTITY",
    "RESOURCES",
    "STRATEGY",
    "TEXT",
    "TEXTS",
    "TEXT_MAP",
    "URL",
    "Shape",
    "array",
    "choice",
    "count",
    "number",
    "section",
    "text",
]

Shape = dict[str, Any]


def section(**properties: Shape) -> Shape:
    """A mapping with these keys and no others."""
    return {"type": "object", "additionalProperties": False, "properties": properties}


def text(pattern: str) -> Shape:
    """A text of a form."""
    return {"type": "string", "pattern": pattern}


def choice(*values: str) -> Shape:
    """One of some texts."""
    return {"type": "string", "enum": list(values)}


def array(items: Shape, **rules: object) -> Shape:
    """A list."""
    return {"type": "array", "items": items, **rules}


def count(least: int, most: int) -> Shape:
    """A whole number."""
    return {"type": "integer", "minimum": least, "maximum": most}


def number(most: float) -> Shape:
    """A number above zero."""
    return {"type": "number", "exclusiveMinimum": 0, "maximum": most}


BOOLEAN: Final[Shape] = {"type": "boolean"}
TEXT: Final[Shape] = {"type": "string"}
TEXTS: Final = array(TEXT)
TEXT_MAP: Final[Shape] = {"type": "object", "additionalProperties": {"type": "string"}}
"""Labels, annotations: any key, texts as values."""
ANY_MAP: Final[Shape] = {"type": "object"}
"""What Kubernetes or Prometheus Operator defines, and checks itself."""
MAPS: Final = array({"type": "object"})
NAME: Final = text(r"^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?)?$")
"""Name of an object, or nothing."""
NAMES: Final = array(text(r"^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$"))
HOSTS: Final = array(text(r"^(\*\.)?[A-Za-z0-9.:_-]+$"))
PORT: Final = count(1, 65535)
NODE_PORT: Final = count(0, 65535)
URL: Final = text(r"^(https?://[^\s/?#]+[^\s?#]*)?$")
DURATION: Final = text(r"^([0-9]+(\.[0-9]+)?(ms|s|m|h|d|w))+$")
"""As the product's own options and settings take it."""
PROMETHEUS_DURATION: Final = text(r"^([0-9]+(ms|s|m|h|d|w|y))*$")
"""Or nothing."""
QUANTITY: Final = text(r"^[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi|E|Ei)?$")
CPU_CORES: Final = number(1024)
_AMOUNTS: Final[Shape] = {
    "type": "object",
    "additionalProperties": {"anyOf": [QUANTITY, {"type": "number", "minimum": 0}]},
}
RESOURCES: Final = section(limits=_AMOUNTS, requests=_AMOUNTS, claims=MAPS)
PROBE: Final = section(
    initialDelaySeconds=count(0, 86400),
    periodSeconds=count(1, 86400),
    timeoutSeconds=count(1, 86400),
    failureThreshold=count(1, 100_000),
    successThreshold=count(1, 100_000),
)
STRATEGY: Final = section(type=choice("Recreate", "RollingUpdate"), rollingUpdate=ANY_MAP)
