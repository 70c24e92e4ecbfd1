"""The advised change as text ready to apply; nothing here applies it.

Arguments are inserted in front, never appended: the chart can end its arguments with an empty word, at which Go's flag
parser stops. An argument that is there already is replaced where it stands, since the last one wins (kuberay 1.3).
"""

import json
from collections.abc import Iterator

from advisor.knowledge.defaults import CONFIGURATION_FIELDS, FLAGS
from advisor.knowledge.versions import KubeRayVersion, latest, lookup
from advisor.model.advice import Advice, Direction, Patch

__all__ = ["render_patches"]

_CHANGES = (Direction.RAISE, Direction.LOWER)
_MEBIBYTE = 1024.0**2
_ARGS = "/spec/template/spec/containers/0/args"
_RESOURCES = "/spec/template/spec/containers/0/resources/limits"


def render_patches(advice: Advice, version_text: str | None, args: tuple[str, ...]) -> tuple[Patch, ...]:
    """Patches for every advised change that has a value; none where nothing changes.

    Args:
        advice: the advice, patches not yet in it.
        version_text: the operator's version, if known.
        args: its command line, if known.
    """
    changes = {
        name: knob.value for name, knob in advice.knobs() if knob.direction in _CHANGES and knob.value is not None
    }
    if not changes:
        return ()
    version = lookup(version_text) if version_text else None
    own = tuple(args[1:]) if args and not args[0].startswith("-") else args
    configured = any(arg == "--config" or arg.startswith("--config=") for arg in own)
    return tuple(_patches(changes, version, own, configured=configured))


def _patches(
    changes: dict[str, float], version: KubeRayVersion | None, args: tuple[str, ...], *, configured: bool
) -> Iterator[Patch]:
    known = version or latest()
    title = f"values for the kuberay-operator chart {known.series}" + ("" if version else " (version not known)")
    values = _helm_values(changes, known)
    if values:
        yield Patch(kind="helm-values", title=title, text=values)
    if configured:
        yield Patch(
            kind="configuration",
            title="fields of the operator's Configuration file; flags are ignored while it is used",
            text="".join(f"{CONFIGURATION_FIELDS[name]}: {_plain(value)}\n" for name, value in _flags(changes)),
        )
        return
    operations = [*_argument_operations(changes, args), *_resource_operations(changes)]
    text = json.dumps(operations, indent=2) + "\n"
    yield Patch(
        kind="deployment-args",
        title="kubectl patch deployment kuberay-operator --type=json --patch-file FILE",
        text=text,
    )
    yield Patch(kind="kustomize", title="kustomization.yaml", text=_kustomize(text))


def _flags(changes: dict[str, float]) -> list[tuple[str, float]]:
    return [(name, value) for name, value in changes.items() if name in FLAGS]


def _plain(value: float) -> str:
    return f"{value:.0f}" if value == int(value) else f"{value:g}"


def _helm_values(changes: dict[str, float], version: KubeRayVersion) -> str:
    """Values of the chart, nested; empty where this chart has none of them."""
    paths = dict(version.helm_value_paths)
    tree: dict[str, dict[str, str] | str] = {}
    for name, value in _flags(changes):
        if name not in paths:
            continue
        parent, _, child = paths[name].rpartition(".")
        text = f"{value:.1f}" if name == "qps" else _plain(value)
        if parent:
            group = tree.setdefault(parent, {})
            assert isinstance(group, dict)  # noqa: S101 - a parent is never a value
            group[child] = text
        else:
            tree[child] = text
    lines = []
    for key, entry in tree.items():
        if isinstance(entry, dict):
            lines += [f"{key}:", *(f"  {child}: {text}" for child, text in entry.items())]
        else:
            lines.append(f"{key}: {entry}")
    limits = _limits(changes)
    if limits:
        lines += [f"{version.helm_resources_path}:", "  limits:", *(f"    {name}: {text}" for name, text in limits)]
    return "".join(f"{line}\n" for line in lines)


def _limits(changes: dict[str, float]) -> list[tuple[str, str]]:
    limits = []
    if "cpu_cores" in changes:
        limits.append(("cpu", f"{changes['cpu_cores'] * 1000:.0f}m"))
    if "memory_bytes" in changes:
        limits.append(("memory", f"{changes['memory_bytes'] / _MEBIBYTE:.0f}Mi"))
    return limits


def _argument_operations(changes: dict[str, float], args: tuple[str, ...]) -> Iterator[dict[str, str]]:
    """Replacements first, since an insertion moves what stands behind it."""
    insertions = []
    for name, value in _flags(changes):
        flag = FLAGS[name]
        places = [index for index, arg in enumerate(args) if arg == flag or arg.startswith(f"{flag}=")]
        if not places:
            insertions.append(f"{flag}={_plain(value)}")
            continue
        index = places[-1]
        joined = args[index].startswith(f"{flag}=")
        where = index if joined else index + 1
        yield {"op": "test", "path": f"{_ARGS}/{where}", "value": args[where]}
        yield {
            "op": "replace",
            "path": f"{_ARGS}/{where}",
            "value": f"{flag}={_plain(value)}" if joined else _plain(value),
        }
    for argument in reversed(insertions):
        yield {"op": "add", "path": f"{_ARGS}/0", "value": argument}


def _resource_operations(changes: dict[str, float]) -> Iterator[dict[str, str]]:
    for name, text in _limits(changes):
        yield {"op": "add", "path": f"{_RESOURCES}/{name}", "value": text}


def _kustomize(operations: str) -> str:
    body = "".join(f"      {line}\n" for line in operations.splitlines())
    return f"patches:\n  - target:\n      kind: Deployment\n      name: kuberay-operator\n    patch: |-\n{body}"
