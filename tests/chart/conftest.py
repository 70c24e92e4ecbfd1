"""Makes ``scripts`` importable, and nothing else of the source tree; and finds helm."""

import sys
from types import ModuleType

import pytest

from tests.chart.helm import Helm, find_helm
from tests.support import ROOT

if "scripts" not in sys.modules:
    _scripts = ModuleType("scripts")
    _scripts.__path__ = [str(ROOT / "scripts")]
    sys.modules["scripts"] = _scripts


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """Helm, with settings and caches of its own; where it is not built, the test is left out."""
    return Helm(find_helm(), tmp_path_factory.mktemp("helm"))
