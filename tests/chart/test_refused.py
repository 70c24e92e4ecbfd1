"""Values that cannot be are refused before anything is installed, and what helm says names the value."""

from typing import Any, Final

import pytest

from tests.chart.helm import Helm

# What is set, and where the schema's complaint is.
BY_SCHEMA: Final[list[tuple[dict[str, Any], str]]] = [
    ({"serv.enabled": True}, "at '': additional properties 'serv' not allowed"),
    ({"serve.enable": True}, "at '/serve': additional properties 'enable' not allowed"),
    (
        {"serve.persistence.storageclass": "fast"},
        "at '/serve/persistence': additional properties 'storageclass' not allowed",
    ),
    ({"serve.enabled": "yes"}, "at '/serve/enabled': got string, want boolean"),
    ({"serve.replicas": 2}, "at '/serve/replicas': maximum: got 2, want 1"),
    ({"watcher.replicas": 2}, "at '/watcher/replicas': maximum: got 2, want 1"),
    ({"serve.port": 70000}, "at '/serve/port': maximum: got 70,000, want 65,535"),
    ({"serve.service.port": "http"}, "at '/serve/service/port': got string, want integer"),
    ({"serve.service.type": "Loadbalancer"}, "at '/serve/service/type': value must be one of 'ClusterIP'"),
    ({"serve.service.ipFamilyPolicy": "Dual"}, "at '/serve/service/ipFamilyPolicy': value must be one of"),
    ({"serve.listenAddress": "localhost"}, "at '/serve/listenAddress': 'localhost' does not match pattern"),
    ({"serve.sidecarInterval": "15"}, "at '/serve/sidecarInterval': '15' does not match pattern"),
    ({"serve.allowedHosts": ["http://a.example.com"]}, "at '/serve/allowedHosts/0': "),
    ({"serve.prometheus.url": "prometheus:9090"}, "at '/serve/prometheus/url': 'prometheus:9090' does not match"),
    ({"serve.prometheus.url": "http://p/?a=b"}, "at '/serve/prometheus/url': "),
    ({"serve.prometheus.mode": "all"}, "at '/serve/prometheus/mode': value must be one of 'fleet', 'operator'"),
    ({"serve.prometheus.token": "s3cret"}, "at '/serve/prometheus': additional properties 'token' not allowed"),
    ({"serve.prometheus.last": "1 hour"}, "at '/serve/prometheus/last': "),
    ({"serve.login.token": "s3cret"}, "at '/serve/login': additional properties 'token' not allowed"),
    ({"serve.login.proxyTrusted": ["proxy.example.com"]}, "at '/serve/login/proxyTrusted/0': "),
    ({"serve.login.proxyHeader": "X User"}, "at '/serve/login/proxyHeader': "),
    ({"serve.notify.severities": ["fatal"]}, "at '/serve/notify/severities/0': value must be one of 'critical'"),
    ({"serve.notify.severities": []}, "at '/serve/notify/severities': minItems"),
    (
        {"serve.notify.slack.url": "https://hooks.example.com/x"},
        "at '/serve/notify/slack': additional properties 'url' not allowed",
    ),
    ({"serve.persistence.size": "2 GB"}, "at '/serve/persistence/size': "),
    ({"serve.persistence.accessModes": ["ReadOnlyMany"]}, "at '/serve/persistence/accessModes/0': value must be one"),
    ({"serve.config.schedul": {}}, "at '/serve/config': additional properties 'schedul' not allowed"),
    (
        {"serve.config.schedule.intervall": "5m"},
        "at '/serve/config/schedule': additional properties 'intervall' not allowed",
    ),
    ({"serve.config.schedule.interval": 300}, "at '/serve/config/schedule/interval': got number, want string"),
    ({"serve.config.schedule.at_a_time": "four"}, "at '/serve/config/schedule/at_a_time': got string, want integer"),
    ({"serve.config.operators": [{"scrape": {}}]}, "at '/serve/config/operators/0': missing property 'name'"),
    ({"serve.ingress.hosts": "a.example.com"}, "at '/serve/ingress/hosts': got string, want array"),
    ({"serve.resources.limit": {}}, "at '/serve/resources': additional properties 'limit' not allowed"),
    ({"serve.resources.limits.memory": "1 GiB"}, "at '/serve/resources/limits/memory': "),
    ({"serve.livenessProbe.periodSeconds": 0}, "at '/serve/livenessProbe/periodSeconds': minimum: got 0, want 1"),
    ({"serve.livenessProbe.httpGet": {}}, "at '/serve/livenessProbe': additional properties 'httpGet' not allowed"),
    ({"serve.strategy.type": "OnDelete"}, "at '/serve/strategy/type': value must be one of"),
    ({"serve.extraArgs": ["serve"]}, "at '/serve/extraArgs/0': 'serve' does not match pattern '^-'"),
    ({"serve.extraEnv": {"A": "b"}}, "at '/serve/extraEnv': got object, want array"),
    ({"serve.podLabels": {"tier": 1}}, "at '/serve/podLabels/tier': got number, want string"),
    ({"watcher.qps": 0}, "at '/watcher/qps': exclusiveMinimum: got 0, want 0"),
    ({"watcher.keys": 500}, "at '/watcher/keys': maximum: got 500, want 200"),
    ({"watcher.maxSeries": 10}, "at '/watcher/maxSeries': minimum: got 10, want 50"),
    ({"watcher.memoryLimit": "128Mi"}, "at '/watcher/memoryLimit': got string, want integer"),
    ({"watcher.scrapeInterval": "5 s"}, "at '/watcher/scrapeInterval': "),
    ({"operator.namespace": "Ray"}, "at '/operator/namespace': 'Ray' does not match pattern"),
    ({"operator.watchNamespaces": "team-a"}, "at '/operator/watchNamespaces': got string, want array"),
    ({"operator.watchNamespaces": [""]}, "at '/operator/watchNamespaces/0': "),
    ({"operator.selectorLabels": None}, "at '/operator': missing property 'selectorLabels'"),
    ({"serve.login": None}, "at '/serve': missing property 'login'"),
    ({"operator.cpuLimit": "100m"}, "at '/operator/cpuLimit': got string, want number"),
    ({"operator.metricsUrl": "kuberay-operator:8080"}, "at '/operator/metricsUrl': "),
    ({"operator.version": "latest"}, "at '/operator/version': 'latest' does not match pattern"),
    ({"image.digest": "sha256:abc"}, "at '/image/digest': 'sha256:abc' does not match pattern"),
    ({"image.tag": "a:b"}, "at '/image/tag': "),
    ({"image.repository": "Advisor"}, "at '/image/repository': "),
    ({"image.pullPolicy": "Sometimes"}, "at '/image/pullPolicy': value must be one of 'Always'"),
    ({"imagePullSecrets": [{"name": "a"}]}, "at '/imagePullSecrets/0': got object, want string"),
    (
        {"rbac.extraRules": [{"resources": ["events"], "verbs": ["create"]}]},
        "at '/rbac/extraRules/0/verbs/0': value must be",
    ),
    (
        {"rbac.extraRules": [{"resources": ["events"], "verbs": ["*"]}]},
        "at '/rbac/extraRules/0/verbs/0': value must be",
    ),
    (
        {"rbac.extraRules": [{"resources": ["secrets"], "verbs": ["get"]}]},
        "at '/rbac/extraRules/0/resources/0': 'not' failed",
    ),
    (
        {"rbac.extraRules": [{"resources": ["*"], "verbs": ["get"]}]},
        "at '/rbac/extraRules/0/resources/0': 'not' failed",
    ),
    ({"serviceMonitor.interval": "1 minute"}, "at '/serviceMonitor/interval': "),
    ({"serviceMonitor.scheme": "ftp"}, "at '/serviceMonitor/scheme': value must be one of 'http', 'https'"),
    ({"podMonitor.relabelings": {}}, "at '/podMonitor/relabelings': got object, want array"),
    (
        {"prometheusRule.disabledAlerts": ["KubeRayNoSuch"]},
        "at '/prometheusRule/disabledAlerts/0': value must be one of",
    ),
    ({"prometheusRule.operatorJob": 'a"b'}, "at '/prometheusRule/operatorJob': "),
    ({"prometheusRule.interval": ""}, "at '/prometheusRule/interval': "),
    ({"dashboards.label": ""}, "at '/dashboards/label': minLength"),
    ({"networkPolicy.serveFrom": {"podSelector": {}}}, "at '/networkPolicy/serveFrom': got object, want array"),
    ({"networkPolicy.egress.apiServerPorts": []}, "at '/networkPolicy/egress/apiServerPorts': minItems"),
    ({"extraManifests": [1]}, "at '/extraManifests/0': got number, want"),
]

# What is set, and what the chart itself says.
BY_TEMPLATE: Final[list[tuple[dict[str, Any], str]]] = [
    ({"serve.enabled": False, "watcher.enabled": False}, "are all false: nothing would be installed; enable one"),
    ({"sidecar.enabled": True}, "watcher.enabled and sidecar.enabled: both would tell the same series twice"),
    ({"serviceMonitor.enabled": True, "podMonitor.enabled": True}, "everything would be scraped twice"),
    ({"watcher.enabled": False}, "the service has no operator to watch"),
    ({"serve.readFromSidecar": False}, "the service has no operator to watch"),
    ({"serve.config.listen.port": 80}, "serve.config.listen: the chart decides that itself"),
    ({"serve.config.store.path": "/data/a.db"}, "serve.config.store.path: the chart decides that itself"),
    (
        {"serve.prometheus.url": "http://p", "serve.prometheus.basicAuth.user": "me"},
        "serve.prometheus.basicAuth.user needs serve.prometheus.basicAuth.existingSecret",
    ),
    (
        {
            "serve.prometheus.basicAuth": {"user": "me", "existingSecret": "a"},
            "serve.prometheus.bearerToken.existingSecret": "b",
        },
        "one way in is possible, not both",
    ),
    ({"serve.login.proxyHeader": "X-User"}, "serve.login.proxyHeader needs serve.login.proxyTrusted"),
    ({"serve.ingress.enabled": True}, "serve.ingress.enabled needs serve.ingress.hosts"),
    (
        {"serve.httpRoute.enabled": True, "serve.httpRoute.hostnames": ["a.example.com"]},
        "serve.httpRoute.enabled needs serve.httpRoute.parentRefs and serve.httpRoute.hostnames",
    ),
    (
        {"serve.persistence.enabled": True, "serve.strategy.type": "RollingUpdate"},
        "two Pods cannot share the history's claim",
    ),
    ({"serve.service.nodePort": 30000}, "serve.service.nodePort: a Service of type ClusterIP has none"),
    ({"watcher.service.nodePort": 30000}, "watcher.service.nodePort: a Service of type ClusterIP has none"),
    (
        {"serviceMonitor.bearerTokenFile": "/a", "serviceMonitor.authorization": {"type": "Bearer"}},
        "serviceMonitor.bearerTokenFile and serviceMonitor.authorization",
    ),
    ({"rbac.create": False, "rbac.useExistingRole": "reader"}, "rbac.useExistingRole names a role that nothing binds"),
]


def ids(cases: list[tuple[dict[str, Any], str]]) -> list[str]:
    """A name for each case."""
    return [",".join(f"{key}={value}" for key, value in values.items())[:80] for values, _ in cases]


def without_conflict(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """As few sets of values as the cases fit in together: Helm tells all that is wrong at once."""
    batches: list[dict[str, Any]] = []
    for values in cases:
        fits = (batch for batch in batches if not any(meet(old, new) for old in batch for new in values))
        batch = next(fits, None)
        if batch is None:
            batches.append(batch := {})
        batch.update(values)
    return batches


def meet(one: str, other: str) -> bool:
    """Whether one is the other, or part of it."""
    return f"{one}.".startswith(f"{other}.") or f"{other}.".startswith(f"{one}.")


@pytest.fixture(scope="module")
def complaints(helm: Helm) -> list[tuple[dict[str, Any], str]]:
    """Wrong values, and what helm says of them."""
    return [(values, helm.refused(values)) for values in without_conflict([values for values, _ in BY_SCHEMA])]


@pytest.mark.parametrize(("values", "said"), BY_SCHEMA, ids=ids(BY_SCHEMA))
def test_one_value_that_cannot_be(
    complaints: list[tuple[dict[str, Any], str]], values: dict[str, Any], said: str
) -> None:
    """The schema tells where it is, and what would be right."""
    answer = next(answer for batch, answer in complaints if all(item in batch.items() for item in values.items()))
    assert "values don't meet the specifications of the schema(s)" in answer
    assert said in answer


@pytest.mark.parametrize(("values", "said"), BY_TEMPLATE, ids=ids(BY_TEMPLATE))
def test_values_that_do_not_go_together(helm: Helm, values: dict[str, Any], said: str) -> None:
    """The chart says which, and what to do."""
    assert said in helm.refused(values)
