"""Where many tasks run: in this process, on the cores of this machine, or on Ray."""

from advisor.engines.base import (
    Engine,
    EngineUnavailableError,
    Outcome,
    TaskTimeoutError,
    Tell,
    engine_named,
    equal_weight,
    ignore_finished,
)

__all__ = [
    "Engine",
    "EngineUnavailableError",
    "Outcome",
    "TaskTimeoutError",
    "Tell",
    "engine_named",
    "equal_weight",
    "ignore_finished",
]
