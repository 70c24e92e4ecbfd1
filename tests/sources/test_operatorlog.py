import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.knowledge.logs import CONFLICT_TEXT, LOGGERS, POD_CREATED_MESSAGES, LoggerSpec
from advisor.model.raw import LogRecord, Subject
from advisor.model.signal import Window
from advisor.signals.logdigest import LogDigest
from advisor.sources.operatorlog import BACKOFF, LogParser
from advisor.sources.textstream import LineReader

STAMP = "2026-08-21T09:14:02.117Z"
TIME = datetime(2026, 8, 21, 9, 14, 2, 117_000, tzinfo=UTC).timestamp()
KEY = {"name": "atlas", "namespace": "team-a"}
ID = "6f0c2f0e-5d0b-4a61-9d6a-1b1f6d2f3a10"
KLOG = "I0821 09:14:03.500000       1 request.go:655] "
OLD_WAIT = "Waited for {} due to client-side throttling, not priority and fairness, request: POST:https://h/api/v1/pods"


def line(message: str = "Reconciling Ingress", /, **fields: object) -> bytes:
    """A line of the RayCluster controller about one key, as zap writes it; fields may replace the usual ones."""
    front = {"level": "info", "ts": STAMP, "logger": "controllers.RayCluster", "msg": message}
    return compact(front | {"RayCluster": KEY, "reconcileID": ID} | fields)


def compact(fields: Mapping[str, object]) -> bytes:
    """JSON without blanks."""
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()


def record(subject: Subject = Subject.LINE, **fields: object) -> LogRecord:
    """What such a line gives."""
    usual = LogRecord(
        time=TIME, subject=subject, controller="raycluster", namespace="team-a", name="atlas", reconcile_id=ID
    )
    return msgspec.structs.replace(usual, **fields)


def parse(*lines: bytes) -> list[LogRecord]:
    """Records of lines of which each one can be read."""
    parser = LogParser()
    found = list(parser.records(lines))
    assert (parser.lines, parser.unreadable) == (len(lines), 0)
    return found


class TestOwners:
    @pytest.mark.parametrize("spec", LOGGERS, ids=lambda spec: spec.controller)
    def test_the_logger_tells_the_controller(self, spec: LoggerSpec) -> None:
        """Each controller's key stands in a field of its own, and other keys in the line do not matter."""
        fields = {"level": "info", "ts": STAMP, "logger": spec.logger, "msg": "x", spec.key_field: KEY}
        others = {"reconcileID": ID, "RayFoo": {"name": "other", "namespace": "other"}, "name": "a-pod"}
        assert parse(compact(fields | others)) == [record(controller=spec.controller)]

    def test_a_job_that_names_its_cluster(self) -> None:
        """Lines of a RayJob often carry a RayCluster too, as a text or an object."""
        front = {"level": "info", "ts": STAMP, "logger": "controllers.RayJob", "msg": "x"}
        cluster = {"name": "etl-x7k2p", "namespace": "team-a"}
        after = front | {"RayJob": KEY, "reconcileID": ID, "RayCluster": cluster}
        before = front | {"RayCluster": cluster, "RayJob": KEY, "reconcileID": ID}
        assert parse(compact(after), compact(before)) == [record(controller="rayjob")] * 2

    @pytest.mark.parametrize("second", ['"RayCluster":{"namespace":"x","name":"x"}', '"RayCluster":"x"'])
    @pytest.mark.parametrize("message", ["Error updating status", r"Error updating \"status\""])
    def test_the_first_of_duplicate_keys_wins(self, message: str, second: str) -> None:
        """Some lines repeat the key's field with another object, or with a text."""
        text = f',"error":"x",{second}}}'.encode()
        assert parse(line("MESSAGE").replace(b"MESSAGE", message.encode())[:-1] + text) == [record()]

    def test_the_first_of_duplicate_keys_wins_where_fields_are_decoded(self) -> None:
        """The error of a failed reconcile is the first one given."""
        text = line("Reconciler error", error="first")[:-1] + b',"error":"second","RayCluster":"x"}'
        assert parse(text) == [record(Subject.ERROR, detail="first")]

    @pytest.mark.parametrize(
        "fields",
        [
            {"RayCluster": {"namespace": "team-a", "name": "atlas"}, "reconcileID": ID},
            {"reconcileID": ID, "RayCluster": KEY},
            {"RayCluster": KEY | {"more": {"name": "x"}}, "reconcileID": ID},
            {"extra": 1, "RayCluster": KEY, "reconcileID": ID},
        ],
    )
    @pytest.mark.parametrize("message", ["Reconciling Ingress", "Reconciler error"])
    def test_members_in_another_order(self, message: str, fields: dict[str, object]) -> None:
        """Nothing depends on the usual order of the fields, or of the key's own."""
        front = {"level": "info", "ts": STAMP, "logger": "controllers.RayCluster", "msg": message}
        subject = Subject.ERROR if message == "Reconciler error" else Subject.LINE
        assert parse(compact(front | fields), compact(fields | front)) == [record(subject)] * 2

    def test_lines_of_no_key_and_no_matter(self) -> None:
        """What the manager writes at its start gives no record, and is not unreadable."""
        front: dict[str, object] = {"level": "info", "ts": STAMP}
        lines: list[dict[str, object]] = [
            front | {"logger": "setup", "msg": "Setup manager"},
            front | {"logger": "controllers.RayCluster", "msg": "Starting Controller"},
            front | {"msg": "Cleaned up expired RayCluster metric", "name": "atlas", "namespace": "team-a"},
            front | {"logger": "controllers.RayCluster", "msg": "x", "RayCluster": "atlas", "reconcileID": ID},
            front | {"logger": "controllers.RayCluster", "msg": "x", "RayCluster": {}, "reconcileID": ID},
            front | {"logger": "other", "msg": "x", "RayCluster": KEY, "reconcileID": ID},
            front | {"level": "Level(-5)", "msg": "workqueue_items", "controller": "raycluster", "items": []},
        ]
        assert parse(*map(compact, lines)) == []

    def test_the_start_of_a_controller(self) -> None:
        """Each source that starts, and the workers with their number, are told with the controller and no key."""
        front: dict[str, object] = {"level": "info", "ts": STAMP, "logger": "controllers.RayJob"}
        lines = (
            front | {"msg": "Starting EventSource", "source": "kind source: *v1.Job"},
            front | {"msg": "Starting workers", "worker count": 4},
        )
        assert parse(*map(compact, lines)) == [
            LogRecord(time=TIME, subject=Subject.SOURCE_STARTED, controller="rayjob"),
            LogRecord(time=TIME, subject=Subject.WORKERS_STARTED, controller="rayjob", detail="4"),
        ]

    def test_values_of_other_types(self) -> None:
        """What is not a text where one is due counts as absent, and half a character is replaced."""
        odd: dict[str, object] = {"RayCluster": {"name": "atlas", "namespace": 5}, "reconcileID": None}
        assert parse(line(**odd)) == [record(namespace="", reconcile_id="")]
        assert parse(line("Reconciler error", error=["x"])) == [record(Subject.ERROR)]
        half = line("Reconciler error", error="HALF").replace(b"HALF", rb"\ud800")
        assert parse(half) == [record(Subject.ERROR, detail="\N{REPLACEMENT CHARACTER}")]


class TestSubjects:
    @pytest.mark.parametrize(
        ("message", "fields", "subject", "more"),
        [
            ("Reconciler error", {"error": "quota"}, Subject.ERROR, {"detail": "quota"}),
            ("Reconciler error", {"error": f"a: {CONFLICT_TEXT}"}, Subject.CONFLICT, {"detail": f"a: {CONFLICT_TEXT}"}),
            ("Error reconcile resources", {"error": "quota"}, Subject.LINE, {}),
            ("Unconditional requeue after", {"seconds": 300}, Subject.END, {"delay_seconds": 300.0}),
            ("Unconditional requeue after", {}, Subject.END, {}),
            ("Unconditional requeue after", {"seconds": "2m"}, Subject.END, {"delay_seconds": 120.0}),
            ("Unconditional requeue after", {"seconds": True}, Subject.END, {}),
            (POD_CREATED_MESSAGES[0], {"name": "p"}, Subject.POD_CREATED, {}),
            (POD_CREATED_MESSAGES[1], {"name": "p"}, Subject.POD_CREATED, {}),
            ("Randomly deleting Pod", {"with name": "p"}, Subject.POD_DELETED, {}),
            ("Deleted worker Pod for RayCluster", {"name": "p"}, Subject.POD_DELETED, {}),
            (
                "reconcilePods",
                {"worker group": "gpu", "Expectation": "NotSatisfiedGroupExpectations, reconcile the group later"},
                Subject.EXPECTATION,
                {"detail": "gpu"},
            ),
            (
                "reconcilePods",
                {"Expectation": "NotSatisfiedHeadExpectations, reconcile head later"},
                Subject.EXPECTATION,
                {"detail": "head"},
            ),
            ("reconcilePods", {"Expectation": "something else"}, Subject.LINE, {}),
            ("Reconciling", {}, Subject.LINE, {}),
        ],
    )
    def test_lines_at_info_level(
        self, message: str, fields: dict[str, object], subject: Subject, more: dict[str, object]
    ) -> None:
        """What a line reports, whichever way it is read: alone, behind a plain line, or with its fields reordered."""
        wanted = record(subject, **more)
        text = line(message, **fields)
        assert parse(text) == [wanted]
        assert parse(line(), text, line(), text) == [record(), wanted, record(), wanted]
        assert parse(compact(dict(reversed(json.loads(text).items())))) == [wanted]

    @pytest.mark.parametrize(
        ("message", "subject", "more"),
        [
            ("Reconciling", Subject.START, {"exact": True}),
            ("Reconcile done, requeueing after 2s", Subject.END, {"exact": True, "delay_seconds": 2.0}),
            ("Reconcile done, requeueing after 5m0s", Subject.END, {"exact": True, "delay_seconds": 300.0}),
            ("Reconcile done, requeueing", Subject.END, {"exact": True, "detail": BACKOFF}),
            ("Reconcile successful", Subject.END, {"exact": True}),
            ("Something else", Subject.LINE, {}),
            ("Created worker Pod for RayCluster", Subject.LINE, {}),
        ],
    )
    def test_verbose_markers_are_exact(self, message: str, subject: Subject, more: dict[str, Any]) -> None:
        """At verbosity 5 the start and the end of a reconcile are told, also after the same text at another level."""
        text = line(message, level="Level(-5)")
        assert parse(text, text) == [record(subject, **more)] * 2
        assert parse(compact(dict(reversed(json.loads(text).items())))) == [record(subject, **more)]
        assert parse(line(message, level="other"), text)[1] == record(subject, **more)

    def test_a_new_throttling_line(self) -> None:
        """From KubeRay 1.4 on the wait stands in fields, and the line belongs to a key."""
        fields = {"delay": 1.384, "reason": "client-side throttling", "verb": "POST", "URL": "https://h/api/v1/pods"}
        found = record(Subject.THROTTLED, delay_seconds=1.384, detail="POST https://h/api/v1/pods")
        assert parse(line("Waited before sending request", **fields)) == [found]
        assert parse(line("Waited before sending request", level="Level(-3)", **fields)) == [found]
        assert parse(line("Waited before sending request", **fields | {"delay": "1.384s"})) == [found]

    @pytest.mark.parametrize("delay", [{}, {"delay": "soon"}, {"delay": -1}, {"delay": float("nan")}])
    def test_a_throttling_line_without_a_delay(self, delay: dict[str, object]) -> None:
        """A wait of unknown length is no wait that could be counted; the line still belongs to its reconcile."""
        assert parse(line("Waited before sending request", **delay)) == [record()]

    def test_an_old_throttling_line_of_no_key(self) -> None:
        """In KubeRay 1.3 the wait stands in the message, in Go's form, and nothing tells the key."""
        text = compact({"level": "info", "ts": STAMP, "msg": OLD_WAIT.format("1m2.5s")})
        wanted = LogRecord(
            time=TIME, subject=Subject.THROTTLED, delay_seconds=62.5, detail="POST https://h/api/v1/pods"
        )
        assert parse(text) == [wanted]
        other = compact({"level": "info", "ts": STAMP, "msg": "Waited for 1s, retries: 1 - request: GET:https://h"})
        assert parse(other) == []

    @pytest.mark.parametrize(
        ("fields", "subject"),
        [
            ({"msg": "Successfully acquired lease", "lock": "ns/l"}, Subject.LEADER_ACQUIRED),
            ({"msg": "successfully acquired lease ns/l"}, Subject.LEADER_ACQUIRED),
            ({"msg": "Failed to renew lease", "lock": "ns/l", "error": "timeout"}, Subject.LEADER_LOST),
            ({"msg": "failed to renew lease ns/l: timed out"}, Subject.LEADER_LOST),
            (
                {"msg": "problem running manager", "logger": "setup", "error": "leader election lost"},
                Subject.LEADER_LOST,
            ),
        ],
    )
    def test_leader_election(self, fields: dict[str, object], subject: Subject) -> None:
        """Winning and losing the lease are told by lines of no controller, in the words of several releases."""
        assert parse(compact({"level": "info", "ts": STAMP} | fields)) == [LogRecord(time=TIME, subject=subject)]


class TestPlainText:
    def test_throttling_lines_of_klog(self) -> None:
        """Before KubeRay 1.3 the client wrote past the JSON log; year and zone are those of the lines before."""
        found = parse(line(), (KLOG + OLD_WAIT.format("1.2s")).encode())
        assert found[1] == LogRecord(
            time=datetime(2026, 8, 21, 9, 14, 3, 500_000, tzinfo=UTC).timestamp(),
            subject=Subject.THROTTLED,
            delay_seconds=1.2,
            detail="POST https://h/api/v1/pods",
        )

    def test_leader_election_lines_of_klog(self) -> None:
        """Old releases report the lease the same way."""
        found = parse(line(), (KLOG + "successfully acquired lease ns/l").encode())
        assert found[1].subject is Subject.LEADER_ACQUIRED

    @pytest.mark.parametrize(
        ("stamp", "day", "wanted"),
        [
            ("2026-12-31T23:59:59.000Z", "0101", "2027-01-01T09:14:03.5+00:00"),
            ("2027-01-01T00:00:01.000Z", "1231", "2026-12-31T09:14:03.5+00:00"),
            ("2027-12-31T00:00:01.000Z", "0229", "2028-02-29T09:14:03.5+00:00"),
            ("2026-08-21T09:14:02.000+0800", "0821", "2026-08-21T09:14:03.5+08:00"),
        ],
    )
    def test_the_year_and_zone_of_a_line_of_klog(self, stamp: str, day: str, wanted: str) -> None:
        """The year is the one that brings it nearest to the lines before, also over new year."""
        text = KLOG.replace("0821", day) + OLD_WAIT.format("1s")
        assert parse(line(ts=stamp), text.encode())[1].time == datetime.fromisoformat(wanted).timestamp()

    def test_a_console_log_gives_the_year(self) -> None:
        """KubeRay 1.0 writes tabs, not JSON: of its own lines only the time is of use."""
        parser = LogParser()
        console = f"{STAMP}\tINFO\tcontrollers.RayCluster\treconciling RayCluster\t{{}}".encode()
        wait = (KLOG + OLD_WAIT.format("1s")).encode()
        (found,) = parser.records([wait, console, wait])
        assert found.subject is Subject.THROTTLED
        assert (parser.lines, parser.unreadable) == (3, 2)

    @pytest.mark.parametrize(
        "text",
        [
            b"\0\xff\xfe",
            b"panic: runtime error: invalid memory address",
            b"goroutine 1 [running]:",
            (KLOG + "Shutting down").encode(),
            KLOG.replace("0821", "1399").encode() + OLD_WAIT.format("1s").encode(),
            KLOG.encode() + OLD_WAIT.format("soon").encode(),
            b"{",
            b"[]",
            b"{}",
            b'{"ts":1,"msg":5}',
            line(ts="yesterday"),
            line(ts=None),
            line(ts=True),
            compact({"msg": "x", "ts": "x", "logger": "controllers.RayCluster", "RayCluster": KEY}),
            line("Reconciler error", error="x")[:-5],
            line().replace(b'"name":"atlas"', b'"name":atlas'),
            b'{"a":' * 100_000,
            line(ts=0).replace(b'"ts":0', b'"ts":1' + b"0" * 400),
            line(ts=0).replace(b'"ts":0', b'"ts":1' + b"0" * 5000),
            line(ts=0).replace(b'"ts":0', b'"ts":1e999'),
        ],
    )
    def test_what_cannot_be_read_is_counted(self, text: bytes) -> None:
        """Garbage between good lines costs nothing but itself; blank lines are nothing."""
        parser = LogParser()
        assert list(parser.records([line(), text, b"", line()])) == [record(), record()]
        assert (parser.lines, parser.unreadable) == (3, 1)

    @given(st.lists(st.binary(max_size=40) | st.sampled_from([line(), line()[:60], b'{"msg":"', b'{"ts":1}'])))
    def test_nothing_makes_it_fail(self, lines: list[bytes]) -> None:
        """Whatever bytes come, the parser goes on, and each line is counted."""
        parser = LogParser()
        found = list(parser.records(lines))
        assert parser.lines == sum(bool(text) for text in lines)
        assert len(found) >= lines.count(line())


class TestTheShortWay:
    def test_equal_lines_share_one_record(self) -> None:
        """Lines that differ in nothing that matters give the same object, which costs least."""
        first, second = parse(line("reconcilePods", reason="a"), line("reconcilePods", reason="b"))
        assert first is second

    def test_a_text_that_looks_like_the_end_of_the_message(self) -> None:
        """A quote in the message does not end it, even where the key's own text follows."""
        plain = line("x")
        after = plain[plain.index(b'","RayCluster"') : -1].replace(b'"', rb"\"")
        assert parse(plain, plain.replace(b'"x"', rb'"x' + after + b'"')) == [record(), record()]
        fake = line("fake")[:-1].replace(b'"fake"', b'"fake\\"') + b'"}'
        parser = LogParser()
        assert list(parser.records([line("fake"), fake])) == [record()]
        assert parser.unreadable == 1

    def test_many_different_messages(self) -> None:
        """A log in which every message differs is read like any other."""
        lines = [line(f"message {number}") for number in range(10_000)]
        assert parse(*lines, *lines) == [record()] * 20_000

    @given(
        st.lists(
            st.builds(
                line,
                st.sampled_from(["reconcilePods", "Reconciling Ingress", "Reconciler error", "Reconciling", 'a"b']),
                level=st.sampled_from(["info", "error", "Level(-5)"]),
                ts=st.sampled_from([STAMP, "2026-08-21T09:14:02.118Z"]),
                reconcileID=st.sampled_from([ID, "other"]),
                Expectation=st.sampled_from(["", "NotSatisfiedHeadExpectations"]),
            )
        )
    )
    def test_lines_give_the_same_together_and_alone(self, lines: list[bytes]) -> None:
        """What is remembered from line to line changes the speed, never the records."""
        assert parse(*lines) == [one for text in lines for one in parse(text)]

    def test_a_real_log_gives_the_same_as_line_by_line(self, shared: Path) -> None:
        """A recorded log, read as a stream, has the same records and totals as with a new parser a line."""
        path = shared / "recordings" / "saturated-one-worker" / "operator.log.gz"

        def alone(lines: Iterable[bytes]) -> Iterator[LogRecord]:
            for text in lines:
                yield from LogParser().records([text])

        parser = LogParser()
        together = list(parser.records(LineReader(path)))
        assert parser.unreadable == 0
        assert together == list(alone(LineReader(path)))
        digests = LogDigest(), LogDigest()
        for one in together:
            digests[0].add(one)
            # A copy, so that the digest cannot take the short way for one object many times in a row.
            digests[1].add(LogRecord(**{name: getattr(one, name) for name in one.__struct_fields__}))
        window = Window(together[0].time, together[-1].time)
        assert digests[0].totals(window) == digests[1].totals(window)
        assert digests[0].records == digests[1].records == len(together)
        assert digests[0].failures == digests[1].failures
