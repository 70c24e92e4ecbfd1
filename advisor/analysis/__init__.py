"""The pipeline that every way in shares: source, signals, findings, advice, report."""

from advisor.analysis.options import Options, override
from advisor.analysis.pipeline import Source, analyse

__all__ = ["Options", "Source", "analyse", "override"]
