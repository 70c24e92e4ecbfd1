import json
from typing import Any, Final

import pytest
import yaml

from advisor.errors import AdvisorError, InputFormatError, NothingToAnalyseError, SettingsError
from advisor.inject.injection import Outcome, inject, remove
from advisor.inject.options import Options, cores_of, mebibytes_of
from advisor.sidecar.settings import Settings
from tests.cli.test_sidecar import asked
from tests.inject.manifests import deployment
from tests.support import run

__all__ = ["asked"]

OPTIONS: Final = Options(image="advisor:1")
CONFIG: Final = {"command": ["/manager"], "args": ["--config=/etc/k/c.yaml"], "volumeMounts": [
    {"name": "c", "mountPath": "/etc/k"}]}  # fmt: skip
CONFIG_POD: Final = {
    "volumes": [{"name": "c", "configMap": {"name": "conf", "items": [{"key": "x", "path": "c.yaml"}]}}]
}


def injected(options: Options = OPTIONS, **changes: Any) -> tuple[Outcome, dict[str, Any]]:  # noqa: ANN401 - any
    """The outcome for such a Deployment, and its Pod."""
    outcome = inject(yaml.safe_dump(deployment(**changes)), options)
    return outcome, yaml.safe_load(outcome.text)["spec"]["template"]["spec"]


def arguments(options: Options = OPTIONS, **changes: Any) -> list[str]:  # noqa: ANN401 - any
    """The sidecar's arguments."""
    words = injected(options, **changes)[1]["containers"][-1]["args"]
    assert isinstance(words, list)
    return words


def configured(text: str, style: str) -> str:
    """A Deployment that reads a configuration file, and that file in a ConfigMap."""
    if style in ("|", ">"):
        value = f"{style}\n" + "".join(f"    {line}\n" for line in text.splitlines())
    else:
        value = json.dumps(text) if style == '"' else f"'{text}'"
    head = f"kind: ConfigMap\nmetadata: {{name: conf}}\ndata:\n  x: {value}\n"
    if style == "json":
        head = json.dumps({"kind": "ConfigMap", "metadata": {"name": "conf"}, "data": {"x": text}})
    return f"{head}\n---\n{yaml.safe_dump(deployment(container=CONFIG, pod=CONFIG_POD))}"


class TestLog:
    @pytest.mark.parametrize(
        "args",
        [
            ["--log-file-path=/logs/a/op.log"],
            ["-log-file-path", "/logs/a/op.log", "--qps=1"],
            ["--log-file-path", "/x", "--enable-metrics", "--log-file-path=/logs/a/op.log", "", "--log-file-path=/y"],
        ],
    )
    def test_there_is_one(self, args: list[str]) -> None:
        """It is followed through the deepest volume in which it lies; the last flag before an empty word counts."""
        mounts = [
            {"name": "all", "mountPath": "/"},
            {"name": "l", "mountPath": "/logs/", "subPath": "s"},
            {"name": "n", "mountPath": "/log"},
        ]
        _, pod = injected(container={"args": args, "volumeMounts": mounts})
        sidecar = pod["containers"][-1]
        assert sidecar["args"][1] == "--log-file=/logs/a/op.log"
        assert sidecar["volumeMounts"] == [{"name": "l", "mountPath": "/logs", "readOnly": True, "subPath": "s"}]
        assert pod["containers"][0]["args"] == args

    def test_it_is_on_no_volume(self) -> None:
        """Its folder becomes one."""
        _, pod = injected(container={"args": ["--log-file-path=/a/b/c.log"]})
        assert pod["containers"][0]["volumeMounts"] == [{"name": "kuberay-logs", "mountPath": "/a/b"}]
        assert pod["volumes"] == [{"name": "kuberay-logs", "emptyDir": {}}]

    def test_where_it_goes(self) -> None:
        """Options tell; a volume that nobody mounts is used."""
        options = Options(image="a:1", log_folder="/l", log_name="k.log")
        _, pod = injected(options, pod={"volumes": [{"name": "kuberay-logs", "emptyDir": {"sizeLimit": "8Gi"}}]})
        assert pod["containers"][0]["args"] == ["--log-file-path=/l/k.log"]
        assert pod["volumes"] == [{"name": "kuberay-logs", "emptyDir": {"sizeLimit": "8Gi"}}]

    @pytest.mark.parametrize(
        ("changes", "says"),
        [
            ({"container": {"args": ["--log-file-path="]}}, "nothing behind it"),
            ({"container": {"args": ["--log-file-path=/$(POD)/x"]}}, "cannot be found"),
            ({"container": {"args": ["--log-file-path=x.log"]}}, "cannot be found"),
            ({"container": {"args": ["--log-file-path=/x.log"]}}, "at /"),
            ({"container": {"command": ["sh", "-c", "/manager"]}}, "started through sh -c"),
            ({"container": {"command": ["/tini", "--", "/manager"]}}, "started through /tini --"),
            (
                {"container": {"volumeMounts": [{"name": "x", "mountPath": "/var/log", "subPathExpr": "$(P)"}]}},
                "subPathExpr",
            ),
            (
                {"container": {"volumeMounts": [{"name": "x", "mountPath": "/var/log", "readOnly": True}]}},
                "nothing can be written",
            ),
            ({"pod": {"volumes": [{"name": "kuberay-logs", "hostPath": {"path": "/x"}}]}}, "of the kind hostPath"),
            ({"container": {"ports": [{"containerPort": 8090}]}}, "in the sidecar's way"),
            ({"container": {"ports": [{"containerPort": 1, "name": "advisor"}]}}, "in the sidecar's way"),
            ({"container": {"args": ["--metrics-addr=:8090"]}}, "at port 8090"),
            ({"after": [{"name": "kuberay-advisor-sidecar"}]}, "has not put in"),
        ],
    )
    def test_in_the_way(self, changes: dict[str, Any], says: str) -> None:
        """What makes it impossible is said."""
        with pytest.raises(SettingsError, match=says):
            injected(**changes)

    @pytest.mark.parametrize(
        ("changes", "says"),
        [
            ({"pod": {"volumes": [{"name": "kuberay-logs", "emptyDir": {"sizeLimit": "1Gi"}}]}}, "sizeLimit 1Gi"),
            ({"container": {"resources": {"limits": {"ephemeral-storage": "500M"}}}}, "ephemeral-storage 500M"),
            ({"container": {"args": ["--log-file-encoder", "console"]}}, "not json"),
            ({"pod": {"hostNetwork": True}}, "node's network"),
            ({"container": {"securityContext": {"runAsUser": 0}}}, "runs as root"),
        ],
    )
    def test_warnings(self, changes: dict[str, Any], says: str) -> None:
        """What may go wrong is said, and done."""
        outcome, pod = injected(**changes)
        assert says in " ".join(outcome.warnings)
        assert pod["containers"][-1]["name"] == "kuberay-advisor-sidecar"


class TestConfiguration:
    TEXT: Final = "kind: Configuration\nqps: 100\nlogFileEncoder: json\n"

    @pytest.mark.parametrize("style", ["|", '"', "json"])
    def test_the_log_goes_into_the_file(self, style: str) -> None:
        """As a line before the settings; without it in the input the operator's flags would do nothing."""
        text = configured(self.TEXT, style)
        outcome = inject(text, OPTIONS)
        first, second = yaml.safe_load_all(outcome.text)
        wanted = 'kind: Configuration\nlogFile: "/var/log/kuberay/operator.log"\nqps: 100\nlogFileEncoder: json\n'
        assert first["data"]["x"] == wanted
        assert second["spec"]["template"]["spec"]["containers"][0]["args"] == ["--config=/etc/k/c.yaml"]
        assert remove(outcome.text, OPTIONS).text == text

    def test_it_is_there(self) -> None:
        """The file's path counts, and a flag does not."""
        text = configured("kind: Configuration\nlogFile: /etc/k/a.log\n", "|")
        with pytest.raises(SettingsError, match="nothing can be written"):
            inject(text, OPTIONS)
        outcome = inject(text.replace("/etc/k/a.log", "/z/a.log"), OPTIONS)
        assert "--log-file=/z/a.log" in outcome.text

    @pytest.mark.parametrize(
        ("text", "style", "says"),
        [
            ("kind: Configuration\n", ">", "folded"),
            ("{kind: Configuration}", "'", "not written in lines"),
            ("a: [\n", "|", "ConfigMap conf, x: is not YAML"),
            ("- a\n", "|", "no configuration"),
        ],
    )
    def test_no_place_for_it(self, text: str, style: str, says: str) -> None:
        """A file that has no lines cannot get one."""
        with pytest.raises(InputFormatError, match=says):
            inject(configured(text, style), OPTIONS)

    def test_the_file_is_not_in_the_input(self) -> None:
        """What to do is said; whoever knows the path can tell it."""
        text = yaml.safe_dump(deployment(container=CONFIG, pod=CONFIG_POD))
        with pytest.raises(InputFormatError, match=r"logging\.baseDir"):
            inject(text, OPTIONS)
        outcome = inject(text, Options(image="a:1", log_folder="/l", log_name="k.log"))
        assert "--log-file=/l/k.log" in outcome.text
        assert "taken from --log-dir" in outcome.warnings[0]

    def test_only_the_deployment_is_read_back(self) -> None:
        """Removing from it says that the other half stays; injecting needs both."""
        live = inject(configured(self.TEXT, "|"), OPTIONS).text.partition("---\n")[2]
        assert "keeps it" in remove(live, OPTIONS).warnings[0]
        with pytest.raises(InputFormatError, match="not in the input"):
            inject(live, OPTIONS)


BY_HAND: Final = """\
# Written by hand.
apiVersion: apps/v1
kind: &kind Deployment
metadata: {name: &name kuberay-operator, labels: {app.kubernetes.io/component: *name}}
spec:
    template:
        spec:
            containers:
            -   # first
                name: proxy
                args:
                - |
                  a\tb

                  c

            # the operator
            -
                name: kuberay-operator
                command: [ /manager ]   # as built
                args: [--qps=100,   # not the default
                       --burst=200
                      ]
                env:
                -
                    name: A
                    value:
            # that was all
...
"""


class TestByHand:
    def test_it_goes_in_and_out(self) -> None:
        """Dashes alone in a line, comments anywhere, texts in lines, a null at the end, four spaces."""
        outcome = inject(BY_HAND, OPTIONS)
        (after,) = yaml.safe_load_all(outcome.text)
        pod = after["spec"]["template"]["spec"]
        assert [each["name"] for each in pod["containers"]] == ["proxy", "kuberay-operator", "kuberay-advisor-sidecar"]
        assert pod["containers"][0]["args"] == ["a\tb\n\nc\n"]
        assert pod["containers"][1]["args"] == [f"--log-file-path={OPTIONS.log_path}", "--qps=100", "--burst=200"]
        assert {"                env:", "            # that was all"} <= set(outcome.text.splitlines())
        assert remove(outcome.text, OPTIONS).text == BY_HAND

    def test_without_libyaml(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A PyYAML that was built without it gives the same."""
        wanted = inject(BY_HAND.replace("\t", " "), OPTIONS).text
        monkeypatch.setattr("advisor.inject.tree._LOADER", yaml.SafeLoader)
        assert inject(BY_HAND.replace("\t", " "), OPTIONS).text == wanted

    def test_moved_dash(self) -> None:
        """What was put in is found where somebody has written it otherwise."""
        text = inject(BY_HAND, OPTIONS).text
        moved = text.replace("- name: kuberay-advisor-sidecar", "-\n              name: kuberay-advisor-sidecar")
        assert moved != text
        assert remove(moved, OPTIONS).text == BY_HAND


class TestWho:
    def test_options_tell(self) -> None:
        """Of two, or of one that nothing tells apart."""
        one, two = deployment(), deployment()
        two["metadata"] = {"name": "second", "namespace": "n"}
        text = yaml.safe_dump_all([one, two])
        with pytest.raises(SettingsError, match="2 Deployments may be the operator: kuberay-operator, n/second"):
            inject(text, OPTIONS)
        for options in (Options(image="a:1", name="second"), Options(image="a:1", namespace="n")):
            assert inject(text, options).title == "n/second"
        with pytest.raises(NothingToAnalyseError, match="no Deployment x/second"):
            inject(text, Options(image="a:1", name="second", namespace="x"))

    @pytest.mark.parametrize(
        "image", ["host:5000/a/kuberay/operator@sha256:0", "b/kuberay-operator", "kuberay/operator:1"]
    )
    def test_by_the_image(self, image: str) -> None:
        """Whatever the Deployment and its container are called."""
        made = deployment(container={"name": "manager", "image": image}, after=[{"name": "proxy", "image": "proxy"}])
        made["spec"]["template"]["metadata"] = {}
        assert inject(yaml.safe_dump(made), OPTIONS).changed

    def test_container(self) -> None:
        """Where none is clearly the operator, or the named one is not there."""
        changes: dict[str, Any] = {"container": {"name": "a", "image": "x"}, "after": [{"name": "b"}]}
        with pytest.raises(SettingsError, match="clearly the operator; there are a, b"):
            injected(**changes)
        with pytest.raises(SettingsError, match="no container c"):
            injected(Options(image="a:1", container="c"), **changes)
        assert injected(Options(image="a:1", container="a"), **changes)[1]["containers"][0]["volumeMounts"]

    @pytest.mark.parametrize(
        ("old", "new", "says"),
        [
            ("containers:", "containers: []\n      other:", "no containers"),
            ("    spec:", "    other:", r"no spec\.template\.spec"),
            ("command:", "command: [x]\n        command:", "the key 'command' twice"),
            ("- command:", "- <<: {a: b}\n        command:", "takes keys over"),
        ],
    )
    def test_no_such_manifest(self, old: str, new: str, says: str) -> None:
        """What Kubernetes would not take, or cannot be followed, is refused."""
        text = yaml.safe_dump(deployment())
        assert old in text
        with pytest.raises(InputFormatError, match=says):
            inject(text.replace(old, new, 1), OPTIONS)

    def test_reference(self) -> None:
        """What something else refers to is not changed with it."""
        text = yaml.safe_dump(deployment(container={"args": ["--qps=1"]})).replace("args:", "args: &a")
        with pytest.raises(InputFormatError, match="would change with it"):
            inject(f"{text}other: *a\n", OPTIONS)
        with pytest.raises(InputFormatError, match="refers to another place"):
            inject(yaml.safe_dump(deployment()).replace("spec:\n  replicas", "x: &x {}\nspec:\n  replicas").replace(
                "command:\n        - /manager", "args: *x"), OPTIONS)  # fmt: skip

    @pytest.mark.parametrize("record", ["{", '{"version":2,"container":"kuberay-operator","list":"containers"}'])
    def test_damaged_record(self, record: str) -> None:
        """It is not guessed what was added."""
        template = {"metadata": {"annotations": {"kuberay-advisor/sidecar": record}}}
        made = deployment(template=template)
        with pytest.raises(InputFormatError, match="kuberay-advisor/sidecar"):
            remove(yaml.safe_dump(made), OPTIONS)


class TestSidecar:
    def test_its_own_options_take_its_arguments(self, asked: list[Settings]) -> None:
        """All that may be put in, as its own command line reads it."""
        container = {
            "args": ["--metrics-addr", "10.0.0.1:9999", "--watch-namespace=a, b"],
            "resources": {"limits": {"cpu": "1.5"}},
        }
        options = Options(image="a:1", port=9000, memory="96Mi", arguments=("--keys=5",))
        assert run(*arguments(options, container=container)) == 0
        (settings,) = asked
        assert str(settings.log_file) == "/var/log/kuberay/operator.log"
        assert settings.operator_metrics == "http://10.0.0.1:9999/metrics"
        assert settings.operator_cpu_limit_cores == 1.5
        assert settings.namespaces == ("a", "b")
        assert (settings.port, settings.memory_limit_bytes, settings.keys) == (9000, 64 << 20, 5)

    def test_metrics_are_off(self) -> None:
        """Then no address is told."""
        assert "--operator-metrics" not in " ".join(arguments(container={"args": ["--metrics-addr=0"]}))

    def test_user(self) -> None:
        """The operator's own is taken; root is not called anything else."""
        context = {"runAsUser": 1000, "runAsGroup": 2000}
        own = injected(container={"securityContext": context})[1]["containers"][-1]["securityContext"]
        assert (own["runAsUser"], own["runAsGroup"], own["runAsNonRoot"]) == (1000, 2000, True)
        root = injected(pod={"securityContext": {"runAsUser": 0}})[1]["containers"][-1]["securityContext"]
        assert "runAsNonRoot" not in root

    def test_native(self) -> None:
        """An init container that goes on; the operator's containers are as many as before."""
        _, pod = injected(Options(image="a:1", native=True), pod={"initContainers": [{"name": "i"}]})
        assert [each.get("restartPolicy") for each in pod["initContainers"]] == [None, "Always"]
        assert len(pod["containers"]) == 1

    def test_nothing_judges_the_operator(self) -> None:
        """No probe and no hook is in it."""
        sidecar = injected()[1]["containers"][-1]
        assert not {"readinessProbe", "livenessProbe", "startupProbe", "lifecycle"} & sidecar.keys()
        assert sidecar["resources"]["limits"] == sidecar["resources"]["requests"]

    @pytest.mark.parametrize(
        "wrong",
        [
            {"image": ""},
            {"image": "a b"},
            {"port": 0},
            {"cpu": "0"},
            {"cpu": "1x"},
            {"memory": "10Mi"},
            {"memory": ""},
            {"log_folder": "logs"},
            {"log_folder": "/a/../b"},
            {"log_name": "a/b"},
        ],
    )
    def test_wrong_options(self, wrong: dict[str, Any]) -> None:
        """They are refused by name."""
        with pytest.raises(SettingsError) as caught:
            Options(**{"image": "a:1"} | wrong)
        assert caught.value.where.startswith("--")

    def test_quantities(self) -> None:
        """As Kubernetes writes them."""
        assert [cores_of(text) for text in ("100m", "2", "1e-1", ".5", "x")] == [0.1, 2.0, 0.1, 0.5, None]
        assert [mebibytes_of(text) for text in ("1Gi", "1048576", "1024Ki", "x")] == [1024.0, 1.0, 1.0, None]


def test_error_is_one_of_ours() -> None:
    """Whatever is wrong with a manifest is an error of this package."""
    base = yaml.safe_dump(deployment(container={"args": ["a"], "volumeMounts": [{"name": "a", "mountPath": "/a"}]}))
    for old in ("args:", "volumeMounts:", "containers:", "metadata:", "labels:", "name: kuberay-operator", "spec:"):
        for new in ("x: 1\n", f"{old} 5 #", f"{old} [[]] #", f"{old} {{}} #"):
            try:
                inject(base.replace(old, new), OPTIONS)
            except AdvisorError:
                continue
