"""What is shipped beside the command: the kustomize component, the post-renderer for Helm 3 and 4, the values."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from advisor import __version__
from advisor.inject.injection import inject
from advisor.inject.options import ANNOTATION, Options
from tests.chart.helm import find_helm
from tests.support import ROOT, leave_out

HELM: Final = ROOT / "helm"
OPTIONS: Final = Options(image=f"kuberay-advisor:{__version__}")


def operator(text: str) -> dict[str, Any]:
    """The operator's Deployment in a stream, each list of things with names in the order of those."""
    (found,) = (
        each
        for each in yaml.safe_load_all(text)
        if each and each["kind"] == "Deployment" and each["metadata"]["name"] == "kuberay-operator"
    )
    assert isinstance(found, dict)
    return found


def kustomized(folder: Path, manifest: Path) -> str:
    """A manifest with the component, as kubectl builds it."""
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        leave_out(os.environ, "no kubectl here")
    shutil.copytree(HELM / "kustomize" / "sidecar", folder / "sidecar")
    shutil.copy(manifest, folder / "operator.yaml")
    (folder / "kustomization.yaml").write_text("resources: [operator.yaml]\ncomponents: [sidecar]\n", encoding="utf-8")
    built = subprocess.run([str(kubectl), "kustomize", str(folder)], capture_output=True, text=True, check=True)
    return built.stdout


class TestKustomize:
    def test_it_does_what_the_command_does(self, data: Path, tmp_path: Path) -> None:
        """On KubeRay's own manifests; only the record is left out, as it could not say what was there."""
        source = data / "inject" / "kustomize-install.yaml"
        commanded = operator(inject(source.read_text(encoding="utf-8"), OPTIONS).text)
        del commanded["spec"]["template"]["metadata"]["annotations"]
        assert operator(kustomized(tmp_path, source)) == commanded

    def test_on_the_chart(self, shared: Path, tmp_path: Path) -> None:
        """With the values that are shipped: the log is where it was, the container is the command's."""
        source = shared / "manifests" / "logging.yaml"
        commanded = operator(inject(source.read_text(encoding="utf-8"), OPTIONS).text)["spec"]["template"]["spec"]
        built = operator(kustomized(tmp_path, source))["spec"]["template"]["spec"]
        assert built["volumes"] == commanded["volumes"]
        assert built["containers"][1] == commanded["containers"][1]
        assert built["containers"][0]["args"][1:] == commanded["containers"][0]["args"]
        assert built["containers"][0]["volumeMounts"] == commanded["containers"][0]["volumeMounts"]


@pytest.fixture
def chart(shared: Path, tmp_path: Path) -> Path:
    """A chart that renders what KubeRay's does, with the number of replicas as its value."""
    folder = tmp_path / "chart"
    (folder / "templates").mkdir(parents=True)
    (folder / "Chart.yaml").write_text("apiVersion: v2\nname: operator\nversion: 0.1.0\n", encoding="utf-8")
    (folder / "values.yaml").write_text("replicas: 1\n", encoding="utf-8")
    text = (shared / "manifests" / "default.yaml").read_text(encoding="utf-8")
    assert "{{" not in text
    (folder / "templates" / "all.yaml").write_text(
        text.replace("replicas: 1", "replicas: {{ .Values.replicas }}"), encoding="utf-8"
    )
    return folder


@pytest.fixture
def helm(executable: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Helm 4 with nothing of this machine's user, and the plugin."""
    path = find_helm()
    for name in ("CONFIG", "CACHE", "DATA"):
        monkeypatch.setenv(f"HELM_{name}_HOME", str(tmp_path / "helm" / name))
    monkeypatch.setenv("HELM_PLUGINS", str(tmp_path / "plugins"))
    monkeypatch.setenv("KUBERAY_ADVISOR", str(executable))
    shutil.copytree(HELM / "postrenderer", tmp_path / "plugins" / "kuberay-advisor-inject")
    return str(path)


class TestHelm:
    def test_upgrade(self, helm: str, chart: Path) -> None:
        """Helm 4: what is rendered before and after a changed value has the same sidecar, and the new value."""

        def rendered(replicas: int) -> dict[str, Any]:
            command = [
                *(helm, "template", "x", str(chart), "--set", f"replicas={replicas}"),
                *("--post-renderer", "kuberay-advisor-inject", "--post-renderer-args=--image=a:1"),
            ]
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
            assert done.returncode == 0, done.stderr
            return operator(done.stdout)

        before, after = rendered(1), rendered(2)
        assert (before["spec"].pop("replicas"), after["spec"].pop("replicas")) == (1, 2)
        assert before == after
        assert before["spec"]["template"]["spec"]["containers"][1]["image"] == "a:1"
        assert ANNOTATION in before["spec"]["template"]["metadata"]["annotations"]

    def test_what_is_wrong_stops_it(self, helm: str, chart: Path) -> None:
        """A chart without the operator is not applied without the sidecar."""
        (chart / "templates" / "all.yaml").write_text("kind: Service\nmetadata: {name: x}\n", encoding="utf-8")
        command = [helm, "template", "x", str(chart), "--post-renderer", "kuberay-advisor-inject"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode != 0
        assert done.stdout == ""

    def test_as_helm_3_runs_it(self, executable: Path, data: Path) -> None:
        """The executable itself, from standard input to standard output; options may stand in the environment."""
        text = (data / "inject" / "kustomize-install.yaml").read_text(encoding="utf-8")
        done = subprocess.run(
            [HELM / "postrenderer" / "kuberay-advisor-inject", "--cpu=200m"],
            input=text,
            env={**os.environ, "KUBERAY_ADVISOR": str(executable), "KUBERAY_ADVISOR_INJECT_IMAGE": "b:2"},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        assert done.stdout == inject(text, Options(image="b:2", cpu="200m")).text

    def test_not_installed(self, data: Path) -> None:
        """It says what it needs."""
        done = subprocess.run(
            [HELM / "postrenderer" / "kuberay-advisor-inject"],
            env={**os.environ, "KUBERAY_ADVISOR": "/nowhere/kuberay-advisor"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 127
        assert "no /nowhere/kuberay-advisor on PATH" in done.stderr


def test_versions() -> None:
    """Image and plugin are of this release."""
    assert yaml.safe_load((HELM / "postrenderer" / "plugin.yaml").read_text(encoding="utf-8"))["version"] == __version__
    sidecar = (HELM / "kustomize" / "sidecar" / "sidecar.yaml").read_text(encoding="utf-8")
    assert f"image: kuberay-advisor:{__version__}\n" in sidecar
    assert os.access(HELM / "postrenderer" / "kuberay-advisor-inject", os.X_OK)


def test_values() -> None:
    """They put the log where the component and the command look for it."""
    values = yaml.safe_load((HELM / "kuberay-operator-values.yaml").read_text(encoding="utf-8"))["logging"]
    assert f"{values['baseDir']}/{values['fileName']}" == OPTIONS.log_path


def test_kuberays_own_manifests() -> None:
    """Those of the operator's Go module, where it is on this machine: in, twice, and out again."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("no go here, so there is no operator's module")
    cache = Path(subprocess.run([go, "env", "GOMODCACHE"], capture_output=True, text=True, check=True).stdout.strip())
    found = sorted(cache.glob("github.com/ray-project/kuberay/ray-operator@*/config/manager/manager.yaml"))
    if not found:
        pytest.skip("the operator's Go module is not on this machine; `make lab-build` fetches it")
    for path in found:
        text = path.read_text(encoding="utf-8")
        made = inject(text, OPTIONS)
        assert made.changed
        assert not inject(made.text, OPTIONS).changed
        template = operator(made.text)["spec"]["template"]["spec"]
        assert template["containers"][0]["args"][0] == f"--log-file-path={OPTIONS.log_path}"
