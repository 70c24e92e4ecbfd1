"""What hangs together in the rendered manifests: labels and selectors, ports, volumes, contexts, rights."""

import re
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.chart.helm import SETS, Helm, Manifest, named

_BY_SET: Final = pytest.mark.parametrize("name", SETS)
_KINDS: Final = {
    "ClusterRole": "rbac.authorization.k8s.io/v1",
    "ClusterRoleBinding": "rbac.authorization.k8s.io/v1",
    "ConfigMap": "v1",
    "Deployment": "apps/v1",
    "HTTPRoute": "gateway.networking.k8s.io/v1",
    "Ingress": "networking.k8s.io/v1",
    "NetworkPolicy": "networking.k8s.io/v1",
    "PersistentVolumeClaim": "v1",
    "Pod": "v1",
    "PodDisruptionBudget": "policy/v1",
    "PodMonitor": "monitoring.coreos.com/v1",
    "PrometheusRule": "monitoring.coreos.com/v1",
    "Role": "rbac.authorization.k8s.io/v1",
    "RoleBinding": "rbac.authorization.k8s.io/v1",
    "Service": "v1",
    "ServiceAccount": "v1",
    "ServiceMonitor": "monitoring.coreos.com/v1",
}
"""Everything that the chart makes; a Secret is not among it."""
_CLUSTER: Final = {"ClusterRole", "ClusterRoleBinding"}
_READ: Final = {"get", "list", "watch"}
_OPERATOR: Final = {"app.kubernetes.io/name": "kuberay-operator", "app.kubernetes.io/instance": "kuberay"}
"""Labels of the operator's Pods, as KubeRay's chart makes them."""
_SIDECAR: Final = {"name": "advisor"}


def templates(manifests: tuple[Manifest, ...]) -> Iterator[tuple[str, Manifest]]:
    """Namespace and template of each Pod: of Deployments, and those that stand alone."""
    for one in manifests:
        if one["kind"] == "Deployment":
            yield one["metadata"]["namespace"], one["spec"]["template"]
        elif one["kind"] == "Pod":
            yield one["metadata"]["namespace"], one


def own_containers(template: Manifest) -> list[Manifest]:
    """Containers of the chart's, without those that users add."""
    return [one for one in template["spec"]["containers"] if one["name"] in ("service", "watcher", "ask")]


def selects(selector: dict[str, str], labels: dict[str, str]) -> bool:
    """Whether a selector takes an object with these labels."""
    return bool(selector) and selector.items() <= labels.items()


def port_names(template: Manifest) -> set[str]:
    """Names of a Pod's ports."""
    return {port["name"] for one in template["spec"]["containers"] for port in one.get("ports", [])}


@_BY_SET
def test_every_object_says_what_it_is(helm: Helm, name: str) -> None:
    """A known kind and version, a namespace unless there is none, a name of its own, the recommended labels."""
    seen = set()
    for one in helm.manifests(name):
        metadata = one["metadata"]
        assert one["apiVersion"] == _KINDS[one["kind"]]
        if "extra" in metadata["name"] or "text" in metadata["name"]:
            continue
        assert ("namespace" in metadata) == (one["kind"] not in _CLUSTER)
        assert set(metadata["labels"]) >= {
            f"app.kubernetes.io/{label}" for label in ("name", "instance", "version", "part-of", "managed-by")
        } | {"helm.sh/chart"}
        key = (one["kind"], metadata.get("namespace"), metadata["name"])
        assert key not in seen
        seen.add(key)


@_BY_SET
def test_deployments_select_their_own_pods(helm: Helm, name: str) -> None:
    """And nobody else's; selectors hold nothing that an upgrade changes."""
    deployments = [one for one in helm.manifests(name) if one["kind"] == "Deployment"]
    pods = [template for _, template in templates(helm.manifests(name))]
    for one in deployments:
        selector = one["spec"]["selector"]["matchLabels"]
        assert set(selector) == {f"app.kubernetes.io/{label}" for label in ("name", "instance", "component")}
        found = [pod for pod in pods if selects(selector, pod["metadata"]["labels"])]
        assert found == [one["spec"]["template"]]


@_BY_SET
def test_services_lead_to_ports_that_are_there(helm: Helm, name: str) -> None:
    """Each to one Pod of the chart, or to the operator's by the number of the sidecar's port."""
    for one in helm.manifests(name):
        if one["kind"] != "Service":
            continue
        port = one["spec"]["ports"][0]
        if port["name"] == "advisor":
            assert one["spec"]["clusterIP"] == "None"
            assert selects(one["spec"]["selector"], _OPERATOR)
            # What has no address of its own is asked at the container's port.
            assert port["port"] == port["targetPort"]
            continue
        pods = [
            pod
            for namespace, pod in templates(helm.manifests(name))
            if namespace == one["metadata"]["namespace"] and selects(one["spec"]["selector"], pod["metadata"]["labels"])
        ]
        assert len(pods) == 1
        assert port["targetPort"] in port_names(pods[0])


@_BY_SET
def test_monitors_find_what_they_scrape(helm: Helm, name: str) -> None:
    """A ServiceMonitor one Service with the port of that name, a PodMonitor one kind of Pod."""
    manifests = helm.manifests(name)
    services = [(one["metadata"], one["spec"]["ports"]) for one in manifests if one["kind"] == "Service"]
    for one in manifests:
        if one["kind"] == "ServiceMonitor":
            (endpoint,) = one["spec"]["endpoints"]
            found = [
                ports
                for metadata, ports in services
                if selects(one["spec"]["selector"]["matchLabels"], metadata["labels"])
                and [metadata["namespace"]] == one["spec"]["namespaceSelector"]["matchNames"]
            ]
            assert [[port["name"] for port in ports] for ports in found] == [[endpoint["port"]]]
        elif one["kind"] == "PodMonitor":
            (endpoint,) = one["spec"]["podMetricsEndpoints"]
            selector = one["spec"]["selector"]["matchLabels"]
            pods = [pod for _, pod in templates(manifests) if selects(selector, pod["metadata"]["labels"])]
            assert selects(selector, _OPERATOR) == (endpoint["port"] == "advisor")
            assert len(pods) == (endpoint["port"] != "advisor")
            assert all(endpoint["port"] in port_names(pod) for pod in pods)


@_BY_SET
def test_policies_and_budgets_are_about_pods_that_are_there(helm: Helm, name: str) -> None:
    """A policy that selects nothing protects nothing; one that names a port that is not there closes it."""
    manifests = helm.manifests(name)
    pods = [pod for _, pod in templates(manifests)]
    for one in manifests:
        if one["kind"] == "PodDisruptionBudget":
            selector = one["spec"]["selector"]["matchLabels"]
            assert len([pod for pod in pods if selects(selector, pod["metadata"]["labels"])]) == 1
            # One Pod that may not be evicted would hold up each drain.
            assert one["spec"]["maxUnavailable"] == 1
        elif one["kind"] == "NetworkPolicy":
            selector = one["spec"]["podSelector"]["matchLabels"]
            (pod,) = [pod for pod in pods if selects(selector, pod["metadata"]["labels"])]
            named_ports = {port["port"] for rule in one["spec"]["ingress"] for port in rule["ports"]}
            assert named_ports == port_names(pod)
            assert ("Egress" in one["spec"]["policyTypes"]) == ("egress" in one["spec"])


@_BY_SET
def test_volumes_are_there_and_used(helm: Helm, name: str) -> None:
    """Each mount has its volume, each volume its mount, and each source its object, unless a user brings that."""
    manifests = helm.manifests(name)
    theirs = {"advisor-history", "our-ca", "proxies"}
    for namespace, template in templates(manifests):
        spec = template["spec"]
        volumes = {one["name"]: one for one in spec.get("volumes", [])}
        assert len(volumes) == len(spec.get("volumes", []))
        mounts = [mount for one in own_containers(template) for mount in one.get("volumeMounts", [])]
        assert {mount["name"] for mount in mounts} == set(volumes)
        assert len({mount["mountPath"] for mount in mounts}) == len(mounts)
        for volume in volumes.values():
            if "configMap" in volume and volume["configMap"]["name"] not in theirs:
                assert named(manifests, "ConfigMap", volume["configMap"]["name"])["metadata"]["namespace"] == namespace
            claim = volume.get("persistentVolumeClaim", {}).get("claimName")
            if claim and claim not in theirs:
                assert named(manifests, "PersistentVolumeClaim", claim)["metadata"]["namespace"] == namespace


@_BY_SET
def test_containers_are_hardened(helm: Helm, name: str) -> None:
    """As the restricted profile of Pod Security asks; with a root that is read-only, and bounds."""
    for _, template in templates(helm.manifests(name)):
        spec = template["spec"]
        pod = spec["securityContext"]
        assert pod["runAsNonRoot"] is True
        assert pod["seccompProfile"] == {"type": "RuntimeDefault"}
        if name == "narrow":
            # OpenShift gives user and group.
            assert not {"runAsUser", "runAsGroup", "fsGroup"} & set(pod)
        else:
            assert pod["runAsUser"] != 0
            assert pod["runAsGroup"] == pod["fsGroup"] == 65532
        assert spec["enableServiceLinks"] is False
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)
        for container in own_containers(template):
            context = container["securityContext"]
            assert context["allowPrivilegeEscalation"] is False
            assert context["readOnlyRootFilesystem"] is True
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert set(container["resources"]) == {"requests", "limits"}
            assert "memory" in container["resources"]["limits"]


@_BY_SET
def test_probes(helm: Helm, name: str) -> None:
    """Ready is another question than alive, and each asks by a name that the service knows."""
    for one in helm.manifests(name):
        if one["kind"] != "Deployment":
            continue
        (container,) = own_containers(one["spec"]["template"])
        paths = {}
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            asked = container[probe]["httpGet"]
            paths[probe] = asked["path"]
            assert asked["port"] in port_names(one["spec"]["template"])
            assert asked["httpHeaders"] == [{"name": "Host", "value": "localhost"}]
        assert paths == {"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"}


@_BY_SET
def test_rights(helm: Helm, name: str) -> None:
    """Read verbs on resources that are named, nothing of Secrets, and only for whom the chart installs."""
    manifests = helm.manifests(name)
    roles = {}
    for one in manifests:
        if one["kind"] in ("Role", "ClusterRole"):
            roles[(one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"])] = one["rules"]
            for rule in one["rules"]:
                assert set(rule) <= {"apiGroups", "resources", "verbs"}
                assert set(rule["verbs"]) <= _READ
                assert not {"*", "secrets"} & set(rule["resources"])
                assert "*" not in rule["apiGroups"]
                # Not even those that the client knows: what is asked for by name is not used here.
                assert "pods/log" in rule["resources"] or "get" not in rule["verbs"]
        elif one["kind"] in ("RoleBinding", "ClusterRoleBinding"):
            (subject,) = one["subjects"]
            accounts = {
                pod["spec"]["serviceAccountName"]
                for _, pod in templates(manifests)
                if "serviceAccountName" in pod["spec"]
            }
            operator = {"kuberay-operator"} if name == "sidecar" else set()
            assert subject["name"] in accounts | operator
            key = (one["roleRef"]["kind"], one["metadata"].get("namespace"), one["roleRef"]["name"])
            assert key in roles or one["roleRef"]["name"] == "ray-reader"


@_BY_SET
def test_no_secret_is_made_or_read(helm: Helm, name: str) -> None:
    """Secrets are named, and mounted by the kubelet into the service's Pod; nothing of one stands in a manifest."""
    for one in helm.manifests(name):
        assert one["kind"] != "Secret"
        if one["kind"] == "ConfigMap":
            for text in one["data"].values():
                assert not re.search(r'(token|password|url)_file = "(?!/var/run/secrets/kuberay-advisor/)', text)
    for _, template in templates(helm.manifests(name)):
        for container in own_containers(template):
            for variable in container.get("env", []):
                assert "secretKeyRef" not in variable.get("valueFrom", {})


def rules_of(manifests: tuple[Manifest, ...]) -> dict[tuple[str, str], list[Any]]:
    """Rules by kind and namespace."""
    return {
        (one["kind"], one["metadata"].get("namespace", "")): one["rules"]
        for one in manifests
        if one["kind"] in ("Role", "ClusterRole")
    }


_WATCH: Final = [
    {"apiGroups": ["ray.io"], "resources": ["rayclusters", "rayjobs", "rayservices"], "verbs": ["list", "watch"]},
    {"apiGroups": [""], "resources": ["pods", "services"], "verbs": ["list", "watch"]},
    {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["list", "watch"]},
]
_LOG: Final = [
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
    {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
]


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ({}, {("ClusterRole", ""): _WATCH, ("Role", "ray"): _LOG}),
        ({"operator.namespace": "kuberay"}, {("ClusterRole", ""): _WATCH, ("Role", "kuberay"): _LOG}),
        ({"rbac.clusterWide": False}, {("Role", "ray"): _LOG}),
        ({"watcher.watch.enabled": False}, {("Role", "ray"): _LOG}),
        ({"watcher.log.enabled": False}, {("ClusterRole", ""): _WATCH}),
        (
            {"operator.watchNamespaces": ["team-a", "team-b", "team-a"], "rbac.clusterWide": False},
            {("Role", "team-a"): _WATCH, ("Role", "team-b"): _WATCH, ("Role", "ray"): _LOG},
        ),
        ({"rbac.create": False}, {}),
        ({"rbac.useExistingRole": "reader"}, {}),
        ({"watcher.enabled": False, "sidecar.enabled": True}, {}),
        (
            {"watcher.enabled": False, "sidecar.enabled": True, "sidecar.rbac.create": True},
            {("ClusterRole", ""): _WATCH},
        ),
        ({"watcher.enabled": False, "serve.prometheus.url": "http://p"}, {}),
    ],
    ids=lambda value: ",".join(f"{key}={one}" for key, one in value.items())[:60] if isinstance(value, dict) else None,
)
def test_least_rights(helm: Helm, values: dict[str, object], wanted: dict[tuple[str, str], list[Any]]) -> None:
    """What is used, where it is used: the log in the operator's namespace, objects where the operator has them."""
    assert rules_of(helm.rendered(values)) == wanted


def test_a_role_of_somebody_else_is_bound_where_it_is_needed(helm: Helm) -> None:
    """A ClusterRole, for the whole cluster and for the operator's namespace."""
    bindings = [one for one in helm.manifests("role") if one["kind"].endswith("Binding")]
    assert {one["kind"] for one in bindings} == {"ClusterRoleBinding", "RoleBinding"}
    assert {(one["roleRef"]["kind"], one["roleRef"]["name"]) for one in bindings} == {("ClusterRole", "ray-reader")}


@pytest.mark.parametrize(
    ("values", "strategy"),
    [
        ({}, "RollingUpdate"),
        ({"serve.persistence.enabled": True}, "Recreate"),
        ({"serve.notify.slack.existingSecret": "slack"}, "Recreate"),
        ({"serve.config.notify.webhook_url_file": "/extra/url"}, "Recreate"),
        ({"serve.persistence.enabled": True, "serve.strategy.type": "Recreate"}, "Recreate"),
        ({"serve.strategy.type": "Recreate"}, "Recreate"),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else None,
)
def test_two_pods_at_a_time_only_where_nothing_is_shared(helm: Helm, values: dict[str, object], strategy: str) -> None:
    """Not with one claim, and not where both would send notices."""
    deployment = named(helm.rendered(values), "Deployment", "advisor-kuberay-advisor")
    assert deployment["spec"]["strategy"]["type"] == strategy


def test_a_change_of_settings_replaces_the_pod(helm: Helm) -> None:
    """Also one that stands in the configuration alone; a change elsewhere leaves it."""

    def checksum(values: dict[str, object]) -> str:
        deployment = named(helm.rendered(values), "Deployment", "advisor-kuberay-advisor")
        annotations: dict[str, str] = deployment["spec"]["template"]["metadata"]["annotations"]
        return annotations["checksum/config"]

    before = checksum({})
    assert checksum({"serve.config.schedule.interval": "2m"}) != before
    assert checksum({"watcher.keys": 30}) == before


def test_labels_of_users_break_no_selector(helm: Helm) -> None:
    """Not those of all objects, nor those of one; what nothing relies on can be changed."""
    label = "app.kubernetes.io/component"
    values = {
        "commonLabels": {label: "mine", "app.kubernetes.io/part-of": "platform"},
        "serve.podLabels": {label: "mine"},
        "serve.labels": {label: "mine"},
        "serve.service.labels": {label: "mine"},
    }
    manifests = helm.rendered(values)
    for one in (
        named(manifests, "Deployment", "advisor-kuberay-advisor"),
        named(manifests, "Service", "advisor-kuberay-advisor"),
    ):
        assert one["metadata"]["labels"][label] == "service"
        assert one["metadata"]["labels"]["app.kubernetes.io/part-of"] == "platform"
    assert (
        named(manifests, "Deployment", "advisor-kuberay-advisor")["spec"]["template"]["metadata"]["labels"][label]
        == "service"
    )


def test_openshift_is_seen(helm: Helm) -> None:
    """Where its API is there, user and group are left to the namespace."""
    text = helm.text("default", "--api-versions=security.openshift.io/v1")
    assert "runAsNonRoot: true" in text
    assert "runAsUser" not in text
    assert "fsGroup" not in text
