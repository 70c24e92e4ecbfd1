"""What careful people said about public incidents, against what is said from the same facts."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from advisor.analysis import Options, load_facts, report_of
from advisor.model.report import Report
from advisor.report.jsonreport import render_json
from advisor.sources.facts import read_facts
from tests.verdicts import Answer

ENOUGH = 0.97
EVALUATION_KEYS = ("id", "title", "source", "stated", "expected")


def cases(shared: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Each case with its evaluation."""
    for path in sorted((shared / "cases").glob("*.facts.yaml")):
        yield path, yaml.safe_load(path.read_text(encoding="utf-8"))["expected"]


def report(path: Path) -> Report:
    """The report on one facts file."""
    return report_of(load_facts(read_facts(path)), Options())


def faults(made: Report, expected: dict[str, Any]) -> list[str]:
    """What is wrong about a report; empty where it is right."""
    found = Answer.of(expected).faults(made)
    for figure in expected.get("figures", ()):
        value = made.figures.get(figure["name"])
        if value is None or abs(value.value - figure["value"]) > figure["tolerance"] * figure["value"]:
            found.append(f"{figure['name']} is {value and value.value}, not {figure['value']}")
    return found


def test_high_confidence_cases_are_right(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nearly all cases that decide get finding, advice and figures; the others are reported."""
    rows = [(path, expected["confidence"], faults(report(path), expected)) for path, expected in cases(shared)]
    with capsys.disabled():
        for path, confidence, wrong in rows:
            if wrong:
                sys.stdout.write(f"\n{path.name[:4]} ({confidence}): {'; '.join(wrong)}")
        for level in ("high", "medium", "low"):
            of_level = [wrong for _, confidence, wrong in rows if confidence == level]
            sys.stdout.write(f"\n{level}: {sum(not wrong for wrong in of_level)} of {len(of_level)} right")
        sys.stdout.write("\n")
    deciding = [(path, wrong) for path, confidence, wrong in rows if confidence == "high"]
    right = sum(1 for _, wrong in deciding if not wrong)
    assert right >= ENOUGH * len(deciding), [(path.name, wrong) for path, wrong in deciding if wrong]


def test_nothing_that_must_not_be_said_is_said(shared: Path) -> None:
    """In no case that decides is there a warning that would be wrong."""
    for path, expected in cases(shared):
        if expected["confidence"] == "high":
            wrong = [fault for fault in faults(report(path), expected) if fault.startswith("warns")]
            assert wrong == [], path.name


def test_a_case_is_not_known_by_its_name(shared: Path, tmp_path: Path) -> None:
    """Without its evaluation, under another file and controller name, a case gets the same findings and advice.

    KubeRay's own controllers keep their names, since what they do is known.
    """
    for number, (path, _) in enumerate(cases(shared)):
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
        for key in EVALUATION_KEYS:
            document.pop(key, None)
        if document["operator"].get("name") != "kuberay":
            document["operator"]["name"] = "renamed"
            names = {name: f"c{index}" for index, name in enumerate(document.get("controllers", {}))}
            document["controllers"] = {names[name]: one for name, one in document.get("controllers", {}).items()}
            objects = document.get("demand", {}).get("objects", {})
            document.setdefault("demand", {})["objects"] = {names.get(kind, kind): n for kind, n in objects.items()}
        renamed = tmp_path / f"{number}.yaml"
        renamed.write_text(yaml.safe_dump(document), encoding="utf-8")
        one, other = report(path), report(renamed)
        assert [found.code for found in one.findings] == [found.code for found in other.findings], path.name
        assert [knob.direction for _, knob in one.advice.knobs()] == [
            knob.direction for _, knob in other.advice.knobs()
        ]


def test_the_evaluation_is_ignored(shared: Path, tmp_path: Path) -> None:
    """A case with and without its evaluation gives the same report, to the byte."""
    path, _ = next(cases(shared))
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    bare = tmp_path / "bare.yaml"
    bare.write_text(yaml.safe_dump({k: v for k, v in document.items() if k not in EVALUATION_KEYS}), encoding="utf-8")
    assert render_json(report(bare)) == render_json(report(path))


OF_KUBERAY = re.compile(r"Ray|--qps|--burst|--reconcile-concurrency|kuberay-operator|kuberay_")


def test_nothing_of_kuberay_is_said_of_other_operators(shared: Path) -> None:
    """Reports on other operators name no flag, release or kind of KubeRay's; each says by which profile it goes."""
    others = 0
    for path, _ in cases(shared):
        made = report(path)
        assert made.profile is not None
        if made.profile.name != "kuberay":
            others += 1
            assert OF_KUBERAY.findall(render_json(made)) == [], path.name
    assert others
