"""The committed rule files: up to date, valid, alike, and in any time scale."""

import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from advisor.diagnosis.findings import RULES as FINDINGS
from advisor.diagnosis.thresholds import Thresholds
from advisor.model.finding import Severity
from scripts.rules.__main__ import main
from scripts.rules.model import Alert
from scripts.rules.rendering import Settings, expression, runbook, seconds
from scripts.rules.sources import ALERTS, WITHOUT, alerts_of
from tests.prometheusserver.tools import find_or_leave_out
from tests.support import ROOT

RULES: Final = ROOT / "rules"


def loaded(name: str) -> Any:  # noqa: ANN401 - whatever the file holds
    """One of the committed files."""
    return yaml.safe_load((RULES / name).read_text(encoding="utf-8"))


def test_files_are_not_stale(capsys: pytest.CaptureFixture[str]) -> None:
    """What is committed is what the source makes."""
    assert main(["--check"]) == 0, capsys.readouterr().err


def test_check_tells_what_is_stale(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Files that are missing or changed are named, and nothing is written."""
    assert main(["--check", "--out", str(tmp_path)]) == 1
    assert list(tmp_path.iterdir()) == []
    assert main(["--out", str(tmp_path)]) == 0
    (tmp_path / "alerts.yaml").write_text("groups: []\n")
    capsys.readouterr()
    assert main(["--check", "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "alerts.yaml: stale, run make rules\n"


@pytest.mark.parametrize("scale", ["1", "60", "7"])
def test_promtool_takes_them(tmp_path: Path, scale: str) -> None:
    """As committed and in other time scales, with other jobs."""
    promtool = find_or_leave_out("system").promtool
    assert main(["--out", str(tmp_path), "--scale", scale, "--job", "a|b", "--runbooks", "https://docs.test/x"]) == 0
    files = [tmp_path / "recording.yaml", tmp_path / "alerts.yaml"]
    done = subprocess.run([promtool, "check", "rules", *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    text = files[1].read_text(encoding="utf-8")
    assert 'job=~"a|b"' in text
    assert ".*kuberay-operator" not in text
    assert "https://docs.test/x/findings/hot-key.md" in text


def test_the_manifest_holds_both() -> None:
    """A PrometheusRule with the groups of the two plain files, in their order."""
    manifest = loaded("prometheusrule.yaml")
    assert (manifest["apiVersion"], manifest["kind"]) == ("monitoring.coreos.com/v1", "PrometheusRule")
    assert manifest["spec"]["groups"] == loaded("recording.yaml")["groups"] + loaded("alerts.yaml")["groups"]


def test_time_scale() -> None:
    """Ranges, offsets and numbers of seconds shrink alike; thresholds and names of series do not."""
    expr = "rate(a_total[5m] offset 1h) / $seconds(10m) > 5 and controller:x:rate5m > 0"
    assert expression(expr, Settings()) == "rate(a_total[5m] offset 1h) / 600 > 5 and controller:x:rate5m > 0"
    assert expression(expr, Settings(scale=60)) == (
        "rate(a_total[5000ms] offset 60000ms) / 10 > 5 and controller:x:rate5m > 0"
    )


@pytest.mark.parametrize("rule", FINDINGS, ids=lambda rule: rule.code.value)
def test_each_finding_has_an_alert_or_a_reason(rule: Any) -> None:  # noqa: ANN401 - a rule of the diagnosis
    """Never both, never neither."""
    assert bool(alerts_of(rule.code)) != (rule.code in WITHOUT)


@pytest.mark.parametrize("alert", ALERTS.values(), ids=lambda alert: alert.name)
def test_links_lead_to_pages(alert: Alert) -> None:
    """To a finding's page, or to the alert's own place on docs/alerts.md."""
    page, _, place = runbook(alert, Settings(runbooks="docs")).partition("#")
    for code in alert.findings or ("",):
        path = page.replace("{{ $labels.code }}", code)
        text = (ROOT / path).read_text(encoding="utf-8")
        assert not place or f"\n### {alert.name}\n" in text


def test_alerts_say_the_thresholds_of_the_findings() -> None:
    """A changed threshold changes the rules, which the check for stale files then tells."""
    limits = Thresholds()
    alerts = {rule["alert"]: rule["expr"] for group in loaded("alerts.yaml")["groups"] for rule in group["rules"]}
    assert f">= {limits.limiter_share:g}\n" in alerts["KubeRayClientThrottled"]
    assert f"ratio15m >= {limits.conflict_ratio:g}\n" in alerts["KubeRayWriteConflicts"]
    assert f"mean5m >= {limits.slow_write_seconds:g}\n" in alerts["KubeRayAPIServerSlow"]


def test_what_pages_is_rare() -> None:
    """Critical is what stands still or will; none of it waits longer than a quarter of an hour."""
    critical = {name for name, alert in ALERTS.items() if alert.severity is Severity.CRITICAL}
    assert critical == {
        "KubeRayErrorStorm",
        "KubeRayNoLeader",
        "KubeRayOperatorDown",
        "KubeRayOperatorOOMKilled",
        "KubeRayQueueStuck",
    }
    assert all(seconds(ALERTS[name].hold) <= seconds("15m") for name in critical)
