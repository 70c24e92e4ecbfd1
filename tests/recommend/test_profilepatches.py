"""Changes of operators that are not KubeRay's, as their profiles say how they are set."""

import json

import pytest
import yaml

from advisor.knowledge.profile import Knob, Profile
from advisor.knowledge.profiles import GENERIC, built_in
from advisor.model.advice import Advice, Direction, KnobAdvice, Patch
from advisor.recommend.profilepatches import profile_patches
from tests.support import Golden

KEPT = KnobAdvice(direction=Direction.KEEP, current=1.0, value=1.0, reason="")
NAMES = ("concurrency", "qps", "burst", "cpu_cores", "memory_bytes")
OWN = Profile(
    name="database-operator",
    title="database operator",
    summary="Ours.",
    concurrency=Knob(flag="--workers", flags={"backup": "--backup-workers"}),
    qps=Knob(field="client.qps", helm_value="operator.client.qps"),
    burst=Knob(variable="CLIENT_BURST"),
    deployment="database-operator",
    container="manager",
)


def advice(**values: float) -> Advice:
    """Advice that raises the given settings to these values."""
    knobs = {
        name: KnobAdvice(direction=Direction.RAISE, current=1.0, value=values[name], reason="")
        if name in values
        else KEPT
        for name in NAMES
    }
    return Advice(**knobs)  # type: ignore[arg-type]


ALL = advice(concurrency=4.0, qps=100.0, burst=200.0, cpu_cores=0.4, memory_bytes=768.0 * 1024**2)


def named(name: str) -> Profile:
    """A profile that comes with the program."""
    found = built_in(name)
    assert found is not None
    return found


def text_of(made: tuple[Patch, ...]) -> str:
    """All of them, whole."""
    return "".join(f"# {one.kind}: {one.title}\n{one.text}" for one in made)


@pytest.mark.parametrize("name", ["flux", "argo-workflows", "generic"])
def test_whole_text(golden: Golden, name: str) -> None:
    """Flags that are known, and words for the rest."""
    golden.check(f"patches/profile-{name}.txt", text_of(profile_patches(ALL, named(name), (), "database")))


def test_whole_text_of_ones_own(golden: Golden) -> None:
    """Chart, Deployment, fields, variables and resources, each as it is set."""
    args = ("--leader-elect", "--workers=1")
    golden.check("patches/profile-own.txt", text_of(profile_patches(ALL, OWN, args, "database")))


def test_nothing_to_change_gives_nothing() -> None:
    """Advice to keep needs no patch."""
    assert profile_patches(advice(), GENERIC, (), "") == ()


@pytest.mark.parametrize(
    ("args", "operations"),
    [
        (("manager", "--workers", "2"), [("test", "1", "2"), ("replace", "1", "4")]),
        (("-workers=2",), [("test", "0", "-workers=2"), ("replace", "0", "-workers=4")]),
        (("--other", "--workers"), [("add", "0", "--workers=4")]),
    ],
)
def test_arguments_are_replaced_where_they_stand(args: tuple[str, ...], operations: list[tuple[str, str, str]]) -> None:
    """In either form; one that is not given is put in front."""
    made = {one.kind: one for one in profile_patches(advice(concurrency=4.0), OWN, args, "")}
    first, *rest = json.loads(made["deployment-args"].text)
    assert first == {"op": "test", "path": "/spec/template/spec/containers/0/name", "value": "manager"}
    assert [(one["op"], one["path"].rpartition("/")[2], one["value"]) for one in rest] == operations


def test_a_controllers_own_flag() -> None:
    """The advice on workers is for one controller, and so is its flag."""
    (made,) = profile_patches(advice(concurrency=4.0), OWN, (), "backup")
    assert (made.kind, made.text) == ("arguments", "--backup-workers=4\n")


def test_values_are_nested_as_deep_as_their_path() -> None:
    """The chart's value of QPS stands three levels deep."""
    made = {one.kind: one for one in profile_patches(advice(qps=50.0), OWN, (), "")}
    assert yaml.safe_load(made["helm-values"].text) == {"operator": {"client": {"qps": 50}}}


def test_words_name_the_controller() -> None:
    """Where each controller has its own number of workers, it is said whose."""
    (made,) = profile_patches(advice(concurrency=4.0), named("kueue"), (), "workload")
    assert made.kind == "words"
    assert made.text.startswith("workers of workload: 4 (workers are set for each kind by itself")
    (made,) = profile_patches(advice(concurrency=4.0), named("kueue"), (), "")
    assert made.text.startswith("workers: 4 (")
