import json
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from advisor.model.raw import Subject
from advisor.sidecar.budget import CpuBudget
from advisor.sidecar.follower import FileFollower
from advisor.sidecar.logreader import LogBatch, LogReader
from advisor.sidecar.streams import StreamFollower
from tests.support import until

STAMP = "2026-08-21T09:14:{:02d}.000Z"


def line(second: int, message: str, **fields: object) -> bytes:
    """A line of the operator's log."""
    front = {"level": "info", "ts": STAMP.format(second), "logger": "controllers.RayCluster", "msg": message}
    own = {"RayCluster": {"name": "one", "namespace": "ns"}, "reconcileID": "id"}
    return json.dumps(front | own | fields, separators=(",", ":")).encode() + b"\n"


CONTENT = (
    b'{"level":"Level(-5)","ts":"2026-08-21T09:14:05.000Z","msg":"workqueue_items","controller":"raycluster",'
    b'"items":[{"key":{"Namespace":"ns","Name":"one"},"addedCounter":1,"priority":-100}]}\n'
)


class Run:
    """A reader in a thread, and what it has told."""

    def __init__(self, reader: LogReader) -> None:
        self.reader = reader
        self.stop = threading.Event()
        self.thread = threading.Thread(target=reader.run, args=(self.stop,), daemon=True)
        self.thread.start()

    def end(self) -> None:
        """Stop it, and wait."""
        self.stop.set()
        self.thread.join(5.0)
        assert not self.thread.is_alive()


def subjects(batches: Sequence[LogBatch]) -> list[Subject]:
    """Subjects of all records told."""
    return [record.subject for batch in batches for record in batch.records]


class TestReading:
    def test_a_file_is_read_as_it_grows(self, tmp_path: Path) -> None:
        """Records come from what is there and from what is appended; each line is counted by what became of it."""
        path, told = tmp_path / "operator.log", list[LogBatch]()
        path.write_bytes(line(1, "Reconciling Ingress") + b"no JSON\n")
        run = Run(LogReader(lambda: FileFollower(path, from_start=True), [told.append], CpuBudget(4.0)))
        until(lambda: subjects(told) == [Subject.LINE])
        with path.open("ab") as file:
            file.write(line(2, "Unconditional requeue after", seconds=300) + CONTENT)
        until(lambda: subjects(told) == [Subject.LINE, Subject.END])
        run.end()
        figures = run.reader.figures()
        assert dict(figures.lines) == {"parsed": 3, "unreadable": 1, "dropped": 0}
        assert run.reader.counters() == figures.lines
        assert figures.last_time == told[-1].records[-1].time
        assert not figures.is_behind
        assert [content.items[0].priority for batch in told for content in batch.contents] == [-100]
        assert run.reader.health() == ""

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        """It is waited for, and the health says so."""
        run = Run(LogReader(lambda: FileFollower(tmp_path / "no.log", from_start=True), [], CpuBudget()))
        until(lambda: "is not there yet" in run.reader.health())
        run.end()

    def test_a_stream_that_ends(self) -> None:
        """At its end the reader is done, and does not begin again."""
        told = list[LogBatch]()
        pieces = [line(1, "Reconciling Ingress"), line(2, "updateRayClusterStatus")]
        run = Run(LogReader(lambda: StreamFollower(lambda _: iter(pieces)), [told.append], CpuBudget(4.0)))
        run.thread.join(5.0)
        assert not run.thread.is_alive()
        assert subjects(told) == [Subject.LINE, Subject.LAST_LINE]

    def test_a_sink_that_fails_ends_the_run_and_the_next_one_reads_on(self, tmp_path: Path) -> None:
        """What fails is raised for whoever runs the part again; the follower is closed, and counts go on."""
        path = tmp_path / "operator.log"
        path.write_bytes(line(1, "Reconciling Ingress"))

        def fail(_: LogBatch) -> None:
            raise ValueError("no")

        reader = LogReader(lambda: FileFollower(path, from_start=True), [fail], CpuBudget(4.0))
        for _ in range(2):
            with pytest.raises(ValueError, match="no"):
                reader.run(threading.Event())
        assert reader.figures().lines["parsed"] == 2

    def test_beyond_the_budget_it_pauses(self, tmp_path: Path) -> None:
        """A reader that has used its CPU waits between pieces, and tells for how long."""
        path = tmp_path / "operator.log"
        path.write_bytes(line(1, "Reconciling Ingress") * 20_000)
        budget = CpuBudget(0.001, burst_seconds=0.001, longest_pause_seconds=0.2)
        told = list[LogBatch]()
        run = Run(LogReader(lambda: FileFollower(path, from_start=True, most_bytes=10_000), [told.append], budget))
        until(lambda: run.reader.figures().throttled_seconds > 0.3)
        assert run.reader.figures().is_behind
        run.end()
        assert told[0].is_behind
