"""What is kept of objects, and what becomes of those that cannot be understood."""

import contextlib
import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.queueing.objectstore import EventType, OwnerReference, WatchEvent
from advisor.sidecar.kube.kinds import KINDS, PODS
from advisor.sidecar.kube.objects import Bookmark, ObjectDecoder
from advisor.sidecar.kube.reading import KubeError
from advisor.sidecar.observed import Observed, Writer
from tests.sidecar.apiserver import owned_by, raw

CREATED = 1_767_225_600.0
RAYCLUSTER = raw(
    "RayCluster",
    "one",
    resourceVersion="12",
    generation=3,
    creationTimestamp="2026-01-01T00:00:00Z",
    labels={"team": "x"},
    annotations={"a": "1", "long": "y" * 100_000},
    managedFields=[
        {"manager": "kubectl", "time": "2026-01-01T00:00:01Z", "fieldsV1": {"f:spec": {"f:x": {}}}},
        {"manager": "operator", "time": "2026-01-01T00:00:02Z", "operation": "Update"},
        {"manager": "operator", "time": "2026-01-01T00:00:09Z", "subresource": "status"},
        {"manager": "timeless"},
    ],
) | {
    "status": {
        "state": "ready",
        "desiredWorkerReplicas": 4,
        "readyWorkerReplicas": 3,
        "observedGeneration": 2,
        "conditions": [{"type": "Ready", "status": "True"}],
    }
}


def decoded(kind: str, body: Mapping[str, object]) -> Observed:
    """What is kept of one object."""
    one = ObjectDecoder(KINDS[kind]).object(json.dumps(body).encode())
    assert one is not None
    return one


def test_of_a_ray_object_metadata_and_status_are_kept() -> None:
    """Writers once each with their last write, annotations by a digest, nothing of the spec."""
    one = decoded("RayCluster", RAYCLUSTER)
    assert one.key == "team-a/one"
    assert (one.uid, one.resource_version, one.generation, one.created) == ("uid-one", 12, 3, CREATED)
    assert one.labels == {"team": "x"}
    assert {name: len(value) for name, value in one.annotations.items()} == {"a": 16, "long": 16}
    assert one.writers == (Writer("kubectl", CREATED + 1), Writer("operator", CREATED + 9))
    assert (one.state, one.desired_workers, one.ready_workers, one.observed_generation) == ("ready", 4, 3, 2)
    assert one.phase is None
    assert one.ready is None
    assert "SPEC" not in repr(one)


def test_another_annotation_value_has_another_digest() -> None:
    """So that a change is seen; the same value has the same."""
    first, same, other = (
        decoded("RayCluster", raw("RayCluster", "one", resourceVersion="1", annotations={"a": value})).annotations
        for value in ("x", "x", "y")
    )
    assert first == same != other


@pytest.mark.parametrize(
    ("kind", "status", "state"),
    [
        ("RayJob", {"jobDeploymentStatus": "Running", "jobStatus": "PENDING"}, "Running"),
        ("RayService", {"serviceStatus": "Running", "conditions": []}, "Running"),
        ("RayCluster", {}, None),
    ],
)
def test_each_ray_kind_has_its_own_status_text(kind: str, status: dict[str, object], state: str | None) -> None:
    """It goes by the name that the kind gives it."""
    assert decoded(kind, raw(kind, "one", resourceVersion="1") | {"status": status}).state == state


def test_of_a_pod_phase_readiness_and_its_place_in_the_cluster_are_kept() -> None:
    """Labels that tell nothing about KubeRay and annotations take memory for nothing."""
    labels = {"ray.io/cluster": "one", "ray.io/group": "gpu", "ray.io/node-type": "worker", "app": "x"}
    pod = raw("Pod", "p", resourceVersion="5", labels=labels, annotations={"a": "b"}) | {
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}, {"type": "X"}]}
    }
    pod["metadata"]["ownerReferences"] = owned_by("RayCluster", "one")
    one = decoded("Pod", pod)
    assert (one.phase, one.ready) == ("Running", True)
    assert one.labels == {"ray.io/cluster": "one", "ray.io/group": "gpu", "ray.io/node-type": "worker"}
    assert one.owners == (OwnerReference("RayCluster", "one", "uid-one", controller=True),)
    assert one.annotations == {}
    waiting = decoded("Pod", pod | {"status": {"phase": "Pending"}})
    assert (waiting.phase, waiting.ready) == ("Pending", False)


def test_a_deletion_was_asked_for_before_the_grace_period() -> None:
    """The server's field says when the period is over."""
    pod = raw("Pod", "p", resourceVersion="5", deletionTimestamp="2026-01-01T00:00:30Z", deletionGracePeriodSeconds=30)
    assert decoded("Pod", pod).deleting_since == CREATED


def test_services_without_a_ray_owner_are_dropped_and_not_counted() -> None:
    """They are other people's; nothing is wrong with them."""
    decoder = ObjectDecoder(KINDS["Service"])
    strange = raw("Service", "s", resourceVersion="1", ownerReferences=owned_by("Deployment", "d"))
    own = raw("Service", "t", resourceVersion="1", ownerReferences=owned_by("RayService", "r"))
    page = decoder.page(json.dumps({"metadata": {"resourceVersion": "9"}, "items": [strange, own]}).encode())
    assert [one.name for one in page.objects] == ["t"]
    line = json.dumps({"type": "MODIFIED", "object": strange}).encode()
    assert decoder.event(line) == Bookmark("1")
    assert decoder.skipped == 0


@pytest.mark.parametrize(
    "broken",
    [
        {"metadata": {"name": "x"}},
        {"metadata": {"name": "x", "resourceVersion": "not a number"}},
        {"metadata": {"name": 3, "resourceVersion": "1"}},
        {"metadata": {"name": "x", "resourceVersion": "1", "creationTimestamp": "yesterday"}},
        {},
        7,
    ],
)
def test_one_object_that_cannot_be_understood_does_not_cost_its_page(broken: object) -> None:
    """It is skipped and counted; version and token of the page are read all the same."""
    decoder = ObjectDecoder(PODS)
    body = {
        "metadata": {"resourceVersion": "9", "continue": "more"},
        "items": [raw("Pod", "a", resourceVersion="1"), broken, raw("Pod", "b", resourceVersion="2")],
    }
    page = decoder.page(json.dumps(body).encode())
    assert [one.name for one in page.objects] == ["a", "b"]
    assert (page.version, page.continue_token) == ("9", "more")
    assert decoder.skipped == 1


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b'{"metadata": {}, "items": 3}', b"\xff\xfe", b"<html>"])
def test_what_is_no_list_is_an_error(body: bytes) -> None:
    """It is tried again, as is any other failure."""
    with pytest.raises(KubeError, match="no list of pods"):
        ObjectDecoder(PODS).page(body)


def test_events_tell_what_came_and_what_went() -> None:
    """A delete has its last state; a bookmark has a version only."""
    decoder = ObjectDecoder(PODS)
    pod = raw("Pod", "p", resourceVersion="5")
    told = [decoder.event(json.dumps({"type": kind, "object": pod}).encode()) for kind in ("ADDED", "DELETED")]
    one = decoded("Pod", pod)
    assert told == [WatchEvent(EventType.ADDED, None, one), WatchEvent(EventType.DELETED, one, None)]
    bookmark = {"type": "BOOKMARK", "object": {"kind": "Pod", "metadata": {"resourceVersion": "77"}}}
    assert decoder.event(json.dumps(bookmark).encode()) == Bookmark("77")


def test_an_error_event_is_raised_with_its_status() -> None:
    """410 above all; an error that cannot be read is one too."""
    decoder = ObjectDecoder(PODS)
    with pytest.raises(KubeError, match="too old") as gone:
        decoder.event(b'{"type": "ERROR", "object": {"code": 410, "message": "too old"}}')
    assert gone.value.status == 410
    with pytest.raises(KubeError, match="cannot be understood"):
        decoder.event(b'{"type": "ERROR", "object": 3}')


def test_an_event_of_an_object_that_cannot_be_understood_moves_on() -> None:
    """It is counted, and its version is not asked for again."""
    decoder = ObjectDecoder(PODS)
    assert decoder.event(b'{"type": "ADDED", "object": {"metadata": {"name": 3, "resourceVersion": "8"}}}') == Bookmark(
        "8"
    )
    assert decoder.event(b"not json") is None
    assert decoder.event(b'{"type": "ADDED", "object": {}}') is None
    assert decoder.skipped == 4


@given(st.binary(max_size=200))
def test_no_bytes_break_the_decoder(line: bytes) -> None:
    """Whatever comes is an event, nothing, or an error of ours."""
    decoder = ObjectDecoder(KINDS["RayCluster"])
    for decode in (decoder.event, decoder.page, decoder.object):
        with contextlib.suppress(KubeError):
            decode(line)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "metadata",
                    "name",
                    "resourceVersion",
                    "labels",
                    "status",
                    "object",
                    "type",
                    "items",
                    "ownerReferences",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["type", "object", "metadata", "items"]), JSON, max_size=4))
def test_no_json_breaks_the_decoder(body: dict[str, object]) -> None:
    """The same with JSON of wrong shapes."""
    decoder = ObjectDecoder(PODS)
    for decode in (decoder.event, decoder.page, decoder.object):
        with contextlib.suppress(KubeError):
            decode(json.dumps(body).encode())
