"""The bill of materials: complete, valid by the standard's schema, and the same bytes each time."""

import hashlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from scripts.locks import pins
from tests.support import ROOT

WRITER = ROOT / ".venv-sbom" / "bin" / "python"
RUNTIME = list(pins(ROOT / "requirements" / "runtime.txt"))


def written(out: Path, *arguments: str, **environment: str) -> str:
    """The document that the script writes, which checks it against the schema."""
    if not WRITER.exists() and os.environ.get("ADVISOR_EXPECT_WHEEL") != "1":
        pytest.skip("no .venv-sbom, which `make sbom` makes")
    subprocess.run(
        [str(WRITER), "-W", "error", "-m", "scripts.sbom", "--installed", ".venv-test", "--out", str(out), *arguments],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], **environment},
        check=True,
    )
    return out.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Any:  # noqa: ANN401 - JSON
    """The bill of what an install brings."""
    return json.loads(written(tmp_path_factory.mktemp("sbom") / "bill.json", SOURCE_DATE_EPOCH="1767225600"))


def test_it_is_cyclonedx_of_this_project(document: Any) -> None:  # noqa: ANN401 - JSON
    """Version of the standard, the project with its licence, and the date that was given."""
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.6")
    assert document["metadata"]["timestamp"] == "2026-01-01T00:00:00+00:00"
    root = document["metadata"]["component"]
    assert (root["name"], root["type"], root["licenses"][0]["license"]["id"]) == (
        "kuberay-advisor",
        "application",
        "Apache-2.0",
    )


def test_every_locked_distribution_is_in_it(document: Any) -> None:  # noqa: ANN401 - JSON
    """With version, purl, licence and the digest of each of its files; and what the pages contain."""
    components = {one["name"]: one for one in document["components"]}
    assert components.keys() == {pin.name for pin in RUNTIME} | {"uplot"}
    for pin in RUNTIME:
        one = components[pin.name]
        assert (one["version"], one["purl"]) == (pin.version, f"pkg:pypi/{pin.name}@{pin.version}")
        assert {digest["content"] for digest in one["hashes"]} == set(pin.sha256)
        (licence,) = one["licenses"]
        assert licence.get("expression") or licence["license"]["id"]
    assert components["uplot"]["purl"].startswith("pkg:npm/uplot@")


def test_it_says_who_needs_whom(document: Any) -> None:  # noqa: ANN401 - JSON
    """The project needs what pyproject.toml names, and nothing is needed by nobody."""
    needs = {one["ref"]: set(one.get("dependsOn", ())) for one in document["dependencies"]}
    root = document["metadata"]["component"]["bom-ref"]
    direct = {pin.name for pin in RUNTIME if any("pyproject.toml" in one for one in pin.needed_by)}
    assert {one.partition("/")[2].partition("@")[0] for one in needs[root]} == direct | {"uplot"}
    assert set().union(*needs.values()) == {one["bom-ref"] for one in document["components"]}


def test_it_is_the_same_each_time_and_another_for_other_files(tmp_path: Path) -> None:
    """Neither clock nor order of hashing is in it; the digests of what was built are."""
    wheel = tmp_path / "a.whl"
    wheel.write_bytes(b"wheel")
    plain = written(tmp_path / "1.json", PYTHONHASHSEED="1", TZ="UTC")
    assert written(tmp_path / "2.json", PYTHONHASHSEED="2", TZ="Asia/Tokyo") == plain
    built = json.loads(written(tmp_path / "3.json", "--built", str(wheel)))
    assert built["serialNumber"] != json.loads(plain)["serialNumber"]
    (digest,) = built["metadata"]["component"]["hashes"]
    assert digest["content"] == hashlib.sha256(b"wheel").hexdigest()
