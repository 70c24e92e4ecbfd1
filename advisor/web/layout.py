"""The frame that all pages of the service share."""

import hashlib
from collections.abc import Sequence
from functools import cache
from http import HTTPStatus
from importlib.resources import files
from typing import Final

from flask import Response, request, url_for

from advisor.report.document import Section, served_page, style_text
from advisor.report.markup import Markup, blocks, element

__all__ = ["HTML_TYPE", "respond", "sheet"]

HTML_TYPE: Final = "text/html; charset=utf-8"
_PLACES: Final = (("pages.fleet", "Operators"), ("pages.findings", "Findings"), ("pages.data", "Data"))


@cache
def sheet() -> tuple[str, str]:
    """The style sheet of all pages, and a name for its content."""
    own = files("advisor.web").joinpath("web.css").read_text(encoding="utf-8")
    text = style_text(("style.css",)) + own
    return text, hashlib.sha256(text.encode()).hexdigest()[:12]


def respond(
    title: str, header: Markup, sections: Sequence[Section], *, status: HTTPStatus = HTTPStatus.OK, skip: str = ""
) -> Response:
    """A page; where the browser has it already, only that is said."""
    links = [
        element("a", name, href=url_for(place), aria_current="page" if request.endpoint == place else None)
        for place, name in _PLACES
    ]
    navigation = element("nav", blocks(links), class_="places", aria_label="Pages")
    text = served_page(
        f"{title} - kuberay-advisor",
        header,
        sections,
        skip=skip or "Skip to the content",
        sheets=[url_for("pages.style", digest=sheet()[1])],
        navigation=navigation,
    )
    response = Response(text, status=status, content_type=HTML_TYPE)
    if status is HTTPStatus.OK:
        response.add_etag()
        response.make_conditional(request)
    return response
