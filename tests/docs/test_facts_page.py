import re
from pathlib import Path
from typing import Final

import msgspec
import pytest

from advisor.analysis import Options, load_facts, report_of
from advisor.model import facts
from advisor.model.facts import Facts
from advisor.sources.facts import read_facts
from tests.support import ROOT

PAGE: Final = (ROOT / "docs" / "facts-format.md").read_text(encoding="utf-8")
PARTS: Final = tuple(
    (kind, field)
    for kind in (getattr(facts, name) for name in facts.__all__ if name != "SCHEMA")
    for field in kind.__struct_fields__
)


def example(folder: Path) -> Path:
    """The example of the page, as a file."""
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)
    path = folder / "example.facts.yaml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(("kind", "field"), PARTS, ids=lambda value: getattr(value, "__name__", value))
def test_every_key_is_on_the_page(kind: type[msgspec.Struct], field: str) -> None:
    """A key that is read and not explained would be a secret."""
    assert re.search(rf"^\|.*`{field}`", PAGE, flags=re.MULTILINE), f"{kind.__name__}.{field}"


def test_every_key_on_the_page_is_read() -> None:
    """A key that is explained and refused would be a trap."""
    named = set(re.findall(r"^\| `(\w+)` \|", PAGE, flags=re.MULTILINE))
    assert named == {field for kind, field in PARTS if kind is not facts.ScalingPoint}


def test_the_example_is_complete_and_leads_to_advice(tmp_path: Path) -> None:
    """It has every key, reads as it stands and says what one would expect."""
    made = read_facts(example(tmp_path))
    parts = (made, made.operator, *made.controllers.values(), made.client, made.external, made.process, made.demand)
    absent = [name for part in parts for name in part.__struct_fields__ if getattr(part, name) in (None, (), {})]
    assert absent == []
    report = report_of(load_facts(made), Options())
    assert report.findings[0].code.value == "workers-saturated"
    assert [(name, knob.direction.value) for name, knob in report.advice.knobs()][:3] == [
        ("concurrency", "raise"),
        ("qps", "keep"),
        ("burst", "keep"),
    ]


def test_every_key_does_something_or_is_said_not_to() -> None:
    """Each field is read where facts become signals; those that are not are named as unused."""
    modules = ("signals/fromfacts.py", "signals/toldcontroller.py", "analysis/loading.py")
    source = "".join((ROOT / "advisor" / module).read_text(encoding="utf-8") for module in modules)
    unread = {
        field
        for kind, field in PARTS
        if kind not in (Facts, facts.ScalingPoint) and not re.search(rf"\.{field}\b", source)
    }
    said = set(re.findall(r"`(\w+)` \|[^|]*\|[^|]*read and not used", PAGE))
    assert unread == said == {"limiter_wait_seconds_p99", "request_seconds_p99"}
