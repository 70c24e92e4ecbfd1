"""The pipeline that every way in shares: source, signals, findings, advice, report."""

from advisor.analysis.loading import Loaded, Source, load_facts, load_source
from advisor.analysis.options import Options, override
from advisor.analysis.pipeline import analyse, report_of

__all__ = ["Loaded", "Options", "Source", "analyse", "load_facts", "load_source", "override", "report_of"]
