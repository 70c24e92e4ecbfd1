"""Operators that are not KubeRay's, by way of the command line."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from advisor.knowledge.profiles import PROFILES
from tests.sources.servers import sequence, serving, snapshots
from tests.support import ROOT, Golden, run

EXAMPLE = ROOT / "advisor" / "examples" / "other-operator"
KUBERAY = ROOT / "advisor" / "examples" / "saturated-one-worker"
OF_KUBERAY = re.compile(r"Ray|raycluster|rayjob|--qps|--burst|--reconcile-concurrency|kuberay-operator|kuberay_")
FLUX = """
operator: {name: kustomize-controller}
controllers:
  kustomization:
    max_concurrent_reconciles: 4
    utilisation: 1.0
    depth_mean: 40
    depth_max: 80
    reconciles_per_second: 2.0
    queue_wait_seconds_mean: 20
    reconcile_seconds_mean: 2.0
    error_ratio: 0.0
client: {qps: 50, burst: 100, requests_per_second: 10, limiter_wait_seconds_mean: 0.0, request_seconds_mean: 0.03}
"""


def facts(folder: Path, text: str = FLUX) -> str:
    """A facts file with a text."""
    path = folder / "operator.facts.yaml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def report(capsys: pytest.CaptureFixture[str], *args: str) -> Any:  # noqa: ANN401 - a document
    """The report as JSON of an analysis."""
    assert run("analyze", *args, "--output", "json") == 0
    return json.loads(capsys.readouterr().out)


class TestProfiles:
    def test_they_are_listed(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Each with its sentence, and as a list of JSON."""
        assert run("profiles") == 0
        assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [one.name for one in PROFILES]
        assert run("profiles", "--output", "json") == 0
        assert len(json.loads(capsys.readouterr().out)) == len(PROFILES)

    def test_one_is_shown_whole(self, capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
        """With the source of each value."""
        assert run("profiles", "flux") == 0
        golden.check("cli/profile-flux.txt", capsys.readouterr().out)

    def test_all_ways_and_all_that_is_known_are_shown(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden
    ) -> None:
        """Of a file of one's own as well: own flags, variables, fields, fixed workers, who waits."""
        text = """
name: mine
title: Mine
summary: Ours.
recognised_by: {series: [mine_*]}
concurrency: {flags: {a: --a-workers}, helm_value: a.workers, defaults: [{value: 3, source: s, controller: a}]}
qps: {variable: QPS, defaults: [{value: -1, source: s, since: "2.0"}]}
burst: {field: burst}
controllers: [{name: a, workers: 2, source: s}, {name: b, external_calls: true, source: s}, {name: c, source: s}]
lease: mine
deployment: mine
"""
        assert run("profiles", facts(tmp_path, text)) == 0
        golden.check("cli/profile-own.txt", capsys.readouterr().out)

    def test_what_is_none(self, capsys: pytest.CaptureFixture[str]) -> None:
        """An unknown name, and the word that leaves the choice open."""
        assert run("profiles", "nope") == 2
        assert "there is no profile 'nope'" in capsys.readouterr().err
        assert run("profiles", "auto") == 2
        assert "leaves the choice open" in capsys.readouterr().err


class TestReports:
    def test_an_operator_that_no_profile_knows(self, capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
        """The example that is shipped, whole: finding, advice and words, and nothing of KubeRay."""
        assert run("analyze", "--recording", str(EXAMPLE)) == 0
        golden.check("report/other-operator.txt", capsys.readouterr().out)

    def test_one_that_a_profile_knows(self, tmp_path: Path, capsys: pytest.CaptureFixture[str], golden: Golden) -> None:
        """A patch with its own flag."""
        assert run("analyze", "--facts", facts(tmp_path)) == 0
        golden.check("report/flux.txt", capsys.readouterr().out)

    @pytest.mark.parametrize(
        "form", [("--verbose",), ("--output", "json"), ("--output", "markdown"), ("--output", "html")]
    )
    @pytest.mark.parametrize("kind", ["recording", "facts"])
    def test_no_form_speaks_of_kuberay(
        self, form: tuple[str, ...], kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """No flag, release or kind of KubeRay's stands anywhere."""
        given = str(EXAMPLE) if kind == "recording" else facts(tmp_path)
        assert run("analyze", f"--{kind}", given, *form) == 0
        assert OF_KUBERAY.findall(capsys.readouterr().out) == []

    @pytest.mark.parametrize("profile", ["generic", "kueue"])
    def test_what_is_chosen_goes_before_what_is_seen(self, profile: str, capsys: pytest.CaptureFixture[str]) -> None:
        """Even of KubeRay itself: then its version, defaults and simulation are left out."""
        found = report(capsys, "--recording", str(KUBERAY), "--profile", profile)
        assert found["profile"]["name"] == profile
        assert found["profile"]["why"] == "it was chosen"
        assert found["settings"]["version"] is None
        assert not any(one["simulated"] for one in found["predictions"])
        assert {one["kind"] for one in found["advice"]["patches"]} == {"words"}

    def test_kuberay_is_recognised(self, capsys: pytest.CaptureFixture[str]) -> None:
        """And says so where it is asked for everything."""
        found = report(capsys, "--recording", str(KUBERAY), "--profile", "auto")
        assert found["profile"] == {
            "name": "kuberay",
            "title": "KubeRay",
            "why": "by its controllers raycluster, rayjob, rayservice",
        }

    def test_a_profile_of_ones_own(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Its flag is read from the arguments, its default stands in, and the patch has its Deployment."""
        page = (ROOT / "docs" / "profiles.md").read_text(encoding="utf-8")
        profile = tmp_path / "own.yaml"
        profile.write_text(page.partition("```yaml\n")[2].partition("```")[0], encoding="utf-8")
        args = "manager --kube-api-qps=40 --max-concurrent-reconciles=2"
        found = report(capsys, "--recording", str(EXAMPLE), "--profile", str(profile), "--args", args)
        settings = found["settings"]
        assert (settings["qps"]["value"], settings["qps"]["detail"]) == (40, "--kube-api-qps")
        assert (settings["burst"]["value"], settings["burst"]["source"]) == (30, "version_default")
        assert found["findings"][0]["code"] == "setting-not-applied"
        figure = found["figures"]["controllers.database.configured_concurrency"]
        assert (figure["value"], figure["origin"].startswith("--max-concurrent-reconciles")) == (2, True)
        assert "controllers.restore.configured_concurrency" not in found["figures"]

    def test_it_is_scraped_like_any(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A live operator behind HTTP, with names that nobody knows."""
        with serving(sequence(snapshots(EXAMPLE)[4:])) as server:
            args = ("--scrape", server.url, "--for", "1s", "--interval", "200ms")
            found = report(capsys, *args)
            assert found["profile"]["name"] == "generic"
            assert found["operator"] == "controller-runtime"
            assert report(capsys, *args, "--profile", "spark-operator")["operator"] == "spark-operator"

    @pytest.mark.parametrize(
        ("operator", "name", "why"),
        [
            ("{name: rook}", "flux", "by its controllers kustomization"),
            ("{profile: kueue}", "kueue", "the facts say so"),
            ("{version: '1.7.0'}", "flux", "by its controllers kustomization"),
        ],
    )
    def test_facts_tell(
        self, operator: str, name: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """By a profile, a name, or the controllers."""
        text = FLUX.replace("{name: kustomize-controller}", operator)
        found = report(capsys, "--facts", facts(tmp_path, text))["profile"]
        assert (found["name"], found["why"]) == (name, why)
        assert report(capsys, "--facts", facts(tmp_path, text), "--profile", "generic")["profile"]["name"] == "generic"

    def test_facts_that_name_none(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """An unknown profile is an error with its place; a file cannot be named there."""
        text = FLUX.replace("{name: kustomize-controller}", "{profile: ./own.yaml}")
        assert run("analyze", "--facts", facts(tmp_path, text)) == 3
        assert "there is no profile './own.yaml'" in (told := capsys.readouterr().err)
        assert "`$.operator.profile`" in told


class TestOtherCommands:
    def test_what_cannot_be_simulated_is_refused(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A what-if of another operator says why, and what else to do."""
        assert run("whatif", "--recording", str(EXAMPLE)) == 4
        assert "only KubeRay's reconciles can be simulated" in capsys.readouterr().err
        assert run("whatif", "--recording", str(KUBERAY), "--profile", "flux") == 4
        assert "this is a Flux operator" in capsys.readouterr().err
        assert run("whatif", "--facts", facts(tmp_path), "--profile", "flux") == 4
        assert "this is a Flux operator" in capsys.readouterr().err

    def test_two_of_them_are_compared(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Named as it is called, in each form."""
        for form in ("text", "markdown", "html", "json"):
            assert run("compare", str(EXAMPLE), str(EXAMPLE), "--output", form) == 0
            assert OF_KUBERAY.findall(capsys.readouterr().out) == []
        assert run("compare", facts(tmp_path), facts(tmp_path), "--profile", "kueue", "--output", "markdown") == 0
        assert capsys.readouterr().out.startswith("## kustomize-controller operator before and after: ")

    def test_a_recording_keeps_what_was_chosen(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """So that it is read with the same profile later; what was not chosen is told by what is seen."""
        with serving(sequence(snapshots(EXAMPLE)[4:])) as server:
            scrape = ("record", "--scrape", server.url, "--for", "1s", "--interval", "200ms")
            assert run(*scrape, "--out", str(tmp_path / "chosen"), "--profile", "cert-manager") == 0
            assert run(*scrape, "--out", str(tmp_path / "seen")) == 0
        capsys.readouterr()
        assert report(capsys, "--recording", str(tmp_path / "chosen"))["profile"] == {
            "name": "cert-manager",
            "title": "cert-manager",
            "why": "the recording says so",
        }
        assert report(capsys, "--recording", str(tmp_path / "seen"))["profile"]["name"] == "generic"

    def test_a_fleet_may_name_them(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """For all, for one, and as a file beside it."""
        (tmp_path / "own.yaml").write_text("name: own\ntitle: Own\nsummary: Ours.\n", encoding="utf-8")
        fleet = tmp_path / "fleet.yaml"
        fleet.write_text(
            f"defaults: {{profile: kueue}}\noperators:\n- {{name: a, recording: '{EXAMPLE}'}}\n"
            f"- {{name: b, recording: '{EXAMPLE}', profile: own.yaml}}\n- {{name: c, facts: '{facts(tmp_path)}'}}\n",
            encoding="utf-8",
        )
        out = tmp_path / "out"
        assert run("analyze", "--fleet", str(fleet), "--out", str(out), "--jobs", "1") == 0
        names = {one: json.loads((out / f"{one}.json").read_text("utf-8"))["profile"]["name"] for one in "abc"}
        assert names == {"a": "kueue", "b": "own", "c": "kueue"}
        fleet.write_text(f"operators:\n- {{name: a, recording: '{EXAMPLE}', profile: nope}}\n", encoding="utf-8")
        capsys.readouterr()
        assert run("analyze", "--fleet", str(fleet), "--out", str(out)) == 3
        assert "`$.operators[0].profile`" in capsys.readouterr().err
