import gzip
import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.knowledge.logs import CONFLICT_TEXT, CONTROL_FLOW_ERRORS, LOGGERS, control_flow_error, is_conflict
from advisor.model.raw import LogRecord, ObjectChange, Subject
from advisor.sources.exposition import Exposition, Sample
from advisor.sources.operatorlog import LogParser
from advisor.sources.pseudonyms import CONTROL_FLOW_TEXTS, Pseudonyms, anonymous_args

SECRET = b"0123456789abcdef"
RAYCLUSTERS = "/apis/ray.io/v1/namespaces/team-a/rayclusters"
UUID = "24d3fe1b-51af-4825-b12b-cf0128d11c10"


def one_name() -> Pseudonyms:
    """Pseudonyms that know of a namespace and an object."""
    names = Pseudonyms(SECRET)
    names.learn(LogRecord(time=0.0, subject=Subject.LINE, namespace="team-a", name="rc-000"))
    return names


class TestNames:
    def test_the_same_name_has_the_same_pseudonym(self) -> None:
        """Within one key names stay apart and the same; another key gives others."""
        first, second = Pseudonyms(), Pseudonyms()
        assert first.of("a") == first.of("a") != first.of("b")
        assert first.of("a") != second.of("a")
        assert first.of("") == ""

    def test_labels(self) -> None:
        """Words of Kubernetes stay; whatever may be a name, an address or an image is replaced."""
        names = Pseudonyms(SECRET)

        def shown(metric: str, /, **labels: str) -> dict[str, str]:
            sample = Sample(metric, tuple(labels.items()), 1.0)
            return dict(names.exposition(Exposition([sample], {}, 0, ended=True)).samples[0].labels)

        assert shown("x", controller="raycluster", result="success", le="+Inf", instance="10.0.0.1:80") == {
            "controller": "raycluster",
            "result": "success",
            "le": "+Inf",
            "instance": names.of("10.0.0.1:80"),
        }
        assert shown("workqueue_depth", name="raycluster") == {"name": "raycluster"}
        assert shown("kuberay_cluster_info", name="raycluster") == {"name": names.of("raycluster")}
        assert shown("container_x", container="kuberay-operator", pod="p") == {
            "container": "kuberay-operator",
            "pod": names.of("p"),
        }
        assert shown("container_x", container="secret") == {"container": names.of("secret")}

    def test_objects(self) -> None:
        """Names of an object are replaced, its state is kept where it is one."""
        names = Pseudonyms(SECRET)
        change = ObjectChange(
            t=1.0,
            event="ADDED",
            kind="Pod",
            namespace="team-a",
            name="rc-000-head",
            cluster="rc-000",
            state="ready",
            phase="Pending",
            node_type="odd-one",
            ready=True,
            desired=3,
        )
        found = msgspec.json.decode(names.change(change), type=ObjectChange)
        assert found == msgspec.structs.replace(
            change,
            namespace=names.of("team-a"),
            name=names.of("rc-000-head"),
            cluster=names.of("rc-000"),
            node_type=names.of("odd-one"),
        )
        bare = ObjectChange(t=1.0, event="ADDED", kind="RayCluster", namespace="a", name="b")
        assert msgspec.json.decode(names.change(bare), type=ObjectChange).cluster is None


class TestTexts:
    def test_known_names_are_replaced_and_unknown_words_dropped(self) -> None:
        """Words of error texts stay, so that the report can still say what failed."""
        names = one_name()
        text = 'pods "rc-000-head-x" is forbidden: exceeded quota: rc-000, in team-a/rc-000. code 403 at 10.0.0.1:6443'
        assert names.text(text) == (
            f'pods "…" is forbidden: exceeded quota: {names.of("rc-000")}, '
            f"in {names.of('team-a')}/{names.of('rc-000')}. code 403 at …:6443"
        )

    def test_a_conflict_stays_one(self) -> None:
        """The text that tells a conflict is kept, whatever names are words of it."""
        names = one_name()
        names.of("object")
        text = f'Operation cannot be fulfilled on rayclusters.ray.io "rc-000": {CONFLICT_TEXT}'
        assert is_conflict(names.text(text))
        assert "rc-000" not in names.text(text)

    def test_errors_on_purpose_stay_that(self) -> None:
        """Each such error has a text of its own without names, and no other has one."""
        assert CONTROL_FLOW_TEXTS.keys() == {error.name for error in CONTROL_FLOW_ERRORS}
        for name, text in CONTROL_FLOW_TEXTS.items():
            found = control_flow_error(one_name().text(text + " rc-000"))
            assert found is not None
            assert found.name == name

    @given(st.text())
    def test_no_unknown_word_survives(self, text: str) -> None:
        """What is left of any text are known words, short numbers and punctuation."""
        names = one_name()
        once = names.text(f"{text} rc-000 Grünau x_y-1234567")
        assert "rc-000" not in once
        assert "Grünau" not in once
        assert "x_y" not in once


RECORDS = st.builds(
    LogRecord,
    time=st.integers(1_700_000_000_000, 1_900_000_000_000).map(lambda number: number / 1000.0)
    | st.just(1_700_000_000.123456),
    subject=st.sampled_from(Subject),
    controller=st.sampled_from([spec.controller for spec in LOGGERS]),
    namespace=st.sampled_from(["team-a", "team-b"]),
    name=st.sampled_from(["rc-000", "rc-001"]),
    reconcile_id=st.sampled_from([UUID, "odd"]),
    delay_seconds=st.just(1.5),
)


class TestLines:
    @given(RECORDS, st.sampled_from(["head", "g0"]), st.booleans())
    def test_a_line_gives_its_record_again(self, record: LogRecord, group: str, verbose: bool) -> None:
        """What the parser reads of the new line is the old record with its names replaced."""
        names = Pseudonyms(SECRET)
        details = {
            Subject.ERROR: ("failed to create pods", "failed to create pods"),
            Subject.CONFLICT: (CONFLICT_TEXT, CONFLICT_TEXT),
            Subject.THROTTLED: (
                "PUT https://h:1/apis/ray.io/v1/namespaces/team-a/rayclusters/x",
                "PUT /api/v1/rayclusters",
            ),
            Subject.EXPECTATION: (group, group if group == "head" else names.of(group)),
        }
        told, shown = details.get(record.subject, ("", ""))
        exact = record.subject is Subject.START or (verbose and record.subject is Subject.END)
        delayed = record.subject in (Subject.END, Subject.THROTTLED) and not exact
        record = msgspec.structs.replace(
            record, exact=exact, detail=told, delay_seconds=record.delay_seconds if delayed else None
        )
        line = names.line(record)
        (found,) = LogParser().records([line.encode()])
        assert found == msgspec.structs.replace(
            record,
            namespace=names.of(record.namespace),
            name=names.of(record.name),
            reconcile_id=UUID if record.reconcile_id == UUID else names.of("odd"),
            detail=shown,
        )
        assert "team-" not in line
        assert "rc-0" not in line

    @pytest.mark.parametrize("subject", [Subject.LEADER_ACQUIRED, Subject.LEADER_LOST, Subject.THROTTLED])
    def test_lines_without_a_key(self, subject: Subject) -> None:
        """Leader election and old throttling lines belong to no object."""
        record = LogRecord(time=1.0, subject=subject, delay_seconds=2.0, detail="what no address looks like")
        (found,) = LogParser().records([Pseudonyms().line(record).encode()])
        assert (found.subject, found.name) == (subject, "")
        assert found.detail.strip() == ""

    def test_every_line_of_a_recorded_log(self, shared: Path) -> None:
        """Logs of real operators give the same records, but for names and texts."""
        for folder in ("errors-quota-refused", "throttled-classic-queue", "expectation-blocked", "verbose-log"):
            paths = (shared / "recordings" / folder).glob("operator.*.gz")
            lines = [line for path in paths for line in gzip.decompress(path.read_bytes()).splitlines()]
            names = Pseudonyms(SECRET)
            before = list(LogParser().records(lines))
            after = list(LogParser().records(names.line(record).encode() for record in before))
            plain = [msgspec.structs.replace(one, namespace="", name="", detail="") for one in before]
            assert [msgspec.structs.replace(one, namespace="", name="", detail="") for one in after] == plain
            assert [(one.namespace, one.name) for one in after] == [
                (names.of(one.namespace), names.of(one.name)) for one in before
            ]


def test_arguments_keep_their_places() -> None:
    """Numbers and switches stay, names and paths do not, and no flag moves."""
    args = ("/manager", "--qps=50", "--burst", "100", "--watch-namespace=team-a", "--x", "/path", "-v=true", "--Odd=1")
    assert list(anonymous_args(args)) == [
        "…", "--qps=50", "--burst", "100", "--watch-namespace=…", "--x", "…", "-v=true", "…",
    ]  # fmt: skip


def test_lines_are_json() -> None:
    """A line is one JSON object, whatever stands in its names."""
    record = LogRecord(
        time=1.0, subject=Subject.ERROR, controller="rayjob", namespace='a"\n', name="b", detail='"\n\x00'
    )
    assert json.loads(Pseudonyms().line(record))["logger"] == "controllers.RayJob"
