"""Pods in the twin: how they come up and go away, what the operator has seen of them, and what it expects.

A group of Pods is one worker group of a RayCluster, or its head. When Pods count as created is research: kuberay 4.5.
"""

from collections import deque
from typing import TYPE_CHECKING

from advisor.queueing.expectations import CREATE_TIMEOUT_NS
from advisor.twin.client import Random
from advisor.twin.engine import Engine
from advisor.twin.observer import PodLook
from advisor.twin.parameters import WorldParameters
from advisor.twin.watch import Watch
from advisor.twin.world import ServiceLine

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Group", "Pod", "Pods", "PodsOf"]


class PodsOf:
    """What the operator sees of all Pods of one cluster; the base of whatever has Pods.

    Attributes:
        key: of the cluster.
        seen_pods: Pods in the operator's cache, the head's included.
        seen_running: those of them that run.
        seen_head_running: whether the head does.
    """

    __slots__ = ("key", "seen_head_running", "seen_pods", "seen_running")

    def __init__(self, key: str) -> None:
        self.key = key
        self.seen_pods = 0
        self.seen_running = 0
        self.seen_head_running = False


class Group:
    """A group of Pods.

    Attributes:
        owner: the cluster.
        is_head: whether it is the head's.
        desired: how many Pods are asked for.
        seen_desired: the same as the operator's cache has it.
        pods: those that exist, oldest first.
        seen: those that the operator's cache has, in order of sight.
        expected: those whose creation or deletion the operator waits to see, in order of the request.
    """

    __slots__ = ("desired", "expected", "is_head", "owner", "pods", "seen", "seen_desired")

    def __init__(self, owner: PodsOf, desired: int, *, is_head: bool = False) -> None:
        self.owner = owner
        self.is_head = is_head
        self.desired = desired
        self.seen_desired = 0
        self.pods: list[Pod] = []
        self.seen: list[Pod] = []
        self.expected: list[Pod] = []

    def is_settled(self, now_ns: int) -> bool:
        """Whether the operator waits for nothing; what has come is dropped, up to the first that has not.

        A creation counts as seen 30 s after the request, a deletion only when the Pod is gone.
        """
        expected = self.expected
        met = 0
        for pod in expected:
            if pod.is_seen is pod.is_leaving and (pod.is_leaving or now_ns - pod.asked_ns <= CREATE_TIMEOUT_NS):
                break
            met += 1
        del expected[:met]
        return not expected


class Pod:
    """One Pod.

    Attributes:
        group: it belongs to.
        asked_ns: when it was created, or its deletion asked for.
        bound_ns: when it was seen to be bound to a node.
        exists: it is there.
        is_seen: the operator's cache has it.
        is_leaving: its deletion has been asked for.
        is_running: it has been seen to run.
    """

    __slots__ = ("asked_ns", "bound_ns", "exists", "group", "is_leaving", "is_running", "is_seen")

    bound_ns: int

    def __init__(self, group: Group, asked_ns: int) -> None:
        self.group = group
        self.asked_ns = asked_ns
        self.exists = True
        self.is_seen = False
        self.is_leaving = False
        self.is_running = False


class Pods:
    """Everything that happens to Pods between a request of the operator and the events that it causes.

    Attributes:
        engine: virtual time.
        wake: called with the key of the cluster at each event of a Pod of it.
        merges: called before with time and key; `wake` is not called where it says that there is no need to.
        writes: of others for Pods: bind, status, removal.
        started: Pods that came to run.
        starting_ns: their time from bound to running.
    """

    def __init__(
        self,
        engine: Engine,
        line: ServiceLine,
        watch: Watch,
        world: WorldParameters,
        random: Random,
    ) -> None:
        self.wake: Callable[[str], None] = lambda _: None
        self.merges: Callable[[int, str], bool] = lambda _now_ns, _key: False
        self.writes = 0
        self.started = 0
        self.starting_ns = 0
        self.engine = engine
        self._line = line
        self._watch = watch
        self._draw = random.random
        self._faults = world.faults
        self._may_stay_pending = world.faults.pod_pending_ratio > 0
        self._work_ns = round(world.pod_work_seconds * 1e9)
        self._starts_ns = tuple(round(world.pod_start_seconds * one * 1e9) for one in world.pod_start_spread)
        self._choices = float(len(self._starts_ns))
        self._stop_ns = round(world.pod_stop_seconds * 1e9)
        self._starters = world.pod_starters
        self._to_start: deque[Pod] = deque()
        # Bound once: each use would bind them anew.
        self._on_seen = self._see
        self._on_bound = self._see_bound
        self._on_running = self._see_running

    def create(self, group: Group) -> None:
        """The operator has created a Pod; it holds its group back until it is seen."""
        engine = self.engine
        pod = Pod(group, engine.now_ns)
        group.pods.append(pod)
        group.expected.append(pod)
        if engine.observer is not None:
            self._show(pod, "ADDED")
        self._watch.deliver(self._on_seen, pod)

    def add_running(self, group: Group) -> None:
        """A Pod that has been there and seen for long."""
        pod = Pod(group, 0)
        group.pods.append(pod)
        self._enter(pod)
        self._run(pod)
        self._show(pod, "EXISTING")

    def delete(self, pod: Pod) -> None:
        """The operator has asked for a Pod's end; it holds its group back until the Pod is gone."""
        pod.group.expected.append(pod)
        self.end(pod)

    def end(self, pod: Pod) -> None:
        """Somebody has asked for a Pod's end."""
        now_ns = self.engine.now_ns
        pod.asked_ns = now_ns
        if pod.is_leaving:
            return
        pod.is_leaving = True
        self._show(pod, "MODIFIED")
        self._watch.deliver(self._see_change, pod)
        faults = self._faults
        end_ns = now_ns + self._stop_ns
        if self._is_now(faults.pod_stuck_ratio):
            if faults.to_seconds is None:
                return
            end_ns = max(end_ns, round(faults.to_seconds * 1e9))
        self.engine.at(end_ns, self._remove, pod)

    def collect(self, group: Group) -> None:
        """The garbage collector deletes a whole group, one write for each Pod."""
        for pod in group.pods:
            self.writes += 1
            self.engine.at(self._line.finish_ns(self.engine.now_ns, self._work_ns), self.end, pod)

    def list_group(self, group: Group) -> None:
        """A new process of the operator reads the group as it is, and expects nothing."""
        group.expected.clear()
        group.seen_desired = group.desired
        for pod in [pod for pod in group.seen if not pod.exists]:
            self._leave(pod)
        for pod in group.pods:
            if not pod.is_seen:
                self._enter(pod)

    def _show(self, pod: Pod, event: str) -> None:
        engine, group = self.engine, pod.group
        if engine.observer is not None:
            look = PodLook(pod, group.owner.key, is_head=group.is_head, is_running=pod.is_running)
            engine.observer.pod_changed(engine.now_ns, event, look)

    def _is_now(self, ratio: float) -> bool:
        faults, now = self._faults, self.engine.now_ns / 1e9
        if not ratio or now < faults.from_seconds or (faults.to_seconds is not None and now >= faults.to_seconds):
            return False
        return self._draw() < ratio

    # The way up: created, seen, bound, running. Each step is an event that wakes the cluster's key.

    def _see(self, pod: Pod) -> None:
        if not pod.exists:
            return
        if not pod.is_seen:
            pod.is_seen = True
            group = pod.group
            group.seen.append(pod)
            owner = group.owner
            owner.seen_pods += 1
            merges = self.merges
            if not merges(self.engine.now_ns, owner.key):
                self.wake(owner.key)
        if self._may_stay_pending and self._is_now(self._faults.pod_pending_ratio):
            return
        self.writes += 1
        self._watch.write(self._work_ns, self._on_bound, pod)

    def _see_bound(self, pod: Pod) -> None:
        engine = self.engine
        pod.bound_ns = engine.now_ns
        if engine.observer is not None:
            self._show(pod, "MODIFIED")
        key = pod.group.owner.key
        merges = self.merges
        if not merges(engine.now_ns, key):
            self.wake(key)
        draw = self._draw
        start_ns = self._starts_ns[int(draw() * self._choices)]
        if start_ns:
            engine.at(engine.now_ns + start_ns, self._start, pod)
        else:
            self._start(pod)

    def _start(self, pod: Pod) -> None:
        if not pod.exists:
            return
        if not self._starters:
            self._to_start.append(pod)
        else:
            self._starters -= 1
            self.writes += 1
            self._watch.write(self._work_ns, self._on_running, pod)

    def _see_running(self, pod: Pod) -> None:
        self._starters += 1
        if self._to_start:
            self._start_next()
        if pod.is_seen:
            # As `_run`, without the cost of a call.
            pod.is_running = True
            group = pod.group
            owner = group.owner
            owner.seen_running += 1
            if group.is_head:
                owner.seen_head_running = True
            engine = self.engine
            self.started += 1
            self.starting_ns += engine.now_ns - pod.bound_ns
            if engine.observer is not None:
                self._show(pod, "MODIFIED")
            merges = self.merges
            if not merges(engine.now_ns, owner.key):
                self.wake(owner.key)

    def _start_next(self) -> None:
        while self._to_start and self._starters:
            self._start(self._to_start.popleft())

    def _enter(self, pod: Pod) -> None:
        pod.is_seen = True
        pod.group.seen.append(pod)
        pod.group.owner.seen_pods += 1

    def _run(self, pod: Pod) -> None:
        pod.is_running = True
        pod.group.owner.seen_running += 1
        if pod.group.is_head:
            pod.group.owner.seen_head_running = True

    # The way down: terminating, removed.

    def _see_change(self, pod: Pod) -> None:
        self.wake(pod.group.owner.key)

    def _remove(self, pod: Pod) -> None:
        pod.exists = False
        pod.group.pods.remove(pod)
        self._show(pod, "DELETED")
        self.writes += 1
        self._watch.write(self._work_ns, self._see_removed, pod)

    def _see_removed(self, pod: Pod) -> None:
        if pod.is_seen:
            self._leave(pod)
            self.wake(pod.group.owner.key)

    def _leave(self, pod: Pod) -> None:
        group = pod.group
        pod.is_seen = False
        group.seen.remove(pod)
        group.owner.seen_pods -= 1
        if pod.is_running:
            group.owner.seen_running -= 1
            if group.is_head:
                group.owner.seen_head_running = False
