"""Scenarios as data: what exists, what is wrong, what arrives, and what the product has to say about it.

A scenario is one YAML file in ``scenarios/``; its name is the file's. ``docs/lab.md`` describes each key.
"""

from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import yaml

from tests.verdicts import Answer

__all__ = [
    "FOLDER",
    "Create",
    "Dashboard",
    "Existing",
    "Expected",
    "Faults",
    "Hold",
    "Nudge",
    "OperatorSettings",
    "Part",
    "Rule",
    "Scale",
    "Scenario",
    "ScenarioError",
    "Step",
    "Write",
    "load_scenario",
    "names",
]

FOLDER: Final = Path(__file__).parent / "scenarios"
Build = Literal["priority", "classic"]
Direction = Literal["raise", "keep", "lower", "no-number", "any"]
_NAMESPACES: Final = ("team-a", "team-b", "team-c")


class ScenarioError(Exception):
    """A scenario that cannot be read or run; the text says where and what to do."""


class _Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A mapping of the file; a key that it does not know is refused."""


class OperatorSettings(_Record, frozen=True, kw_only=True):
    """Which operator runs, and with which settings; ``standby`` means that the one recorded never leads."""

    build: Build = "priority"
    concurrency: int = 1
    qps: float = 100.0
    burst: int = 200
    cpu_limit_cores: float | None = None
    log_level: int | None = None
    args: tuple[str, ...] = ()
    standby: bool = False


class Existing(_Record, frozen=True, kw_only=True):
    """RayClusters that are ready before the recording starts, named ``rc-000`` and so on."""

    clusters: int
    workers: int
    namespaces: tuple[str, ...] = ("team-a", "team-b")


class Rule(_Record, frozen=True, kw_only=True):
    """What the proxy does with a request of these methods whose path matches: see ``go/faultproxy``."""

    methods: tuple[str, ...] = ()
    path: str = ""
    delay_ms: float = 0.0
    jitter_ms: float = 0.0
    status: int = 0
    probability: float = 1.0
    retry_after_seconds: int = 0


class Dashboard(_Record, frozen=True, kw_only=True):
    """How the Ray dashboards behind the API server's service proxy answer."""

    delay_ms: float = 0.0
    job_status: str = "RUNNING"


class Faults(_Record, frozen=True, kw_only=True):
    """What stands between the operator and the API server; the first rule that matches decides."""

    rules: tuple[Rule, ...] = ()
    dashboard: Dashboard = Dashboard()


class Create(_Record, frozen=True, kw_only=True):
    """``count`` objects, all at once or one every ``every_seconds``, named ``PREFIX-000`` and so on."""

    count: int
    workers: int
    kind: Literal["RayCluster", "RayJob", "RayService"] = "RayCluster"
    prefix: str = "rc"
    namespaces: tuple[str, ...] = _NAMESPACES
    every_seconds: float = 0.0


class Scale(_Record, frozen=True, kw_only=True):
    """Sets the number of workers of the RayClusters named, ``NAMESPACE/NAME``."""

    clusters: tuple[str, ...]
    workers: int


class Nudge(_Record, frozen=True, kw_only=True):
    """Every ``every_seconds`` writes the spec of the next existing RayCluster; every second time with a worker more."""

    seconds: float
    every_seconds: float


class Write(_Record, frozen=True, kw_only=True):
    """Another client that writes one annotation or label of the clusters named, or of any existing one.

    ``per_second`` is of each of the ``writers``.
    """

    seconds: float
    per_second: float
    field: Literal["annotations", "labels"]
    clusters: tuple[str, ...] = ()
    writers: int = 1


class Hold(_Record, frozen=True, kw_only=True):
    """Puts a finalizer on the worker Pods of a namespace, so that those deleted stay Terminating; or takes it off."""

    namespace: str
    release: bool = False


class Part(_Record, frozen=True, kw_only=True):
    """Pauses, resumes, kills or restarts a part of the lab: its name, for example kube-scheduler, kwok or operator."""

    name: str
    do: Literal["pause", "resume", "kill", "restart"]


class Step(_Record, frozen=True, kw_only=True):
    """One step of the load: exactly one of its keys."""

    create: Create | None = None
    wait_ready_seconds: float | None = None
    scale: Scale | None = None
    nudge: Nudge | None = None
    write: Write | None = None
    hold: Hold | None = None
    part: Part | None = None
    faults: Faults | None = None
    sleep_seconds: float | None = None

    def action(self) -> tuple[str, Any]:
        """The step's key and what it holds."""
        return next((key, value) for key in self.__struct_fields__ if (value := getattr(self, key)) is not None)

    def __post_init__(self) -> None:
        given = [key for key in self.__struct_fields__ if getattr(self, key) is not None]
        if len(given) != 1:
            raise ValueError(f"a step has exactly one key, not {len(given)}: {', '.join(given) or 'none'}")


class Expected(_Record, frozen=True, kw_only=True):
    """The right verdict, as in a recording's ``expected.json``."""

    primary: str
    also_accept: tuple[str, ...] = ()
    must_not: tuple[str, ...] = ()
    advice: dict[Literal["concurrency", "qps", "burst"], Direction] = {}

    def answer(self) -> Answer:
        """In the form that reports are compared with."""
        return Answer(
            self.primary, self.also_accept, self.must_not, {str(name): wanted for name, wanted in self.advice.items()}
        )


class Scenario(_Record, frozen=True, kw_only=True):
    """Everything about one run. ``paused`` parts stand still from before the operator starts to the end."""

    description: str
    injected: str
    load: tuple[Step, ...]
    operator: OperatorSettings = OperatorSettings()
    existing: Existing | None = None
    faults: Faults = Faults()
    paused: tuple[str, ...] = ()
    before_seconds: float = 6.0
    after_seconds: float = 4.0
    interval_seconds: float = 2.0
    expected: Expected | None = None


def names() -> list[str]:
    """All scenarios."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def load_scenario(name: str, folder: Path = FOLDER) -> Scenario:
    """Read a scenario.

    Raises:
        ScenarioError: there is none of this name, or it is not as described.
    """
    path = folder / f"{name}.yaml"
    if not path.is_file():
        known = ", ".join(sorted(one.stem for one in folder.glob("*.yaml")))
        raise ScenarioError(f"no scenario {name}; there are: {known}")
    try:
        return msgspec.convert(yaml.safe_load(path.read_text(encoding="utf-8")), Scenario)
    except (yaml.YAMLError, msgspec.ValidationError) as error:
        raise ScenarioError(f"{path}: {error}") from error
