"""The parts of the service, joined."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest

from advisor.store.store import Store
from advisor.web.assembly import Advisor
from advisor.web.config import load_config
from tests.support import until
from tests.web.asking import Asking, children
from tests.web.serving import NOW


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A history in which an operator was analysed."""
    with Store.open(tmp_path / "history.db", now=NOW) as store:
        Asking(store=store).watched("one")
    return tmp_path / "history.db"


@contextmanager
def running(path: Path, **flags: object) -> Iterator[Advisor]:
    """The whole service, which is stopped afterwards."""
    named = {name.replace("__", "."): value for name, value in flags.items()}
    advisor = Advisor(load_config(None, {}, {"listen.port": 0, "store.path": str(path), **named}))
    advisor.start()
    try:
        yield advisor
    finally:
        advisor.stop()


def answered(advisor: Advisor, method: str, address: str, given: dict[str, str] | None = None) -> tuple[int, str, str]:
    """An answer: its status, where it leads, and its text."""
    found = urlsplit(advisor.address)
    connection = HTTPConnection(found.hostname or "", found.port, timeout=20.0)
    try:
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        connection.request(method, address, urlencode(given or {}), headers)
        response = connection.getresponse()
        return response.status, response.headers.get("Location", ""), response.read().decode()
    finally:
        connection.close()


def test_stopping_in_the_middle_of_a_whatif(path: Path) -> None:
    """Pages answer while it runs; when the service has stopped, nothing of it is left."""
    with running(path) as advisor:
        status, address, _ = answered(advisor, "POST", "/what-if/one", {"concurrency": "4"})
        assert status == 303
        until(lambda: children("whatifprocess"))
        until(lambda: "Simulating" in answered(advisor, "GET", address)[2])
        assert answered(advisor, "GET", "/operators/one")[0] == 200
    assert children("whatifprocess") == set()


def test_whatifs_can_be_turned_off(path: Path) -> None:
    """By the configuration."""
    with running(path, whatif__at_a_time=0) as advisor:
        assert "What-ifs are turned off here" in answered(advisor, "GET", "/what-if/one")[2]
        assert answered(advisor, "POST", "/what-if/one", {"concurrency": "4"})[0] == 409


def test_stopping_leaves_no_thread(path: Path) -> None:
    """Those that answer, listen, analyse and prune all end."""
    before = set(threading.enumerate())
    with running(path) as advisor:
        assert answered(advisor, "GET", "/findings")[0] == 200
        assert any(one.name.startswith("waitress") for one in set(threading.enumerate()) - before)
    until(lambda: not set(threading.enumerate()) - before)
