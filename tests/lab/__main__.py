"""The lab's command line; the Makefile's ``lab`` targets call it."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import click

from advisor.errors import AdvisorError
from tests.lab.binaries import BuildError, build, toolbox
from tests.lab.laboratory import Laboratory, laboratory
from tests.lab.processes import LabError
from tests.lab.prometheus import start_prometheus
from tests.lab.reporting import rewrite, tables
from tests.lab.runner import run_scenario
from tests.lab.scenario import OperatorSettings, ScenarioError, load_scenario, names
from tests.lab.suite import ADVISED, SUITE, closed_loop, read_runs, run_one

_ROOT: Final = Path(__file__).resolve().parents[2]
_OUT: Final = Path("lab-recordings")
_DOCUMENT: Final = _ROOT / "docs" / "lab.md"
_NEEDED_FOR_RUNS: Final = ("helm", "promtool", "prometheus")
"""Programs that no scenario needs."""
_out = click.option("--out", type=click.Path(path_type=Path), default=_OUT, show_default=True, help="For recordings.")


def _say(text: str) -> None:
    click.echo(text, err=True)


@click.group()
def main() -> None:
    """A real control plane and the real KubeRay controllers on loopback."""
    # Whatever ends the lab takes it down.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


@main.command("build")
@click.argument("modules", nargs=-1)
def build_command(modules: tuple[str, ...]) -> None:
    """Build the lab's programs, or see that they are built; those of some modules, or of all."""
    build(_say, only=modules)


@main.command()
@click.option("--folder", type=click.Path(path_type=Path), help="Keep logs and data here.")
@click.option("--build", "which", type=click.Choice(["priority", "classic"]), default="priority", show_default=True)
@click.option("--concurrency", default=1, show_default=True)
@click.option("--qps", default=100.0, show_default=True)
@click.option("--burst", default=200, show_default=True)
def up(folder: Path | None, which: Any, concurrency: int, qps: float, burst: int) -> None:  # noqa: ANN401
    """Bring everything up, say where it is, and take it down at Ctrl-C."""
    settings = OperatorSettings(build=which, concurrency=concurrency, qps=qps, burst=burst)
    with laboratory(toolbox(), _say, keep=folder) as lab:
        operator = lab.start_operator(settings)
        places = {
            "API server": lab.plane.api_address,
            "proxy before it": lab.plane.proxy_address,
            "faults (PUT)": lab.plane.faults_address,
            "operator's metrics": operator.metrics,
            "operator's log": str(operator.log),
            "container's figures": lab.container_address(),
            "Prometheus": start_prometheus(lab, toolbox(), operator),
            "kubeconfig": str(lab.plane.kubeconfig),
        }
        for name, place in places.items():
            click.echo(f"{name:20} {place}")
        processes = " ".join(f"{name}={pid}" for name, pid in lab.plane.processes.pids().items())
        click.echo(f"{'processes':20} {processes}")
        click.echo("everything is up; Ctrl-C takes it down")
        try:
            while True:
                time.sleep(1.0)
                lab.plane.processes.check()
        except KeyboardInterrupt:
            _say("taking it down")


@main.command()
@click.argument("scenarios", nargs=-1, required=True)
@_out
def run(scenarios: tuple[str, ...], out: Path) -> None:
    """Run scenarios; each leaves a recording, and is analysed."""
    wrong = 0
    for name in scenarios:
        load_scenario(name)
    with laboratory(toolbox(), _say) as lab:
        for name in scenarios:
            wrong += bool(run_one(lab, name, out / name, _say).faults)
    sys.exit(1 if wrong else 0)


@main.command("list")
def list_command() -> None:
    """Name the scenarios."""
    for name in names():
        click.echo(f"{name:28} {load_scenario(name).description}")


@main.command()
@click.option("--repeat", default=1, show_default=True, help="Times to run each scenario.")
@click.option(
    "--all", "everything", is_flag=True, help="Every scenario, not only those that parts of the product need."
)
@_out
def test(repeat: int, everything: bool, out: Path) -> None:
    """Run the scenarios that the product's parts need, and hold its verdicts against what is expected."""
    chosen = tuple(names()) if everything else SUITE
    failures: list[str] = []
    with laboratory(toolbox(), _say) as lab:
        for number in range(1, repeat + 1):
            folder = out / f"run-{number}"
            for name in chosen:
                failures += _tried(name, partial(_verdict, lab, name, folder / name))
            failures += _tried(ADVISED, partial(closed_loop, lab, folder, _say))
    for failure in failures:
        click.echo(failure)
    click.echo(f"{repeat} x {len(chosen)} scenarios and the closed loop: {len(failures)} wrong")
    sys.exit(1 if failures else 0)


def _verdict(lab: Laboratory, name: str, out: Path) -> Sequence[str]:
    return run_one(lab, name, out, _say).faults


def _tried(name: str, run: Callable[[], Sequence[str]]) -> list[str]:
    """What is wrong after a run; one that fails keeps no other from running."""
    try:
        return [f"{name}: {fault}" for fault in run()]
    except (LabError, ScenarioError, AdvisorError, subprocess.SubprocessError) as error:
        return [f"{name}: {error}"]


@main.command()
@_out
def smoke(out: Path) -> None:
    """Up, one small scenario, down; says so and does nothing where the programs are not built."""
    tools = toolbox()
    missing = [name for name in tools.missing() if name not in _NEEDED_FOR_RUNS]
    if missing:
        click.echo(f"lab: left out, {', '.join(missing)} not built; make lab-build builds everything")
        return
    with laboratory(tools, _say) as lab:
        measured = run_scenario(lab, load_scenario("smoke"), out / "smoke")
    wanted = load_scenario("smoke").load[0].create
    if wanted is None or measured["clusters_ready"] != wanted.count:
        raise LabError(f"the smoke run is not as it should be: {measured}")
    click.echo(f"lab: up, {measured['clusters_ready']} clusters ready in {measured['makespan_seconds']} s, down")


@main.command()
@_out
@click.option("--shared", type=click.Path(path_type=Path), default=Path("../shared/recordings"), show_default=True)
def report(out: Path, shared: Path) -> None:
    """Write the tables of docs/lab.md from the recordings of earlier runs."""
    runs = read_runs(out)
    if not runs:
        raise LabError(f"no runs in {out}; run: make lab-test")
    rewrite(_DOCUMENT, tables(runs, shared))
    click.echo(f"written: {_DOCUMENT}")


if __name__ == "__main__":
    try:
        main()
    except (BuildError, LabError, ScenarioError) as problem:
        sys.exit(f"lab: {problem}")
