"""Controller loops that several tests drive."""

import pytest

from advisor.queueing.classicqueue import ClassicQueue
from advisor.queueing.priorityqueue import PriorityQueue
from tests.queueing.rigs import Recorder, Rig


@pytest.fixture(params=[PriorityQueue, ClassicQueue], ids=["priority", "classic"])
def rig(request: pytest.FixtureRequest) -> Rig:
    """A loop with one worker that has lined up, on either queue."""
    made = Rig(Recorder(request.param()))
    made.start()
    return made


@pytest.fixture
def urgent() -> Rig:
    """A loop on the priority queue, with a key at priority 10."""
    made = Rig(Recorder(PriorityQueue()))
    made.start()
    made.add("k", priority=10)
    return made
