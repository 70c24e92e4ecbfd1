"""What a request names, found; or the request ends with what is wrong. The same for pages and the API."""

from http import HTTPStatus
from typing import NoReturn

from flask import abort, request

from advisor.store.records import OperatorStatus
from advisor.web.loads import SPANS, USUAL_SPAN
from advisor.web.state import Service

__all__ = ["known_status", "refuse_operator", "refuse_report", "window_asked"]


def known_status(service: Service, operator: str) -> OperatorStatus:
    """How an operator stands of which something is kept."""
    return service.status(operator) or refuse_operator(operator)


def window_asked() -> str:
    """How far back is looked: a name of `SPANS`, the usual one where the request says nothing."""
    window = request.args.get("window", USUAL_SPAN)
    if window not in SPANS:
        abort(HTTPStatus.BAD_REQUEST, f"window is one of {', '.join(SPANS)}, not {window!r}")
    return window


def refuse_operator(name: str) -> NoReturn:
    """End a request for an operator that nobody knows."""
    abort(HTTPStatus.NOT_FOUND, f"there is no operator {name!r} here")


def refuse_report(number: int | str) -> NoReturn:
    """End a request for a report that is not kept, or no longer."""
    abort(HTTPStatus.NOT_FOUND, f"there is no report {number} any more")
