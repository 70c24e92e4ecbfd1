"""What a command does not need is not imported: it would cost every start."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

_PROGRAM = """
import json, sys
from advisor.cli import main
try:
    main(sys.argv[1:])
finally:
    print(json.dumps(sorted(sys.modules)))
"""


def imported(*args: str) -> set[str]:
    """All modules that one run of the command has imported."""
    done = subprocess.run([sys.executable, "-c", _PROGRAM, *args], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_the_program_itself_needs_little(option: str) -> None:
    """Neither an analysis nor a way in is imported to say which version this is."""
    modules = imported(option)
    assert "advisor.cli.commands" in modules
    if option == "--version":
        assert not modules & {"rich", "yaml", "ssl", "advisor.analysis", "advisor.cli.record"}


def test_facts_need_no_network_and_no_other_report(tmp_path: Path) -> None:
    """An answer from facts imports neither other sources nor other forms of the report."""
    facts = tmp_path / "a.facts.yaml"
    facts.write_text("controllers: {raycluster: {max_concurrent_reconciles: 1, utilisation: 1}}\n", encoding="utf-8")
    modules = imported("analyze", "--facts", str(facts))
    assert "advisor.sources.facts" in modules
    unneeded = {"ssl", "http.client", "rich.markdown", "advisor.sources.recording", "advisor.sources.scrape"}
    assert not modules & (unneeded | {"advisor.report.htmlreport", "advisor.report.markdown", "advisor.cli.compare"})
