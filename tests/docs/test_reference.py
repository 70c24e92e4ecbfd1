"""Nothing that somebody can ask for, read or get is without its place in the reference."""

import json
import re
from pathlib import Path
from typing import Final

import pytest
import yaml

import advisor
from advisor.sidecar import server
from tests.support import ROOT
from tests.web.serving import World

DOCS: Final = ROOT / "docs"
TROUBLE: Final = (DOCS / "operations" / "troubleshooting.md").read_text(encoding="utf-8")
CELL: Final = re.compile(r"^\| (.+?) \| ", re.MULTILINE)
LEAST: Final = 12
"""Characters between dots or figures of a message that tell it from others."""


def page(name: str) -> str:
    """The text of a page."""
    return (DOCS / name).read_text(encoding="utf-8")


def test_each_page_of_the_service_is_documented() -> None:
    """Every address that is no file of styles and not the API's, which describes itself."""
    rules = {rule.rule for rule in World().app().url_map.iter_rules()}
    pages = {re.sub(r"/<[^>]+>", "", rule) for rule in rules if not rule.startswith(("/api/", "/assets/"))}
    assert {"/", "/operators", "/what-if", "/metrics", "/healthz"} <= pages
    told = page("service.md")
    assert [rule for rule in sorted(pages) if not re.search(rf"`{re.escape(rule)}[/`]", told)] == []
    assert "/api/v1/openapi.json" in told


def test_each_address_of_the_api_is_described() -> None:
    """The description that the service gives has every address, and no other."""
    app = World().app()
    rules = {rule.rule.removeprefix("/api/v1") for rule in app.url_map.iter_rules() if rule.rule.startswith("/api/")}
    described = json.loads((Path(advisor.__file__).parent / "web" / "openapi.json").read_text(encoding="utf-8"))
    plain = {re.sub(r"<(?:\w+:)?(\w+)>", "{}", rule) for rule in rules} - {"/openapi.json"}
    assert {re.sub(r"\{\w+\}", "{}", path).removeprefix("/api/v1") for path in described["paths"]} >= plain


def test_each_series_of_the_service_is_documented() -> None:
    """By the name under which it is scraped."""
    told = page("service.md")
    (text,) = World().app().test_client().get("/metrics").iter_encoded()
    names = re.findall(r"^# TYPE (\w+)", text.decode(), re.MULTILINE)
    assert names
    assert [name for name in names if f"`{name}`" not in told] == []


def test_each_address_of_the_sidecar_is_documented() -> None:
    """Those that its own text lists."""
    paths = re.findall(r"^``(/[\w./]*)``", server.__doc__ or "", re.MULTILINE)
    assert "/metrics" in paths
    told = page("sidecar.md")
    assert [path for path in paths if path.rpartition("/")[2] not in told] == []


@pytest.mark.parametrize("name", ["alerts.yaml", "recording.yaml"])
def test_each_rule_is_documented(name: str) -> None:
    """Alerts and what is recorded."""
    groups = yaml.safe_load((ROOT / "rules" / name).read_text(encoding="utf-8"))["groups"]
    rules = [rule.get("alert") or rule["record"] for group in groups for rule in group["rules"]]
    assert rules
    told = page("alerts.md")
    assert [rule for rule in rules if rule not in told] == []


def test_each_dashboard_is_documented() -> None:
    """By its title."""
    told = page("dashboards.md")
    for path in (ROOT / "dashboards").glob("*.json"):
        assert json.loads(path.read_text(encoding="utf-8"))["title"].partition(" / ")[2] in told


def test_troubles_are_told_in_the_words_of_the_program() -> None:
    """Each message on the page about troubles stands in the code, so that it can be searched for."""
    code = " ".join(
        re.sub(r'"\s*\n\s*f?"', "", path.read_text(encoding="utf-8"))
        for path in sorted(Path(advisor.__file__).parent.rglob("*.py"))
    )
    messages = [text for cell in CELL.findall(TROUBLE) for text in re.findall(r"`([^`]+)`", cell)]
    assert len(messages) > 25
    for message in messages:
        parts = [
            part.strip(" .,?") for part in re.split(r"\.\.\.|: |controller_runtime_max_concurrent_reconciles", message)
        ]
        long = [part for part in parts if len(part) >= LEAST] or [max(parts, key=len)]
        assert [part for part in long if part not in code] == [], message
