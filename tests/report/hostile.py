"""A report in which every text that can come from outside tries to become something else."""

from typing import Final, TypeVar

import msgspec

from advisor.model.raw import ReadNote
from advisor.model.report import Report

TAG: Final = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'><!--"
LINK: Final = "[a](https://evil.example) www.evil.example @octocat #1 `b` **c** | d\n# e"
TEXT: Final = f"{TAG} {LINK}"

__all__ = ["LINK", "TAG", "TEXT", "hostile", "hostile_value"]

Value = TypeVar("Value")


def hostile(report: Report) -> Report:
    """The report with such text in every place."""
    changed = hostile_value(report)
    source = msgspec.structs.replace(changed.source, notes=(ReadNote(where=TEXT, message=TEXT),))
    return msgspec.structs.replace(changed, source=source)


def hostile_value(value: Value) -> Value:
    """The value with every free text replaced; enumerations, units and numbers stay."""
    if type(value) is str:
        return TEXT  # type: ignore[return-value]
    if isinstance(value, tuple):
        return tuple(map(hostile_value, value))  # type: ignore[return-value]
    if isinstance(value, dict):
        return {f"{key} {TEXT}": hostile_value(item) for key, item in value.items()}  # type: ignore[return-value]
    if isinstance(value, msgspec.Struct):
        kept = {"schema", "unit", "quality", "quantity"}
        changes = {
            field: hostile_value(getattr(value, field)) for field in value.__struct_fields__ if field not in kept
        }
        return msgspec.structs.replace(value, **changes)
    return value
