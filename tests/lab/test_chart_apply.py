"""What the chart renders, on a real API server: taken as it is, the same the second time, and removed without a rest.

Only etcd and the API server run. Where the lab is not built these tests are left out.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.lab.apionly import API_ONLY, ApiOnly
from tests.lab.binaries import toolbox
from tests.lab.controlplane import OPERATOR_NAMESPACE
from tests.lab.manifests import CHART, Objects, foreign_definitions, modes, rendered
from tests.lab.processes import wait_until

_MISSING: Final = toolbox().missing((*API_ONLY, "helm"))
_NOTES: Final = frozenset({"resourceVersion", "managedFields"})
pytestmark = [
    pytest.mark.skipif(bool(_MISSING), reason=f"the lab is not built ({', '.join(_MISSING)}); make lab-build"),
    pytest.mark.timeout(300),
]


@pytest.fixture(scope="module")
def objects(plane: ApiOnly) -> Objects:
    """Its objects."""
    return Objects(plane.cluster, OPERATOR_NAMESPACE)


@pytest.fixture(scope="class")
def foreign_kinds(plane: ApiOnly, objects: Objects) -> Iterator[None]:
    """The kinds of other products while the tests of a class last."""
    made = foreign_definitions()
    objects.apply(made)

    def served() -> list[bool]:
        kinds = [(f"{one['spec']['group']}/v1", one["spec"]["names"]["kind"]) for one in made]
        return [objects.knows({"apiVersion": version, "kind": kind}) for version, kind in kinds]

    wait_until("the kinds of other products", lambda: all(served()), 30.0)
    yield
    for one in made:
        plane.cluster.delete(objects.path(one))
    wait_until("their end", lambda: not any(served()), 30.0)


def _given(mode: Path | None) -> list[str | Path]:
    return [] if mode is None else ["--values", mode]


def _content(manifests: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Objects as the server has them, but for its own notes of who wrote what when (claims get new ones each time)."""
    return {
        f"{one['kind']}/{one['metadata']['name']}": one
        | {"metadata": {name: value for name, value in one["metadata"].items() if name not in _NOTES}}
        for one in manifests
    }


class TestEachMode:
    @pytest.mark.parametrize("mode", [None, *modes()], ids=lambda mode: "default" if mode is None else mode.name)
    def test_a_mode_is_taken_and_goes_without_a_rest(
        self, objects: Objects, foreign_kinds: None, mode: Path | None
    ) -> None:
        """Each object is valid to the server, in a trial and in earnest; twice is as once; then all goes."""
        manifests = rendered(toolbox(), *_given(mode), namespace=OPERATOR_NAMESPACE)
        assert manifests
        objects.ensure_namespaces(manifests)
        before = objects.everything()
        assert objects.apply(manifests, is_trial=True)
        assert objects.everything() == before
        try:
            first = _content(objects.apply(manifests))
            assert objects.everything() - before == {objects.path(one) for one in manifests}
            assert _content(objects.apply(manifests)) == first
        finally:
            objects.remove(manifests)
        assert objects.everything() == before


def test_nothing_of_other_products_is_needed(objects: Objects) -> None:
    """By default every kind is one that any cluster has."""
    manifests = rendered(toolbox(), namespace=OPERATOR_NAMESPACE)
    assert [one["kind"] for one in manifests if not objects.knows(one)] == []


def test_what_needs_other_products_is_asked_for(objects: Objects) -> None:
    """Monitors and rules are rendered where they are asked for, and no others are unknown to a cluster without them."""
    switches = ("serviceMonitor", "prometheusRule", "dashboards", "networkPolicy")
    asked = [word for name in switches for word in ("--set", f"{name}.enabled=true")]
    manifests = rendered(toolbox(), *asked, namespace=OPERATOR_NAMESPACE)
    unknown = {one["kind"] for one in manifests if not objects.knows(one)}
    assert unknown == {"ServiceMonitor", "PrometheusRule"}


def test_each_mode_is_among_them() -> None:
    """The chart's own values for checks have the three modes, and the service alone."""
    installed = set()
    for mode in modes():
        values = yaml.safe_load(mode.read_text(encoding="utf-8")) or {}
        defaults = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
        installed.add(
            tuple(
                values.get(part, {}).get("enabled", defaults[part]["enabled"])
                for part in ("serve", "watcher", "sidecar")
            )
        )
    assert {(True, True, False), (True, False, True), (False, True, False)} <= installed
