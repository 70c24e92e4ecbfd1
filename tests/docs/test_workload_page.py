import re
from pathlib import Path
from typing import Final

import msgspec
import pytest
import yaml

from advisor.sources import workloadspec
from advisor.sources.workloadfile import read_workload
from advisor.sources.workloadspec import WorkloadSpec
from tests.support import ROOT

PAGE: Final = (ROOT / "docs" / "workload-format.md").read_text(encoding="utf-8")
PARTS: Final = tuple(
    (kind, field)
    for kind in (getattr(workloadspec, name) for name in workloadspec.__all__)
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct)
    for field in kind.__struct_fields__
)


def example() -> str:
    """The example of the page."""
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)
    assert isinstance(text, str)
    return text


@pytest.mark.parametrize(("kind", "field"), PARTS, ids=lambda value: getattr(value, "__name__", value))
def test_every_key_is_on_the_page(kind: type[msgspec.Struct], field: str) -> None:
    """A key that is read and not explained would be a secret."""
    assert re.search(rf"^\|.*`{field}`", PAGE, flags=re.MULTILINE), f"{kind.__name__}.{field}"


def test_every_key_on_the_page_is_read() -> None:
    """A key that is explained and refused would be a trap."""
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", PAGE, flags=re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named == {field for _, field in PARTS}


@pytest.mark.parametrize(("kind", "field"), PARTS, ids=lambda value: getattr(value, "__name__", value))
def test_every_key_is_in_the_example(kind: type[msgspec.Struct], field: str) -> None:
    """The example shows every key of every part at least once."""
    assert re.search(rf"\b{field}:", example()), f"{kind.__name__}.{field}"


def test_the_example_reads_as_it_stands(tmp_path: Path) -> None:
    """It is a workload file, and all of its parts come through."""
    path = tmp_path / "example.yaml"
    path.write_text(example(), encoding="utf-8")
    made = read_workload(path)
    workload = made.workload
    assert (len(workload.existing), len(workload.arrivals)) == (21, 25)
    assert (len(workload.scalings), len(workload.deletions)) == (1, 5)
    assert (len(workload.writers), len(workload.restarts)) == (1, 1)
    assert (made.settings.concurrency, made.settings.cpu_limit_cores) == (2, 1.0)
    assert ([one.key for one in workload.cron_jobs], len(made.settings.gates)) == (["default/hourly-0"], 3)
    assert made.world.faults.pod_refused_namespace == "team-b"
    assert workload.duration_seconds == 600.0


def test_the_defaults_on_the_page_are_those_of_the_code() -> None:
    """Each number in the column of defaults is what an empty mapping means."""
    defaults = msgspec.to_builtins(WorkloadSpec())
    for part in ("operator", "world", "faults"):
        section = PAGE.split(f"## {part}\n")[1].split("\n## ")[0]
        for name, default in re.findall(r"^\| `(\w+)` \| ([^|]+) \|", section, flags=re.MULTILINE):
            told = yaml.safe_load(default.strip().strip("`"))
            if default.strip() not in ("none", "all", "never", ""):
                assert defaults[part][name] == told or list(defaults[part][name]) == told, name
