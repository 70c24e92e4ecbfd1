"""The advisor service as a WSGI application: pages for people, an API and metrics for programs."""

import logging
from collections.abc import Callable
from http import HTTPStatus

from flask import Flask, Response
from werkzeug.exceptions import HTTPException

from advisor.web import api, metrics, pages
from advisor.web.layout import TROUBLES
from advisor.web.problems import problem
from advisor.web.security import Access, protect
from advisor.web.state import Service

__all__ = ["create_app"]

_LOG = logging.getLogger(__name__)
_MOST_BYTES = 65_536
"""Of what a request brings; forms are small."""


def create_app(service: Service, access: Access | Callable[[], Access]) -> Flask:
    """The application; it reads, and starts nothing.

    Args:
        service: what pages ask.
        access: who may ask, or a function that is asked that for each request.
    """
    app = Flask("advisor.web", static_folder=None, template_folder=None)
    app.extensions[TROUBLES] = service.troubles
    app.config["MAX_CONTENT_LENGTH"] = _MOST_BYTES
    protect(app, (lambda: access) if isinstance(access, Access) else access)
    app.register_blueprint(pages.blueprint(service))
    app.register_blueprint(api.blueprint(service))
    app.register_blueprint(metrics.blueprint(service))

    @app.errorhandler(HTTPException)
    def refused(error: HTTPException) -> Response:
        status = HTTPStatus(error.code or HTTPStatus.INTERNAL_SERVER_ERROR)
        text = (error.description or status.phrase).rstrip(".")
        return problem(status, text[:1].lower() + text[1:])

    @app.errorhandler(Exception)
    def failed(error: Exception) -> Response:
        _LOG.error("a page failed", exc_info=error)
        return problem(HTTPStatus.INTERNAL_SERVER_ERROR, "this page failed; the service's log says why")

    return app
