"""The example for Alertmanager: it names what exists, and no alert is muted for ever."""

import re
from typing import Any, Final

import yaml

from scripts.rules.sources import ALERTS
from tests.support import ROOT

CONFIG: Final[dict[str, Any]] = yaml.safe_load((ROOT / "rules" / "alertmanager-example.yaml").read_text("utf-8"))
MATCHER: Final = re.compile(r'(\w+)(=~|=|!=|!~)"([^"]*)"')


def matched(matchers: list[str]) -> set[str]:
    """Alerts that all of these match, by name and severity."""
    found = set(ALERTS)
    for text in matchers:
        match = MATCHER.fullmatch(text)
        assert match is not None, text
        label, operator, value = match.groups()
        assert operator in {"=", "=~"}
        assert label in {"alertname", "severity"}
        read = {name: name if label == "alertname" else alert.severity.value for name, alert in ALERTS.items()}
        found &= {name for name in ALERTS if re.fullmatch(value if operator == "=~" else re.escape(value), read[name])}
    return found


def test_each_alert_has_a_receiver() -> None:
    """By its severity, one route; each receiver exists."""
    receivers = {one["name"] for one in CONFIG["receivers"]}
    routes = CONFIG["route"]["routes"]
    assert {CONFIG["route"]["receiver"], *(route["receiver"] for route in routes)} == receivers
    taken = [name for route in routes for name in matched(route["matchers"])]
    assert sorted(taken) == sorted(ALERTS)


def test_inhibitions_are_those_of_the_source() -> None:
    """Each rule's names exist, and together they say what the alerts say; equal labels are labels of both sides."""
    pairs = set()
    for rule in CONFIG["inhibit_rules"]:
        sources, targets = matched(rule["source_matchers"]), matched(rule["target_matchers"])
        named = re.findall(r"KubeRay\w+", " ".join(rule["source_matchers"] + rule["target_matchers"]))
        assert set(named) == sources | targets
        assert sources.isdisjoint(targets)
        for name in sources | targets:
            # A label that both lack counts as equal, so that only one that one side lacks is wrong.
            assert set(rule.get("equal", ())) <= {"cluster", "namespace"}
            assert set(rule.get("equal", ())) <= set(ALERTS[name].labels), (name, rule)
        pairs |= {(source, target) for source in sources for target in targets}
    assert pairs == {(source, name) for name, alert in ALERTS.items() for source in alert.inhibited_by}


def test_no_circle() -> None:
    """Two alerts that mute each other would both be silent."""
    muted_by = {name: set(alert.inhibited_by) for name, alert in ALERTS.items()}
    assert set().union(*muted_by.values()) <= set(ALERTS)
    while muted_by:
        free = {name for name, sources in muted_by.items() if sources.isdisjoint(muted_by)}
        assert free, muted_by
        muted_by = {name: sources for name, sources in muted_by.items() if name not in free}


def test_what_is_muted_by_what() -> None:
    """More workers are never asked for while a cause that they would only share is told."""
    causes = {
        "KubeRayAPIServerOverloaded",
        "KubeRayAPIServerSlow",
        "KubeRayClientThrottled",
        "KubeRayExternalCallsSlow",
        "KubeRayOperatorCPUThrottled",
    }
    assert causes <= set(ALERTS["KubeRayWorkersSaturated"].inhibited_by)
    assert causes <= set(ALERTS["KubeRayBacklogGrowing"].inhibited_by)
