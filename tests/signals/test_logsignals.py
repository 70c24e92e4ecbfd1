from typing import Final

import pytest

from advisor.model.raw import Subject
from advisor.model.signal import Quality, Signal, Unit, Window
from advisor.model.signals import KeyLoad, NamespaceLoad
from advisor.signals.logdigest import Key, KeyTotals
from advisor.signals.logsignals import key_loads, log_signals, namespace_loads
from tests.signals.builders import digest, reasons, record, values

WINDOW: Final = Window(0, 100)


def key(name: str, namespace: str = "team") -> Key:
    """A RayCluster's key."""
    return Key("raycluster", namespace, name)


class TestLogSignals:
    def test_every_signal_has_the_value_computed_by_hand(self) -> None:
        """Throttling, blocked groups, errors and leadership of one window; what lies outside does not count."""
        found = log_signals(
            digest(
                record(10, Subject.THROTTLED, delay_seconds=1.5, detail="https://h/api/v1/namespaces/team/pods"),
                record(20, Subject.THROTTLED, delay_seconds=3.5, detail="https://h/api/v1/namespaces/team/pods"),
                record(25, Subject.THROTTLED, delay_seconds=1.1, detail="https://h/apis/ray.io/v1/rayclusters"),
                record(120, Subject.THROTTLED, "z", delay_seconds=9.0, detail="https://h/apis/ray.io/v1/rayjobs"),
                record(30, Subject.EXPECTATION, "b", detail="gpu"),
                record(65, name="b", reconcile_id="2"),
                record(80, Subject.EXPECTATION, "c", detail="gpu"),
                record(90, name="c", reconcile_id="2"),
                record(91, Subject.ERROR, "d", detail="deleted 3 worker Pods based on ScaleStrategy, requeueing"),
                record(92, Subject.ERROR, "e", detail="quota exceeded"),
                record(93, Subject.ERROR, "f", detail="quota exceeded"),
                record(94, Subject.CONFLICT, "g", detail="the object has been modified"),
                record(95, Subject.LEADER_LOST, ""),
            ),
            WINDOW,
        )
        assert values(found) == {
            "throttle_lines": 3.0,
            "throttle_wait_seconds_peak": 3.5,
            "blocked_groups": 1.0,
            "blocked_seconds_peak": 35.0,
            "control_flow_errors": 1.0,
            "conflicts": 1.0,
            "lease_losses": 1.0,
        }
        assert (found.throttled_kind, found.commonest_error) == ("pods", "quota exceeded")

    def test_lines_that_are_sampled_away_make_a_lower_bound(self) -> None:
        """At most one throttling line is written in ten seconds: their number is a lower bound."""
        found = log_signals(digest(record(10, Subject.THROTTLED, delay_seconds=1.5)), WINDOW)
        assert found.throttle_lines == Signal(
            unit=Unit.COUNT,
            value=1.0,
            quality=Quality.LOWER_BOUND,
            window=WINDOW,
            origin="client-side throttling lines [operator log]",
        )

    def test_without_a_log_all_is_missing(self) -> None:
        """No log: nothing is known, and nothing is zero."""
        found = log_signals(digest(), WINDOW)
        assert set(reasons(found).values()) == {"no operator log in the input"}
        assert [name for name, value in values(found).items() if value is not None] == []
        assert (found.throttled_kind, found.commonest_error) == ("", "")

    def test_a_log_that_begins_later_tells_nothing(self) -> None:
        """Before the log's first line nothing is known; after its last one a quiet operator just writes nothing."""
        late = digest(record(WINDOW.end + 1.0))
        assert set(reasons(log_signals(late, WINDOW)).values()) == {"the operator log begins after this window"}
        early = digest(record(WINDOW.start - 1.0))
        assert log_signals(early, WINDOW).throttle_lines.value == 0.0

    def test_a_quiet_log(self) -> None:
        """A log without such lines counts none; a wait or a block that is not in it is not known to be short."""
        found = log_signals(digest(record(10)), WINDOW)
        assert values(found) == {
            "throttle_lines": 0.0,
            "throttle_wait_seconds_peak": None,
            "blocked_groups": 0.0,
            "blocked_seconds_peak": None,
            "control_flow_errors": 0.0,
            "conflicts": 0.0,
            "lease_losses": 0.0,
        }
        assert reasons(found) == {
            "throttle_wait_seconds_peak": "no throttling line; waits under 1 s are not logged",
            "blocked_seconds_peak": "no group was skipped",
        }

    @pytest.mark.parametrize(
        ("url", "kind"),
        [
            ("https://h/api/v1/namespaces/team/pods", "pods"),
            ("https://h/api/v1/namespaces/team/pods/a-head", "pods"),
            ("https://h/apis/ray.io/v1/namespaces/team/rayclusters/a/status", "rayclusters"),
            ("https://h/apis/coordination.k8s.io/v1/leases", "leases"),
            ("https://h/version", ""),
            ("", ""),
        ],
    )
    def test_the_throttled_kind_is_in_the_address(self, url: str, kind: str) -> None:
        """The kind of object is the first part of the path that is not a group or a namespace."""
        found = log_signals(digest(record(10, Subject.THROTTLED, delay_seconds=1.5, detail=url)), WINDOW)
        assert found.throttled_kind == kind


class TestKeyLoads:
    TOTALS: Final = {
        key("b"): KeyTotals(reconciles=1, busy_seconds=1.0),
        key("a"): KeyTotals(reconciles=2, busy_seconds=1.0),
        key("c"): KeyTotals(reconciles=1, busy_seconds=6.0, errors=1, conflicts=1, pods_created=7),
        key("a", "other"): KeyTotals(reconciles=1, busy_seconds=2.0, errors=1, pods_created=1),
    }

    def test_the_busiest_first_and_no_more_than_asked_for(self) -> None:
        """Keys in order of busy time, then of reconciles; shares are of all keys, also those not shown."""
        assert key_loads(self.TOTALS, 3) == (
            KeyLoad(
                controller="raycluster",
                namespace="team",
                name="c",
                reconciles=1,
                busy_seconds=6.0,
                busy_share=0.6,
                errors=1,
                conflicts=1,
                pods_created=7,
            ),
            KeyLoad(
                controller="raycluster",
                namespace="other",
                name="a",
                reconciles=1,
                busy_seconds=2.0,
                busy_share=0.2,
                errors=1,
                conflicts=0,
                pods_created=1,
            ),
            KeyLoad(
                controller="raycluster",
                namespace="team",
                name="a",
                reconciles=2,
                busy_seconds=1.0,
                busy_share=0.1,
                errors=0,
                conflicts=0,
                pods_created=0,
            ),
        )

    def test_by_namespace(self) -> None:
        """Namespaces add up their keys, the busiest first."""
        assert namespace_loads(self.TOTALS) == (
            NamespaceLoad(namespace="team", reconciles=4, busy_share=0.8, errors=1, pods_created=7),
            NamespaceLoad(namespace="other", reconciles=1, busy_share=0.2, errors=1, pods_created=1),
        )

    def test_without_busy_time_no_key_has_a_share(self) -> None:
        """Reconciles of a single line each take no time that is known, so shares are nothing."""
        totals = {key("a"): KeyTotals(reconciles=1)}
        assert [one.busy_share for one in key_loads(totals, 5)] == [0.0]
        assert [one.busy_share for one in namespace_loads(totals)] == [0.0]

    def test_without_keys(self) -> None:
        """No log, no keys and no namespaces."""
        assert (key_loads({}, 5), namespace_loads({})) == ((), ())
