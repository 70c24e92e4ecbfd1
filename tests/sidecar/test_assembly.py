"""The program as a process beside a stand-in operator: its metrics, its log, and an API server, all on loopback."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.request import urlopen

import pytest
from prometheus_client.parser import text_string_to_metric_families

from advisor.analysis import Options, analyse
from advisor.sources.endpoint import Access
from advisor.sources.sidecar import SidecarSource
from advisor.sources.sidecar import address as parsed
from tests.sidecar.apiserver import ApiServer, owned_by, raw, served, write_kubeconfig
from tests.sidecar.test_process import PROGRAM, free_port
from tests.sources.servers import answer, serving
from tests.support import until

METRICS = """\
controller_runtime_active_workers{controller="raycluster"} 0
controller_runtime_max_concurrent_reconciles{controller="raycluster"} 1
controller_runtime_reconcile_total{controller="raycluster",result="success"} 3
controller_runtime_reconcile_time_seconds_sum{controller="raycluster"} 1.5
controller_runtime_reconcile_time_seconds_count{controller="raycluster"} 3
workqueue_depth{controller="raycluster",name="raycluster",priority="0"} 1
workqueue_adds_total{controller="raycluster",name="raycluster"} 3
process_start_time_seconds 1700000000
"""


def line(message: str, identity: str, **fields: object) -> str:
    """A line of the operator's log, written now."""
    stamp = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    front = {"level": "info", "ts": stamp, "logger": "controllers.RayCluster", "msg": message}
    own = {"RayCluster": {"name": "one", "namespace": "team-a"}, "reconcileID": identity}
    return json.dumps(front | own | fields, separators=(",", ":")) + "\n"


@contextmanager
def operator() -> Iterator[str]:
    """A stand-in operator's metrics; their address."""
    with serving(answer(METRICS.encode())) as server:
        yield server.url


@contextmanager
def sidecar(*options: str, stdin: int | None = None) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """The program; the address that it serves at, and the process."""
    port = free_port()
    command = [*PROGRAM, "--listen", f"127.0.0.1:{port}", "--cpu-budget", "2", "--scrape-interval", "1s", *options]
    with subprocess.Popen(command, stdin=stdin, stderr=sys.stderr) as process:
        try:
            yield f"http://127.0.0.1:{port}", process
        finally:
            process.kill()


def samples(address: str) -> dict[str, list[tuple[dict[str, str], float]]]:
    """What it tells, by name; nothing where it does not answer."""
    try:
        with urlopen(f"{address}/metrics", timeout=5.0) as answered:  # noqa: S310 - an address of this test
            text = answered.read().decode()
    except OSError:
        return {}
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((dict(sample.labels), sample.value))
    return found


def value(address: str, name: str, **labels: str) -> float | None:
    """The first sample of a name that has these labels."""
    rows = samples(address).get(name, [])
    return next((number for own, number in rows if labels.items() <= own.items()), None)


class TestBesideAnOperator:
    def test_log_objects_and_scrapes_become_one(self, tmp_path: Path) -> None:
        """A key made ready by a change waits, is reconciled, and is told by priority; an advisor reads what is held."""
        api, log = ApiServer(), tmp_path / "operator.log"
        log.write_text(line("Reconciling Ingress", "old"))
        api.put(raw("RayCluster", "one", generation=1, creationTimestamp="2026-01-01T00:00:00Z"))
        api.put(raw("Pod", "one-head", ownerReferences=owned_by("RayCluster", "one")))
        with operator() as metrics, served(api) as server:
            kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", server)
            options = ("--operator-metrics", metrics, "--log-file", str(log), "--kubeconfig", str(kubeconfig))
            with sidecar(*options) as (address, process):
                until(lambda: value(address, "kuberay_advisor_sidecar_scrapes_total", outcome="ok"))
                until(lambda: value(address, "controller_runtime_reconcile_total", controller="advisor-raycluster"))
                api.put(raw("RayCluster", "one", generation=2, creationTimestamp="2026-01-01T00:00:00Z"))
                depth = ("kuberay_advisor_workqueue_depth", {"controller": "raycluster", "priority": "0"})
                until(lambda: value(address, depth[0], **depth[1]) == 1.0)
                with log.open("a") as file:
                    file.write(line("Reconciling Ingress", "new"))
                    file.flush()
                    time.sleep(0.2)
                    file.write(line("Unconditional requeue after", "new", seconds=300))
                until(lambda: value(address, depth[0], **depth[1]) == 0.0)
                waited = value(address, "kuberay_advisor_workqueue_queue_duration_seconds_sum", priority="0")
                assert waited is not None
                assert waited > 0.5
                ended = {"priority": "0", "result": "requeue_after", "quality": "lower_bound"}
                until(lambda: value(address, "kuberay_advisor_reconcile_total", **ended) == 1.0)
                key = {"object_namespace": "team-a", "object_name": "one"}
                assert value(address, "kuberay_advisor_key_reconciles_total", **key) == 1.0
                busy = value(address, "kuberay_advisor_key_busy_seconds_total", **key)
                assert busy is not None
                assert 0.1 < busy < 5.0
                until(lambda: (value(address, "kuberay_advisor_sidecar_scrapes_total", outcome="ok") or 0) >= 3)
                with SidecarSource(parsed(address), Access()) as source:
                    report = analyse(source, Options())
                    changes = [(change.kind, change.event) for change in source.changes()]
                assert report.findings
                assert source.log_lines >= 2
                assert ("RayCluster", "MODIFIED") in changes
                process.send_signal(signal.SIGTERM)
                assert process.wait(3.0) == 0
        assert api.verbs == {"GET"}

    def test_only_the_log(self, tmp_path: Path) -> None:
        """Without watches no depth and no wait is told, and the API server is not asked; keys and times are."""
        log = tmp_path / "operator.log"
        with operator() as metrics:
            options = ("--operator-metrics", metrics, "--log-file", str(log), "--no-watch")
            with sidecar(*options) as (address, _):
                until(lambda: value(address, "kuberay_advisor_sidecar_scrapes_total", outcome="ok"))
                log.write_text(line("Reconciling Ingress", "a") + line("Unconditional requeue after", "a", seconds=300))
                ended = {"priority": "", "result": "requeue_after"}
                until(lambda: value(address, "kuberay_advisor_reconcile_total", **ended) == 1.0)
                found = samples(address)
        assert "kuberay_advisor_workqueue_depth" not in found
        assert "kuberay_advisor_workqueue_queue_duration_seconds_sum" not in found
        assert "kuberay_advisor_api_request_seconds_total" not in found

    def test_the_log_on_standard_input(self) -> None:
        """A pipe is read as a file is, and its end ends nothing else."""
        reading, writing = os.pipe()
        with operator() as metrics:
            options = ("--operator-metrics", metrics, "--log-stdin", "--no-watch")
            with sidecar(*options, stdin=reading) as (address, process):
                os.close(reading)
                text = line("Reconciling Ingress", "a") + line("Unconditional requeue after", "a", seconds=300)
                os.write(writing, text.encode())
                os.close(writing)
                until(lambda: value(address, "kuberay_advisor_sidecar_log_lines_total", outcome="parsed") == 2.0)
                until(lambda: value(address, "kuberay_advisor_sidecar_scrapes_total", outcome="ok"))
                assert process.poll() is None

    @pytest.mark.parametrize("pod", ["team-a/operator-0", "team-a/app.kubernetes.io/name=kuberay-operator"])
    def test_the_log_of_a_pod(self, tmp_path: Path, pod: str) -> None:
        """Through the API server, by the Pod's name or its labels."""
        api = ApiServer()
        labels = {"app.kubernetes.io/name": "kuberay-operator"}
        api.put(raw("Pod", "operator-0", labels=labels) | {"status": {"phase": "Running"}})
        with operator() as metrics, served(api) as server:
            kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", server)
            options = ("--operator-metrics", metrics, "--log-pod", pod, "--kubeconfig", str(kubeconfig), "--no-watch")
            with sidecar(*options) as (address, process):
                until(lambda: any(asked.path.endswith("/log") for asked in api.asked))
                for message in ("Reconciling Ingress", "Unconditional requeue after"):
                    text = line(message, "a", seconds=300).strip()
                    api.say("team-a/operator-0", json.loads(text)["ts"], text)
                until(lambda: value(address, "kuberay_advisor_sidecar_log_lines_total", outcome="parsed") == 2.0)
                process.send_signal(signal.SIGTERM)
                assert process.wait(3.0) == 0

    @pytest.mark.parametrize("options", [(), ("--no-watch", "--log-pod", "team-a/operator-0")])
    def test_no_way_to_an_api_server(self, tmp_path: Path, options: tuple[str, ...]) -> None:
        """It is said at once, with the exit code of a missing input, and not tried for ever."""
        command = [*PROGRAM, "--listen", f"127.0.0.1:{free_port()}", *options]
        environment = {**os.environ, "HOME": str(tmp_path), "KUBECONFIG": str(tmp_path / "none")}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=20.0, check=False)
        assert done.returncode == 3
        assert "none" in done.stderr
        assert "Traceback" not in done.stderr

    def test_an_api_server_that_is_not_there(self, tmp_path: Path) -> None:
        """The rest goes on, and the process is alive."""
        kubeconfig = write_kubeconfig(tmp_path / "kubeconfig", f"http://127.0.0.1:{free_port()}")
        with operator() as metrics:
            options = ("--operator-metrics", metrics, "--kubeconfig", str(kubeconfig))
            with sidecar(*options) as (address, process):
                until(
                    lambda: value(address, "kuberay_advisor_peak_active_workers", controller="raycluster") is not None
                )
                assert process.poll() is None
                process.send_signal(signal.SIGTERM)
                assert process.wait(3.0) == 0
