"""The lab as a whole: a control plane and at most two operators, in a folder that goes when the lab goes."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tests.lab.binaries import Toolbox
from tests.lab.cgroup import Container, make_container, serve_container
from tests.lab.cluster import Cluster
from tests.lab.controlplane import ControlPlane
from tests.lab.operator import Operator, start_operator
from tests.lab.scenario import OperatorSettings

if TYPE_CHECKING:
    from http.server import ThreadingHTTPServer

__all__ = ["Laboratory", "laboratory"]

_LEADER = OperatorSettings(concurrency=2)
"""The operator that leads while a standby is looked at."""


class Laboratory:
    """What scenarios work with."""

    def __init__(
        self, tools: Toolbox, folder: Path, plane: ControlPlane, container: Container, say: Callable[[str], None]
    ) -> None:
        self.folder = folder
        self.plane = plane
        self.container = container
        self.say = say
        self._tools = tools
        self._figures: ThreadingHTTPServer | None = None

    @property
    def cluster(self) -> Cluster:
        """The API server."""
        return self.plane.cluster

    def container_address(self) -> str:
        """Where the figures of the operator's container are."""
        if self._figures is None:
            self._figures = serve_container(self.container)
        return f"http://127.0.0.1:{self._figures.server_address[1]}/metrics"

    def start_operator(self, settings: OperatorSettings) -> Operator:
        """Start the operator that is looked at; before it, where it stands by, the one that leads."""
        if settings.standby:
            start_operator(self.plane, self._tools, self.container, self.folder, _LEADER, "leader")
        return start_operator(self.plane, self._tools, self.container, self.folder, settings, "operator")

    def stop_operators(self) -> None:
        """End the operators."""
        for name in ("operator", "leader"):
            if name in self.plane.processes.pids():
                self.plane.processes.stop(name)

    def close(self) -> None:
        """End everything."""
        if self._figures is not None:
            self._figures.shutdown()
            self._figures.server_close()
        self.plane.down()
        self.container.remove()


@contextlib.contextmanager
def laboratory(
    tools: Toolbox, say: Callable[[str], None], *, keep: Path | None = None, plane: type[ControlPlane] = ControlPlane
) -> Iterator[Laboratory]:
    """A lab that is up; afterwards nothing is left of it, unless ``keep`` names a folder for its logs.

    Raises:
        BuildError: a program is not built.
        LabError: a part does not start.
    """
    folder = keep or Path(tempfile.mkdtemp(prefix="kuberay-lab-"))
    folder.mkdir(parents=True, exist_ok=True)
    lab = Laboratory(tools, folder, plane(tools, folder), make_container(f"kuberay-lab-{os.getpid()}"), say)
    try:
        lab.plane.up()
        yield lab
    finally:
        lab.close()
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)
