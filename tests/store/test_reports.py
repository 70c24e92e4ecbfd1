"""Reports, failures and changes are kept and found again."""

from collections.abc import Iterator

import pytest

from advisor.model.finding import FindingCode
from advisor.store import BasisRow, FailureRow, OperatorStatus, ReportRow, Store, StoreReadError
from advisor.store.retention import DAY
from tests.store.storemade import FAILURE, NOW, document_of, failure, verdict


@pytest.fixture
def store() -> Iterator[Store]:
    """A history in memory."""
    with Store.open(None, now=NOW) as opened:
        yield opened


def test_a_report_is_kept(store: Store) -> None:
    """Verdict, time and the exact bytes of the document come back; others are not there."""
    text = document_of(1) + b"\xff\x00"
    report_id = store.add_report("a", NOW, verdict(FindingCode.HOT_KEY), text)
    assert store.latest("a") == ReportRow(report_id, "a", NOW, verdict(FindingCode.HOT_KEY))
    assert store.document(report_id) == text
    assert store.row(report_id) == store.latest("a")
    assert store.document(report_id + 1) is None
    assert store.row(report_id + 1) is None
    assert store.latest("b") is None


def test_documents_in_a_row_take_little_room(store: Store) -> None:
    """Each of many similar documents comes back as it was, shorter, longer, empty or quite another."""
    texts = [document_of(number, 1500 + number) for number in range(10)]
    texts += [b"", b"x", bytes(range(256)) * 300, document_of(3)]
    ids = [store.add_report("a", NOW + at, verdict(), text) for at, text in enumerate(texts)]
    assert [store.document(one) for one in ids] == texts


def test_reports_come_newest_first_in_pages(store: Store) -> None:
    """Bounds of time include their ends, pages follow each other by id, and operators are apart."""
    ids = [store.add_report("a", NOW + at, verdict(), b"{}") for at in range(5)]
    store.add_report("b", NOW, verdict(), b"{}")
    assert [row.id for row in store.reports("a")] == ids[::-1]
    assert [row.id for row in store.reports("a", since=NOW + 1, until=NOW + 3)] == ids[3:0:-1]
    assert [row.id for row in store.reports("a", limit=2)] == ids[:2:-1]
    assert [row.id for row in store.reports("a", before_id=ids[3], limit=2)] == [ids[2], ids[1]]
    assert store.reports("nobody") == []


def test_the_newest_report_is_the_one_added_last(store: Store) -> None:
    """A clock that was ahead for a while leaves no report that seems newer than those after it."""
    store.add_report("a", NOW + 1e6, verdict(), b"{}")
    last = store.add_report("a", NOW, verdict(), b"{}")
    latest = store.latest("a")
    assert latest is not None
    assert latest.id == last


def test_statuses_tell_how_each_operator_stands(store: Store) -> None:
    """A failure counts until the next report, the newest one only; an operator may have nothing but failures."""
    store.add_failure("fails", NOW, failure("first"))
    store.add_failure("fails", NOW + 1, FAILURE)
    store.add_failure("mended", NOW, FAILURE)
    mended = store.add_report("mended", NOW + 1, verdict(), b"{}")
    broken = store.add_report("broken", NOW, verdict(), b"{}")
    store.add_failure("broken", NOW + 1, FAILURE)
    assert store.operators() == ["broken", "fails", "mended"]
    assert store.statuses() == [
        OperatorStatus("broken", ReportRow(broken, "broken", NOW, verdict()), FailureRow("broken", NOW + 1, FAILURE)),
        OperatorStatus("fails", None, FailureRow("fails", NOW + 1, FAILURE)),
        OperatorStatus("mended", ReportRow(mended, "mended", NOW + 1, verdict()), None),
    ]


def test_changes_get_their_outcome_later(store: Store) -> None:
    """What was predicted stays when what was measured comes; changes of one or of all operators, newest first."""
    first = store.add_change("a", NOW, "concurrency", 1.0, 4.0)
    second = store.add_change("b", NOW + 1, "qps", None, 50.0)
    assert store.set_outcome(first, b"predicted", None)
    assert store.set_outcome(first, None, b"measured")
    assert not store.set_outcome(99, b"", b"")
    (change,) = store.changes("a")
    assert (change.id, change.operator, change.time, change.setting) == (first, "a", NOW, "concurrency")
    assert (change.before, change.after, change.predicted, change.measured) == (1.0, 4.0, b"predicted", b"measured")
    assert [one.id for one in store.changes(None)] == [second, first]
    assert [one.id for one in store.changes(None, since=NOW + 1)] == [second]
    assert [one.id for one in store.changes(None, limit=1)] == [second]
    assert store.changes("b")[0].before is None


def test_changes_that_were_seen_together(store: Store) -> None:
    """Several settings are kept at once, the prediction with the first; earlier ones come in pages."""
    moves = (("qps", 100.0, 50.0), ("burst", 200.0, 100.0))
    first = store.add_changes("a", NOW, moves, b"predicted")
    later = store.add_change("a", NOW + 1, "concurrency", 1.0, 4.0)
    assert [(one.setting, one.predicted) for one in store.changes("a", before_id=later)] == [
        ("burst", None),
        ("qps", b"predicted"),
    ]
    assert store.changes("a", before_id=first) == []


def test_the_last_measurement_of_each_operator(store: Store) -> None:
    """Of a change that has none the one before counts; a damaged one is left out, and told where it is asked for."""
    changes = {name: [store.add_change(name, NOW + at, "qps", 1.0, 2.0) for at in range(3)] for name in ("b", "a")}
    for name, ids in changes.items():
        for number, change in enumerate(ids[:2]):
            store.set_outcome(change, None, f"{name}{number}".encode())
    assert store.last_measured() == [("a", b"a1"), ("b", b"b1")]
    with store._connections.write() as connection:
        connection.execute("UPDATE changes SET measured = x'00' WHERE id = ?", (changes["a"][1],))
    assert store.last_measured() == [("b", b"b1")]
    with pytest.raises(StoreReadError, match="damaged"):
        store.changes("a")


def test_times_of_reports(store: Store) -> None:
    """Every report that is kept, without its verdict, the newest first."""
    ids = [store.add_report("a", NOW + at, verdict(), b"{}") for at in range(3)]
    store.add_report("b", NOW, verdict(), b"{}")
    assert store.report_times("a") == [(ids[at], NOW + at) for at in (2, 1, 0)]
    assert store.report_times("c") == []


def test_names_are_data(store: Store) -> None:
    """Quotes, control characters and emoji in names stay as they are."""
    name = "'; DROP TABLE reports; -- \x07 \N{PILE OF POO}"
    store.add_report(name, NOW, verdict(), b"{}")
    assert store.operators() == [name]
    assert store.latest(name) is not None


@pytest.mark.parametrize("what", ["UPDATE documents SET data = x'00'", "UPDATE reports SET verdict = x'7b7d'"])
def test_damage_inside_is_told(store: Store, what: str) -> None:
    """A document or verdict that cannot be read raises an error of its own; the rest is read on."""
    report_id = store.add_report("a", NOW, verdict(), b"{}")
    with store._connections.write() as connection:
        connection.execute(what)
    with pytest.raises(StoreReadError, match="damaged"):
        (store.document(report_id), store.latest("a"))
    assert store.operators() == ["a"]


def test_a_damaged_base_takes_no_new_report_with_it(store: Store) -> None:
    """The next document is kept alone where the one it would be compressed against is broken."""
    store.add_report("a", NOW, verdict(), document_of(1))
    with store._connections.write() as connection:
        connection.execute("UPDATE documents SET data = x'00'")
    assert store.document(store.add_report("a", NOW + 1, verdict(), document_of(2))) == document_of(2)


def test_the_basis_of_what_ifs() -> None:
    """The newest is kept; where an analysis finds none, the one before stays beside the reason."""
    with Store.open(None, now=NOW) as store:
        assert store.basis("a") is None
        store.set_basis("a", NOW, None, "idle")
        assert store.basis("a") == BasisRow(None, None, "idle")
        store.set_basis("a", NOW + 1.0, b"one")
        assert store.basis("a") == BasisRow(NOW + 1.0, b"one", "")
        store.set_basis("a", NOW + 2.0, None, "idle again")
        assert store.basis("a") == BasisRow(NOW + 1.0, b"one", "idle again")
        store.set_basis("a", NOW + 3.0, b"two")
        assert store.basis("a") == BasisRow(NOW + 3.0, b"two", "")


def test_the_basis_goes_with_the_last_report() -> None:
    """Of an operator that is watched no more nothing is left in the end."""
    with Store.open(None, now=NOW) as store:
        store.add_report("a", NOW, verdict(), b"{}")
        store.set_basis("a", NOW, b"one")
        store.prune(NOW + 60.0)
        assert store.basis("a") is not None
        for day in range(1, 32):
            store.prune(NOW + day * DAY)
        assert store.basis("a") is None
        assert store.operators() == []
