"""The product takes what the chart gives it: arguments, configuration, names."""

import re
import tomllib
from pathlib import Path
from typing import Any, Final

import click
import pytest

from advisor.cli.commands import cli
from advisor.cli.sidecar import _settings
from advisor.sidecar.settings import Settings
from advisor.web.config import Config, load_config
from tests.chart.helm import SETS, Helm, Manifest, named
from tests.support import run

_POD_IPS: Final = "10.1.2.3,fd00::7"


def deployments(manifests: tuple[Manifest, ...], component: str) -> list[Manifest]:
    """Deployments of a part."""
    return [
        one
        for one in manifests
        if one["kind"] == "Deployment" and one["metadata"]["labels"]["app.kubernetes.io/component"] == component
    ]


def container_of(deployment: Manifest) -> Manifest:
    """The part's own container."""
    container: Manifest = deployment["spec"]["template"]["spec"]["containers"][0]
    return container


def environment_of(container: Manifest) -> dict[str, str]:
    """Variables as the kubelet makes them of names and values."""
    found: dict[str, str] = {}
    for one in container.get("env", []):
        value = _POD_IPS if one.get("valueFrom") == {"fieldRef": {"fieldPath": "status.podIPs"}} else one["value"]
        found[one["name"]] = re.sub(r"\$\((\w+)\)", lambda match: found[match[1]], value)
    return found


def configuration(manifests: tuple[Manifest, ...], folder: Path) -> tuple[list[str], Config]:
    """The arguments of the service, with the configuration where this machine has it, and what the service reads."""
    (deployment,) = deployments(manifests, "service")
    container = container_of(deployment)
    spec = deployment["spec"]["template"]["spec"]
    mounted = {mount["mountPath"]: mount["name"] for mount in container["volumeMounts"]}
    (volume,) = [one for one in spec["volumes"] if one["name"] == mounted["/etc/kuberay-advisor"]]
    texts = named(manifests, "ConfigMap", volume["configMap"]["name"])["data"]
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    arguments = [one.replace("/etc/kuberay-advisor", str(folder)) for one in container["args"]]
    environ = {name: value for name, value in environment_of(container).items() if name.startswith("KUBERAY_ADVISOR_")}
    return arguments, load_config(folder / "config.toml", environ, {})


@pytest.mark.parametrize("name", [one for one in SETS if one != "watcher"])
def test_the_service_takes_its_configuration(
    helm: Helm, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the very arguments and variables that its Pod has; it says where each setting is from."""
    arguments, config = configuration(helm.manifests(name), tmp_path)
    (deployment,) = deployments(helm.manifests(name), "service")
    for variable, value in environment_of(container_of(deployment)).items():
        monkeypatch.setenv(variable, value)
    assert run(*arguments, "--print-config") == 0
    said = capsys.readouterr().out
    assert re.search(r"listen\.allowed_hosts.*KUBERAY_ADVISOR_LISTEN_ALLOWED_HOSTS", said)
    assert len(config.operators) >= 1
    (port,) = container_of(deployment)["ports"]
    assert config.listen.port == port["containerPort"]
    assert config.store.path == Path("/var/lib/kuberay-advisor/history.db")


@pytest.mark.parametrize("name", SETS)
def test_files_that_the_configuration_names_are_mounted(helm: Helm, name: str, tmp_path: Path) -> None:
    """Each of them by the name that its volume gives it."""
    for deployment in deployments(helm.manifests(name), "service"):
        configuration(helm.manifests(name), tmp_path)
        spec = deployment["spec"]["template"]["spec"]
        volumes = {one["name"]: one for one in spec["volumes"]}
        there = set()
        for mount in container_of(deployment)["volumeMounts"]:
            source = volumes[mount["name"]].get("secret") or volumes[mount["name"]].get("configMap") or {}
            there |= {f"{mount['mountPath']}/{item['path']}" for item in source.get("items", [])}
        asked = set(re.findall(r'"(/var/run/secrets/[^"]+)"', (tmp_path / "config.toml").read_text(encoding="utf-8")))
        assert asked == there


def sidecar_settings(container: Manifest) -> Settings:
    """What the sidecar's program makes of its Pod's arguments."""
    command = cli.get_command(click.Context(cli), "sidecar")
    assert command is not None
    assert container["args"][0] == "sidecar"
    context = command.make_context("sidecar", list(container["args"][1:]))
    return _settings(dict(context.params))


@pytest.mark.parametrize("name", [one for one in SETS if one not in ("prometheus", "sidecar", "other")])
def test_the_watcher_takes_its_arguments(helm: Helm, name: str) -> None:
    """They name the operator's Pods, its metrics and the namespaces, and the port that the Pod says."""
    (deployment,) = deployments(helm.manifests(name), "watcher")
    container = container_of(deployment)
    settings = sidecar_settings(container)
    assert settings.port == container["ports"][0]["containerPort"]
    # The program keeps to its limit by and by, the kernel at once.
    assert 3 * settings.memory_limit_bytes <= 2 * mebibytes(container["resources"]["limits"]["memory"]) << 20


def mebibytes(quantity: str) -> int:
    """MiB of a quantity."""
    return int(quantity.removesuffix("Mi"))


def test_the_watcher_finds_the_operator(helm: Helm) -> None:
    """In its namespace by its labels, and what it watches where the operator does."""
    (deployment,) = deployments(helm.manifests("watcher"), "watcher")
    settings = sidecar_settings(container_of(deployment))
    assert settings.log_pod is not None
    assert settings.log_pod.namespace == "ray-system"
    assert settings.log_pod.selector == "app.kubernetes.io/name=kuberay-operator"
    assert settings.operator_metrics == "http://kuberay-operator.ray-system.svc:8080/metrics"
    assert settings.namespaces == ("team-a", "team-b")
    assert settings.watch
    several = {"operator.selectorLabels": {"app": "ray", "example.com/role": "operator"}}
    (deployment,) = deployments(helm.rendered(several), "watcher")
    pod = sidecar_settings(container_of(deployment)).log_pod
    assert pod is not None
    assert pod.selector == "app=ray,example.com/role=operator"


@pytest.mark.parametrize(
    ("name", "log", "watch"), [("default", True, True), ("narrow", True, False), ("quiet", False, False)]
)
def test_the_watcher_asks_for_nothing_that_it_may_not(helm: Helm, name: str, log: bool, watch: bool) -> None:
    """Without a role it does not try; and then it needs no token."""
    (deployment,) = deployments(helm.manifests(name), "watcher")
    settings = sidecar_settings(container_of(deployment))
    assert (settings.log_pod is not None, settings.watch) == (log, watch)


def test_the_service_reads_the_watcher_or_the_sidecar(helm: Helm, tmp_path: Path) -> None:
    """By the name and the port of a Service that is rendered, under the operator's name."""
    for name, suffix in (("default", "watcher"), ("sidecar", "sidecar")):
        _, config = configuration(helm.manifests(name), tmp_path)
        (operator,) = config.operators
        service = named(helm.manifests(name), "Service", f"advisor-kuberay-advisor-{suffix}")["metadata"]
        port = named(helm.manifests(name), "Service", service["name"])["spec"]["ports"][0]["port"]
        assert operator.sidecar is not None
        assert operator.sidecar.url == f"http://{service['name']}.{service['namespace']}.svc:{port}"


def test_what_is_known_of_the_operator_is_told_to_the_service(helm: Helm, tmp_path: Path) -> None:
    """Its name, its release and how it was started."""
    _, config = configuration(helm.manifests("sidecar"), tmp_path)
    (operator,) = config.operators
    assert operator.name == "ray-system/kuberay-operator"
    assert operator.version == "1.7.0"
    assert operator.args == ("--qps=100", "--burst=200")


def test_everything_of_a_prometheus(helm: Helm, tmp_path: Path) -> None:
    """Each value has its key, and what the chart has no value for goes as it is."""
    _, config = configuration(helm.manifests("prometheus"), tmp_path)
    store, edge = config.operators
    assert store.fleet is not None
    assert store.fleet.tenant == "platform"
    assert list(store.fleet.matchers) == ['env="prod"']
    assert store.fleet.headers == {"X-Team": "ray"}
    assert store.fleet.last == "6h"
    assert (edge.name, edge.version, edge.args) == ("edge", "1.7.0", ("--qps=100", "--burst=200"))
    assert config.schedule.interval_seconds == 120.0
    assert config.schedule.at_a_time == 8
    _, config = configuration(helm.manifests("everything"), tmp_path)
    one = config.operators[1].prometheus
    assert one is not None
    assert (one.user, one.job, one.namespace, one.last) == ("reader", "kuberay-operator", "ray-system", "2h")


@pytest.mark.parametrize("name", [one for one in SETS if one != "watcher"])
def test_names_by_which_the_service_is_asked(helm: Helm, name: str, tmp_path: Path) -> None:
    """Those of its Service, of each Ingress and route, and the Pod's own addresses, by which Prometheus asks."""
    manifests = helm.manifests(name)
    _, config = configuration(manifests, tmp_path)
    (deployment,) = deployments(manifests, "service")
    metadata = deployment["metadata"]
    wanted = {metadata["name"], f"{metadata['name']}.{metadata['namespace']}.svc", *_POD_IPS.split(",")}
    for one in manifests:
        if one["kind"] == "Ingress":
            wanted |= {rule["host"] for rule in one["spec"]["rules"]}
        if one["kind"] == "HTTPRoute":
            wanted |= set(one["spec"]["hostnames"])
    assert wanted <= set(config.listen.allowed_hosts)


def test_texts_of_any_kind(helm: Helm, tmp_path: Path) -> None:
    """Quotes, backslashes, other alphabets and numbers reach the service as they are."""
    strange = 'a "quoted" \\ text, <b> & 日本\n\ttab'
    config: dict[str, Any] = {
        "schedule": {"at_a_time": 12, "jitter": 0.25},
        "defaults": {"sidecar": {"headers": {"X y": strange}}, "scrape": {"insecure": True}},
        "operators": [{"name": strange.replace("\n\t", " "), "scrape": {"urls": ["http://a:1", "http://b:2"]}}],
    }
    data = named(helm.rendered({"serve.config": config}), "ConfigMap", "advisor-kuberay-advisor")["data"]
    read = tomllib.loads(data["config.toml"])
    assert read["schedule"] == {"at_a_time": 12, "jitter": 0.25}
    assert type(read["schedule"]["at_a_time"]) is int
    assert read["defaults"] == config["defaults"]
    assert read["operators"][1] == config["operators"][0]


def test_the_pod_of_helm_test_asks_what_is_there(helm: Helm) -> None:
    """Each part by its Service; its program is Python's own."""
    pod = named(helm.manifests("default"), "Pod")
    command = pod["spec"]["containers"][0]["command"]
    compile(command[2], "test", "exec")
    assert command[:2] == ["python", "-c"]
    assert command[3:] == [
        "http://advisor-kuberay-advisor.ray.svc:8095/healthz",
        "http://advisor-kuberay-advisor-watcher.ray.svc:8090/healthz",
    ]
    assert pod["metadata"]["annotations"]["helm.sh/hook"] == "test"
    # No Service leads to it.
    assert pod["metadata"]["labels"]["app.kubernetes.io/component"] == "test"
