"""What a queue holds, as the verbose log writes it."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.sidecar.queueitems import QueueContent, QueueItem, is_queue_content, queue_content

TIME = datetime(2026, 8, 21, 9, 14, 20, tzinfo=UTC).timestamp()
LINE = (
    b'{"level":"Level(-5)","ts":"2026-08-21T09:14:20.000Z","msg":"workqueue_items","controller":"raycluster","items":['
    b'{"key":{"Namespace":"team-b","Name":"vega-batch"},"addedCounter":412,"priority":-100,'
    b'"readyAt":"2026-08-21T09:19:12.0315Z"},'
    b'{"key":{"Namespace":"team-a","Name":"atlas-train"},"addedCounter":415,"priority":0}]}'
)


def test_ready_and_waiting_keys() -> None:
    """A key that waits has the time at which it is due, one that is ready has none."""
    due = datetime(2026, 8, 21, 9, 19, 12, 31_500, tzinfo=UTC).timestamp()
    items = (QueueItem("team-b/vega-batch", -100, due), QueueItem("team-a/atlas-train", 0, None))
    assert queue_content(LINE) == QueueContent(TIME, "raycluster", items)


def test_an_empty_queue() -> None:
    """It is told as well."""
    line = LINE[: LINE.index(b"[{")] + b"[]}"
    assert queue_content(line) == QueueContent(TIME, "raycluster", ())


def test_what_go_leaves_out_where_it_is_zero() -> None:
    """A key of no namespace, and a priority of zero."""
    line = b'{"ts":"2026-08-21T09:14:20.000Z","controller":"x","items":[{"key":{"Name":"a"}}]}'
    assert queue_content(line) == QueueContent(TIME, "x", (QueueItem("/a", 0, None),))


def test_another_zone_and_nanoseconds() -> None:
    """Go writes times with nine digits and with its own zone."""
    line = LINE.replace(b"09:14:20.000Z", b"11:14:20.000+0200").replace(b"09:19:12.0315Z", b"11:19:12.031500999+02:00")
    found = queue_content(line)
    assert found is not None
    assert found.time == TIME
    assert found.items[0].ready_at == pytest.approx(TIME + 292.0315, abs=1e-5)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        LINE[:-20],
        LINE.replace(b'"2026-08-21T09:14:20.000Z"', b'"yesterday"'),
        LINE.replace(b'"ts":"2026-08-21T09:14:20.000Z"', b'"ts":1'),
        LINE.replace(b'"priority":0', b'"priority":"high"'),
        LINE.replace(b'"controller":"raycluster",', b""),
        LINE.replace(b'"readyAt":"2026', b'"readyAt":"x'),
        b"[" * 2000,
    ],
)
def test_what_cannot_be_read(line: bytes) -> None:
    """It is nothing, not an error."""
    assert queue_content(line) is None


def test_which_lines_it_is() -> None:
    """By the message at the front of the line, not by a text further behind."""
    assert is_queue_content(LINE)
    assert not is_queue_content(LINE.replace(b"workqueue_items", b"Reconciling"))
    assert not is_queue_content(b'{"msg":"x","text":"' + b"y" * 300 + b'"msg":"workqueue_items"}')


@given(
    keys=st.dictionaries(
        st.tuples(st.text(max_size=5), st.text(max_size=5)),
        st.tuples(st.integers(-1000, 1000), st.none() | st.integers(0, 2_000_000_000_000)),
        max_size=8,
    )
)
def test_any_content(keys: dict[tuple[str, str], tuple[int, int | None]]) -> None:
    """What was written is read, whatever the names."""
    items = [
        {"key": {"Namespace": namespace, "Name": name}, "addedCounter": 1, "priority": priority}
        | ({} if due is None else {"readyAt": datetime.fromtimestamp(due / 1000, UTC).isoformat()})
        for (namespace, name), (priority, due) in keys.items()
    ]
    line = json.dumps({"ts": "2026-08-21T09:14:20.000Z", "controller": "x", "items": items}).encode()
    assert queue_content(line) == QueueContent(
        TIME,
        "x",
        tuple(
            QueueItem(f"{namespace}/{name}", priority, None if due is None else due / 1000)
            for (namespace, name), (priority, due) in keys.items()
        ),
    )
