"""The command that watches an operator, and the option that reads from it. Its life is tested in tests/sidecar."""

import json
from pathlib import Path
from typing import Any

import pytest

from advisor.sidecar.settings import LogPod, Settings
from tests.sources.servers import serving
from tests.sources.test_sidecar import files, holding
from tests.support import run


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    """The settings of each sidecar that would have been run."""
    found: list[Settings] = []

    def remember(settings: Settings, *_: Any) -> int:  # noqa: ANN401 - the rest does not matter here
        found.append(settings)
        return 0

    monkeypatch.setattr("advisor.sidecar.process.run", remember)
    monkeypatch.setattr("advisor.cli.sidecar.log_to_stderr", lambda: None)
    return found


class TestOptions:
    def test_defaults(self, asked: list[Settings]) -> None:
        """Without options they are those of the settings."""
        assert run("sidecar") == 0
        assert asked == [Settings()]

    def test_all_of_them(self, asked: list[Settings]) -> None:
        """Each goes where it belongs."""
        text = (
            "--operator-metrics https://op:8443/m --scrape-interval 2s --operator-cpu-limit 0.5 --log-file /l/op.log "
            "--from-start --no-watch --namespace a --namespace b --kubeconfig /k --qps 3 --burst 4 "
            "--reconcile-concurrency 2 --keys 5 --cpu-budget 0.2 --memory-limit 64 --listen [::1]:9 --max-series 99"
        )
        assert run("sidecar", *text.split()) == 0
        assert asked == [
            Settings(
                operator_metrics="https://op:8443/m",
                scrape_interval_seconds=2.0,
                operator_cpu_limit_cores=0.5,
                log_file=Path("/l/op.log"),
                from_start=True,
                watch=False,
                namespaces=("a", "b"),
                kubeconfig=Path("/k"),
                qps=3.0,
                burst=4,
                reconcile_concurrency=2,
                keys=5,
                cpu_budget_cores=0.2,
                memory_limit_bytes=64 << 20,
                host="::1",
                port=9,
                most_series=99,
            )
        ]

    def test_from_the_environment(self, asked: list[Settings], monkeypatch: pytest.MonkeyPatch) -> None:
        """A Pod's variables say the same; the command line goes before them."""
        for name, value in {
            "OPERATOR_METRICS": "http://a:1/metrics",
            "LOG_STDIN": "true",
            "WATCH": "false",
            "NAMESPACE": "a b",
            "LISTEN": ":9999",
            "KEYS": "7",
            # What Kubernetes sets for a Service of that name is no option.
            "PORT": "tcp://10.0.0.1:8090",
            "SERVICE_HOST": "10.0.0.1",
        }.items():
            monkeypatch.setenv(f"KUBERAY_ADVISOR_SIDECAR_{name}", value)
        assert run("sidecar", "--keys", "8") == 0
        assert asked == [
            Settings(
                operator_metrics="http://a:1/metrics",
                log_stdin=True,
                watch=False,
                namespaces=("a", "b"),
                port=9999,
                keys=8,
            )
        ]

    @pytest.mark.parametrize(
        ("value", "pod"),
        [
            ((), LogPod()),
            (("op-1",), LogPod(name="op-1")),
            (("ray/op-1",), LogPod(namespace="ray", name="op-1")),
            (("app=a,b!=c",), LogPod(selector="app=a,b!=c")),
            (("app.kubernetes.io/name=a",), LogPod(selector="app.kubernetes.io/name=a")),
            (("ray/app.kubernetes.io/name=a",), LogPod(namespace="ray", selector="app.kubernetes.io/name=a")),
        ],
    )
    def test_whose_log(self, asked: list[Settings], value: tuple[str, ...], pod: LogPod) -> None:
        """A Pod by its name or its labels, in this namespace or another."""
        assert run("sidecar", "--log-pod", *value) == 0
        assert asked[0].log_pod == pod

    @pytest.mark.parametrize(
        ("args", "error"),
        [
            (("--log-stdin", "--log-file", "a"), "one log is read: give one of --log-file, --log-stdin and --log-pod."),
            (("--from-start",), "--from-start belongs to a log: give --log-file, --log-stdin or --log-pod."),
            (("--log-pod", "a/b/c"), "'a/b/c' tells no Pod; expected NAMESPACE/NAME or NAMESPACE/LABEL=VALUE."),
            (("--operator-metrics", "op:8080"), "--operator-metrics: expected http://HOST[:PORT][/PATH]"),
            (("--scrape-interval", "2m"), "--scrape-interval: an interval is at most 60 s."),
            (("--listen", "8090x"), "'8090x' is no address such as 0.0.0.0:8090 or [::]:8090"),
            (("--listen", "a:70000"), "'a:70000' is no address"),
        ],
    )
    def test_wrong_use(
        self, asked: list[Settings], capsys: pytest.CaptureFixture[str], args: tuple[str, ...], error: str
    ) -> None:
        """Each is said before anything runs."""
        assert run("sidecar", *args) == 2
        assert error in capsys.readouterr().err
        assert asked == []


class TestAnalyze:
    def test_a_report(self, capsys: pytest.CaptureFixture[str]) -> None:
        """From what a sidecar holds, with its log and objects; nothing else is said."""
        with serving(holding(files())) as server:
            assert run("analyze", "--sidecar", server.url, "--output", "json", "--header", "X-A: b") == 0
            assert {handler.headers["X-A"] for handler in server.requests} == {"b"}
        printed = capsys.readouterr()
        document = json.loads(printed.out)
        assert document["source"]["kind"] == "sidecar"
        assert document["findings"][0]["code"] == "workers-saturated"
        assert printed.err == ""

    @pytest.mark.parametrize(
        ("args", "error"),
        [
            (("--sidecar", "pod:8090"), "--sidecar: pod:8090: expected http://HOST[:PORT][/PATH]"),
            (("--sidecar", "http://a", "--scrape", "http://b"), "Give one input: "),
            (("--sidecar", "http://a", "--header", "x"), "--header: expected 'Name: value'."),
            (("--sidecar", "http://a", "--for", "5m"), "--for belongs to --scrape URL."),
            (("--header", "A: b"), "--header belongs to --scrape URL."),
        ],
    )
    def test_wrong_use(self, capsys: pytest.CaptureFixture[str], args: tuple[str, ...], error: str) -> None:
        """Options that do not fit together."""
        assert run("analyze", *args) == 2
        assert error in capsys.readouterr().err

    def test_no_sidecar(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Exit code 3, and what to look at."""
        with serving(holding({})) as server:
            assert run("analyze", "--sidecar", server.url) == 3
        assert "status 404 Not Found" in capsys.readouterr().err
