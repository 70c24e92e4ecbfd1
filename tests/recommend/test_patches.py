import json
from pathlib import Path
from typing import Any, Final, TypeAlias

import pytest
import yaml

from advisor.knowledge.commandline import effective_flags
from advisor.knowledge.defaults import FLAGS
from advisor.model.advice import Advice, Direction, KnobAdvice, Patch
from advisor.recommend.patches import render_patches
from tests.support import Golden

Json: TypeAlias = Any
"""A document of lists, mappings and scalars."""

MEBIBYTE: Final = 1024.0**2
KEPT: Final = KnobAdvice(direction=Direction.KEEP, current=1.0, value=1.0, reason="")
COMMAND: Final = (
    "manager",
    "--enable-leader-election=true",
    "--reconcile-concurrency=1",
    "--qps",
    "20",
    "--feature-gates=",
)
NAMES: Final = ("concurrency", "qps", "burst", "cpu_cores", "memory_bytes")


def advice(**values: float) -> Advice:
    """Advice that raises the given settings to these values."""
    knobs: dict[str, Json] = {
        name: KnobAdvice(direction=Direction.RAISE, current=1.0, value=values[name], reason="")
        if name in values
        else KEPT
        for name in NAMES
    }
    return Advice(**knobs)


ALL: Final = advice(concurrency=4.0, qps=100.0, burst=200.0, cpu_cores=0.4, memory_bytes=768 * MEBIBYTE)
SETTINGS: Final = advice(concurrency=4.0, qps=100.0, burst=200.0)


def patches(given: Advice, version: str | None, args: tuple[str, ...] = COMMAND) -> dict[str, Patch]:
    """Patches by kind."""
    made = render_patches(given, version, args)
    assert len({one.kind for one in made}) == len(made)
    assert all(one.title and one.text.endswith("\n") for one in made)
    return {one.kind: one for one in made}


@pytest.mark.parametrize(
    ("name", "given", "version", "args"),
    [
        ("1.7", ALL, "1.7.0", COMMAND),
        ("1.5", SETTINGS, "1.5.1", COMMAND),
        ("1.4", advice(concurrency=4.0), "1.4.0", COMMAND),
        ("unknown-version", SETTINGS, None, COMMAND),
        ("unlisted-version", SETTINGS, "9.9.0", COMMAND),
        ("absent-arguments", SETTINGS, "1.7.0", ("--enable-metrics=true", "")),
        ("unknown-arguments", ALL, "1.7.0", ()),
        ("configuration", ALL, "1.7.0", ("--config", "/etc/kuberay/config.yaml")),
        ("configuration-1.5", ALL, "1.5.1", ("--config=/etc/kuberay/config.yaml",)),
        ("resources", advice(cpu_cores=0.25, memory_bytes=1024 * MEBIBYTE), "1.7.0", COMMAND),
        ("odd-values", advice(qps=12.5), "1.7.0", COMMAND),
    ],
)
def test_whole_text(golden: Golden, name: str, given: Advice, version: str | None, args: tuple[str, ...]) -> None:
    """Every patch for one advice, as text."""
    made = render_patches(given, version, args)
    text = "".join(f"# {one.kind}: {one.title}\n{one.text}" for one in made)
    golden.check(f"patches/{name}.txt", text)


def test_nothing_to_change_gives_no_patch() -> None:
    """Kept settings, and raises without a value."""
    assert render_patches(advice(), "1.7.0", COMMAND) == ()
    unknown = KnobAdvice(direction=Direction.RAISE, current=None, value=None, reason="")
    open_ended = Advice(concurrency=unknown, qps=unknown, burst=KEPT, cpu_cores=KEPT, memory_bytes=KEPT)
    assert render_patches(open_ended, "1.7.0", COMMAND) == ()


def test_a_lower_value_is_a_change_too() -> None:
    """Lowering is rendered like raising."""
    down = KnobAdvice(direction=Direction.LOWER, current=64.0, value=8.0, reason="")
    given = Advice(concurrency=down, qps=KEPT, burst=KEPT, cpu_cores=KEPT, memory_bytes=KEPT)
    assert patches(given, "1.7.0")["helm-values"].text == "reconcileConcurrency: 8\n"


def test_charts_before_1_5_have_no_values() -> None:
    """Only the Deployment can be patched, but resources have always been values."""
    assert set(patches(advice(concurrency=4.0), "1.4.0")) == {"deployment-args", "kustomize"}
    assert patches(advice(cpu_cores=0.4), "1.4.0")["helm-values"].text == "resources:\n  limits:\n    cpu: 400m\n"


def test_a_configuration_file_is_changed_and_not_the_flags() -> None:
    """The operator ignores flags then; the chart of 1.5 has no values for the file either."""
    args = ("--config", "/etc/kuberay/config.yaml", "--qps=20")
    made = patches(SETTINGS, "1.7.0", args)
    assert set(made) == {"helm-values", "configuration"}
    assert yaml.safe_load(made["configuration"].text) == {"reconcileConcurrency": 4, "qps": 100, "burst": 200}
    assert set(patches(SETTINGS, "1.5.1", args)) == {"configuration"}
    assert set(patches(advice(cpu_cores=0.4), "1.7.0", args)) == {"helm-values", "deployment-resources", "kustomize"}


def test_unknown_arguments_are_not_patched_blindly() -> None:
    """A flag put in front of an unseen one would be overruled by it."""
    made = patches(SETTINGS, "1.7.0", ())
    assert set(made) == {"helm-values", "arguments"}
    assert made["arguments"].text.splitlines() == ["--reconcile-concurrency=4", "--qps=100", "--burst=200"]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (("--a=1", "--b", "2", "--c=3"), [(0, "a", True), (1, "b", False), (3, "c", True)]),
        (("-a=1", "--b"), [(0, "a", True)]),
        (("--enable-metrics", "--qps=1"), [(0, "enable-metrics", False), (1, "qps", True)]),
        (("--enable-metrics", "true", "--qps=1"), [(0, "enable-metrics", False)]),
        (("--a=1", "--", "--qps=1"), [(0, "a", True)]),
        (("-", "--qps=1"), []),
        (("", "--qps=1"), []),
        ((), []),
    ],
)
def test_flags_are_read_as_go_reads_them(args: tuple[str, ...], expected: list[tuple[int, str, bool]]) -> None:
    """Up to the first word that is no flag; a switch takes no word."""
    assert list(effective_flags(args)) == expected


def apply(document: Json, operations: list[dict[str, str]]) -> None:
    """Apply the operations of RFC 6902 that the patches use: test, replace, add."""
    for operation in operations:
        *parents, last = (
            part.replace("~1", "/").replace("~0", "~") for part in operation["path"].removeprefix("/").split("/")
        )
        target = document
        for part in parents:
            target = target[int(part)] if isinstance(target, list) else target[part]
        key: Json = int(last) if isinstance(target, list) else last
        match operation["op"]:
            case "test":
                assert target[key] == operation["value"]
            case "replace":
                assert key in target or isinstance(key, int)
                target[key] = operation["value"]
            case "add" if isinstance(target, list):
                target.insert(key, operation["value"])
            case "add":
                target[key] = operation["value"]
            case other:
                pytest.fail(f"unexpected operation {other}")


def values_in_force(args: list[str]) -> dict[str, str]:
    """Flags as Go's flag package ends up with them, written anew here: the last one wins, a non-flag word ends it."""
    switches = ("enable-leader-election", "enable-metrics", "use-kubernetes-proxy", "enable-batch-scheduler")
    found: dict[str, str] = {}
    words = list(args)
    while words:
        word = words.pop(0)
        if len(word) < 2 or word[0] != "-" or word == "--":
            break
        name, equals, value = word.lstrip("-").partition("=")
        if not equals:
            value = "true" if name in switches else words.pop(0)
        found[name] = value
    return found


def deployment(path: Path) -> Json:
    """The operator's Deployment in a rendered chart."""
    return next(one for one in yaml.safe_load_all(path.read_text(encoding="utf-8")) if one["kind"] == "Deployment")


def container(document: Json) -> Json:
    """The operator's container."""
    return document["spec"]["template"]["spec"]["containers"][0]


FLAG_MANIFESTS: Final = (
    "default.yaml",
    "feature-gates.yaml",
    "logging-limited.yaml",
    "logging.yaml",
    "namespaced.yaml",
    "openshift-like.yaml",
)


@pytest.mark.parametrize("name", FLAG_MANIFESTS)
def test_a_rendered_deployment_runs_with_the_advised_flags(shared: Path, name: str) -> None:
    """Applied to what the chart renders, each flag is there once and in force, and the others are as before."""
    document = deployment(shared / "manifests" / name)
    before = values_in_force(container(document)["args"])
    made = patches(SETTINGS, "1.7.0", tuple(container(document)["args"]))
    apply(document, json.loads(made["deployment-args"].text))
    args = container(document)["args"]
    for flag in FLAGS.values():
        assert sum(arg == flag or arg.startswith(f"{flag}=") for arg in args) == 1
    wanted = {"reconcile-concurrency": "4", "qps": "100", "burst": "200"}
    assert values_in_force(args) == before | wanted


@pytest.mark.parametrize(
    "args",
    [
        ["--enable-metrics=true", ""],
        ["--enable-metrics=true", "--feature-gates=A=true"],
        ["--reconcile-concurrency", "1", "-qps=5", "--burst=7", ""],
        ["--qps=5", "--qps=6", ""],
        ["--enable-metrics", "true", "--qps=5"],
    ],
)
def test_other_argument_lists_come_into_force_too(args: list[str]) -> None:
    """Absent flags go in front, before an empty word; both forms are replaced in place; the last one counts."""
    document = {"spec": {"template": {"spec": {"containers": [{"name": "kuberay-operator", "args": list(args)}]}}}}
    made = patches(SETTINGS, "1.7.0", tuple(args))
    apply(document, json.loads(made["deployment-args"].text))
    force = values_in_force(container(document)["args"])
    assert (force["reconcile-concurrency"], force["qps"], force["burst"]) == ("4", "100", "200")


def test_a_patch_does_not_fit_another_deployment(shared: Path) -> None:
    """The tests in it fail where another container comes first or the arguments have changed."""
    document = deployment(shared / "manifests" / "default.yaml")
    made = patches(SETTINGS, "1.7.0", tuple(container(document)["args"]))
    operations = json.loads(made["deployment-args"].text)
    changed = deployment(shared / "manifests" / "logging-limited.yaml")
    with pytest.raises(AssertionError):
        apply(changed, operations)
    container(document)["name"] = "sidecar"
    with pytest.raises(AssertionError):
        apply(document, operations)


def merge(target: Json, patch: Json) -> Json:
    """Kubernetes' strategic merge, as far as the patches use it: mappings merge, containers merge by name."""
    if isinstance(patch, dict):
        merged = dict(target or {})
        for name, value in patch.items():
            merged[name] = merge(merged.get(name), value)
        return merged
    if isinstance(patch, list):
        by_name = {one["name"]: one for one in target}
        return [*(by_name | {one["name"]: merge(by_name.get(one["name"]), one) for one in patch}).values()]
    return patch


@pytest.mark.parametrize("resources", [None, {}, {"requests": {"cpu": "50m"}}, {"limits": {"cpu": "100m"}}])
def test_limits_come_in_whatever_was_there(shared: Path, resources: dict[str, Json] | None) -> None:
    """With or without limits before, the container has the advised ones and keeps the rest."""
    document = deployment(shared / "manifests" / "default.yaml")
    one = container(document)
    del one["resources"]
    if resources is not None:
        one["resources"] = resources
    made = patches(ALL, "1.7.0", tuple(one["args"]))
    merged = merge(document, yaml.safe_load(made["deployment-resources"].text))
    assert container(merged)["resources"] == (resources or {}) | {"limits": {"cpu": "400m", "memory": "768Mi"}}
    assert container(merged)["args"] == one["args"]


def test_the_kustomization_holds_both_patches(shared: Path) -> None:
    """It is YAML whose patches are the two others."""
    args = tuple(container(deployment(shared / "manifests" / "default.yaml"))["args"])
    made = patches(ALL, "1.7.0", args)
    listed = yaml.safe_load(made["kustomize"].text)["patches"]
    assert [one["target"]["name"] for one in listed] == ["kuberay-operator", "kuberay-operator"]
    assert json.loads(listed[0]["patch"]) == json.loads(made["deployment-args"].text)
    assert yaml.safe_load(listed[1]["patch"]) == yaml.safe_load(made["deployment-resources"].text)


def test_the_configuration_mode_deployment_gets_no_arguments(shared: Path) -> None:
    """The chart's own rendering with a configuration file."""
    document = deployment(shared / "manifests" / "configuration-mode.yaml")
    made = patches(SETTINGS, "1.7.0", tuple(container(document)["args"]))
    assert set(made) == {"helm-values", "configuration"}


def test_values_are_what_the_chart_takes() -> None:
    """Nested under kubeClient, QPS with a decimal point, Burst and concurrency whole."""
    values = yaml.safe_load(patches(ALL, "1.7.0")["helm-values"].text)
    assert values == {
        "reconcileConcurrency": 4,
        "kubeClient": {"qps": 100.0, "burst": 200},
        "resources": {"limits": {"cpu": "400m", "memory": "768Mi"}},
    }
    assert isinstance(values["kubeClient"]["qps"], float)
