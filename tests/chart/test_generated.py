"""What the chart holds of the rest of the project: up to date, whole, and told to users."""

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from jsonschema import Draft7Validator

import advisor
from scripts.chart.__main__ import files, main
from scripts.chart.commented import documented, read_values
from scripts.chart.schema import NOT_IN_VALUES
from tests.chart.helm import CHART, SETS, plain_values, values_of
from tests.support import ROOT

SCHEMA: Final = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))


def test_files_are_not_stale(capsys: pytest.CaptureFixture[str]) -> None:
    """Rules, dashboards, schema and README are what their sources make."""
    assert main(["--check"]) == 0, capsys.readouterr().err


def test_check_tells_what_is_stale(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files that are missing, changed or too many are named, and nothing is written; after writing all is well."""
    assert main(["--check", "--out", str(tmp_path)]) == 1
    assert list(tmp_path.iterdir()) == []
    assert main(["--out", str(tmp_path)]) == 0
    (tmp_path / "files" / "dashboards" / "old.json").write_text("{}")
    (tmp_path / "README.md").write_text("old")
    capsys.readouterr()
    assert main(["--check", "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "README.md: stale, run make chart",
        "files/dashboards/old.json: stale, run make chart",
    ]
    assert main(["--out", str(tmp_path)]) == 0
    assert main(["--check", "--out", str(tmp_path)]) == 0


def test_dashboards_are_those_of_the_project() -> None:
    """Each of them, byte for byte."""
    wanted = {f"files/dashboards/{path.name}": path.read_text() for path in (ROOT / "dashboards").glob("*.json")}
    assert wanted
    assert {name: text for name, text in files() if name.startswith("files/dashboards/")} == wanted


def test_versions_agree() -> None:
    """The chart installs the image of this very package."""
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert chart["appVersion"] == advisor.__version__


def test_each_value_has_its_comment() -> None:
    """Every key has one, or is part of a value that has; no mapping explains some of its keys only."""
    values = read_values()
    commented = {value.path for value in values if value.comment}
    for value in values:
        siblings = {other.path for other in values if other.path[:-1] == value.path[:-1]}
        inside = any(value.path[:length] in commented for length in range(1, len(value.path)))
        assert value.path in commented or (inside and not siblings & commented), value.name


def test_the_readme_names_each_value() -> None:
    """With its default and what it is."""
    readme = (CHART / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w.]+)` \| `(.*)` \| .+ \|$", readme, re.MULTILINE)
    wanted = [(value.name, json.dumps(value.value)) for value in documented(read_values())]
    # Those without a section come first.
    assert sorted(rows) == sorted(wanted)


def keys_of(shape: dict[str, Any], value: object, path: tuple[str, ...] = ()) -> list[str]:
    """Where the schema and the values name different keys."""
    wrong: list[str] = []
    known = shape.get("properties")
    if known is None or not isinstance(value, dict):
        return wrong
    extra = {("enabled",)} if not path else set()
    for key in {*known, *value}:
        here = (*path, key)
        if key not in known or (key not in value and here not in extra and path not in WHOLE):
            wrong.append(".".join(here))
        elif key in value:
            wrong += keys_of(known[key], value[key], here)
    return wrong


# The schema knows all keys that these may have, and by default they have few.
WHOLE: Final = {
    ("serve", "config"),
    *((part, key) for part in ("serve", "watcher") for key in ("strategy", "resources")),
}


def test_values_and_schema_name_the_same_keys() -> None:
    """None is in one of them only."""
    assert NOT_IN_VALUES == ("enabled",)
    assert keys_of(SCHEMA, plain_values()) == []


def open_maps(shape: object, path: str = "") -> list[str]:
    """Mappings with known keys that take any other as well."""
    found: list[str] = []
    if isinstance(shape, dict):
        if "properties" in shape and isinstance(shape["properties"], dict) and shape.get("additionalProperties", True):
            found.append(path)
        for key, value in shape.items():
            found += open_maps(value, path if key == "properties" else f"{path}.{key}")
    elif isinstance(shape, list):
        for value in shape:
            found += open_maps(value, path)
    return found


def test_no_key_is_taken_for_another() -> None:
    """A key that is not known is refused everywhere, but in `global`, which belongs to other charts too."""
    Draft7Validator.check_schema(SCHEMA)
    assert open_maps(SCHEMA) == [".global"]


def test_patterns_are_those_of_re2() -> None:
    """Helm's validator knows no looking ahead or behind, and no back references."""
    for pattern in re.findall(r'"pattern": "(.*)"', (CHART / "values.schema.json").read_text(encoding="utf-8")):
        assert not re.search(r"\(\?[=!<]|\\\\[1-9]", pattern), pattern


@pytest.mark.parametrize("name", SETS)
def test_values_sets_fit_the_schema(name: str) -> None:
    """Also without helm: what it refuses is refused by any validator of JSON Schema."""
    values = merged(plain_values(), yaml.safe_load(values_of(name).read_text(encoding="utf-8")))
    assert [error.message for error in Draft7Validator(SCHEMA).iter_errors(values)] == []


def test_each_value_is_in_a_golden_file() -> None:
    """Each of them is set by some values set to something else than its default, so that its effect is seen."""
    sets = [yaml.safe_load(values_of(name).read_text(encoding="utf-8")) for name in SETS]
    unseen = []
    for value in documented(read_values()):
        found = [one for one in (at(values, value.path) for values in sets) if one is not None]
        if not any(one != value.value for one in found):
            unseen.append(value.name)
    assert unseen == []


def merged(values: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """As Helm does it: mappings key by key, all else as a whole."""
    result = dict(values)
    for key, change in changes.items():
        old = values.get(key)
        result[key] = merged(old, change) if isinstance(old, dict) and isinstance(change, dict) else change
    return result


def at(values: object, path: tuple[str, ...]) -> object:
    """What stands at a path; None where nothing does."""
    for key in path:
        if not isinstance(values, dict) or key not in values:
            return None
        values = values[key]
    return values
