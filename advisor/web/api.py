"""The API for programs: JSON under ``/api/v1``, described by OpenAPI (``openapi.json`` beside this module).

Lists come in pages: ``next`` is the address of the following one, null at the end. Every answer has an ETag.
"""

from http import HTTPStatus
from importlib.resources import files
from typing import Final

import msgspec
from flask import Blueprint, Response, abort, request, url_for

from advisor.analysis.compare import compare
from advisor.diagnosis.findings import RULES
from advisor.errors import NothingToAnalyseError
from advisor.web.asked import known_status, refuse_report, window_asked
from advisor.web.changes import changes_of
from advisor.web.comparing import both_reports, report_number
from advisor.web.questions import ask, refusal, run_values
from advisor.web.state import Service
from advisor.web.values import change_values, key_values, priority_values, row_values, status_values
from advisor.web.whatifasked import AskError
from advisor.web.whatifs import BusyError

__all__ = ["blueprint", "openapi"]

_JSON: Final = "application/json"
_MOST: Final = 500
_USUAL: Final = 100


def openapi() -> bytes:
    """The description of this API."""
    return files("advisor.web").joinpath("openapi.json").read_bytes()


def blueprint(service: Service) -> Blueprint:
    """All routes."""
    api = Blueprint("api", __name__, url_prefix="/api/v1")
    api.add_url_rule("/openapi.json", "description", lambda: _answer(openapi()))
    api.add_url_rule("/operators", "operators", lambda: _operators(service))
    api.add_url_rule("/operators/<path:name>/reports", "reports", lambda name: _reports(service, name))
    api.add_url_rule("/operators/<path:name>/keys", "keys", lambda name: _keys(service, name))
    api.add_url_rule("/operators/<path:name>/priorities", "priorities", lambda name: _priorities(service, name))
    api.add_url_rule(
        "/operators/<path:name>/what-if", "ask_whatif", lambda name: _ask_whatif(service, name), methods=["POST"]
    )
    api.add_url_rule("/what-ifs/<run>", "whatif", lambda run: _whatif(service, run), methods=["GET", "DELETE"])
    api.add_url_rule("/operators/<path:name>/changes", "changes", lambda name: _changes(service, name))
    api.add_url_rule(
        "/operators/<path:name>", "operator", lambda name: _encoded(status_values(known_status(service, name)))
    )
    api.add_url_rule("/reports/<int:number>", "report", lambda number: _report(service, number))
    api.add_url_rule("/compare", "compare", lambda: _compare(service))
    api.add_url_rule("/findings", "findings", _findings)
    return api


def _operators(service: Service) -> Response:
    limit, after = _limit(), request.args.get("after", "")
    found = sorted((one for one in service.store.statuses() if one.operator > after), key=lambda one: one.operator)
    page = found[:limit]
    following = url_for("api.operators", limit=limit, after=page[-1].operator) if len(found) > limit else None
    return _encoded({"operators": [status_values(one) for one in page], "next": following})


def _reports(service: Service, name: str) -> Response:
    known_status(service, name)
    limit = _limit()
    rows = service.store.reports(name, before_id=_number("before"), limit=limit + 1)
    page = rows[:limit]
    following = url_for("api.reports", name=name, limit=limit, before=page[-1].id) if len(rows) > limit else None
    return _encoded({"reports": [row_values(one) for one in page], "next": following})


def _keys(service: Service, name: str) -> Response:
    known_status(service, name)
    return _encoded(key_values(service, name, window_asked(), _limit()))


def _priorities(service: Service, name: str) -> Response:
    known_status(service, name)
    return _encoded(priority_values(service, name, window_asked()))


def _changes(service: Service, name: str) -> Response:
    known_status(service, name)
    limit, rules = _limit(), service.change_rules()
    found = changes_of(service.store, name, service.clock(), rules, before_id=_number("before"), limit=limit + 1)
    page = found[:limit]
    following = url_for("api.changes", name=name, limit=limit, before=page[-1].id) if len(found) > limit else None
    return _encoded({"changes": [change_values(one) for one in page], "next": following})


def _compare(service: Service) -> Response:
    first, second = (report_number(service.store, name, request.args.get(name, "")) for name in ("a", "b"))
    before, after = both_reports(service, first, second)
    comparison = compare(before, after, service.change_rules().comparison)
    return _encoded({"before": row_values(first), "after": row_values(second), "comparison": comparison})


def _report(service: Service, number: int) -> Response:
    document = service.store.document(number)
    if document is None:
        refuse_report(number)
    return _answer(document)


class _Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings to be tried; one that is not named is as it is, QPS below zero is no limiter, a null limit no limit."""

    concurrency: int | msgspec.UnsetType = msgspec.UNSET
    qps: float | msgspec.UnsetType = msgspec.UNSET
    burst: int | msgspec.UnsetType = msgspec.UNSET
    cpu_limit_cores: float | msgspec.UnsetType | None = msgspec.UNSET

    def texts(self) -> dict[str, str]:
        """The same as a form has them."""
        given = {"concurrency": self.concurrency, "qps": self.qps, "burst": self.burst, "cpu": self.cpu_limit_cores}
        return {name: "off" if one is None else f"{one}" for name, one in given.items() if one is not msgspec.UNSET}


def _ask_whatif(service: Service, name: str) -> Response:
    status = known_status(service, name)
    if request.mimetype != _JSON:
        abort(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"settings come as {_JSON}")
    try:
        settings = msgspec.json.decode(request.get_data(), type=_Settings)
    except msgspec.MsgspecError as error:
        abort(HTTPStatus.BAD_REQUEST, f"these are no settings: {error}")
    try:
        run = ask(service, status, settings.texts())
    except (AskError, BusyError, NothingToAnalyseError) as error:
        return refusal(error)
    values = run_values(run)
    response = Response(msgspec.json.encode(values), HTTPStatus.ACCEPTED, content_type=_JSON)
    response.headers["Location"] = values["run"]
    return response


def _whatif(service: Service, run: str) -> Response:
    found = None if service.whatifs is None else service.whatifs.look(run)
    if service.whatifs is None or found is None:
        abort(HTTPStatus.NOT_FOUND, "there is no such what-if any more")
    if request.method == "DELETE":
        service.whatifs.cancel(run)
        return Response(status=HTTPStatus.NO_CONTENT)
    return _encoded(run_values(found))


def _findings() -> Response:
    told = [{"code": one.code.value, "title": one.title, "meaning": one.page.meaning} for one in RULES]
    return _encoded({"findings": told})


def _limit() -> int:
    limit = _number("limit")
    if limit is None:
        return _USUAL
    if not 1 <= limit <= _MOST:
        abort(HTTPStatus.BAD_REQUEST, f"limit is 1 to {_MOST}, not {limit}")
    return limit


def _number(name: str) -> int | None:
    text = request.args.get(name)
    if text is None:
        return None
    if not text.isascii() or not text.isdigit():
        abort(HTTPStatus.BAD_REQUEST, f"{name} is a whole number, not {text!r}")
    return int(text)


def _encoded(value: object) -> Response:
    return _answer(msgspec.json.encode(value))


def _answer(body: bytes) -> Response:
    response = Response(body, content_type=_JSON)
    response.add_etag()
    response.make_conditional(request)
    return response
