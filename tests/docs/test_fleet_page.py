import re
from pathlib import Path
from typing import Final

import msgspec
import pytest
import yaml

from advisor.cli import entry
from advisor.cli.entry import FOUND
from advisor.cli.fleetcommand import ALL_FAILED
from advisor.cli.fleetoptions import _OPTIONS
from advisor.model import fleet
from advisor.report.fleetwording import HEADS
from advisor.sources import fleetspec
from advisor.sources.fleetfile import read_fleet
from tests.support import ROOT

PAGE: Final = (ROOT / "docs" / "fleet.md").read_text(encoding="utf-8")
SECTIONS: Final[dict[str, type[msgspec.Struct]]] = {
    "The file": fleetspec.FleetSpec,
    "operators": fleetspec.FleetEntry,
    "prometheus": fleetspec.PrometheusSpec,
    "scrape": fleetspec.ScrapeSpec,
}


def example() -> str:
    """The example of the page."""
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, flags=re.DOTALL)
    assert isinstance(text, str)
    return text


def section(name: str) -> str:
    """One section of the page."""
    return PAGE.split(f"### {name}\n")[1].split("\n##")[0]


def keys(kind: type[msgspec.Struct]) -> set[str]:
    """The keys of a part as they are written."""
    return {field.encode_name for field in msgspec.structs.fields(kind)}


@pytest.mark.parametrize(("name", "kind"), SECTIONS.items(), ids=list(SECTIONS))
def test_the_tables_have_the_keys_that_are_read(name: str, kind: type[msgspec.Struct]) -> None:
    """A key that is read and not explained would be a secret, one that is explained and refused a trap."""
    rows = re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", section(name), flags=re.MULTILINE)
    assert {key for row in rows for key in re.findall(r"`(\w+)`", row)} == keys(kind)


def test_defaults_are_told() -> None:
    """What may have a default stands in its section."""
    assert keys(fleetspec.DefaultsSpec) == {"prometheus", "scrape", "version", "args", "profile"}
    for key in keys(fleetspec.DefaultsSpec):
        assert f"`{key}`" in section("defaults")


def test_the_example_reads_as_it_stands(tmp_path: Path) -> None:
    """It is a fleet file, and every key of every part stands in it."""
    path = tmp_path / "fleet.yaml"
    path.write_text(example(), encoding="utf-8")
    made = read_fleet(path)
    assert len(made) == 8
    assert [one.name for one in made][:2] == ["prod/eu", "prod/us"]
    kinds: list[type[msgspec.Struct]] = [*SECTIONS.values(), fleetspec.DefaultsSpec]
    for kind in kinds:
        missing = [key for key in keys(kind) if not re.search(rf"\b{key}:", example())]
        assert missing == [], kind.__name__


def test_the_defaults_on_the_page_are_those_of_the_code() -> None:
    """Durations that hold where nothing is said."""
    assert f"the time to look at; `{fleetspec.PrometheusSpec().last}`" in PAGE
    scrape = fleetspec.ScrapeSpec()
    assert f"from one scrape to the next; `{scrape.duration}`, `{scrape.interval}`" in PAGE
    assert yaml.safe_load(example())["schema"] == fleetspec.SCHEMA


def test_the_result_is_explained() -> None:
    """Each key of the document and each column of the table stands on the page."""
    for kind in (fleet.Fleet, fleet.FleetOperator, fleet.FleetVerdict, fleet.FleetFailure, fleet.FleetKnob):
        for field in kind.__struct_fields__:
            assert f"`{field}`" in PAGE, f"{kind.__name__}.{field}"
    table = PAGE.split("| column | what |")[1].split("\n\n")[0]
    for head in HEADS:
        assert re.search(rf"^\|.*\b{head}\b.* \|", table, flags=re.MULTILINE), head
    assert f"`{fleet.SCHEMA}`" in PAGE


def test_exit_codes_and_options_are_told() -> None:
    """Each exit code has its row, and each option of a fleet is explained."""
    codes = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, flags=re.MULTILINE)}
    assert codes == {0, FOUND, 2, ALL_FAILED, entry.INTERRUPTED}

    def command() -> None:
        """Nothing."""

    for option in _OPTIONS:
        option(command)
    flags = [flag for one in command.__click_params__ for flag in one.opts]  # type: ignore[attr-defined]
    assert len(flags) == 7
    assert [flag for flag in flags if flag not in PAGE] == []
