"""The package as others' code sees it: typed, so that their checker finds their mistakes."""

import os
import subprocess
import sys
from importlib import resources
from pathlib import Path

import advisor

CONSUMER = """\
from pathlib import Path

from advisor.analysis import Options, load_source, report_of
from advisor.model.report import Report
from advisor.sources.recording import RecordingSource

report: Report = report_of(load_source(RecordingSource(Path("recording"))), Options())
severity: str = report.findings[0].severity.value
wrong: int = report.findings[0].code
reveal_type(report.findings[0])
"""


def test_mypy_checks_what_uses_the_package(tmp_path: Path) -> None:
    """A consumer outside the repository: right calls pass, a wrong type is found, and no import is untyped."""
    assert resources.files(advisor).joinpath("py.typed").is_file()
    (tmp_path / "consumer.py").write_text(CONSUMER, encoding="utf-8")
    package = Path(advisor.__file__).parent.parent
    # An installed package is found by mypy itself; a source tree has to be named.
    found = {} if package.name == "site-packages" else {"MYPYPATH": str(package)}
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "consumer.py"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], **found},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert [line.partition(" error: ")[0] for line in lines if " error: " in line] == ["consumer.py:9:"], done.stdout
    assert "Finding" in next(line for line in lines if "Revealed type" in line)
