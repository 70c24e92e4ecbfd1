from advisor.model.raw import ObjectChange
from advisor.queueing.informer import Change, ChangeType
from advisor.sidecar.objectring import ObjectRing, as_object_change
from advisor.sidecar.observed import Observed

CLUSTER = Observed(
    kind="RayCluster", namespace="ns", name="one", generation=2, state="ready", desired_workers=3, ready_workers=1,
    observed_generation=1,
)  # fmt: skip
POD = Observed(
    kind="Pod",
    namespace="ns",
    name="one-head",
    labels={"ray.io/cluster": "one", "ray.io/node-type": "head"},
    phase="Running",
    ready=True,
)


def test_changes_are_those_of_a_recording() -> None:
    """A Pod and a RayCluster become lines as a recording has them; what a kind does not have is absent."""
    assert as_object_change(1.23456, Change(ChangeType.CREATE, None, POD, is_initial_list=True)) == ObjectChange(
        t=1.235,
        event="EXISTING",
        kind="Pod",
        namespace="ns",
        name="one-head",
        phase="Running",
        ready=True,
        cluster="one",
        node_type="head",
    )
    assert as_object_change(2.0, Change(ChangeType.UPDATE, CLUSTER, CLUSTER)) == ObjectChange(
        t=2.0,
        event="MODIFIED",
        kind="RayCluster",
        namespace="ns",
        name="one",
        state="ready",
        desired=3,
        ready_workers=1,
        generation=2,
        observed=1,
    )


def test_events() -> None:
    """Each kind of change has its event; a change of nothing is none."""
    found = [
        as_object_change(0.0, change)
        for change in (
            Change(ChangeType.CREATE, None, POD),
            Change(ChangeType.DELETE, POD, None),
            Change(ChangeType.UPDATE, None, None),
        )
    ]
    assert [None if one is None else one.event for one in found] == ["ADDED", "DELETED", None]


def test_the_ring_keeps_the_last_of_what_matters() -> None:
    """Services and Jobs tell an advisor nothing; beyond the bound the oldest changes are forgotten."""
    ring = ObjectRing(most=3)
    service = Observed(kind="Service", namespace="ns", name="head-svc")
    for number in range(5):
        ring.add(float(number), Change(ChangeType.CREATE, None, POD))
        ring.add(float(number), Change(ChangeType.CREATE, None, service))
    assert [(one.t, one.kind) for one in ring.changes()] == [(2.0, "Pod"), (3.0, "Pod"), (4.0, "Pod")]
    ring.add(9.0, Change(ChangeType.UPDATE, None, None))
    ring.resize(0.4)
    assert [one.t for one in ring.changes()] == [4.0]
    ring.add(10.0, Change(ChangeType.CREATE, None, POD))
    assert [one.t for one in ring.changes()] == [10.0]
