import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import yaml

from advisor.model.finding import FindingCode
from tests.lab.scenario import (
    FOLDER,
    Create,
    Dashboard,
    Expected,
    Faults,
    OperatorSettings,
    Rule,
    Scenario,
    ScenarioError,
    Step,
    load_scenario,
    names,
)

PARTS: Final = frozenset(
    {"etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager", "kwok", "faultproxy", "operator"}
)
UNRECORDED: Final = frozenset({"operator-killed", "smoke"})
"""Scenarios that no shared recording is of."""
SMALL: Final = {"description": "little", "injected": "nothing", "load": [{"sleep_seconds": 1}]}


def write(folder: Path, content: object, name: str = "one") -> Path:
    """A scenario's file; text as it is, anything else as YAML."""
    path = folder / f"{name}.yaml"
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content), encoding="utf-8")
    return path


def read(folder: Path, **changes: object) -> Scenario:
    """A small scenario with changes."""
    write(folder, {**SMALL, **changes})
    return load_scenario("one", folder)


def refused(folder: Path, content: object) -> str:
    """What is said of a file that is refused, without its name, which has to come first."""
    start = f"{write(folder, content)}: "
    with pytest.raises(ScenarioError) as failed:
        load_scenario("one", folder)
    assert str(failed.value).startswith(start)
    return str(failed.value).removeprefix(start)


class TestShipped:
    def test_there_are_some(self) -> None:
        """Each file of the folder is a scenario of its name, in order."""
        assert names() == sorted(path.name.removesuffix(".yaml") for path in FOLDER.iterdir())
        assert {"smoke", "saturated-one-worker", "restart-resync"} <= set(names())

    @pytest.mark.parametrize("name", names())
    def test_each_loads(self, name: str) -> None:
        """It does something, is described, and its verdict names findings that exist."""
        scenario = load_scenario(name)
        assert scenario.load != ()
        assert scenario.description != ""
        assert scenario.injected != ""
        if scenario.expected is not None:
            expected = scenario.expected
            codes = {expected.primary, *expected.also_accept, *expected.must_not}
            assert codes <= {code.value for code in FindingCode}
            assert {expected.primary, *expected.also_accept} & set(expected.must_not) == set()

    @pytest.mark.parametrize("name", names())
    def test_each_works_on_parts_that_there_are(self, name: str) -> None:
        """A part that is paused or acted on is one that the lab starts, and what is paused is resumed."""
        scenario = load_scenario(name)
        acted = [(step.part.name, step.part.do) for step in scenario.load if step.part is not None]
        assert {*scenario.paused, *(part for part, _ in acted)} <= PARTS
        for part in {part for part, _ in acted}:
            last = [do for other, do in acted if other == part][-1]
            assert last in ("resume", "restart")

    @pytest.mark.parametrize("name", names())
    def test_each_works_on_clusters_that_there_are(self, name: str) -> None:
        """Clusters that a step names exist by then."""
        scenario = load_scenario(name)
        there: set[str] = set()
        if scenario.existing is not None:
            made = scenario.existing
            there |= _made(Create(count=made.clusters, workers=made.workers, namespaces=made.namespaces))
        for step in scenario.load:
            if step.create is not None and step.create.kind == "RayCluster":
                there |= _made(step.create)
            named = (step.scale.clusters if step.scale else ()) + (step.write.clusters if step.write else ())
            assert set(named) <= there
            assert there or not (step.nudge or step.write)

    @pytest.mark.parametrize("name", sorted(set(names()) - UNRECORDED))
    def test_the_verdict_is_that_of_the_shared_recording(self, name: str, shared: Path) -> None:
        """The same has to be said of a run as of the recording of its name; what may be anything need not stand."""
        path = shared / "recordings" / name / "expected.json"
        key: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        expected = load_scenario(name).expected
        assert expected is not None
        assert expected.primary == key["primary"]
        assert list(expected.also_accept) == key["also_accept"]
        assert list(expected.must_not) == key["must_not"]
        assert _decided(expected.answer().advice) == _decided(key["advice"])

    def test_every_verdict_of_the_shared_recordings_has_its_scenario(self, shared: Path) -> None:
        """What was recorded once can be recorded again."""
        paths = (shared / "recordings").glob("*/expected.json")
        judged = {path.parent.name for path in paths if "primary" in json.loads(path.read_text(encoding="utf-8"))}
        assert judged <= set(names())


def _made(create: Create) -> set[str]:
    spaces = create.namespaces
    return {f"{spaces[number % len(spaces)]}/{create.prefix}-{number:03d}" for number in range(create.count)}


def _decided(advice: Mapping[str, str]) -> dict[str, str]:
    return {name: wanted for name, wanted in advice.items() if wanted != "any"}


class TestDefaults:
    def test_of_a_scenario(self, tmp_path: Path) -> None:
        """What a file does not say is what most scenarios have."""
        scenario = read(tmp_path)
        assert scenario.operator == OperatorSettings(build="priority", concurrency=1, qps=100.0, burst=200)
        assert (scenario.operator.cpu_limit_cores, scenario.operator.log_level) == (None, None)
        assert (scenario.operator.args, scenario.operator.standby) == ((), False)
        assert scenario.faults == Faults(rules=(), dashboard=Dashboard(delay_ms=0.0, job_status="RUNNING"))
        assert (scenario.existing, scenario.paused, scenario.expected) == (None, (), None)
        assert (scenario.before_seconds, scenario.after_seconds, scenario.interval_seconds) == (6.0, 4.0, 2.0)

    def test_of_steps(self, tmp_path: Path) -> None:
        """RayClusters, all at once, in three namespaces; one writer; a hold that is put on."""
        (create, hold, write) = read(
            tmp_path,
            load=[
                {"create": {"count": 3, "workers": 2}},
                {"hold": {"namespace": "team-a"}},
                {"write": {"seconds": 1, "per_second": 2, "field": "labels"}},
            ],
        ).load
        assert create.create == Create(
            count=3,
            workers=2,
            kind="RayCluster",
            prefix="rc",
            namespaces=("team-a", "team-b", "team-c"),
            every_seconds=0.0,
        )
        assert hold.hold is not None
        assert hold.hold.release is False
        assert write.write is not None
        assert (write.write.clusters, write.write.writers) == ((), 1)

    def test_of_a_rule(self, tmp_path: Path) -> None:
        """It matches every request, does nothing, and always does it."""
        (rule,) = read(tmp_path, faults={"rules": [{}]}).faults.rules
        assert rule == Rule(
            methods=(), path="", delay_ms=0.0, jitter_ms=0.0, status=0, probability=1.0, retry_after_seconds=0
        )

    def test_of_a_verdict(self, tmp_path: Path) -> None:
        """Nothing else is accepted, nothing forbidden, any advice right."""
        expected = read(tmp_path, expected={"primary": "healthy"}).expected
        assert expected == Expected(primary="healthy", also_accept=(), must_not=(), advice={})
        answer = expected.answer()
        assert (answer.primary, answer.accepted, answer.must_not, answer.advice) == ("healthy", (), (), {})

    def test_a_verdict_keeps_all_that_it_says(self) -> None:
        """In the form that reports are compared with."""
        expected = Expected(
            primary="hot-key", also_accept=("healthy",), must_not=("cpu-limited",), advice={"qps": "keep"}
        )
        answer = expected.answer()
        assert (answer.primary, answer.accepted, answer.must_not) == ("hot-key", ("healthy",), ("cpu-limited",))
        assert answer.advice == {"qps": "keep"}


class TestSteps:
    @pytest.mark.parametrize(
        ("key", "given"),
        [
            ("create", {"count": 1, "workers": 1}),
            ("wait_ready_seconds", 5.0),
            ("scale", {"clusters": ["team-a/rc-000"], "workers": 0}),
            ("nudge", {"seconds": 1.0, "every_seconds": 1.0}),
            ("write", {"seconds": 1.0, "per_second": 1.0, "field": "labels"}),
            ("hold", {"namespace": "team-a"}),
            ("part", {"name": "kwok", "do": "pause"}),
            ("faults", {}),
            ("sleep_seconds", 0.0),
        ],
    )
    def test_the_action_is_the_one_key(self, key: str, given: object) -> None:
        """With what it holds, also where that is nothing or zero."""
        step = msgspec.convert({key: given}, Step)
        kind, what = step.action()
        assert kind == key
        assert what is getattr(step, key)
        assert what is not None

    def test_every_key_was_tried(self) -> None:
        """A new kind of step has to be added above."""
        assert len(Step.__struct_fields__) == 9

    @pytest.mark.parametrize(
        ("step", "told"),
        [
            ({}, "a step has exactly one key, not 0: none"),
            ({"sleep_seconds": None}, "a step has exactly one key, not 0: none"),
            ({"sleep_seconds": 1.0, "wait_ready_seconds": 2.0}, "not 2: wait_ready_seconds, sleep_seconds"),
        ],
    )
    def test_none_or_several_are_refused(self, tmp_path: Path, step: dict[str, object], told: str) -> None:
        """The message counts and names them, and says which step it is."""
        text = refused(tmp_path, {**SMALL, "load": [{"sleep_seconds": 1.0}, step]})
        assert told in text
        assert "$.load" in text


class TestRefused:
    @pytest.mark.parametrize(
        ("changes", "told"),
        [
            ({"loads": []}, "unknown field `loads`"),
            ({"operator": {"concurency": 2}}, "unknown field `concurency` - at `$.operator`"),
            ({"faults": {"rules": [{"delay": 2}]}}, "unknown field `delay` - at `$.faults.rules[0]`"),
            ({"load": [{"create": {"count": 1, "workers": 1, "size": 2}}]}, "unknown field `size`"),
            ({"operator": {"concurrency": "many"}}, "Expected `int`, got `str` - at `$.operator.concurrency`"),
            ({"operator": {"concurrency": 1.5}}, "Expected `int`, got `float` - at `$.operator.concurrency`"),
            ({"operator": {"build": "newest"}}, "Invalid enum value 'newest' - at `$.operator.build`"),
            ({"before_seconds": [1]}, "Expected `float`, got `array` - at `$.before_seconds`"),
            ({"load": {"sleep_seconds": 1}}, "Expected `array`, got `object` - at `$.load`"),
            ({"load": [{"part": {"name": "kwok", "do": "stop"}}]}, "Invalid enum value 'stop'"),
            ({"load": [{"create": {"count": 1}}]}, "missing required field `workers`"),
            ({"expected": {"primary": "healthy", "advice": {"qps": "more"}}}, "Invalid enum value 'more'"),
            ({"expected": {"primary": "healthy", "advice": {"cpu": "keep"}}}, "Invalid enum value 'cpu'"),
        ],
    )
    def test_a_key_or_value_that_does_not_belong(self, tmp_path: Path, changes: dict[str, object], told: str) -> None:
        """File, place and fault are told."""
        assert told in refused(tmp_path, {**SMALL, **changes})

    @pytest.mark.parametrize("key", ["description", "injected", "load"])
    def test_what_has_to_be_said(self, tmp_path: Path, key: str) -> None:
        """A scenario without a load or a description is none."""
        told = refused(tmp_path, {name: value for name, value in SMALL.items() if name != key})
        assert told == f"Object missing required field `{key}`"

    @pytest.mark.parametrize("text", ["", "- a\n- b\n", "just words\n"])
    def test_what_is_no_mapping(self, tmp_path: Path, text: str) -> None:
        """An empty file, a list or a word."""
        assert refused(tmp_path, text).startswith("Expected `object`, got ")

    @pytest.mark.parametrize("text", ["load: [", "a: b: c\n", "load: !!python/object:os.system {}\n", "\tload: 1\n"])
    def test_what_is_no_yaml(self, tmp_path: Path, text: str) -> None:
        """The parser's message says where."""
        assert "line 1, column " in refused(tmp_path, text)

    def test_a_name_that_is_not_there(self, tmp_path: Path) -> None:
        """The message names those that are."""
        write(tmp_path, SMALL, "two")
        write(tmp_path, SMALL, "one")
        with pytest.raises(ScenarioError, match=r"^no scenario three; there are: one, two$"):
            load_scenario("three", tmp_path)
        with pytest.raises(ScenarioError, match=r"^no scenario three; there are: after-ten-workers, "):
            load_scenario("three")
