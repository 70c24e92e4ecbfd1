"""The table of which kinds feed which controller."""

import pytest

from advisor.queueing.handlers import KUBERAY_PREDICATES, LOW_PRIORITY
from advisor.queueing.informer import Change, ChangeType
from advisor.queueing.objectstore import OwnerReference
from advisor.queueing.types import AddOptions
from advisor.sidecar.observed import Observed
from advisor.sidecar.rules import RULES


class Added:
    """A queue with priorities that only notes what is added."""

    has_priorities = True

    def __init__(self) -> None:
        self.keys: list[tuple[str, int | None]] = []

    def add(self, now_ns: int, options: AddOptions, *keys: str) -> None:
        """Note the keys and their priority."""
        self.keys += [(key, options.priority) for key in keys]


def added(controller: str, kind: str, change: Change[Observed]) -> list[tuple[str, int | None]]:
    """What a controller's queue gets of one change of one kind."""
    queue = Added()
    for watched, watch in RULES[controller].watches:
        if watched == kind:
            watch.handle(0, change, queue)
    return queue.keys


def owned(kind: str, owner: str, *, controller: bool = True, version: int = 1) -> Observed:
    """An object that belongs to team-a/one."""
    reference = OwnerReference(owner, "one", "uid", controller)
    return Observed(kind=kind, namespace="team-a", name="part", owners=(reference,), resource_version=version)


@pytest.mark.parametrize(
    ("controller", "kinds"),
    [
        ("raycluster", ["RayCluster", "Pod", "Service"]),
        ("rayjob", ["RayJob", "RayCluster", "Service", "Job"]),
        ("rayservice", ["RayService", "RayCluster", "Service"]),
    ],
)
def test_each_controller_watches_its_own_kind_first_and_then_what_it_owns(controller: str, kinds: list[str]) -> None:
    """The kinds are those of KubeRay's SetupWithManager, less Secrets and volume claims."""
    rules = RULES[controller]
    assert [kind for kind, _ in rules.watches] == kinds
    assert rules.kind == kinds[0]
    assert rules.watches[0][1].predicates == KUBERAY_PREDICATES[rules.kind]


@pytest.mark.parametrize(
    ("controller", "kind"),
    [(name, kind) for name, rules in RULES.items() for kind, _ in rules.watches[1:]],
)
def test_an_owned_object_wakes_the_owner_that_manages_it(controller: str, kind: str) -> None:
    """A change goes in without a priority, and the initial list at -100; other owners do not count."""
    owner = RULES[controller].kind
    one, newer = owned(kind, owner), owned(kind, owner, version=2)
    assert added(controller, kind, Change(ChangeType.UPDATE, one, newer)) == [("team-a/one", None)]
    assert added(controller, kind, Change(ChangeType.CREATE, None, one, is_initial_list=True)) == [
        ("team-a/one", LOW_PRIORITY)
    ]
    assert added(controller, kind, Change(ChangeType.DELETE, one, None)) == [("team-a/one", None)]
    other = owned(kind, owner, controller=False)
    assert added(controller, kind, Change(ChangeType.CREATE, None, other)) == []


@pytest.mark.parametrize(("controller", "is_woken"), [("raycluster", False), ("rayjob", True), ("rayservice", False)])
def test_a_status_write_wakes_only_the_rayjob_controller(controller: str, *, is_woken: bool) -> None:
    """RayCluster and RayService updates need a new generation, label or annotation; RayJob has no predicate."""
    kind = RULES[controller].kind
    old = Observed(kind=kind, namespace="team-a", name="one", resource_version=1, generation=1)
    new = Observed(kind=kind, namespace="team-a", name="one", resource_version=2, generation=1)
    assert added(controller, kind, Change(ChangeType.UPDATE, old, new)) == ([("team-a/one", None)] if is_woken else [])
