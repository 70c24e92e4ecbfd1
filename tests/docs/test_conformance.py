"""The list of behaviours is whole, and each line of it is tested or says why not."""

import ast
import re
import tomllib
from typing import Any, Final

from tests.support import ROOT

LIST: Final = tomllib.loads((ROOT / "tests" / "queueing" / "conformance.toml").read_text(encoding="utf-8"))
LINES: Final[dict[str, dict[str, Any]]] = {one: line for section in LIST.values() for one, line in section.items()}
PAGE: Final = (ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")
ROWS: Final = dict(re.findall(r"^\| ([A-Z]{2}-\w+) \| .* \| (.*) \|$", PAGE, flags=re.MULTILINE))
# How many lines of each kind there are (research: controller-runtime 2; CL: 1.8).
WANTED: Final = {"PQ": 28, "ML": 5, "CT": 56, "WU": 19, "ID": 2, "CF": 24, "HD": 6, "XT": 16, "CL": 13}


def functions() -> dict[str, str]:
    """Every function of the tests of queues and driver, as file::function, and its name."""
    return {
        f"{path.relative_to(ROOT / 'tests').as_posix()}::{node.name}": node.name
        for folder in ("queueing", "runtime")
        for path in (ROOT / "tests" / folder).glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    }


def test_the_list_is_whole() -> None:
    """No line is left out, none is made up."""
    wanted = {f"{kind}-{number:02}" for kind, count in WANTED.items() for number in range(1, count + 1)}
    assert set(LINES) == wanted | {"PQ-INV"}
    assert set(ROWS) == set(LINES)


def test_each_line_says_something_of_its_own() -> None:
    """Nothing but what it says, by whom it is checked, and a note."""
    for one, line in LINES.items():
        assert line["says"].endswith("."), one
        assert set(line) <= {"says", "by", "note"}, one


def test_each_line_is_tested_or_says_why_not() -> None:
    """A line without a test has a reason, and each test that the page names exists."""
    known = set(functions())
    for one, checks in ROWS.items():
        named = re.findall(r"`([\w/]+\.py::\w+)`", checks)
        assert named or LINES[one].get("note"), one
        assert set(named) <= known, one


def test_each_test_with_an_id_is_on_the_page() -> None:
    """A test that is named after a line stands in it, also where it is named after several."""
    named_after = re.compile(r"test_(?:(pq|ml|ct|wu|cf|hd|xt)_(\d\d)|id_(\d\d)|classic_1_8)(?=_)")
    found = [(place, match) for place, name in functions().items() if (match := named_after.match(name))]
    assert len(found) > 100
    for place, match in found:
        rows = [one for one, checks in ROWS.items() if f"`{place}`" in checks]
        assert rows, place
        if match[1]:
            assert f"{match[1].upper()}-{match[2]}" in rows, place
    shared = [one for one, checks in ROWS.items() if "::test_ct_51_to_54_result`" in checks]
    assert shared == ["CT-51", "CT-52", "CT-53", "CT-54"]
    both = [one for one, checks in ROWS.items() if "::test_ct_32_wu_16_each_source_starts_once`" in checks]
    assert both == ["CT-32", "WU-16"]
