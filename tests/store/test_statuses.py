"""How operators stand is read once, and what pages ask of many takes one query."""

from pathlib import Path

import pytest

from advisor.store import Store
from tests.store.storemade import FAILURE, NOW, samples_of, verdict


def test_what_is_added_is_seen_at_once(tmp_path: Path) -> None:
    """Statuses that were read before are those of before; after each addition they are read anew."""
    with Store.open(tmp_path / "history.db", now=NOW) as store:
        assert store.statuses() == []
        assert not store.has_report()
        store.add_report("a", NOW, verdict(), b"{}")
        (first,) = store.statuses()
        assert store.has_report()
        assert store.statuses()[0] is first
        store.add_samples("a", NOW, samples_of(1.0, 1.0))
        assert store.statuses()[0] is first
        store.add_failure("b", NOW, FAILURE)
        assert [one.operator for one in store.statuses()] == ["a", "b"]
        store.prune(NOW + 400 * 86_400.0)
        store.prune(NOW + 400 * 86_400.0 + 3600.0)
        assert store.statuses() == []


def test_what_another_process_adds_is_seen(tmp_path: Path) -> None:
    """A history that is only read is read each time."""
    path = tmp_path / "history.db"
    with Store.open(path, now=NOW) as writer:
        writer.add_report("a", NOW, verdict(), b"{}")
        reader = Store.open(path, now=NOW)
        assert reader._connections.writer is not None
        reader._connections.writer.close()
        reader._connections.writer = None
        with reader:
            assert reader.revision is None
            assert len(reader.statuses()) == 1
            writer.add_report("b", NOW, verdict(), b"{}")
            assert len(reader.statuses()) == 2


def test_one_operator() -> None:
    """It is what the list says of it; one that is not known is None."""
    with Store.open(None, now=NOW) as store:
        store.add_report("a", NOW, verdict(), b"{}")
        store.add_failure("a", NOW, FAILURE)
        store.add_report("b", NOW, verdict(), b"{}")
        assert [store.status("a"), store.status("b")] == list(store.statuses())
        assert store.status("c") is None


@pytest.mark.parametrize("name", ["b", "b'; DROP TABLE reports; --", "\N{CAT FACE}\0x"])
def test_queue_waits(name: str) -> None:
    """Of each that is asked for the last ones, in the order in which they were added."""
    with Store.open(None, now=NOW) as store:
        for number in range(5):
            store.add_report("a", NOW - number, verdict(wait_seconds=float(number)), b"{}")
            store.add_report(name, NOW, verdict(wait_seconds=9.0), b"{}")
        store.add_failure("never", NOW, FAILURE)
        assert store.queue_waits(["a", "never", "unknown"], limit=3) == {
            "a": [2.0, 3.0, 4.0],
            "never": [],
            "unknown": [],
        }
        assert store.queue_waits([name], limit=1) == {name: [9.0]}
        assert store.queue_waits([], limit=3) == {}


def test_what_was_told_is_kept(tmp_path: Path) -> None:
    """Of each operator the last word, until it is taken back or nothing is left of the operator."""
    path = tmp_path / "history.db"
    with Store.open(path, now=NOW) as store:
        store.set_told("a", b"1")
        store.set_told("a", b"2")
        store.set_told("b", b"3")
        store.set_told("b", None)
    with Store.open(path, now=NOW) as store:
        assert store.told() == {"a": b"2"}
        store.prune(NOW)
        assert store.told() == {}
