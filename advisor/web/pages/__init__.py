"""The pages for people.

A page is a module with ``register`` and its line in ``_PAGES``; `advisor.web.layout` says which are linked from where.
"""

from collections.abc import Callable
from typing import Final

from flask import Blueprint, Response, abort

from advisor.web.assets import asset
from advisor.web.pages import (
    changes,
    compare,
    data,
    findings,
    fleet,
    keys,
    operator,
    operatordata,
    priorities,
    whatif,
)
from advisor.web.state import Service

__all__ = ["blueprint"]

_PAGES: Final[tuple[Callable[[Blueprint, Service], None], ...]] = (
    fleet.register,
    operator.register,
    keys.register,
    priorities.register,
    whatif.register,
    changes.register,
    compare.register,
    findings.register,
    data.register,
    operatordata.register,
)


def blueprint(service: Service) -> Blueprint:
    """All pages, and the files that they need."""
    routes = Blueprint("pages", __name__)
    routes.add_url_rule("/assets/<digest>/<name>", "asset", _asset)
    for register in _PAGES:
        register(routes, service)
    return routes


def _asset(digest: str, name: str) -> Response:
    found = asset(name)
    if found is None:
        abort(404, f"there is no file {name!r}")
    response = Response(found.text, content_type=found.content_type)
    if digest == found.digest:
        response.headers["Cache-Control"] = "private, max-age=31536000, immutable"
    return response
