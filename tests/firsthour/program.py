"""The program in a process of its own, as somebody runs it who has just installed it."""

import sys
from typing import Final

from tests.support import ROOT

__all__ = ["COMMAND", "EXAMPLE"]

COMMAND: Final = (sys.executable, "-c", "from advisor.cli import main; main()")
EXAMPLE: Final = ROOT / "advisor" / "examples" / "saturated-one-worker"
