"""The advised change as text ready to apply; nothing here applies it.

Arguments are inserted in front, never appended: the chart can end its arguments with an empty word, at which Go's flag
parser stops. An argument that is there already is replaced where it stands, since the last one wins (kuberay 1.3).
Resources go in by strategic merge, which works whether or not the container has limits. A JSON patch tests first that
the Deployment is as it was seen, so that it changes all or nothing.
"""

import json
from collections.abc import Iterable, Iterator, Mapping

from advisor.knowledge.commandline import effective_flags
from advisor.knowledge.defaults import CONFIGURATION_FIELDS, CONTAINER_NAME, FLAGS
from advisor.knowledge.versions import KubeRayVersion, latest, lookup
from advisor.model.advice import Advice, Direction, Patch

__all__ = [
    "advised_changes",
    "command",
    "flags_of",
    "inserted",
    "json_patch",
    "kustomize",
    "limits_of",
    "nested_values",
    "plain",
    "render_patches",
    "replaced",
    "resources",
    "right_container",
]

_CHANGES = (Direction.RAISE, Direction.LOWER)
_MEBIBYTE = 1024.0**2
_DEPLOYMENT = "kuberay-operator"
_CONTAINER = "/spec/template/spec/containers/0"
_ARGS = f"{_CONTAINER}/args"


def render_patches(advice: Advice, version_text: str | None, args: tuple[str, ...]) -> tuple[Patch, ...]:
    """Patches for every advised change that has a value; none where nothing changes.

    Args:
        advice: the advice, patches not yet in it.
        version_text: the operator's version, if known.
        args: its command line, if known.
    """
    changes = advised_changes(advice)
    if not changes:
        return ()
    version = lookup(version_text) if version_text else None
    return tuple(_patches(changes, version, flags_of(args)))


def advised_changes(advice: Advice) -> dict[str, float]:
    """The values to set, by setting."""
    return {name: knob.value for name, knob in advice.knobs() if knob.direction in _CHANGES and knob.value is not None}


def flags_of(args: tuple[str, ...]) -> tuple[str, ...]:
    """A command line without the program in front."""
    return tuple(args[1:]) if args and not args[0].startswith("-") else args


def _patches(changes: dict[str, float], version: KubeRayVersion | None, args: tuple[str, ...]) -> Iterator[Patch]:
    known = version or latest()
    flags, limits = _flags(changes), limits_of(changes)
    configured = any(name == "config" for _, name, _ in effective_flags(args))
    reach_values = [] if configured and not known.configuration_file_carries_settings else flags
    values = _helm_values(reach_values, limits, known)
    if values:
        title = f"values for the kuberay-operator chart {known.series}" + ("" if version else " (version not known)")
        yield Patch(kind="helm-values", title=title, text=values)
    operations = ""
    if flags and configured:
        yield Patch(
            kind="configuration",
            title="fields of the operator's Configuration file; flags are ignored while it is used",
            text="".join(f"{CONFIGURATION_FIELDS[name]}: {plain(value)}\n" for name, value in flags),
        )
    elif flags and args:
        operations = json_patch(_argument_operations(flags, args))
        yield Patch(kind="deployment-args", title=command("json"), text=operations)
    elif flags:
        yield Patch(
            kind="arguments",
            title="arguments of the operator; the present ones are not known: replace them, or put these in front",
            text="".join(f"{FLAGS[name]}={plain(value)}\n" for name, value in flags),
        )
    merged = resources(limits)
    if merged:
        yield Patch(kind="deployment-resources", title=command("strategic"), text=merged)
    if operations or merged:
        yield Patch(kind="kustomize", title="kustomization.yaml", text=kustomize(operations, merged))


def command(kind: str, deployment: str = _DEPLOYMENT) -> str:
    """The command that applies a patch of a kind."""
    return f"kubectl patch deployment {deployment} --type={kind} --patch-file FILE"


def _flags(changes: dict[str, float]) -> list[tuple[str, float]]:
    return [(name, value) for name, value in changes.items() if name in FLAGS]


def plain(value: float) -> str:
    """A figure as flags and files have it."""
    return f"{value:.0f}" if value == int(value) else f"{value:g}"


def _helm_values(flags: list[tuple[str, float]], limits: list[tuple[str, str]], version: KubeRayVersion) -> str:
    """Values of the chart, nested; empty where this chart has none of them."""
    paths = dict(version.helm_value_paths)
    values = {paths[name]: f"{value:.1f}" if name == "qps" else plain(value) for name, value in flags if name in paths}
    lines = nested_values(values)
    if limits:
        lines += [f"{version.helm_resources_path}:", "  limits:", *(f"    {name}: {text}" for name, text in limits)]
    return "".join(f"{line}\n" for line in lines)


def nested_values(values: Mapping[str, str]) -> list[str]:
    """Lines of values by their path in a chart, such as ``a.b``; what has nothing below it first."""
    lines, below = [], dict[str, dict[str, str]]()
    for path, text in values.items():
        head, dot, rest = path.partition(".")
        if dot:
            below.setdefault(head, {})[rest] = text
        else:
            lines.append(f"{head}: {text}")
    for head, inner in below.items():
        lines += [f"{head}:", *(f"  {line}" for line in nested_values(inner))]
    return lines


def limits_of(changes: dict[str, float]) -> list[tuple[str, str]]:
    """The container's limits that change, as Kubernetes writes them."""
    limits = []
    if "cpu_cores" in changes:
        limits.append(("cpu", f"{changes['cpu_cores'] * 1000:.0f}m"))
    if "memory_bytes" in changes:
        limits.append(("memory", f"{changes['memory_bytes'] / _MEBIBYTE:.0f}Mi"))
    return limits


def _argument_operations(flags: list[tuple[str, float]], args: tuple[str, ...]) -> Iterator[dict[str, str]]:
    """Tests, then replacements, then insertions, since an insertion moves what stands behind it."""
    yield right_container(CONTAINER_NAME)
    places = {name: (index, joined) for index, name, joined in effective_flags(args)}
    insertions = []
    for name, value in flags:
        flag = FLAGS[name]
        found = places.get(flag.removeprefix("--"))
        if found is None:
            insertions.append(f"{flag}={plain(value)}")
            continue
        yield from replaced(args, found, plain(value))
    yield from inserted(insertions)


def replaced(args: tuple[str, ...], place: tuple[int, bool], value: str) -> Iterator[dict[str, str]]:
    """Test and replacement of the value of a flag; the place says which word it is, and whether the value is in it."""
    index, joined = place
    where = index if joined else index + 1
    written = args[index].partition("=")[0]
    yield {"op": "test", "path": f"{_ARGS}/{where}", "value": args[where]}
    yield {"op": "replace", "path": f"{_ARGS}/{where}", "value": f"{written}={value}" if joined else value}


def inserted(arguments: list[str]) -> Iterator[dict[str, str]]:
    """Insertion of arguments in front, in their order."""
    for argument in reversed(arguments):
        yield {"op": "add", "path": f"{_ARGS}/0", "value": argument}


def right_container(name: str) -> dict[str, str]:
    """A test that the first container is the one that is meant."""
    return {"op": "test", "path": f"{_CONTAINER}/name", "value": name}


def resources(limits: list[tuple[str, str]], deployment: str = _DEPLOYMENT, container: str = CONTAINER_NAME) -> str:
    """A strategic merge patch for the limits; empty without any."""
    if not limits:
        return ""
    head = f"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {deployment}\n"
    body = (
        f"spec:\n  template:\n    spec:\n      containers:\n"
        f"        - name: {container}\n          resources:\n            limits:\n"
    )
    return head + body + "".join(f"              {name}: {text}\n" for name, text in limits)


def json_patch(operations: Iterable[dict[str, str]]) -> str:
    """A JSON patch with one operation a line, short enough to read."""
    lines = ",\n".join(f"  {json.dumps(operation)}" for operation in operations)
    return f"[\n{lines}\n]\n"


def kustomize(*patches: str, deployment: str = _DEPLOYMENT) -> str:
    """A kustomization with patches of a Deployment; empty ones are left out."""
    text = "patches:\n"
    for patch in filter(None, patches):
        body = "".join(f"      {line}\n" for line in patch.splitlines())
        text += f"  - target:\n      kind: Deployment\n      name: {deployment}\n    patch: |-\n{body}"
    return text
