"""Where many forecasts run: in this process, on the cores of this machine, or on Ray."""

from advisor.engines.base import Engine, EngineUnavailableError, Tell, engine_named, ignore_finished

__all__ = ["Engine", "EngineUnavailableError", "Tell", "engine_named", "ignore_finished"]
