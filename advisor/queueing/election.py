"""Leader election by a lease: who may run workers (research: controller-runtime 3.4, 3.6).

Replicas add no throughput: a standby starts no worker, and a leader that loses its lease ends as a process.
"""

from dataclasses import dataclass
from enum import Enum

from advisor.queueing.types import NANOSECONDS_PER_SECOND

__all__ = ["Elector", "Lease", "Role"]

_LEASE_NS = 15 * NANOSECONDS_PER_SECOND
_RENEW_NS = 10 * NANOSECONDS_PER_SECOND
_RETRY_NS = 2 * NANOSECONDS_PER_SECOND


class Role(Enum):
    """What a candidate is now."""

    STANDBY = "standby"
    LEADER = "leader"
    # It led and could not renew in time; its process ends.
    LOST = "lost"


@dataclass(slots=True)
class Lease:
    """The shared lease object.

    Attributes:
        holder: who has it; "" after a release, and before anyone had it.
        renewed_ns: when it was last taken or renewed; None before anyone had it.
        transitions: how often it was taken over; the first taking is none.
    """

    holder: str = ""
    renewed_ns: int | None = None
    transitions: int = 0


class Elector:
    """One candidate. The driver calls `tick` at `next_deadline_ns`, saying whether the API server can be reached.

    Args:
        identity: name of this replica.
        lease_ns: how long others have to see no renewal before they take over.
        renew_ns: how long a leader tries to renew before it gives up, counted from its first try that failed.
        retry_ns: time between tries, and from a renewal to the next.
    """

    def __init__(
        self, identity: str, *, lease_ns: int = _LEASE_NS, renew_ns: int = _RENEW_NS, retry_ns: int = _RETRY_NS
    ) -> None:
        self.identity = identity
        self.role = Role.STANDBY
        self._lease_ns = lease_ns
        self._renew_ns = renew_ns
        self._retry_ns = retry_ns
        self._next_try_ns = 0
        self._failing_since_ns: int | None = None
        self._seen: tuple[str, int | None] | None = None
        self._seen_at_ns = 0

    def next_deadline_ns(self) -> int | None:
        """When to try again; None once the lease is lost."""
        return None if self.role is Role.LOST else self._next_try_ns

    def tick(self, now_ns: int, lease: Lease, *, reachable: bool = True) -> Role:
        """Try to take or renew the lease.

        Args:
            now_ns: the time.
            lease: the shared lease; changed if it is taken or renewed.
            reachable: whether the API server answered.
        """
        if self.role is Role.LOST or now_ns < self._next_try_ns:
            return self.role
        self._next_try_ns = now_ns + self._retry_ns
        if reachable and self._may_write(now_ns, lease):
            if lease.holder != self.identity and lease.renewed_ns is not None:
                lease.transitions += 1
            lease.holder, lease.renewed_ns = self.identity, now_ns
            self._failing_since_ns = None
            self.role = Role.LEADER
        elif self.role is Role.LEADER:
            if self._failing_since_ns is None:
                self._failing_since_ns = now_ns
            if now_ns - self._failing_since_ns >= self._renew_ns:
                self.role = Role.LOST
        return self.role

    def release(self, lease: Lease) -> None:
        """Give the lease up at a clean stop, so that another need not wait for its end."""
        if lease.holder == self.identity:
            lease.holder = ""
        self.role = Role.LOST

    def _may_write(self, now_ns: int, lease: Lease) -> bool:
        """A lease is up when it has not been seen to change for its duration, by this candidate's own clock."""
        if lease.holder in ("", self.identity):
            return True
        if (seen := (lease.holder, lease.renewed_ns)) != self._seen:
            self._seen, self._seen_at_ns = seen, now_ns
        return now_ns - self._seen_at_ns >= self._lease_ns
