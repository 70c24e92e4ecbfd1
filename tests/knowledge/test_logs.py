import re

import pytest

from advisor.knowledge.logs import (
    CONFLICT_TEXT,
    CONTROL_FLOW_ERRORS,
    LOGGER_TO_CONTROLLER,
    THROTTLE_MESSAGES,
    control_flow_error,
    is_conflict,
    is_control_flow_error,
)
from advisor.knowledge.versions import latest, lookup

HEAD_POD_ENDED = (
    "The head Pod atlas-head status is Failed which is a terminal state. KubeRay will delete the Pod and create new "
    "Pods in the next reconciliation if necessary."
)
HEAD_CONTAINER_ENDED = (
    "The Pod status of the head Pod atlas-head is Running, and the Ray container terminated status is\n{1}. The "
    "container is unable to restart due to its restart policy Never, so KubeRay will delete it."
)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("delete 3 unhealthy worker Pods", "unhealthy-workers-deleted"),
        (HEAD_POD_ENDED, "head-pod-ended"),
        (HEAD_CONTAINER_ENDED, "head-container-ended"),
        ("deleted 2 worker Pods based on ScaleStrategy, requeueing", "scale-strategy"),
        ("cleaned up incomplete replica group gpu-0, requeueing", "incomplete-replica-group"),
        ("mTLS secrets not ready: ray-head-secret", "mtls-not-ready"),
        ("found 0 head. cluster name ranker-xk2p9, namespace team-c", "no-head-yet"),
    ],
)
def test_control_flow_errors_are_recognised(text: str, name: str) -> None:
    """Errors that a healthy operator returns on purpose are told apart, alone or joined with others."""
    for whole in (text, f"FailedReconcile\n{text}"):
        found = control_flow_error(whole)
        assert found is not None
        assert found.name == name
        assert is_control_flow_error(whole)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "FailedCreateHeadPod\nquota exceeded",
        "found 2 head. cluster name ranker, namespace team-c",
        "delete many unhealthy worker Pods",
        f"Operation cannot be fulfilled: {CONFLICT_TEXT}",
    ],
)
def test_real_failures_are_no_control_flow(text: str) -> None:
    """Quota, conflicts and other failures count as errors."""
    assert control_flow_error(text) is None
    assert not is_control_flow_error(text)


def test_control_flow_names_are_unique() -> None:
    """Each pattern has a name and a meaning of its own."""
    assert len({error.name for error in CONTROL_FLOW_ERRORS}) == len(CONTROL_FLOW_ERRORS)
    assert all(error.meaning for error in CONTROL_FLOW_ERRORS)


def test_conflicts_are_recognised() -> None:
    """A write with an old resourceVersion is a conflict; an existing object is not."""
    assert is_conflict(
        'Operation cannot be fulfilled on rayclusters.ray.io "atlas": the object has been modified; please apply your '
        "changes to the latest version and try again"
    )
    assert not is_conflict('services "atlas" already exists')


@pytest.mark.parametrize(
    ("logger", "controller", "key_field"),
    [
        ("controllers.RayCluster", "raycluster", "RayCluster"),
        ("controllers.RayJob", "rayjob", "RayJob"),
        ("controllers.RayService", "rayservice", "RayService"),
        ("controllers.RayCronJob", "raycronjob", "RayCronJob"),
        ("controllers.NetworkPolicy", "networkpolicy", "RayCluster"),
        ("controllers.RayClusterMTLS", "raycluster-mtls", "RayCluster"),
    ],
)
def test_loggers_lead_to_controllers(logger: str, controller: str, key_field: str) -> None:
    """The logger tells the controller and the field that holds the key."""
    spec = LOGGER_TO_CONTROLLER[logger]
    assert (spec.controller, spec.key_field) == (controller, key_field)


def test_every_controller_has_a_logger() -> None:
    """The loggers and the controller labels of the newest release match."""
    assert {spec.controller for spec in LOGGER_TO_CONTROLLER.values()} == {
        label for _, label in latest().controller_labels
    }


def test_the_old_throttling_line_is_read_by_its_pattern() -> None:
    """Delay, verb and address are in the text up to 1.3."""
    old, new = THROTTLE_MESSAGES
    line = (
        "Waited for 1.384s due to client-side throttling, not priority and fairness, request: "
        "POST:https://10.96.0.1:443/api/v1/namespaces/team-a/pods"
    )
    match = re.match(old.pattern, line)
    assert match is not None
    assert match.groupdict() == {
        "delay": "1.384s",
        "verb": "POST",
        "url": "https://10.96.0.1:443/api/v1/namespaces/team-a/pods",
    }
    assert line.startswith(old.prefix)
    assert old.until == new.since
    assert new.has_key
    assert all(lookup(message.since) is not None for message in THROTTLE_MESSAGES)
