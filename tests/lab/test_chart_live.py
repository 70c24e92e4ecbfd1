"""The README's "Install alongside KubeRay", gone in the lab, with the product's processes started from their Pods.

What that cannot show is in docs/lab.md. Where the lab is not built these tests are left out.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.lab.binaries import toolbox
from tests.lab.installed import NEEDED, NOT_SHOWN, Seen, commands, installed, kubectl

_MISSING: Final = toolbox().missing(NEEDED)
pytestmark = [
    pytest.mark.skipif(bool(_MISSING), reason=f"the lab is not built ({', '.join(_MISSING)}); make lab-build"),
    pytest.mark.skipif(bool(kubectl()), reason=kubectl() or "there is one"),
    pytest.mark.timeout(600),
]


@pytest.fixture(scope="module")
def seen(shared: Path) -> Iterator[Seen]:
    """All of it, once."""
    with installed(toolbox(), shared, print) as seen:
        yield seen


def test_the_commands_of_the_readme_work(seen: Seen) -> None:
    """Each was run as written and ended well, but for those that need a container engine or a kubelet."""
    told = commands()
    assert [command for command in told if not command.startswith(NOT_SHOWN)] == list(seen.ran)[:-1]
    assert list(seen.ran)[-1].startswith("helm uninstall kuberay-advisor")
    assert sum(command.startswith(NOT_SHOWN) for command in told) == len(NOT_SHOWN)
    installation = next(iter(seen.ran.values()))
    # The notes say the same as the README's next line.
    assert told[3].removesuffix(" 8095") in installation


def test_the_watcher_follows_the_log_through_the_api_server(seen: Seen) -> None:
    """The operator's Pod is found by its labels, and its log comes from its node's kubelet as it grows."""
    (asked, *_) = [path for path in seen.asked if "/containerLogs/" in path]
    assert asked.startswith("/containerLogs/kuberay/kuberay-operator-")
    assert "follow=true" in asked
    assert "timestamps=true" in asked
    lines = {labels["outcome"]: value for labels, value in seen.watcher["kuberay_advisor_sidecar_log_lines_total"]}
    assert sum(lines.values()) > 0


@pytest.mark.parametrize("part", ["watcher", "sidecar"])
def test_there_are_waits_by_priority(seen: Seen, part: str) -> None:
    """What only log, scrapes and watches together can tell is there, of each part run with its Pod's arguments."""
    series = getattr(seen, part)
    for name in ("workqueue_queue_duration_seconds_count", "reconcile_total", "workqueue_adds_total"):
        found = {labels["priority"]: value for labels, value in series[f"kuberay_advisor_{name}"] if value > 0}
        assert "0" in found, name
    (scrapes,) = [
        value for labels, value in series["kuberay_advisor_sidecar_scrapes_total"] if labels["outcome"] == "ok"
    ]
    assert scrapes > 0
    busy = {labels["object_name"] for labels, value in series["kuberay_advisor_key_busy_seconds_total"] if value > 0}
    assert busy


@pytest.mark.parametrize("reads", ["watcher", "sidecar"])
def test_the_service_shows_the_operator(seen: Seen, reads: str) -> None:
    """It is ready, and its pages and API name the operator and have its report, whichever it reads from."""
    page, operators = seen.pages[reads]
    assert "kuberay/kuberay-operator" in page
    (one,) = json.loads(operators)["operators"]
    assert one["name"] == "kuberay/kuberay-operator"
    assert one["report"] is not None


def test_prometheus_scrapes_by_the_service_monitors(seen: Seen) -> None:
    """Selector, port's name and path lead through the cluster's own endpoints to the series of both parts."""
    assert {job["job_name"] for job in seen.jobs} == {"kuberay-advisor", "kuberay-advisor-watcher"}
    assert all(job["metrics_path"] == "/metrics" for job in seen.jobs)
    assert "kuberay_advisor_reconcile_total" in seen.scraped["kuberay-advisor-watcher"]
    assert any(name.startswith("kuberay_advisor_") for name in seen.scraped["kuberay-advisor"])


def test_the_server_takes_the_operator_with_the_sidecar(seen: Seen) -> None:
    """In a trial, and then by the README's command: the container is in the Pod, beside the operator's own."""
    containers = [one["name"] for one in seen.trial["spec"]["template"]["spec"]["containers"]]
    assert containers == seen.injected == ["kuberay-operator", "kuberay-advisor-sidecar"]
    assert seen.restored


def test_uninstalling_leaves_nothing(seen: Seen) -> None:
    """No object of the chart is left; the sidecar in the operator's Deployment is the operator's."""
    assert seen.left == set()
