"""Makes ``scripts`` importable, and nothing else of the source tree: the product is still the installed one."""

import sys
from types import ModuleType

from tests.prometheusserver.fixtures import prometheus_of, prometheus_tool, system_prometheus_of
from tests.support import ROOT

__all__ = ["prometheus_of", "prometheus_tool", "system_prometheus_of"]

if "scripts" not in sys.modules:
    _scripts = ModuleType("scripts")
    _scripts.__path__ = [str(ROOT / "scripts")]
    sys.modules["scripts"] = _scripts
