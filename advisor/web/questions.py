"""What a reader's question rests on, and how it is asked: the same for pages and programs."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from flask import Response, g, url_for

from advisor.analysis.basis import Basis, read_basis
from advisor.errors import AdvisorError, InputError, NothingToAnalyseError
from advisor.store.records import OperatorStatus
from advisor.web.problems import problem
from advisor.web.state import Service
from advisor.web.whatifasked import Asked, AskError, read_asked
from advisor.web.whatifs import BusyError, WhatIfRun

__all__ = ["Ground", "ask", "ground_of", "page_address", "refusal", "run_values"]


@dataclass(frozen=True, slots=True)
class Ground:
    """What questions about an operator rest on; ``missing`` says why its last analysis found nothing for it."""

    basis: Basis | None
    time: float
    missing: str


def ground_of(service: Service, operator: str) -> Ground:
    """What is kept of an operator for that."""
    row = service.store.basis(operator)
    if row is None:
        return Ground(None, 0.0, "it has not been analysed since what-ifs are there")
    if row.document is None or row.time is None:
        return Ground(None, 0.0, row.missing)
    try:
        return Ground(read_basis(row.document), row.time, row.missing)
    except InputError as error:
        return Ground(None, 0.0, error.message)


def ask(service: Service, status: OperatorStatus, given: Mapping[str, str]) -> WhatIfRun:
    """Ask what other settings would do; the run, which may be over already.

    Args:
        service: what there is.
        status: of the operator.
        given: texts of the settings, as `read_asked` has them.

    Raises:
        NothingToAnalyseError: what-ifs are turned off, or there is nothing to simulate from.
        AskError: some settings cannot be.
        BusyError: the reader asks too often, or too many wait.
    """
    ground = ground_of(service, status.operator)
    if service.whatifs is None:
        raise NothingToAnalyseError("what-ifs are turned off here (whatif.at_a_time)")
    if ground.basis is None:
        raise NothingToAnalyseError(f"there is not enough to simulate from: {ground.missing}")
    asked = read_asked(given, ground.basis.settings)
    verdict = None if status.report is None else status.report.verdict
    advised = (None, None) if verdict is None else (verdict.concurrency.value, verdict.qps.value)
    name = service.whatifs.ask(g.reader, ground.basis, ground.time, asked, advised)
    run = service.whatifs.look(name)
    assert run is not None  # noqa: S101 - the one that was just asked for is kept
    return run


def refusal(error: AdvisorError) -> Response:
    """The answer to a question that is not taken."""
    if isinstance(error, BusyError):
        status = HTTPStatus.TOO_MANY_REQUESTS if error.is_readers else HTTPStatus.SERVICE_UNAVAILABLE
        seconds = max(1, round(error.retry_seconds))
        return problem(status, f"{error.message}; try again in {seconds} s", retry_seconds=error.retry_seconds)
    return problem(HTTPStatus.BAD_REQUEST if isinstance(error, AskError) else HTTPStatus.CONFLICT, error.message)


def page_address(operator: str, asked: Asked, run: str | None = None) -> str:
    """The page with a question, and with its result where there is one; it stays good when the result is gone."""
    values: dict[str, Any] = {**asked.texts(), **({} if run is None else {"run": run})}
    return url_for("pages.whatif", name=operator, **values)


def run_values(run: WhatIfRun) -> Mapping[str, Any]:
    """A run for programs, with where it is."""
    return {
        "id": run.id,
        "operator": run.operator,
        "asked": run.asked,
        "basis_time": run.basis_time,
        "phase": run.phase,
        "ahead": run.ahead,
        "step": run.step,
        "error": run.error,
        "answer": run.answer,
        "around": run.around,
        "run": url_for("api.whatif", run=run.id),
        "page": page_address(run.operator, run.asked, run.id),
    }
