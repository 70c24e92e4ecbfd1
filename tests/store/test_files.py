"""The file of the history is opened whatever state it is in, and never lost."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from advisor.errors import AdvisorError, InputError, OutputError
from advisor.store import Store, StoreOpenError, StoreReadError, StoreWriteError
from advisor.store.migrations import APPLICATION_ID, MIGRATIONS, migrate
from tests.store.storemade import FAILURE, NOW, document_of, samples_of, verdict


def test_a_history_is_begun_and_opened_again(tmp_path: Path) -> None:
    """Folders above it are made; what was kept is there again; the migration is not made twice."""
    path = tmp_path / "a folder?" / "100%" / "history.db"
    with Store.open(path, now=NOW) as store:
        report_id = store.add_report("a", NOW, verdict(), document_of(1))
        store.add_samples("a", NOW, samples_of(1.0, 2.0))
        assert store.problem is None
        assert store.size_bytes() >= path.stat().st_size > 0
    assert [one.name for one in path.parent.iterdir()] == ["history.db"]
    with Store.open(path, now=NOW) as store:
        assert store.document(report_id) == document_of(1)
        assert store.add_report("a", NOW, verdict(), b"{}") > report_id
        assert store.problem is None


@pytest.mark.parametrize("damage", ["no database", "a page", "cut"])
def test_a_damaged_file_is_set_aside(tmp_path: Path, damage: str) -> None:
    """It is renamed as it is, with the time; a new history is begun; ``problem`` names both."""
    path = tmp_path / "history.db"
    with Store.open(path, now=NOW) as store:
        for number in range(40):
            store.add_report("a", NOW + number, verdict(), os.urandom(9000))
    whole = path.read_bytes()
    broken = {
        "no database": b"<html>" + whole[6:],
        "a page": whole[:8192] + b"\xa5" * 65536 + whole[8192 + 65536 :],
        "cut": whole[: len(whole) // 2],
    }[damage]
    path.write_bytes(broken)
    for name in ("history.db.corrupt-20270115T080000Z", "history.db.corrupt-20270115T080000Z-2"):
        with Store.open(path, now=NOW) as store:
            assert store.problem is not None
            assert str(path) in store.problem
            assert name in store.problem
            assert store.operators() == []
            store.add_report("a", NOW, verdict(), b"{}")
        assert (tmp_path / name).read_bytes() == broken
        with Store.open(path, now=NOW) as store:
            assert store.problem is None
            assert store.operators() == ["a"]
        path.write_bytes(broken)


def test_an_empty_file_is_a_new_history(tmp_path: Path) -> None:
    """As ``touch`` leaves it."""
    path = tmp_path / "history.db"
    path.touch()
    with Store.open(path, now=NOW) as store:
        store.add_failure("a", NOW, FAILURE)
        assert store.problem is None


def test_a_newer_history_is_refused_and_left_alone(tmp_path: Path) -> None:
    """The error says what to do."""
    path = tmp_path / "history.db"
    Store.open(path, now=NOW).close()
    with sqlite3.connect(path) as connection:
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    connection.close()
    before = path.read_bytes()
    known = len(MIGRATIONS)
    with pytest.raises(StoreOpenError, match=rf"version {known + 1}, .* up to {known} \(run a newer kuberay-advisor"):
        Store.open(path, now=NOW)
    assert path.read_bytes() == before


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    """Nothing is written into it."""
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreOpenError, match="another program"):
        Store.open(path, now=NOW)
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["folder", "file/history.db"])
def test_a_place_where_no_file_can_be_is_refused(tmp_path: Path, name: str) -> None:
    """A folder of that name, or a file where a folder should be."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(StoreOpenError, match="cannot be opened"):
        Store.open(tmp_path / name, now=NOW)


def test_each_migration_is_made_once() -> None:
    """From the version that the file has on, in order."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    first = ("CREATE TABLE a (x)", "INSERT INTO a VALUES (1)")
    migrate(connection, migrations=[first])
    migrate(connection, migrations=[first, ("ALTER TABLE a ADD COLUMN y DEFAULT 7",)])
    migrate(connection, migrations=[first, ("ALTER TABLE a ADD COLUMN y DEFAULT 7",)])
    assert connection.execute("SELECT * FROM a").fetchall() == [(1, 7)]
    assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    connection.close()


def test_a_migration_that_fails_leaves_the_version_before_it() -> None:
    """All of its statements are undone, those before stay."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    with pytest.raises(sqlite3.Error):
        migrate(connection, migrations=[("CREATE TABLE a (x)",), ("CREATE TABLE b (x)", "CREATE TABLE a (x)")])
    assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("a",)]
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    connection.close()


def test_errors_are_those_of_the_command_line() -> None:
    """Each has its place in the exception tree."""
    assert issubclass(StoreWriteError, OutputError)
    assert issubclass(StoreReadError, InputError)
    assert issubclass(StoreOpenError, AdvisorError)


READER = """
import os, sys
from pathlib import Path
sys.path += sys.argv[2:]
from advisor.store import Store, StoreWriteError
from tests.store.storemade import FAILURE, NOW
if os.getuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
with Store.open(Path(sys.argv[1]), now=NOW) as store:
    print(store.problem)
    print(store.operators(), store.document(1))
    for write in (lambda: store.add_failure("a", NOW, FAILURE), lambda: store.prune(NOW)):
        try:
            write()
        except StoreWriteError as error:
            print("refused", error)
"""


@pytest.mark.parametrize("left_open", [False, True], ids=["closed", "left open"])
def test_a_file_that_may_not_be_written_is_read(tmp_path: Path, *, left_open: bool) -> None:
    """Everything is shown, ``problem`` says why nothing is added, and adding raises."""
    folder = Path(os.path.realpath(tmp_path)) / "h"
    folder.mkdir()
    store = Store.open(folder / "history.db", now=NOW)
    store.add_report("a", NOW, verdict(), b"{}")
    if not left_open:
        store.close()
    for file in folder.iterdir():
        file.chmod(0o444)
    folder.chmod(0o555)
    above = [one for one in (folder, *folder.parents) if one.stat().st_uid == os.getuid() and one != Path("/")]
    modes = {one: one.stat().st_mode for one in above}
    try:
        for one in above:
            one.chmod(0o555 if one == folder else modes[one] | 0o055)
        done = subprocess.run(
            # The root comes last: the wheel is what is tested, not the source tree beside the tests.
            [sys.executable, "-c", READER, str(folder / "history.db"), *sys.path, str(Path(__file__).parents[2])],
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        for one, mode in modes.items():
            one.chmod(mode | 0o200)
        store.close()
    assert done.returncode == 0, done.stderr
    problem, kept, *refused = done.stdout.splitlines()
    assert problem.endswith("may not be written: what was kept is shown, nothing is added")
    assert kept == "['a'] b'{}'"
    assert len(refused) == 2
    assert all("cannot be written" in line for line in refused)
