"""The page docs/conformance.md: behaviours of the real queues, and the tests that check each.

The behaviours are in tests/queueing/conformance.toml; tests are found by the ids in their names.
"""

import ast
import gzip
import tomllib
from pathlib import Path

import msgspec

__all__ = ["page"]

_ROOT = Path(__file__).resolve().parent.parent
_PREFIXES = ("pq", "ml", "ct", "wu", "id", "cf", "hd", "xt")

_HEAD = """\
# The same as in Go

`advisor/queueing` behaves as controller-runtime 0.24 does: its priority queue, the classic queue of client-go before
it, the work loop, the event handlers, and the client's limiter. This page tells how that is checked.

## Traces of the real queues

A Go program (`tests/conformance/go`) plays random sequences of operations on the real queues, in virtual time, and
notes what they hand out, how long they are, and their metrics. The tests play the same on ours and compare after each
operation: {total} sequences, {priority} on the priority queue (`queueing/test_priority_traces.py`) and {classic} on
the classic one (`queueing/test_classic_traces.py`). The traces are stored in `tests/data/conformance`, so the tests
need no Go.

To renew them, for example for another version of controller-runtime in its `go.mod`:

```
make conformance     # needs go; plays all sequences anew and shows what has changed
```

The same version gives the same bytes. [Its README](../tests/conformance/go/README.md) describes the format.

## Behaviours, line by line

Each line below is one behaviour that upstream's own tests assert, or one that its code has and no test of theirs
asserts (XT). The ids are those of research: controller-runtime 2; CL are the rows of its section 1.8. Files are below
`tests`. Where a line has no test, the reason stands in its place. Warmup has no code of its own here: the same machine
starts the sources, whoever asks."""


class _Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One behaviour of the conformance list.

    Attributes:
        says: the behaviour.
        by: tests of it that do not carry its id in their names.
        note: why there is no test, or what is different.
    """

    says: str
    by: tuple[str, ...] = ()
    note: str = ""


def _list() -> dict[str, dict[str, _Line]]:
    """The lines by section and id."""
    text = (_ROOT / "tests" / "queueing" / "conformance.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, dict[str, _Line]])


def _functions() -> dict[str, list[str]]:
    """Where each function of the tests of queues and driver stands, as file::function."""
    found: dict[str, list[str]] = {}
    for folder in ("queueing", "runtime"):
        for path in sorted((_ROOT / "tests" / folder).glob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef):
                    found.setdefault(node.name, []).append(f"{folder}/{path.name}::{node.name}")
    return found


def _ids_in(name: str) -> list[str]:
    """Ids that a test's name begins with: test_ct_32_wu_16_x has CT-32 and WU-16, test_ct_51_to_54_x has four."""
    prefix, ids, is_range = "", list[str](), False
    for word in name.removeprefix("test_").split("_"):
        if word in _PREFIXES and name.startswith("test_"):
            prefix = word.upper()
        elif prefix and word.isdecimal():
            first = int(ids[-1][-2:]) + 1 if is_range else int(word)
            ids += [f"{prefix}-{number:02}" for number in range(first, int(word) + 1)]
        elif not (prefix and ids and word == "to"):
            break
        is_range = word == "to"
    return ids


def page() -> str:
    """The text of docs/conformance.md."""
    known = _functions()
    by_id: dict[str, list[str]] = {}
    for name, places in known.items():
        for one in _ids_in(name):
            by_id.setdefault(one, []).extend(places)
    counts = [_sequences(f"{queue}-queue") for queue in ("priority", "classic")]
    parts = [_HEAD.format(total=sum(counts), priority=counts[0], classic=counts[1])]
    for title, lines in _list().items():
        rows = []
        for one, line in lines.items():
            named = [place for name in line.by for place in known[name]]
            checks = [f"`{place}`" for place in sorted({*by_id.get(one, ()), *named})]
            rows.append(f"| {one} | {line.says} | {'<br>'.join([*checks, *filter(None, [line.note])])} |")
        head = ("| id | what it does | checked by |", "| --- | --- | --- |")
        parts.append(f"## {title}\n\n" + "\n".join((*head, *rows)))
    return "\n\n".join(parts) + "\n"


def _sequences(name: str) -> int:
    with gzip.open(_ROOT / "tests" / "data" / "conformance" / f"{name}.jsonl.gz") as file:
        return sum(1 for _ in file)
