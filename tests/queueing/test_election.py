from hypothesis import given
from hypothesis import strategies as st

from advisor.queueing.election import Elector, Lease, Role

SECOND = 1_000_000_000


def test_the_first_takes_the_lease() -> None:
    """A lease that nobody has ever had is taken at the first try, and that is no transition."""
    lease, elector = Lease(), Elector("one")
    assert (elector.role, elector.next_deadline_ns()) == (Role.STANDBY, 0)
    assert elector.tick(0, lease) is Role.LEADER
    assert lease == Lease("one", 0, 0)


def test_a_standby_waits() -> None:
    """As long as the leader renews, a standby stays one."""
    lease, one, two = Lease(), Elector("one"), Elector("two")
    for second in range(0, 100, 2):
        assert one.tick(second * SECOND, lease) is Role.LEADER
        assert two.tick(second * SECOND, lease) is Role.STANDBY
    assert lease.renewed_ns == 98 * SECOND


def test_tries_are_two_seconds_apart() -> None:
    """A tick between tries does nothing, and `next_deadline_ns` says when the next one is due."""
    lease, elector = Lease(), Elector("one")
    elector.tick(5 * SECOND, lease)
    assert elector.next_deadline_ns() == 7 * SECOND
    elector.tick(7 * SECOND - 1, lease)
    assert lease.renewed_ns == 5 * SECOND
    elector.tick(7 * SECOND, lease)
    assert lease.renewed_ns == 7 * SECOND


def test_a_leader_gives_up_ten_seconds_after_its_first_failed_try() -> None:
    """The time to renew counts from the try that failed, not from the last renewal, as in client-go."""
    lease, elector = Lease(), Elector("one")
    elector.tick(0, lease)
    roles = [elector.tick(second * SECOND, lease, reachable=False) for second in range(2, 14, 2)]
    assert roles == [Role.LEADER] * 5 + [Role.LOST]
    assert elector.next_deadline_ns() is None


def test_a_renewal_in_time_starts_the_count_again() -> None:
    """One success among failures and the leader has its whole time again."""
    lease, elector = Lease(), Elector("one")
    for second in range(0, 30, 2):
        assert elector.tick(second * SECOND, lease, reachable=second in (0, 10, 20)) is Role.LEADER


def test_who_lost_the_lease_never_leads_again() -> None:
    """The process ends, so nothing brings the role back."""
    lease, elector = Lease(), Elector("one")
    elector.tick(0, lease)
    for second in (2, 12):
        elector.tick(second * SECOND, lease, reachable=False)
    assert elector.tick(20 * SECOND, lease) is Role.LOST
    assert lease.renewed_ns == 0


def test_a_standby_takes_over_when_it_has_seen_no_renewal_for_the_lease() -> None:
    """By its own clock: 15 s after it first saw the last renewal, whatever time is written there."""
    lease, two = Lease("one", 10**18, 3), Elector("two")
    seconds = [second for second in range(100, 130) if two.tick(second * SECOND, lease) is Role.LEADER]
    # Seen first at 100 s; tries are at even seconds.
    assert seconds[0] == 116
    assert (lease.holder, lease.transitions) == ("two", 4)


def test_a_standby_that_sees_nothing_does_not_count() -> None:
    """Time in which the API server cannot be reached is no time without renewal that was seen."""
    lease, two = Lease("one", 0), Elector("two")
    for second in range(0, 40, 2):
        assert two.tick(second * SECOND, lease, reachable=False) is Role.STANDBY
    assert two.tick(40 * SECOND, lease) is Role.STANDBY
    assert two.tick(56 * SECOND, lease) is Role.LEADER


def test_a_new_holder_starts_the_count_again() -> None:
    """A lease that changed hands has changed, also if the time written there is the same."""
    lease, three = Lease("one", 0), Elector("three")
    three.tick(0, lease)
    lease.holder = "two"
    assert three.tick(14 * SECOND, lease) is Role.STANDBY
    assert three.tick(28 * SECOND, lease) is Role.STANDBY
    assert three.tick(30 * SECOND, lease) is Role.LEADER


def test_release_lets_another_in_at_once() -> None:
    """A clean stop gives the lease up; whoever tries next has it."""
    lease, one, two = Lease(), Elector("one"), Elector("two")
    one.tick(0, lease)
    two.tick(0, lease)
    one.release(lease)
    assert (one.role, lease.holder) == (Role.LOST, "")
    assert two.tick(2 * SECOND, lease) is Role.LEADER
    assert lease.transitions == 1


def test_release_of_another_s_lease_does_nothing_to_it() -> None:
    """A standby that stops leaves the leader's lease alone."""
    lease, one, two = Lease(), Elector("one"), Elector("two")
    one.tick(0, lease)
    two.tick(0, lease)
    two.release(lease)
    assert lease.holder == "one"


def test_a_restarted_holder_goes_on() -> None:
    """A process that comes back under the same name need not wait, and that is no transition."""
    lease = Lease("one", 0, 2)
    assert Elector("one").tick(SECOND, lease) is Role.LEADER
    assert lease.transitions == 2


@given(tries=st.lists(st.tuples(*3 * [st.booleans()], st.permutations([0, 1, 2])), max_size=40))
def test_never_two_leaders(tries: list[tuple[bool, bool, bool, list[int]]]) -> None:
    """Whatever fails when, at most one replica leads, as long as clocks run alike and tries come in time."""
    lease = Lease()
    electors = [Elector(f"r{number}") for number in range(3)]
    for number, (*reachable, order) in enumerate(tries):
        for one in order:
            electors[one].tick(2 * number * SECOND, lease, reachable=reachable[one])
            assert sum(elector.role is Role.LEADER for elector in electors) <= 1
