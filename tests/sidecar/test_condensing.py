from hypothesis import given
from hypothesis import strategies as st

from advisor.model.raw import LogRecord, Subject
from advisor.model.signal import Window
from advisor.sidecar.condensing import RecordRing, condensed
from advisor.signals.logdigest import Key, KeyTotals, LogDigest
from advisor.sources.recording import RecordingSource
from tests.support import ROOT

EXAMPLE = ROOT / "advisor" / "examples" / "saturated-one-worker"
WINDOW = Window(0.0, 1e12)


def line(
    time: float,
    subject: Subject = Subject.LINE,
    *,
    name: str = "one",
    identity: str = "a",
    controller: str = "raycluster",
) -> LogRecord:
    """A record of one reconcile."""
    return LogRecord(
        time=time, subject=subject, controller=controller, namespace="ns", name=name, reconcile_id=identity
    )


def totals(records: list[LogRecord]) -> dict[Key, KeyTotals]:
    """What an analysis makes of records."""
    digest = LogDigest()
    for record in records:
        digest.add(record)
    return digest.totals(WINDOW)


@st.composite
def logs(draw: st.DrawFn) -> list[LogRecord]:
    """A log in which reconciles of several keys run beside each other."""
    open_ids = dict.fromkeys(["one", "two", "three"], 0)
    subjects = st.sampled_from([Subject.LINE] * 6 + [Subject.POD_CREATED, Subject.ERROR, Subject.END])
    records = []
    for time in range(draw(st.integers(0, 60))):
        name = draw(st.sampled_from(sorted(open_ids)))
        open_ids[name] += draw(st.integers(0, 5)) == 0
        records.append(line(float(time), draw(subjects), name=name, identity=f"{name}-{open_ids[name]}"))
    return records


class TestCondensed:
    def test_plain_lines_between_others_go(self) -> None:
        """Of the plain lines of a reconcile the first and the last stay, and whatever is more than a plain line."""
        first, created, last = line(1), line(3, Subject.POD_CREATED), line(6)
        other = line(4, name="two", identity="b")
        assert condensed([first, line(2), created, other, line(5), last]) == [first, created, other, last]

    def test_lines_of_no_reconcile_stay(self) -> None:
        """Without an id nothing tells what belongs together."""
        lines = [line(1, identity=""), line(2, identity=""), line(3, identity="")]
        assert condensed(lines) == lines

    @given(logs())
    def test_an_analysis_sees_the_same(self, records: list[LogRecord]) -> None:
        """Reconciles, busy time, errors and Pods by key are those of the whole log."""
        assert totals(condensed(records)) == totals(records)


class TestRecordRing:
    @given(logs(), st.integers(1, 7))
    def test_gives_the_same_figures_as_the_whole_log(self, records: list[LogRecord], pieces: int) -> None:
        """However the log comes in pieces, what is kept makes the same reconciles, spans, errors and Pods."""
        ring = RecordRing()
        for at in range(0, len(records), pieces):
            ring.add(condensed(records[at : at + pieces]))
        assert totals(ring.records()) == totals(records)

    def test_is_bounded_and_keeps_what_came_last(self) -> None:
        """Beyond its bound the oldest records are forgotten, and the plain lines of keys silent longest."""
        ring = RecordRing(most=10)
        for number in range(100):
            ring.add([line(number, name=f"n{number}", identity=str(number)), line(number + 0.5, identity=str(number))])
        kept = ring.records()
        assert len(kept) <= 20
        assert {record.time for record in kept} >= {99.0, 98.0}
        assert min(record.time for record in kept) >= 80.0

    def test_holds_less_where_memory_is_short(self) -> None:
        """A share of its bound takes effect at once."""
        ring = RecordRing(most=10)
        ring.add([line(number, Subject.POD_CREATED) for number in range(10)])
        ring.resize(0.2)
        assert [record.time for record in ring.records()] == [8.0, 9.0]

    def test_lines_of_the_operator_itself_are_kept(self) -> None:
        """What starts, leads or stops the operator has no key; other lines without one tell nothing."""
        ring = RecordRing()
        lost = LogRecord(time=1.0, subject=Subject.LEADER_LOST)
        ring.add([lost, LogRecord(time=2.0, subject=Subject.LINE)])
        assert ring.records() == [lost]

    def test_a_real_log(self) -> None:
        """Of a recorded log the ring keeps a small part, and an analysis of it sees the same of every key."""
        records = list(RecordingSource(EXAMPLE).log())
        ring = RecordRing()
        ring.add(condensed(records))
        assert len(ring.records()) < len(records) / 3
        assert totals(ring.records()) == totals(records)
