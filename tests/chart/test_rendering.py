"""What helm makes of the chart: golden files of each values set, names, notes, and what a package holds."""

import json
import re
import tarfile
from pathlib import Path
from typing import Final

import pytest
import yaml

from tests.chart.helm import CHART, SETS, Helm, named
from tests.support import Golden

LONG: Final = "a-release-whose-name-is-as-long-as-helm-lets-it-be-ab"
"""53 characters."""
_DASHBOARD: Final = re.compile(r"^(  kuberay-advisor-[\w-]+\.json: \|\n)(?:    .*\n|\n)+?(?=---|\Z)", re.MULTILINE)
_RULES: Final = re.compile(r"(^kind: PrometheusRule\n(?:.+\n)*?spec:\n)(?:.*\n)+?(?=---|\Z)", re.MULTILINE)


def shortened(text: str) -> str:
    """Without the texts of dashboards and rules, which tests of their own hold."""
    return _RULES.sub(r"\1  # as test_monitoring.py says\n", _DASHBOARD.sub(r"\1    # as in files/dashboards\n", text))


@pytest.mark.parametrize("name", SETS)
def test_manifests(helm: Helm, golden: Golden, name: str) -> None:
    """Everything that is installed, line by line."""
    text = helm.text(name)
    golden.check(f"chart/{name}.yaml", shortened(text))
    assert not re.search(r"[ \t]$", shortened(text), re.MULTILINE), "a line ends in blanks"
    assert "\t" not in text


@pytest.mark.parametrize("name", SETS)
def test_notes(helm: Helm, golden: Golden, name: str) -> None:
    """What a user reads after an installation."""
    golden.check(f"chart/{name}.txt", helm.notes(name))


@pytest.mark.parametrize("name", SETS)
def test_lint(helm: Helm, name: str) -> None:
    """Helm finds nothing wrong, nor worth a warning."""
    said = helm.run("lint", "--strict", str(CHART), f"--values={CHART / 'ci' / name}-values.yaml").stdout
    assert "[WARNING]" not in said
    assert "1 chart(s) linted, 0 chart(s) failed" in said


def test_the_sets_are_not_shipped(helm: Helm, tmp_path: Path) -> None:
    """A package holds what is installed and what is read, and no more."""
    said = helm.run("package", str(CHART), "--destination", str(tmp_path)).stdout
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    package = tmp_path / f"kuberay-advisor-{chart['version']}.tgz"
    assert str(package) in said
    with tarfile.open(package) as archive:
        names = {name.removeprefix("kuberay-advisor/") for name in archive.getnames()}
    wanted = {path.relative_to(CHART).as_posix() for path in CHART.rglob("*") if path.is_file()}
    assert names | {".helmignore"} == {name for name in wanted if not name.startswith("ci/")}
    folders = {name.partition("/")[0] for name in names} - {".helmignore"}
    assert folders == {"Chart.yaml", "README.md", "values.yaml", "values.schema.json", "templates", "files"}


@pytest.mark.parametrize("name", ["everything", "default", "sidecar"])
def test_long_names(helm: Helm, name: str) -> None:
    """No name or label is longer than a Service's may be, and none lost what tells it from the others."""
    text = helm.text(name, release=LONG, namespace="n" * 63)
    seen = set()
    for one in yaml.safe_load_all(text):
        if one is None:
            continue
        metadata = one["metadata"]
        assert len(metadata["name"]) <= 63
        assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", metadata["name"])
        for value in metadata.get("labels", {}).values():
            assert len(value) <= 63
            assert re.fullmatch(r"([A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?)?", value)
        key = (one["kind"], metadata.get("namespace"), metadata["name"])
        assert key not in seen
        seen.add(key)


def test_names_are_the_users(helm: Helm) -> None:
    """The whole name, its part, and the namespace can be given; a release called like the chart is not said twice."""
    whole = helm.rendered({"fullnameOverride": "tuning", "namespaceOverride": "tools"})
    service = named(whole, "Service", "tuning")
    assert service["metadata"]["namespace"] == "tools"
    part = helm.rendered({"nameOverride": "tuning"})
    assert named(part, "Service", "advisor-tuning")["metadata"]["labels"]["app.kubernetes.io/name"] == "tuning"
    same = helm.rendered({}, release="kuberay-advisor-eu")
    assert named(same, "Service", "kuberay-advisor-eu")


def test_releases_do_not_meet(helm: Helm) -> None:
    """Outside of its namespace a release shares no name with another one, nor with its namesake elsewhere."""
    values = {"operator.namespace": "ray-system", "operator.watchNamespaces": ["team-a"]}

    def outside(release: str, namespace: str) -> set[tuple[str, str]]:
        found = helm.rendered(values, release=release, namespace=namespace)
        found += helm.rendered({}, release=release, namespace=namespace)
        return {
            (one["kind"], one["metadata"]["name"]) for one in found if one["metadata"].get("namespace") != namespace
        }

    first = outside("advisor", "one")
    assert len(first) == 6
    assert not first & outside("advisor", "two")
    assert not first & outside("other", "one")


def test_the_kubernetes_that_it_needs(helm: Helm) -> None:
    """An older one is refused, vendors' versions are not."""
    said = helm.run("template", "advisor", str(CHART), "--kube-version=1.24.9", code=1).stderr
    assert "chart requires kubeVersion: >=1.25.0-0" in said
    helm.run("template", "advisor", str(CHART), "--kube-version=v1.25.3-eks-0a21954")


def test_chart_above(helm: Helm, tmp_path: Path) -> None:
    """It can be part of another chart, which switches it off or on and shares its globals."""
    above = tmp_path / "platform"
    (above / "charts").mkdir(parents=True)
    (above / "charts" / "kuberay-advisor").symlink_to(CHART, target_is_directory=True)
    dependency = {"name": "kuberay-advisor", "version": "*", "condition": "kuberay-advisor.enabled"}
    chart = {"apiVersion": "v2", "name": "platform", "version": "1.0.0", "dependencies": [dependency]}
    (above / "Chart.yaml").write_text(json.dumps(chart), encoding="utf-8")
    values = {
        "global": {"imageRegistry": "mirror.example.com", "storageClass": "of another chart"},
        "kuberay-advisor": {"enabled": True},
    }
    (above / "values.yaml").write_text(json.dumps(values), encoding="utf-8")
    text = helm.run("template", "platform", str(above)).stdout
    assert text.count("image: mirror.example.com/kuberay-advisor:") == 3
    assert helm.run("template", "platform", str(above), "--set=kuberay-advisor.enabled=false").stdout.strip() == ""
