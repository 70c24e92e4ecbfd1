"""The schema of the chart's values: what ``values.yaml`` says, and what may be in its place."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from advisor.web.configkeys import KEYS, SECTIONS, Key
from scripts.chart.commented import Value
from scripts.chart.shapes import (
    ANY_MAP,
    BOOLEAN,
    CPU_CORES,
    DURATION,
    HOSTS,
    MAPS,
    NAME,
    NAMES,
    NODE_PORT,
    PORT,
    PROBE,
    PROMETHEUS_DURATION,
    QUANTITY,
    RESOURCES,
    STRATEGY,
    TEXT,
    TEXT_MAP,
    TEXTS,
    URL,
    Shape,
    array,
    choice,
    count,
    number,
    section,
    text,
)
from scripts.rules.sources import ALERTS

__all__ = ["NOT_IN_VALUES", "schema"]

NOT_IN_VALUES: Final = ("enabled",)
"""Known at the top, though the chart does not use it: charts above this one switch it off by such a value."""

_LISTEN_AT: Final = text(r"^[0-9A-Fa-f.:]+$")
_SERVICE: Final = section(
    type=choice("ClusterIP", "NodePort", "LoadBalancer"),
    port=PORT,
    nodePort=NODE_PORT,
    loadBalancerSourceRanges=TEXTS,
    ipFamilyPolicy=choice("", "SingleStack", "PreferDualStack", "RequireDualStack"),
    annotations=TEXT_MAP,
    labels=TEXT_MAP,
)
_POD: Final[Mapping[str, Shape]] = {
    "serviceAccount": section(create=BOOLEAN, name=NAME, automount=BOOLEAN, annotations=TEXT_MAP),
    "podDisruptionBudget": section(enabled=BOOLEAN),
    "strategy": STRATEGY,
    "resources": RESOURCES,
    "livenessProbe": PROBE,
    "readinessProbe": PROBE,
    "startupProbe": PROBE,
    "terminationGracePeriodSeconds": count(0, 3600),
    "revisionHistoryLimit": count(0, 1000),
    "labels": TEXT_MAP,
    "annotations": TEXT_MAP,
    "podLabels": TEXT_MAP,
    "podAnnotations": TEXT_MAP,
    "nodeSelector": TEXT_MAP,
    "tolerations": MAPS,
    "affinity": ANY_MAP,
    "topologySpreadConstraints": MAPS,
    "priorityClassName": NAME,
    "runtimeClassName": NAME,
    "schedulerName": NAME,
    "hostAliases": MAPS,
    "dnsPolicy": choice("", "ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"),
    "dnsConfig": ANY_MAP,
    "extraArgs": array(text("^-")),
    "extraEnv": MAPS,
    "extraEnvFrom": MAPS,
    "extraVolumes": MAPS,
    "extraVolumeMounts": MAPS,
    "extraContainers": MAPS,
    "initContainers": MAPS,
}
"""What both Deployments have."""
_SECRET: Final = section(existingSecret=NAME, key=TEXT)
_SEVERITIES: Final = array(choice("critical", "warning", "info"), minItems=1, uniqueItems=True)
_MONITOR: Final[Mapping[str, Shape]] = {
    "enabled": BOOLEAN,
    "namespace": NAME,
    "releaseLabel": TEXT,
    "labels": TEXT_MAP,
    "annotations": TEXT_MAP,
    "interval": PROMETHEUS_DURATION,
    "scrapeTimeout": PROMETHEUS_DURATION,
    "scheme": choice("http", "https"),
    "tlsConfig": ANY_MAP,
    "authorization": ANY_MAP,
    "relabelings": MAPS,
    "metricRelabelings": MAPS,
    "honorLabels": BOOLEAN,
    "jobLabel": TEXT,
    "sampleLimit": count(0, 10**9),
    "labelLimit": count(0, 10**6),
}
_MATCHER_TEXT: Final = text(r'^[^"\\\n]+$')
"""Goes between quotation marks of PromQL."""
_READ_RULE: Final = section(
    apiGroups=TEXTS,
    resources=array({"type": "string", "not": {"enum": ["secrets", "*"]}}, minItems=1),
    resourceNames=TEXTS,
    verbs=array(choice("get", "list", "watch"), minItems=1),
)
"""The chart gives no right to write, and none to Secrets."""
_PARTIAL: Final = frozenset({"config", "resources", "strategy"})
"""What users may take keys out of, or put keys into that have no default."""


def schema(values: list[Value]) -> Shape:
    """The whole schema; each key is described by its comment, and none may be taken out."""
    # A tree of its own: shapes are shared.
    whole: Shape = _ordered(section(**_top()))
    defaults = {value.path[0]: value.value for value in values if len(value.path) == 1}
    _require(whole, defaults)
    for value in values:
        if value.comment:
            _at(whole, value.path)["description"] = value.comment
    head = {"$schema": "http://json-schema.org/draft-07/schema#", "title": "Values of the chart kuberay-advisor"}
    return {**head, **_ordered(whole)}


def _require(shape: Shape, defaults: Mapping[str, Any]) -> None:
    """Helm takes out what a user sets to null, and the templates count on every key."""
    shape["required"] = list(defaults)
    for key, value in defaults.items():
        inner = shape["properties"][key]
        if isinstance(value, dict) and "properties" in inner and key not in _PARTIAL:
            _require(inner, value)


def _at(whole: Shape, path: tuple[str, ...]) -> Shape:
    """The shape of a key."""
    place = whole
    for key in path:
        place = place["properties"][key]
    return place


def _ordered(shape: Any) -> Any:  # noqa: ANN401 - a tree
    """The same anew, with what it is for at the top."""
    if isinstance(shape, list):
        return [_ordered(one) for one in shape]
    if not isinstance(shape, dict):
        return shape
    head = {"description": shape["description"]} if isinstance(shape.get("description"), str) else {}
    return {key: _ordered(value) for key, value in {**head, **shape}.items()}


def _top() -> dict[str, Shape]:
    return {
        "enabled": BOOLEAN,
        "nameOverride": NAME,
        "fullnameOverride": NAME,
        "namespaceOverride": NAME,
        "commonLabels": TEXT_MAP,
        "commonAnnotations": TEXT_MAP,
        # Shared with other charts, whose keys are not known here.
        "global": {"type": "object", "properties": {"imageRegistry": TEXT, "imagePullSecrets": NAMES}},
        "image": section(
            registry=text(r"^[A-Za-z0-9.:/_-]*$"),
            repository=text(r"^[a-z0-9]+([._/-]+[a-z0-9]+)*$"),
            tag=text(r"^([A-Za-z0-9_][A-Za-z0-9._-]{0,127})?$"),
            digest=text(r"^(sha256:[a-f0-9]{64})?$"),
            pullPolicy=choice("Always", "IfNotPresent", "Never"),
        ),
        "imagePullSecrets": NAMES,
        "operator": _operator(),
        "serve": _serve(),
        "watcher": _watcher(),
        "sidecar": section(
            enabled=BOOLEAN,
            port=PORT,
            service=section(annotations=TEXT_MAP, labels=TEXT_MAP),
            rbac=section(create=BOOLEAN),
        ),
        "rbac": section(
            create=BOOLEAN,
            clusterWide=BOOLEAN,
            useExistingRole=text("^[A-Za-z0-9:._-]*$"),
            extraRules=array(_READ_RULE),
            annotations=TEXT_MAP,
        ),
        "podSecurityContext": ANY_MAP,
        "securityContext": ANY_MAP,
        "openshift": BOOLEAN,
        "tmpSizeLimit": QUANTITY,
        "serviceMonitor": section(**_MONITOR, bearerTokenFile=TEXT, targetLabels=TEXTS),
        "podMonitor": section(**_MONITOR, podTargetLabels=TEXTS),
        "prometheusRule": _rules(),
        "dashboards": section(
            enabled=BOOLEAN,
            namespace=NAME,
            label={"type": "string", "minLength": 1},
            labelValue=TEXT,
            folderAnnotation={"type": "string", "minLength": 1},
            folder=TEXT,
            labels=TEXT_MAP,
            annotations=TEXT_MAP,
        ),
        "networkPolicy": _policy(),
        "tests": section(enabled=BOOLEAN),
        "extraManifests": array({"type": ["object", "string"]}),
    }


def _operator() -> Shape:
    return section(
        namespace=NAME,
        name=text(r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"),
        title={"type": "string", "maxLength": 200},
        selectorLabels=TEXT_MAP,
        serviceAccountName=text(r"^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$"),
        metricsUrl=URL,
        watchNamespaces=NAMES,
        cpuLimit=CPU_CORES,
        version=text(r"^(v?[0-9]+\.[0-9]+.*)?$"),
        args=TEXT,
    )


def _serve() -> Shape:
    return section(
        enabled=BOOLEAN,
        replicas=count(0, 1),
        port=PORT,
        listenAddress=_LISTEN_AT,
        allowedHosts=HOSTS,
        readFromSidecar=BOOLEAN,
        sidecarInterval=DURATION,
        config=section(**dict(_tables())),
        prometheus=section(
            url=URL,
            mode=choice("fleet", "operator"),
            name={"type": "string", "minLength": 1, "maxLength": 200},
            **dict.fromkeys(("tenant", "cluster", "namespace", "job"), TEXT),
            matchers=TEXTS,
            last=text(rf"^$|{DURATION['pattern']}"),
            bearerToken=_SECRET,
            basicAuth=section(user=TEXT, existingSecret=NAME, key=TEXT),
            ca=section(existingConfigMap=NAME, key=TEXT),
            clientCertificate=section(existingSecret=NAME),
            extra=ANY_MAP,
        ),
        login=section(
            existingSecret=NAME,
            key=TEXT,
            proxyHeader=text(r"^[!#$%&'*+.^_`|~0-9A-Za-z-]*$"),
            proxyTrusted=array(text(r"^[0-9A-Fa-f.:]+(/[0-9]{1,3})?$")),
        ),
        notify=section(slack=_SECRET, webhook=_SECRET, severities=_SEVERITIES, cooldown=DURATION),
        persistence=section(
            enabled=BOOLEAN,
            existingClaim=NAME,
            storageClass=text(r"^(-|[a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$"),
            accessModes=array(
                choice("ReadWriteOnce", "ReadWriteOncePod", "ReadWriteMany"), minItems=1, uniqueItems=True
            ),
            size=QUANTITY,
            annotations=TEXT_MAP,
            labels=TEXT_MAP,
            emptyDirSizeLimit=QUANTITY,
        ),
        service=_SERVICE,
        ingress=section(enabled=BOOLEAN, className=NAME, hosts=HOSTS, tls=MAPS, annotations=TEXT_MAP, labels=TEXT_MAP),
        httpRoute=section(
            enabled=BOOLEAN, parentRefs=MAPS, hostnames=HOSTS, filters=MAPS, annotations=TEXT_MAP, labels=TEXT_MAP
        ),
        **_POD,
    )


def _watcher() -> Shape:
    return section(
        enabled=BOOLEAN,
        replicas=count(0, 1),
        port=PORT,
        listenAddress=_LISTEN_AT,
        log=section(enabled=BOOLEAN),
        watch=section(enabled=BOOLEAN),
        scrapeInterval=DURATION,
        qps=number(10_000),
        burst=count(1, 10_000),
        keys=count(0, 200),
        maxSeries=count(50, 100_000),
        cpuBudget=number(64),
        memoryLimit=count(32, 65_536),
        service=_SERVICE,
        **_POD,
    )


def _rules() -> Shape:
    return section(
        enabled=BOOLEAN,
        namespace=NAME,
        releaseLabel=TEXT,
        labels=TEXT_MAP,
        annotations=TEXT_MAP,
        interval=text(r"^([0-9]+(ms|s|m|h|d|w|y))+$"),
        operatorJob=_MATCHER_TEXT,
        operatorContainer=_MATCHER_TEXT,
        advisorJob=text(r'^[^"\\\n]*$'),
        runbooks=text(r"^https?://\S+$"),
        disabledAlerts=array(choice(*sorted(ALERTS)), uniqueItems=True),
        alertLabels=TEXT_MAP,
        extraGroups=MAPS,
    )


def _policy() -> Shape:
    ports = array(PORT, minItems=1)
    return section(
        enabled=BOOLEAN,
        serveFrom=MAPS,
        watcherFrom=MAPS,
        egress=section(
            enabled=BOOLEAN,
            dnsTo=MAPS,
            apiServerPorts=ports,
            apiServerTo=MAPS,
            prometheusTo=MAPS,
            prometheusPorts=array(PORT),
            serveExtra=MAPS,
            watcherExtra=MAPS,
        ),
    )


def _tables() -> Iterator[tuple[str, Shape]]:
    """The tables of the service's file, by the settings that the service knows."""
    for name in SECTIONS:
        keys = [key for key in KEYS if key.section == name]
        yield name, section(**{key.name.partition(".")[2]: _setting(key) for key in keys})
    yield "defaults", section(prometheus=ANY_MAP, scrape=ANY_MAP, sidecar=ANY_MAP)
    entry = section(
        name={"type": "string", "minLength": 1, "maxLength": 200},
        **dict.fromkeys(("prometheus", "scrape", "sidecar", "fleet"), ANY_MAP),
        version=TEXT,
        args={"type": ["string", "array"], "items": TEXT},
    )
    yield "operators", array({**entry, "required": ["name"]})


def _setting(key: Key) -> Shape:
    """What a setting may be, by its unit and its default; its bounds are checked by the service."""
    about = {"description": key.about}
    if key.name == "notify.severities":
        return {**_SEVERITIES, **about}
    if key.field.endswith("_seconds"):
        return {**DURATION, **about}
    if isinstance(key.default, tuple):
        return {**TEXTS, **about}
    if isinstance(key.default, int):
        return {"type": "integer", **about}
    if isinstance(key.default, float):
        return {"type": "number", **about}
    return {**TEXT, **about}
