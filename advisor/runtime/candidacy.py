"""A replica's part in leader election, where the lease is shared by the replicas of one process."""

import threading
from collections.abc import Callable

from advisor.queueing.election import Elector, Lease, Role

__all__ = ["Candidacy", "SharedLease"]


class SharedLease:
    """A lease that several replicas try for, one at a time."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.lease = Lease()


class Candidacy:
    """One replica's elector with the lease that it tries for. The replicas' clocks have to be the same.

    Args:
        elector: the replica's.
        shared: the lease, common to all replicas.
        is_reachable: whether the API server answers; asked at each try.
    """

    def __init__(self, elector: Elector, shared: SharedLease, is_reachable: Callable[[], bool] = lambda: True) -> None:
        self._elector = elector
        self._shared = shared
        self._is_reachable = is_reachable

    @property
    def role(self) -> Role:
        """What the replica is, as of its last try."""
        return self._elector.role

    def step(self, now_ns: int) -> Role:
        """Try to take or renew the lease if it is time to."""
        deadline_ns = self._elector.next_deadline_ns()
        if deadline_ns is not None and now_ns >= deadline_ns:
            reachable = self._is_reachable()
            with self._shared.lock:
                self._elector.tick(now_ns, self._shared.lease, reachable=reachable)
        return self._elector.role

    def next_deadline_ns(self) -> int | None:
        """When to try again; None once the lease is lost."""
        return self._elector.next_deadline_ns()

    def release(self) -> None:
        """Give the lease up, so that another replica need not wait for its end."""
        with self._shared.lock:
            self._elector.release(self._shared.lease)
