import pytest

from advisor.model.raw import LogRecord, Subject
from advisor.model.signal import Quality, Window
from advisor.signals.logdigest import Key, KeyTotals
from tests.signals.builders import digest, record

A, B = Key("raycluster", "team", "a"), Key("raycluster", "team", "b")
WINDOW = Window(0, 100)
CONTROL_FLOW = "delete 2 unhealthy worker Pods"


class TestSpans:
    def test_a_span_is_from_the_first_to_the_last_line_of_a_reconcile(self) -> None:
        """Lines of one reconcile make one span; a new id of the key begins the next."""
        found = digest(record(10), record(12), record(15), record(20, reconcile_id="2"), record(21, reconcile_id="2"))
        assert found.totals(WINDOW) == {A: KeyTotals(reconciles=2, busy_seconds=6.0)}

    def test_keys_interleave(self) -> None:
        """Lines of other keys between do not end a span."""
        found = digest(
            record(10), record(11, name="b", reconcile_id="7"), record(14), record(15, name="b", reconcile_id="7")
        )
        assert found.totals(WINDOW) == {
            A: KeyTotals(reconciles=1, busy_seconds=4.0),
            B: KeyTotals(reconciles=1, busy_seconds=4.0),
        }

    def test_one_name_in_two_controllers_is_two_keys(self) -> None:
        """A key belongs to its controller's queue."""
        found = digest(record(10), record(11, controller="networkpolicy"))
        assert set(found.totals(WINDOW)) == {A, Key("networkpolicy", "team", "a")}

    def test_a_line_that_is_earlier_does_not_shorten_a_span(self) -> None:
        """Lines of one reconcile may be out of order by a little."""
        assert digest(record(10), record(15), record(14)).totals(WINDOW) == {
            A: KeyTotals(reconciles=1, busy_seconds=5.0)
        }

    def test_a_record_that_is_given_again(self) -> None:
        """A source may give one record for each of several lines; they are all read, and change nothing."""
        line = record(10)
        found = digest(line, line, line, record(12))
        assert (found.records, found.totals(WINDOW)) == (4, {A: KeyTotals(reconciles=1, busy_seconds=2.0)})

    def test_lines_of_no_key(self) -> None:
        """Lines that name no key are read and belong to none."""
        found = digest(record(10, name=""))
        assert (found.records, found.totals(WINDOW)) == (1, {})

    def test_a_span_counts_where_it_ends_and_its_time_where_it_is(self) -> None:
        """A reconcile across windows counts once, in the later one; its time is split at the border."""
        found = digest(record(40), record(45, Subject.POD_CREATED), record(60, Subject.ERROR, detail="x"))
        assert found.totals(Window(0, 50)) == {A: KeyTotals(busy_seconds=10.0)}
        assert found.totals(Window(50, 100)) == {
            A: KeyTotals(reconciles=1, busy_seconds=10.0, errors=1, pods_created=1)
        }

    @pytest.mark.parametrize("window", [Window(0, 39), Window(61, 100)])
    def test_outside_a_window_it_does_not_count(self, window: Window) -> None:
        """Spans before or after the window are not in it."""
        assert digest(record(40), record(60)).totals(window) == {}

    @pytest.mark.parametrize(
        ("records", "quality"),
        [
            ([], Quality.LOWER_BOUND),
            ([record(1, Subject.START)], Quality.LOWER_BOUND),
            ([record(1, Subject.START, exact=True), record(2, Subject.START)], Quality.EXACT),
        ],
    )
    def test_only_verbose_markers_are_exact(self, records: list[LogRecord], quality: Quality) -> None:
        """Without the verbose start marker the length of a span is a lower bound."""
        assert digest(*records).quality is quality


class TestCounts:
    def test_what_a_reconcile_did(self) -> None:
        """Pods are counted by line, an error or a conflict once a reconcile; a conflict is an error too."""
        found = digest(
            record(1, Subject.START),
            record(2, Subject.POD_CREATED),
            record(3, Subject.POD_CREATED),
            record(3, Subject.POD_DELETED),
            record(4, Subject.CONFLICT, detail="modified"),
            record(5, Subject.ERROR, "b", detail="quota"),
            record(6, Subject.ERROR, "b", detail="quota"),
        )
        assert found.totals(WINDOW) == {
            A: KeyTotals(reconciles=1, busy_seconds=3.0, errors=1, conflicts=1, pods_created=2),
            B: KeyTotals(reconciles=1, busy_seconds=1.0, errors=1),
        }

    def test_failures_tell_control_flow_apart(self) -> None:
        """Errors that a healthy operator returns on purpose are known by their text; a conflict is none of them."""
        found = digest(
            record(1, Subject.ERROR, detail=CONTROL_FLOW),
            record(2, Subject.ERROR, detail="quota exceeded"),
            record(3, Subject.CONFLICT, detail=CONTROL_FLOW),
        )
        assert [(one.time, one.control_flow) for one in found.failures] == [(1, True), (2, False), (3, False)]

    def test_throttling_and_leadership_need_no_key(self) -> None:
        """Lines of the client and of leader election count with or without a key."""
        found = digest(
            record(1, Subject.THROTTLED, delay_seconds=1.5, detail="/api/v1/pods"),
            record(2, Subject.THROTTLED, name=""),
            record(3, Subject.LEADER_LOST, name=""),
            record(4, Subject.LEADER_ACQUIRED, name=""),
        )
        assert [tuple(one) for one in found.throttles] == [(1, 1.5, "/api/v1/pods"), (2, 0.0, "")]
        assert list(found.leader_losses) == [3]


class TestUnmetGroups:
    def test_from_the_first_reconcile_that_skipped_to_the_next_that_did_not(self) -> None:
        """A group is blocked from the start of the first skipping reconcile until the start of one that does it."""
        found = digest(
            record(10, reconcile_id="1"),
            record(11, Subject.EXPECTATION, detail="gpu"),
            record(30, Subject.EXPECTATION, reconcile_id="2", detail="gpu"),
            record(50, reconcile_id="3"),
        )
        assert found.unmet_groups(WINDOW) == {(A, "gpu"): 40.0}
        assert found.unmet_groups(Window(40, 100)) == {(A, "gpu"): 10.0}
        assert found.unmet_groups(Window(60, 100)) == {}

    def test_groups_and_keys_are_apart(self) -> None:
        """A reconcile that skips one group has done the other; other keys do not matter."""
        found = digest(
            record(10, Subject.EXPECTATION, detail="gpu"),
            record(10, Subject.EXPECTATION, detail="cpu"),
            record(15, name="b"),
            record(20, Subject.EXPECTATION, reconcile_id="2", detail="cpu"),
            record(35, reconcile_id="3"),
        )
        assert found.unmet_groups(WINDOW) == {(A, "gpu"): 10.0, (A, "cpu"): 25.0}

    def test_lasts_to_the_end_of_the_window_while_nobody_did_it(self) -> None:
        """A group that was skipped last is blocked until the window ends."""
        assert digest(record(80, Subject.EXPECTATION, detail="gpu")).unmet_groups(WINDOW) == {(A, "gpu"): 20.0}

    def test_the_longest_of_several_times(self) -> None:
        """Of two times for which a group was blocked the longer one counts."""
        found = digest(
            record(10, Subject.EXPECTATION, detail="gpu"),
            record(40, reconcile_id="2"),
            record(50, Subject.EXPECTATION, reconcile_id="3", detail="gpu"),
            record(55, reconcile_id="4"),
        )
        assert found.unmet_groups(WINDOW) == {(A, "gpu"): 30.0}


class TestCommonestError:
    def test_names_do_not_tell_errors_apart(self) -> None:
        """Errors that differ in object names and random suffixes are one; names are left out."""
        found = digest(
            record(1, Subject.ERROR, detail='pods "a-gpu-x7k2p" is forbidden: exceeded quota'),
            record(2, Subject.ERROR, detail='pods "b-cpu-1zzzz" is forbidden: exceeded quota'),
            record(3, Subject.ERROR, detail="time out"),
        )
        assert found.commonest_error(WINDOW) == "pods … is forbidden: exceeded quota"
        assert found.commonest_error(Window(2.5, 9)) == "time out"

    def test_without_errors_there_is_none(self) -> None:
        """No error in the window: no text."""
        assert digest(record(1, Subject.ERROR, detail="x")).commonest_error(Window(5, 9)) == ""

    def test_long_texts_are_cut(self) -> None:
        """No more than 200 characters of an error are kept."""
        assert digest(record(1, Subject.ERROR, detail="x" * 500)).commonest_error(WINDOW) == "x" * 200
