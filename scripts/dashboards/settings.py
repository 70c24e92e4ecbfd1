"""Defaults of the product's thresholds, read from its source: the builder's environment cannot import the product."""

import ast
from pathlib import Path
from typing import Final

__all__ = ["threshold_defaults"]

_SOURCE: Final = Path(__file__).resolve().parents[2] / "advisor" / "diagnosis" / "thresholds.py"


def threshold_defaults(source: Path = _SOURCE) -> dict[str, float]:
    """Each field of ``Thresholds`` with its default."""
    (found,) = (
        one
        for one in ast.parse(source.read_text(encoding="utf-8")).body
        if isinstance(one, ast.ClassDef) and one.name == "Thresholds"
    )
    return {
        one.target.id: ast.literal_eval(one.value)
        for one in found.body
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name) and one.value is not None
    }
