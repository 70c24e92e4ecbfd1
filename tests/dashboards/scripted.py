"""Modules of the scripts that make the dashboards, which are not installed."""

import importlib
import sys
from types import ModuleType

import pytest

from tests.support import ROOT

__all__ = ["script"]


def script(name: str) -> ModuleType:
    """One of them, by its name in scripts/dashboards."""
    with pytest.MonkeyPatch.context() as patch:
        # Behind everything else, so that the product is still the installed one.
        patch.setattr(sys, "path", [*sys.path, str(ROOT)])
        return importlib.import_module(f"scripts.dashboards.{name}")
