"""The README's way of installing beside KubeRay, gone in the lab: what was run, and what was seen of it.

The operator's Deployment is what KubeRay's own chart renders. Kubernetes' own controllers make Pods of it and of ours,
kwok's nodes say that they run, and processes of this machine stand for their containers: the lab's operator for the
operator's, the product for the others, started from their Pods.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import httpx

from tests.lab.binaries import Toolbox
from tests.lab.containers import Containers
from tests.lab.controlplane import OPERATOR_NAMESPACE, ControlPlane
from tests.lab.kubelet import Kubelet, kubelet
from tests.lab.laboratory import Laboratory, laboratory
from tests.lab.load import take_step
from tests.lab.manifests import Objects, foreign_definitions, read_all
from tests.lab.processes import wait_until
from tests.lab.prometheus import run_prometheus
from tests.lab.scenario import Create, OperatorSettings, Step
from tests.lab.sidecarrun import samples
from tests.support import ROOT

if TYPE_CHECKING:
    from tests.lab.operator import Operator

__all__ = ["NEEDED", "NOT_SHOWN", "Seen", "commands", "installed", "kubectl"]

NEEDED: Final = (
    *("etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager", "kwok", "faultproxy", "crds", "stages"),
    *("operator-priority", "helm", "prometheus"),
)
"""What it needs of the toolbox."""
NOT_SHOWN: Final = ("make image", "docker push", "kubectl --namespace kuberay port-forward")
"""How the commands begin that a cluster without kubelets and a machine without a container engine cannot run."""
_SECTION: Final = re.compile(r"^## Install alongside KubeRay$(.*?)^## ", re.MULTILINE | re.DOTALL)
_BLOCK: Final = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_CHART: Final = {"app.kubernetes.io/name": "kuberay-advisor"}
_OPERATOR: Final = {"app.kubernetes.io/name": "kuberay-operator"}
_CONTAINER: Final = "kuberay-operator"
_SIDECAR: Final = "kuberay-advisor-sidecar"
_WAIT_SECONDS: Final = 120.0
_INTERVAL: Final = "2s"
_WAITS: Final = "kuberay_advisor_workqueue_queue_duration_seconds_count"
Samples = dict[str, list[tuple[dict[str, str], float]]]


class _WithPods(ControlPlane):
    """A control plane that makes Pods of Deployments."""

    controllers: Sequence[str] = (*ControlPlane.controllers, "deployment-controller", "replicaset-controller")


@dataclass(slots=True)
class Seen:
    """What was run and seen, in the order of the README.

    Attributes:
        ran: commands, with what they printed.
        watcher: series of the watcher.
        asked: what the API server asked of the kubelet.
        pages: the service's list of operators and the operator's page, with the watcher and then with the sidecar.
        jobs: scrape jobs by the ServiceMonitors.
        scraped: names of the series that Prometheus has, by job.
        trial: the operator's Deployment with the sidecar, as the server would take it.
        injected: containers of the operator's Pod afterwards.
        sidecar: series of the sidecar.
        restored: whether `inject --remove` gave the Deployment of before.
        left: objects of the chart after uninstalling.
    """

    ran: dict[str, str] = field(default_factory=dict)
    watcher: Samples = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    pages: dict[str, tuple[str, str]] = field(default_factory=dict)
    jobs: list[dict[str, Any]] = field(default_factory=list)
    scraped: dict[str, set[str]] = field(default_factory=dict)
    trial: dict[str, Any] = field(default_factory=dict)
    injected: list[str] = field(default_factory=list)
    sidecar: Samples = field(default_factory=dict)
    restored: bool = False
    left: set[str] = field(default_factory=set)


def commands() -> list[str]:
    """The commands of the README's section, in order."""
    section = _SECTION.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert section is not None
    return [line for block in _BLOCK.findall(section[1]) for line in block.splitlines()]


@contextmanager
def installed(tools: Toolbox, shared: Path, say: Callable[[str], None]) -> Iterator[Seen]:
    """All of it, once.

    Args:
        tools: the lab's programs.
        shared: the folder with what KubeRay's chart renders.
        say: told what is done.
    """
    seen = Seen()
    with laboratory(tools, say, plane=_WithPods) as lab, kubelet(lab.cluster) as node:
        story = _Story(lab, tools, node, seen)
        story.operate(read_all((shared / "manifests" / "logging.yaml").read_text(encoding="utf-8")))
        story.install()
        story.watch()
        story.monitor()
        story.inject()
        story.remove()
        yield seen


class _Story:
    """The steps, each of which needs those before."""

    def __init__(self, lab: Laboratory, tools: Toolbox, node: Kubelet, seen: Seen) -> None:
        self._lab = lab
        self._tools = tools
        self._node = node
        self._seen = seen
        self._objects = Objects(lab.cluster, OPERATOR_NAMESPACE)
        self._containers = Containers(lab)
        self._left = commands()
        self._operator: Operator | None = None

    def operate(self, manifests: list[dict[str, Any]]) -> None:
        """KubeRay as its chart installs it, with the lab's operator for its container."""
        self._lab.say("KubeRay's own manifests, and the operator")
        self._objects.apply(manifests)
        self._operator = self._lab.start_operator(OperatorSettings(concurrency=1))
        self._node.logs[_CONTAINER] = self._operator.process.log
        self._is_pod_of_the_operator()

    def install(self) -> None:
        """The README's first commands."""
        self._run("helm install")

    def watch(self) -> None:
        """Watcher and service run from their Pods, while there is a load."""
        self._lab.say("watcher and service")
        pod = self._containers.pod(OPERATOR_NAMESPACE, _CHART | {"app.kubernetes.io/component": "watcher"})
        address = self._containers.start(pod, "watcher")
        self._until(
            pod, "watcher", lambda: _has(samples(f"{address}/metrics"), "kuberay_advisor_sidecar_scrapes_total")
        )
        self._load("team-a")
        self._until(pod, "watcher", lambda: _has(samples(f"{address}/metrics"), _WAITS))
        self._serve("watcher")
        self._seen.watcher = samples(f"{address}/metrics")
        self._seen.asked = list(self._node.asked)

    def monitor(self) -> None:
        """What Prometheus Operator would make of the ServiceMonitors, scraped by a Prometheus."""
        self._lab.say("Prometheus by the ServiceMonitors")
        self._objects.apply(foreign_definitions())
        monitors = {"apiVersion": "monitoring.coreos.com/v1", "kind": "ServiceMonitor", "metadata": {}}
        wait_until("the kinds of Prometheus Operator", lambda: self._objects.knows(monitors), _WAIT_SECONDS)
        self._run("helm upgrade")
        found = self._lab.cluster.items(self._objects.collection(monitors))
        self._seen.jobs = [job for one in found for job in self._jobs(one)]
        address = run_prometheus(self._lab, self._tools, self._seen.jobs, _INTERVAL)
        names = {
            job["job_name"]: f'{{job="{job["job_name"]}",__name__=~"kuberay_advisor_.+"}}' for job in self._seen.jobs
        }

        def has_all() -> bool:
            self._lab.plane.processes.check()
            self._seen.scraped = {name: _names(address, selector) for name, selector in names.items()}
            return all(self._seen.scraped.values())

        wait_until("series in Prometheus", has_all, _WAIT_SECONDS)
        self._lab.plane.processes.stop("prometheus")

    def inject(self) -> None:
        """The sidecar in place of the watcher, in the operator's Pod, reading its log file."""
        self._lab.say("the sidecar in the operator's Pod")
        self._stop("watcher", "watcher")
        self._stop("service", "service")
        self._run("helm upgrade")
        before = self._deployment()
        self._seen.trial = self._objects.apply([self._injected(before)], is_trial=True)[0]
        self._run("kubectl --namespace kuberay get deployment")
        pod = self._is_pod_of_the_operator(_SIDECAR)
        self._seen.injected = [one["name"] for one in pod["spec"]["containers"]]
        assert self._operator is not None
        logs = self._lab.folder / "kuberay-logs"
        logs.mkdir()
        # The same file under the name that the operator's arguments have.
        os.link(self._operator.log, logs / "operator.log")
        address = self._containers.start(pod, _SIDECAR, {"kuberay-logs": logs})
        self._until(pod, _SIDECAR, lambda: _has(samples(f"{address}/metrics"), "kuberay_advisor_sidecar_scrapes_total"))
        self._load("team-b")
        self._until(pod, _SIDECAR, lambda: _has(samples(f"{address}/metrics"), _WAITS))
        self._serve("sidecar")
        self._seen.sidecar = samples(f"{address}/metrics")
        self._stop("service", "service")
        self._seen.restored = self._injected(self._injected(before), "--remove") == before

    def remove(self) -> None:
        """What the README says last."""
        self._shell(f"helm uninstall kuberay-advisor --namespace {OPERATOR_NAMESPACE}")
        assert all(line.startswith(NOT_SHOWN) for line in self._left), self._left

        def left() -> set[str]:
            return {path for path in self._objects.everything() if "kuberay-advisor" in path.rsplit("/", 1)[1]}

        wait_until("what it made to go", lambda: not {path for path in left() if "/pods/" in path}, _WAIT_SECONDS)
        self._seen.left = left()

    def _serve(self, reads: str) -> None:
        pod = self._containers.pod(OPERATOR_NAMESPACE, _CHART | {"app.kubernetes.io/component": "service"})
        address = self._containers.start(pod, "service")
        self._until(pod, "service", lambda: _page(f"{address}/readyz") != "")
        name = f"{OPERATOR_NAMESPACE}/{_CONTAINER}"
        self._seen.pages[reads] = (_page(f"{address}/"), _page(f"{address}/api/v1/operators"))
        assert name in self._seen.pages[reads][0]

    def _stop(self, component: str, container: str) -> None:
        pod = self._containers.pod(OPERATOR_NAMESPACE, _CHART | {"app.kubernetes.io/component": component})
        self._containers.stop(pod, container)

    def _load(self, namespace: str) -> None:
        """Some RayClusters, to the end."""
        take_step(self._lab, Step(create=Create(count=6, workers=1, namespaces=(namespace,))))
        wait_until("the clusters", self._lab.cluster.all_ready, _WAIT_SECONDS, pause=1.0)

    def _is_pod_of_the_operator(self, container: str = _CONTAINER) -> dict[str, Any]:
        """The operator's Pod that has a container, whose port is that of the lab's operator."""
        path = f"/api/v1/namespaces/{OPERATOR_NAMESPACE}/pods"

        def is_replaced() -> bool:
            pods = self._lab.cluster.items(path, labelSelector="app.kubernetes.io/name=kuberay-operator")
            return len(pods) == 1 and any(one["name"] == container for one in pods[0]["spec"]["containers"])

        wait_until("the operator's Pod", is_replaced, _WAIT_SECONDS)
        pod = self._containers.pod(OPERATOR_NAMESPACE, _OPERATOR)
        assert self._operator is not None
        self._containers.is_at(pod, 8080, self._operator.metrics)
        return pod

    def _deployment(self) -> dict[str, Any]:
        path = f"/apis/apps/v1/namespaces/{OPERATOR_NAMESPACE}/deployments/{_CONTAINER}"
        one = self._lab.cluster.get(path)
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {name: one["metadata"][name] for name in ("name", "namespace", "labels")},
            "spec": one["spec"],
        }

    @staticmethod
    def _injected(deployment: dict[str, Any], *options: str) -> dict[str, Any]:
        """What the product makes of the Deployment."""
        command = [sys.executable, "-c", "from advisor.cli import main; main()", "inject", *options]
        done = subprocess.run(command, input=json.dumps(deployment), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        (one,) = read_all(done.stdout)
        return one

    def _jobs(self, monitor: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """A scrape job for each endpoint of each Service that a monitor selects, as Prometheus Operator names it."""
        spec = monitor["spec"]
        selector = ",".join(f"{name}={value}" for name, value in spec["selector"]["matchLabels"].items())
        for namespace in spec["namespaceSelector"]["matchNames"]:
            path = f"/api/v1/namespaces/{namespace}/services"
            for service in self._lab.cluster.items(path, labelSelector=selector):
                name = service["metadata"]["name"]
                for endpoint in spec["endpoints"]:
                    pod, port = self._containers.behind(namespace, name, endpoint["port"])
                    labels = {"namespace": namespace, "service": name, "pod": pod["metadata"]["name"]}
                    fixed = {
                        one["targetLabel"]: one["replacement"]
                        for one in endpoint.get("relabelings", ())
                        if "sourceLabels" not in one
                    }
                    target = f"127.0.0.1:{self._containers.port(pod, port)}"
                    yield {
                        "job_name": name,
                        "metrics_path": endpoint["path"],
                        "scheme": endpoint.get("scheme", "http"),
                        "static_configs": [{"targets": [target], "labels": labels | fixed}],
                    }

    def _run(self, begins: str) -> None:
        """Run the README's next command, which begins so, and pass over those that cannot be shown here."""
        while self._left and self._left[0].startswith(NOT_SHOWN):
            self._left.pop(0)
        assert self._left
        assert self._left[0].startswith(begins), self._left[0]
        self._shell(self._left.pop(0))

    def _shell(self, command: str) -> None:
        programs = self._lab.folder / "programs"
        programs.mkdir(exist_ok=True)
        if not (programs / "helm").exists():
            (programs / "helm").symlink_to(self._tools.path("helm"))
            own = programs / "kuberay-advisor"
            own.write_text(f"#!/bin/sh\nexec {sys.executable} -c 'from advisor.cli import main; main()' \"$@\"\n")
            own.chmod(0o755)
        self._lab.say(command)
        environ = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "KUBECONFIG": str(self._lab.plane.kubeconfig),
            "HOME": str(self._lab.folder),
        }
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command],
            cwd=ROOT,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        self._seen.ran[command] = done.stdout + done.stderr

    def _until(self, pod: Mapping[str, Any], name: str, holds: Callable[[], bool]) -> None:
        def does() -> bool:
            self._lab.plane.processes.check()
            return holds()

        try:
            wait_until(name, does, _WAIT_SECONDS)
        except Exception as error:
            raise AssertionError(f"{error}; its log ends: {self._containers.log(pod, name)[-3000:]}") from error


def kubectl() -> str:
    """Why the commands cannot be run here, or ""."""
    return "" if shutil.which("kubectl") and shutil.which("bash") else "there is no kubectl or bash here"


def _has(found: Samples, name: str) -> bool:
    return any(value > 0 for _, value in found.get(name, ()))


def _page(address: str) -> str:
    try:
        answer = httpx.get(address, trust_env=False, timeout=10.0)
    except httpx.HTTPError:
        return ""
    return answer.text if answer.is_success else ""


def _names(address: str, selector: str) -> set[str]:
    try:
        answer = httpx.get(f"{address}/api/v1/query", params={"query": selector}, trust_env=False, timeout=10.0)
    except httpx.HTTPError:
        return set()
    return {one["metric"]["__name__"] for one in answer.json().get("data", {}).get("result", ())}
