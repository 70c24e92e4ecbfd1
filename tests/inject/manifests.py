"""Manifests in every style in which people and programs write them, for hypothesis."""

import json
from typing import Any, Final

import yaml
from hypothesis import strategies as st

__all__ = ["OTHER_DOCUMENTS", "deployment", "deployments", "streams"]

LONG_LOG: Final = ["--log-file-path", "/logs/op/kuberay.log"]
OTHER_DOCUMENTS: Final = (
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\ndata:\n  x: |\n    a\tb \n\n    c\n",
    "# nothing\n",
    "",
    "kind: Service\nmetadata:\n  name: &n 'x'\n  labels: {app: *n}\n",
    "a: 1\n...\n",
    "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: unrelated\nspec: {}\n",
    'kind: ConfigMap\ndata: {"k": "líne\\n\U0001f600"}\n',
)


def deployment(**changes: Any) -> dict[str, Any]:  # noqa: ANN401 - anything that Kubernetes has
    """An operator's Deployment; ``container``, ``pod``, ``template`` and ``others`` are put in."""
    container = {
        "name": "kuberay-operator",
        "image": "mirror/kuberay/operator:v1.7.0",
        "command": ["/manager"],
        **changes.get("container", {}),
    }
    pod = {"containers": [*changes.get("before", []), container, *changes.get("after", [])], **changes.get("pod", {})}
    template = {"metadata": {"labels": {"app.kubernetes.io/component": "kuberay-operator"}}, "spec": pod}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "kuberay-operator"},
        "spec": {"replicas": 1, "template": template | changes.get("template", {})},
    }


_ABSENT: Final = object()


def _perhaps(*values: Any) -> st.SearchStrategy[Any]:  # noqa: ANN401 - any value
    return st.sampled_from([_ABSENT, *values])


def _given(**values: Any) -> dict[str, Any]:  # noqa: ANN401 - any value
    return {key: value for key, value in values.items() if value is not _ABSENT}


@st.composite
def deployments(draw: st.DrawFn) -> dict[str, Any]:
    """A Deployment in which what is looked at is there, missing, empty or null."""
    args = draw(
        _perhaps(
            [],
            None,
            [""],
            ["--qps=100", ""],
            LONG_LOG,
            ["--log-file-path=/logs/op/kuberay.log"],
            ["--qps", "1", *LONG_LOG],
        )
    )
    mount = {"name": "logs", "mountPath": "/logs"}
    mounts = draw(_perhaps([], None, [mount], [{"name": "tmp", "mountPath": "/tmp"}, mount]))
    volumes = draw(_perhaps([], None, [{"name": "logs", "emptyDir": {}}], [{"name": "tmp", "emptyDir": None}]))
    sidecar = {"name": "proxy", "image": "proxy:1", "args": ["x"], "resources": {}}
    resources = draw(_perhaps({}, {"limits": {"cpu": "500m"}}, {"limits": {"cpu": 2, "memory": "1Gi"}}))
    inits = draw(_perhaps([], None, [{"name": "init", "image": "init"}]))
    annotations = draw(_perhaps({}, None, {"a/b": "c"}))
    labels = draw(_perhaps({"app": "x"}))
    metadata = draw(_perhaps(None, {}, _given(labels=labels, annotations=annotations)))
    template = {} if metadata is _ABSENT else {"metadata": metadata}
    made = deployment(
        container=_given(args=args, volumeMounts=mounts, resources=resources),
        pod=_given(volumes=volumes, initContainers=inits),
        template=template,
        before=[sidecar] if draw(st.booleans()) else [],
        after=[sidecar | {"name": "last"}] if draw(st.booleans()) else [],
    )
    if draw(st.booleans()):
        del made["spec"]["template"]["metadata"]
    return made


@st.composite
def _written(draw: st.DrawFn, value: dict[str, Any]) -> str:
    """A value as one document."""
    sort = draw(st.booleans())
    if draw(st.booleans()):
        indent = draw(st.sampled_from([None, 1, 2, 4]))
        separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (",", ": ")]))
        return json.dumps(value, indent=indent, separators=separators, sort_keys=sort) + "\n"
    flow = draw(st.sampled_from([False, None, True]))
    dumper = _Indented if draw(st.booleans()) else yaml.SafeDumper
    text = yaml.dump(
        value, Dumper=dumper, sort_keys=sort, indent=draw(st.sampled_from([2, 4])), default_flow_style=flow, width=10**6
    )
    if flow is False and draw(st.booleans()):
        # As the null of people: a key with nothing behind it.
        text = text.replace(": null\n", ":\n")
    lines = text.splitlines(keepends=True)
    if flow is False:
        marks = draw(st.lists(st.sampled_from(["", "", "", "# c\n", "   # - x: y\n", "\n"]), min_size=len(lines) + 1))
        tails = draw(st.lists(st.sampled_from(["", "", " # why"]), min_size=len(lines)))
        lines = [f"{line[:-1]}{tail}\n{mark}" for line, tail, mark in zip(lines, tails, marks, strict=False)]
    return "".join(lines)


class _Indented(yaml.SafeDumper):
    """Writes lists further in than their key."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: FBT002 - as it is
        super().increase_indent(flow, indentless=False)


@st.composite
def streams(draw: st.DrawFn) -> str:
    """A stream with one operator in it."""
    value = draw(deployments())
    if draw(st.booleans()):
        items: list[Any] = [{"kind": "Service", "metadata": {"name": "s"}}, value]
        value = {"apiVersion": "v1", "kind": "List", "items": items}
    before = draw(st.lists(st.sampled_from(OTHER_DOCUMENTS), max_size=2))
    after = draw(st.lists(st.sampled_from(OTHER_DOCUMENTS), max_size=2))
    text = "---\n".join([*before, draw(_written(value)), *after])
    if draw(st.booleans()):
        text = "---\n" + text
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    if draw(st.booleans()):
        text = text.rstrip("\r\n")
    return ("\ufeff" if draw(st.booleans()) else "") + text
