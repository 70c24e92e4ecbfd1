"""A process that is killed and a disk that is full lose nothing that was kept."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from advisor.model.signal import Window
from advisor.store import Store, StoreReadError, StoreWriteError
from tests.store.storemade import FAILURE, NOW, document_of, samples_of, verdict
from tests.support import ROOT

WRITER = """
import sys
from pathlib import Path
from advisor.store import Store
from tests.store.storemade import *
store = Store.open(Path(sys.argv[1]), now=NOW)
number = 0
while True:
    number += 1
    report = store.add_report("a", NOW + number, verdict(), document_of(number))
    print(report, number, flush=True)
    store.add_samples("a", NOW + number, samples_of(number, 0.0))
    if number % 7 == 0:
        store.prune(NOW + 7200 + number * 600)
"""

LIMITED = """
import resource, sys
from pathlib import Path
from advisor.store import Store, StoreWriteError
from tests.store.storemade import *
import os
store = Store.open(Path(sys.argv[1]), now=NOW)
first = store.add_report("a", NOW, verdict(), document_of(1))
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, hard))
kept = [first]
try:
    while len(kept) < 1000:
        kept.append(store.add_report("a", NOW, verdict(), os.urandom(20_000)))
except StoreWriteError as error:
    print("raised", error)
assert store.latest("a").id == kept[-1]
assert store.document(first) == document_of(1)
assert all(store.document(one) for one in kept)
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
kept.append(store.add_report("a", NOW, verdict(), document_of(2)))
assert [row.id for row in store.reports("a", limit=2000)] == kept[::-1]
store.close()
print("recovered", len(kept))
"""


def environment() -> dict[str, str]:
    """That of the test, with its modules to be found."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([*filter(None, sys.path), str(ROOT)])}


@pytest.mark.parametrize("reports", [1, 20, 45])
def test_kill_loses_no_report(tmp_path: Path, reports: int) -> None:
    """Each report that was told as kept is there with its document after SIGKILL in the middle of more."""
    path = tmp_path / "history.db"
    told: list[str] = []
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True, env=environment()
    ) as writer:
        assert writer.stdout is not None
        while len(told) < reports and (line := writer.stdout.readline()):
            told.append(line)
        writer.send_signal(signal.SIGKILL)
        told += [line for line in writer.stdout if line.endswith("\n")]
    assert writer.returncode == -signal.SIGKILL
    with Store.open(path, now=NOW) as store:
        assert store.problem is None
        assert len(told) >= reports
        for line in told:
            report_id, number = map(int, line.split())
            assert store.document(report_id) == document_of(number)
        # The samples of a report were added before the next one.
        samples = sum(len(series) for series in store.series("a", Window(0, 2 * NOW))[:1])
        assert samples >= min(len(told) - 1, 1)


def test_a_limit_of_the_system_raises_and_recovers(tmp_path: Path) -> None:
    """Where the system lets the file grow no further, adding raises, reading goes on; with room again adding, too."""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path / "history.db")],
        capture_output=True,
        text=True,
        env=environment(),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    raised, recovered = done.stdout.splitlines()
    assert raised.startswith("raised ")
    assert "make room on its disk" in raised
    assert recovered.startswith("recovered ")


@pytest.mark.parametrize("path", ["history.db", None])
def test_a_full_disk_raises_and_recovers(tmp_path: Path, path: str | None) -> None:
    """Every way of adding raises and leaves nothing half done; afterwards all of it works."""
    with Store.open(None if path is None else tmp_path / path, now=NOW) as store:
        first = store.add_report("a", NOW, verdict(), b"{}")
        change = store.add_change("a", NOW, "qps", 1.0, 2.0)
        writer = store._connections.writer
        assert writer is not None
        (pages,) = writer.execute("PRAGMA page_count").fetchone()
        writer.execute(f"PRAGMA max_page_count = {pages}")
        noise = os.urandom(50_000)
        name = "b" * 20_000
        for add in (
            lambda: store.add_report("b", NOW, verdict(), noise),
            lambda: store.add_samples("b", NOW, [(noise.hex(), (), 1.0)]),
            lambda: store.add_failure(name, NOW, FAILURE),
            lambda: store.add_change(name, NOW, "qps", 1.0, 2.0),
            lambda: store.set_outcome(change, noise, None),
        ):
            with pytest.raises(StoreWriteError, match="make room"):
                add()
        assert store.operators() == ["a"]
        assert store.document(first) == b"{}"
        writer.execute("PRAGMA max_page_count = 1000000")
        assert store.document(store.add_report("b", NOW, verdict(), noise)) == noise
        for at in range(3):
            store.add_samples("b", NOW + at, samples_of(1.0, 1.0))
        assert len(store.series("b", Window(NOW, NOW + 9))[0]) == 3
        assert store.set_outcome(change, noise, None)


def test_an_error_inside_undoes_all() -> None:
    """What the database refuses to take is as if it had not been tried."""
    with Store.open(None, now=NOW) as store:
        with pytest.raises(TypeError):
            store.add_report("a", NOW, verdict(), "text")  # type: ignore[arg-type]
        assert store.operators() == []
        store.add_report("a", NOW, verdict(), b"{}")


@pytest.mark.parametrize("path", ["history.db", None])
def test_a_closed_history_refuses(tmp_path: Path, path: str | None) -> None:
    """Reading and writing raise errors of this program."""
    store = Store.open(None if path is None else tmp_path / path, now=NOW)
    store.operators()
    store.close()
    store.close()
    with pytest.raises(StoreReadError, match="closed"):
        store.operators()
    with pytest.raises(StoreWriteError, match="closed"):
        store.add_failure("a", NOW, FAILURE)
    with pytest.raises(StoreWriteError, match="closed"):
        store.prune(NOW)
