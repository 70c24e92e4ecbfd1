"""What several of the lab's tests need."""

from collections.abc import Iterator

import pytest

from tests.lab.apionly import ApiOnly
from tests.lab.binaries import toolbox


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiOnly]:
    """An API server for all tests of a module, without the kinds of products other than Ray."""
    plane = ApiOnly(toolbox(), tmp_path_factory.mktemp("plane"))
    try:
        plane.up()
        yield plane
    finally:
        plane.down()
