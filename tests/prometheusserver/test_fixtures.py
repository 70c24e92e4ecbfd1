from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.prometheusserver.fixtures import PrometheusOf, Servers, servers_of
from tests.prometheusserver.targets import Target, target
from tests.prometheusserver.tools import Tool

OLD, NEW = (Tool(name, "0", Path(name), Path(name)) for name in ("old", "new"))
A, B, C = (Path(f"/{name}") for name in "abc")


class Stub:
    """Stands for servers; tells which were started and which have ended."""

    def __init__(self) -> None:
        self.started: list[Path] = []
        self.ended: list[Path] = []
        self.refused: Path | None = None

    @contextmanager
    def serving(
        self, tool: Tool, sources: tuple[Path, ...], added: Target | None, flags: tuple[str, ...]
    ) -> Iterator[str]:
        """Note a start and an end."""
        if self.refused in sources:
            raise ValueError("not this one")
        self.started.append(sources[0])
        yield f"address {len(self.started)}"
        self.ended.append(sources[0])


@pytest.fixture
def stub() -> Stub:
    """No real servers."""
    return Stub()


def test_a_server_is_started_once(stub: Stub) -> None:
    """A path alone and a list of it are the same."""
    of = Servers(serving=stub.serving).of(OLD)
    assert of(A) == of(A) == of([A]) == "address 1"
    assert stub.started == [A]


def test_what_differs_has_a_server_of_its_own(stub: Stub) -> None:
    """Another release, recording, target or flag."""
    servers = Servers(serving=stub.serving)
    of = servers.of(OLD)
    all_of = [of(A), of(B), of(A, target=target({"job": "a"})), of(A, flags=["--x"]), servers.of(NEW)(A)]
    assert len(set(all_of)) == 5


def test_the_one_asked_for_longest_ago_makes_place(stub: Stub) -> None:
    """It starts anew when it is asked for again."""
    of = Servers(most=2, serving=stub.serving).of(OLD)
    for path in (A, B, A, C):
        of(path)
    assert stub.ended == [B]
    of(B)
    assert stub.started == [A, B, C, B]
    assert stub.ended == [B, A]


def test_all_end_together(stub: Stub) -> None:
    """And are forgotten."""
    servers = Servers(serving=stub.serving)
    servers.of(OLD)(A)
    servers.of(OLD)(B)
    servers.close()
    assert sorted(stub.ended) == [A, B]
    assert servers.of(OLD)(A) == "address 3"


def test_one_that_does_not_start_is_not_kept(stub: Stub) -> None:
    """The next test is told the same, and the others go on."""
    stub.refused = A
    servers = Servers(serving=stub.serving)
    for _ in range(2):
        with pytest.raises(ValueError, match="not this one"):
            servers.of(OLD)(A)
    assert servers.of(OLD)(B) == "address 1"


def test_folders_share_the_sessions_servers(pytestconfig: pytest.Config) -> None:
    """Each folder that imports the fixtures has fixtures of its own, but not servers."""
    assert servers_of(pytestconfig) is servers_of(pytestconfig)


def test_each_release_keeps_its_server(prometheus_of: PrometheusOf, data: Path) -> None:
    """A recording's real server is asked for twice, and started once."""
    recording = data / "recordings" / "standby-replica"
    assert prometheus_of(recording) == prometheus_of(recording)


def test_the_machines_own_alone_can_be_had(
    system_prometheus_of: PrometheusOf, prometheus_of: PrometheusOf, prometheus_tool: Tool, data: Path
) -> None:
    """It is the same server as that of the tests with each release."""
    recording = data / "recordings" / "standby-replica"
    same = system_prometheus_of(recording) == prometheus_of(recording)
    assert same == (prometheus_tool.name == "system")
