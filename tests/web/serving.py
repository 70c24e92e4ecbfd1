"""A service with a history that tests make."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import msgspec
from flask import Flask
from flask.testing import FlaskClient

from advisor.analysis.fleettask import verdict_of
from advisor.model.fleet import FleetFailure, FleetVerdict
from advisor.model.report import Report
from advisor.report.jsonreport import render_json
from advisor.store.store import Store
from advisor.web.app import create_app
from advisor.web.scheduler import RunState
from advisor.web.security import Access
from advisor.web.state import Service, Trouble
from tests.analysis.reportsmade import example

__all__ = ["NOW", "World", "failure", "report", "target"]

NOW = 1_796_000_000.0


def target(name: str, **changed: object) -> RunState:
    """How a target's schedule goes."""
    usual = RunState(
        name=name,
        next_due=NOW + 30.0,
        running_since=None,
        hangs=False,
        last_duration_seconds=1.25,
        failures=0,
        failures_total=0,
        last_failure=None,
        last_success=NOW - 60.0,
    )
    return replace(usual, **changed)  # type: ignore[arg-type]


def report(operator: str = "kuberay") -> Report:
    """The report of a real recording, under any name."""
    return msgspec.structs.replace(example(), operator=operator)


def failure(error: str = "connection refused", where: str = "http://store:9090") -> FleetFailure:
    """Why an operator could not be analysed."""
    return FleetFailure(error=error, where=where, hint="check the address", exit_code=3)


@dataclass
class World:
    """A store in memory, and the application before it."""

    access: Access = field(default_factory=Access)
    targets: Sequence[RunState] = ()
    store: Store = field(default_factory=lambda: Store.open(None, now=NOW))
    now: float = NOW
    troubles: Sequence[Trouble] = ()
    kind: str = "prometheus"
    problem: str = ""
    """Why nothing is kept just now."""

    def analysed(self, operator: str, time: float = NOW - 60.0, **changed: object) -> int:
        """Keep a report of an operator; its verdict may be changed."""
        found = report(operator)
        verdict: FleetVerdict = msgspec.structs.replace(verdict_of(found), data_until=time, **changed)
        return self.store.add_report(operator, time, verdict, render_json(found).encode())

    def app(self) -> Flask:
        """The application before the store."""
        service = Service(
            self.store,
            lambda: self.targets,
            lambda: self.now,
            lambda _: self.kind,
            lambda _: self.problem,
            troubles=lambda: self.troubles,
        )
        return create_app(service, self.access)

    def client(self) -> FlaskClient:
        """A client that asks by this machine's name."""
        app = self.app()
        app.testing = False
        client = app.test_client()
        client.environ_base["HTTP_HOST"] = "127.0.0.1:8091"
        return client
