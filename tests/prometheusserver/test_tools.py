from pathlib import Path

import pytest

from tests.lab.binaries import Toolbox
from tests.prometheusserver.tools import MissingToolError, Tool, find, find_or_leave_out, lab_tool, system_tool
from tests.support import ROOT

NOT_BUILT = Toolbox({})


def program(folder: Path, name: str, script: str) -> str:
    """A program that runs a shell script."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def missing(name: str) -> Tool:
    """Find nothing."""
    raise MissingToolError(f"no {name}; get it")


@pytest.mark.parametrize("stream", ["1", "2"])
def test_the_machines_own_says_its_release(tmp_path: Path, stream: str) -> None:
    """On either stream, and without what Debian adds to it."""
    says = f'echo "prometheus, version 2.42.0+ds (branch: debian/sid, revision: 1)" >&{stream}'
    paths = {name: program(tmp_path, name, says) for name in ("prometheus", "promtool")}
    assert system_tool(paths.get) == Tool("system", "2.42.0", tmp_path / "prometheus", tmp_path / "promtool")


@pytest.mark.parametrize("there", [[], ["prometheus"], ["promtool"]])
def test_one_that_is_not_whole_is_missing(there: list[str]) -> None:
    """Both programs are needed, and the text says how to install them."""
    with pytest.raises(MissingToolError, match="apt-get install prometheus"):
        system_tool({name: f"/bin/{name}" for name in there}.get)


def test_the_labs_has_the_release_of_its_module(tmp_path: Path) -> None:
    """Its programs say none."""
    tool = lab_tool(lambda: Toolbox({name: tmp_path / name for name in ("prometheus", "promtool")}))
    assert tool.version.startswith("3.")
    assert tool.prometheus == tmp_path / "prometheus"
    assert str(tool) == f"Prometheus {tool.version} (lab)"


def test_the_labs_is_missing_until_it_is_built() -> None:
    """The text says what builds it."""
    with pytest.raises(MissingToolError, match="make lab-build"):
        lab_tool(lambda: NOT_BUILT)


def test_a_missing_tool_skips_the_test_with_its_reason() -> None:
    """On a machine of a developer."""
    with pytest.raises(pytest.skip.Exception, match="no system; get it"):
        find_or_leave_out("system", {}, missing)


def test_in_ci_the_machines_own_has_to_be_there() -> None:
    """Else the checks with a real Prometheus would drop out unseen."""
    with pytest.raises(pytest.fail.Exception, match="no system; get it"):
        find_or_leave_out("system", {"CI": "true"}, missing)


def test_in_ci_the_labs_may_be_missing() -> None:
    """It takes twenty minutes to build."""
    with pytest.raises(pytest.skip.Exception, match="no lab; get it"):
        find_or_leave_out("lab", {"CI": "true"}, missing)


def test_the_programs_are_told_apart(prometheus_tool: Tool) -> None:
    """Each name is one release, and programs that are there are found again."""
    assert find(prometheus_tool.name) == prometheus_tool
    assert prometheus_tool.version.split(".")[0] == {"system": "2", "lab": "3"}[prometheus_tool.name]


def test_the_first_step_of_all_tests_installs_the_machines_own() -> None:
    """Debian's package is among the system's tools."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (tools,) = (line for line in makefile.splitlines() if line.startswith("SYSTEM_TOOLS"))
    assert {"prometheus:prometheus", "promtool:prometheus"} <= set(tools.split())
