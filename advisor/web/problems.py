"""Errors as answers: problem details as RFC 9457 has them for programs, a page for people."""

import math
from http import HTTPStatus
from typing import Final

import msgspec
from flask import Response, request

from advisor.report.document import Section
from advisor.report.markup import element
from advisor.web.layout import present
from advisor.web.view import View

__all__ = ["PROBLEM_TYPE", "problem"]

PROBLEM_TYPE: Final = "application/problem+json"
_API: Final = "/api/"


def problem(status: HTTPStatus, detail: str, *, retry_seconds: float | None = None) -> Response:
    """An answer that says what is wrong, in the form that whoever asks can read.

    Args:
        status: of the answer.
        detail: what is wrong, without capital and stop.
        retry_seconds: when to try again, where that helps.
    """
    response = _problem(status, detail)
    if retry_seconds is not None:
        response.headers["Retry-After"] = f"{max(1, math.ceil(retry_seconds))}"
    return response


def _problem(status: HTTPStatus, detail: str) -> Response:
    if request.path.startswith(_API):
        body = {"type": "about:blank", "title": status.phrase, "status": int(status), "detail": detail}
        return Response(msgspec.json.encode(body), status=status, content_type=PROBLEM_TYPE)
    sentence = f"{detail[:1].upper()}{detail[1:]}."
    header = element("header", element("h1", status.phrase))
    section = Section("detail", "What is wrong", element("p", sentence))
    return present(View(title=status.phrase, header=header, sections=[section], status=status))
