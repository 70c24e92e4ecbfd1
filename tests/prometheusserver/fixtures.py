"""Fixtures for tests that ask a real Prometheus.

A folder's ``conftest.py`` imports them by name::

    from tests.prometheusserver.fixtures import prometheus_of, prometheus_tool

    __all__ = ["prometheus_of", "prometheus_tool"]

A test that takes ``prometheus_of`` runs once for each release in ``tools.TOOLS``; one that takes
``system_prometheus_of`` runs with the machine's own alone. Servers live as long as the session and are shared by all
folders, so tests must not change what they hold.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Final, Protocol, cast

import pytest

from tests.prometheusserver.server import served
from tests.prometheusserver.targets import Target
from tests.prometheusserver.tools import TOOLS, Tool, find_or_leave_out

__all__ = ["MOST", "PrometheusOf", "Servers", "prometheus_of", "prometheus_tool", "system_prometheus_of"]

MOST: Final = 16
"""So many servers run at once; the one that was asked for longest ago makes place for another."""


class PrometheusOf(Protocol):
    """Gives the address of a Prometheus that holds a recording, a file, or the files of one history."""

    def __call__(
        self, source: Path | Sequence[Path], *, target: Target | None = None, flags: Sequence[str] = ()
    ) -> str:
        """Start it when it is first asked for."""
        ...


Serving = Callable[[Tool, tuple[Path, ...], Target | None, tuple[str, ...]], AbstractContextManager[str]]


def _serving(
    tool: Tool, sources: tuple[Path, ...], target: Target | None, flags: tuple[str, ...]
) -> AbstractContextManager[str]:
    return served(tool, sources, target=target, flags=flags)


class Servers:
    """Servers by what they hold, each started when it is first asked for."""

    def __init__(self, most: int = MOST, serving: Serving = _serving) -> None:
        self._most = most
        self._serving = serving
        # In the order in which they were asked for.
        self._running: dict[tuple[object, ...], tuple[str, ExitStack]] = {}

    def of(self, tool: Tool) -> PrometheusOf:
        """Servers of one release."""

        def address(source: Path | Sequence[Path], *, target: Target | None = None, flags: Sequence[str] = ()) -> str:
            sources = (source,) if isinstance(source, Path) else tuple(source)
            return self._address(tool, tuple(path.resolve() for path in sources), target, tuple(flags))

        return address

    def _address(self, tool: Tool, sources: tuple[Path, ...], target: Target | None, flags: tuple[str, ...]) -> str:
        key = (tool, sources, target, flags)
        found = self._running.pop(key, None)
        if found is None:
            while len(self._running) >= self._most:
                self._running.pop(next(iter(self._running)))[1].close()
            with ExitStack() as stack:
                address = stack.enter_context(self._serving(tool, sources, target, flags))
                found = address, stack.pop_all()
        self._running[key] = found
        return found[0]

    def close(self) -> None:
        """End all."""
        with ExitStack() as stack:
            for _, one in self._running.values():
                stack.push(one)
            self._running.clear()


_SERVERS: Final = pytest.StashKey[Servers]()


def servers_of(config: pytest.Config) -> Servers:
    """The session's servers: one set, however many folders have imported the fixtures."""
    if _SERVERS not in config.stash:
        servers = config.stash[_SERVERS] = Servers()
        config.add_cleanup(servers.close)
    return config.stash[_SERVERS]


@pytest.fixture(scope="session", params=TOOLS)
def prometheus_tool(request: pytest.FixtureRequest) -> Tool:
    """Each release of Prometheus on this machine; those that are not here are skipped."""
    return find_or_leave_out(cast("str", request.param))


@pytest.fixture(scope="session")
def prometheus_of(prometheus_tool: Tool, pytestconfig: pytest.Config) -> PrometheusOf:
    """Servers of each release; the address holds until ``MOST`` others have been asked for."""
    return servers_of(pytestconfig).of(prometheus_tool)


@pytest.fixture(scope="session")
def system_prometheus_of(pytestconfig: pytest.Config) -> PrometheusOf:
    """Servers of the machine's own release alone."""
    return servers_of(pytestconfig).of(find_or_leave_out("system"))
