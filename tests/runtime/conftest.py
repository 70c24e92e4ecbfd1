"""What every test of a driver needs."""

import threading
from collections.abc import Iterator

import pytest

from tests.runtime.acting import LONG, threads


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    """CF-08: stopping leaves no thread, whatever happened before."""
    yield
    for thread in threading.enumerate():
        if thread.name.startswith("x-"):
            thread.join(LONG)
    assert threads() == set()


@pytest.fixture(params=[True, False], ids=["priority", "classic"])
def either(request: pytest.FixtureRequest) -> bool:
    """Either kind of queue, as the value of `use_priority_queue`."""
    assert isinstance(request.param, bool)
    return request.param
