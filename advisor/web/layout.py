"""A view as a page of the service, or as a file to keep: self-contained HTML, Markdown or JSON."""

import re
from collections.abc import Callable
from http import HTTPStatus
from typing import Final, NamedTuple
from urllib.parse import quote, urlencode

import msgspec
from flask import Response, abort, current_app, request, url_for

from advisor.report.document import page, served_page
from advisor.report.markup import Markup, blocks, element
from advisor.report.markupmarkdown import to_markdown
from advisor.web.assets import asset, sheet_text
from advisor.web.view import View

__all__ = ["HTML_TYPE", "TROUBLES", "asset_address", "present"]

HTML_TYPE: Final = "text/html; charset=utf-8"
TROUBLES: Final = "kuberay-advisor-troubles"
"""Where the application has the function that tells what goes wrong now."""
_EXPORT: Final = "export"
"""The name in an address that asks for a file."""

_SHEETS: Final = ("uPlot.min.css", "style.css")
_SCRIPTS: Final = ("uPlot.iife.min.js", "charts.js", "live.js")
_REFRESH_SECONDS: Final = 30
"""From one look of a page's script at what is new to the next."""
_A_FORM: Final = re.compile(r"<form\b.*?</form>", re.DOTALL)

_PLACES: Final = (
    ("pages.fleet", "Operators"),
    ("pages.compare", "Compare"),
    ("pages.findings", "Findings"),
    ("pages.data", "Data"),
)
"""Pages that every page links to."""
_TABS: Final = (
    ("pages.operator", "Report"),
    ("pages.whatif", "What-if"),
    ("pages.keys", "Keys"),
    ("pages.priorities", "Priorities"),
    ("pages.changes", "Changes"),
    ("pages.operator_data", "Data"),
)
"""Pages of one operator, which link to each other."""


def present(view: View) -> Response:
    """The answer to a request for a page, in the form that it asks for; where the browser has it, only that is said."""
    form = request.args.get(_EXPORT)
    if form is not None and view.data is not None:
        response = _exported(view, form)
    else:
        response = Response(_served(view), status=view.status, content_type=HTML_TYPE)
    if view.status is HTTPStatus.OK:
        response.add_etag()
        response.make_conditional(request)
    return response


def asset_address(name: str) -> str:
    """Where a style sheet or script is; a name that no other content has."""
    found = asset(name)
    assert found is not None, name  # noqa: S101 - names are ours
    return url_for("pages.asset", digest=found.digest, name=name)


def _served(view: View) -> str:
    head = [element("link", rel="stylesheet", href=asset_address(name)) for name in _SHEETS]
    head += [element("script", src=asset_address(name), defer="") for name in _SCRIPTS]
    if view.refresh_seconds:
        again = element("meta", http_equiv="refresh", content=f"{view.refresh_seconds}")
        head.append(element("noscript", again))
    if view.status is HTTPStatus.OK and request.method == "GET":
        # The script asks again by itself, and keeps what the reader has opened.
        content = f"{view.refresh_seconds or _REFRESH_SECONDS}"
        goes_on = "" if view.refresh_seconds else None
        head.append(element("meta", name="advisor-refresh", content=content, data_goes_on=goes_on))
    return served_page(
        _title(view),
        blocks([*_alerts(), view.header]),
        view.sections,
        skip=view.skip,
        head=head,
        navigation=_navigation(view),
        below=_below(view),
    )


def _alerts() -> list[Markup]:
    """What every page has to say: what goes wrong with all that pages show."""
    tell = current_app.extensions.get(TROUBLES, tuple)
    return [element("p", f"{one.text}.", class_="stale", role="alert") for one in tell() if one.is_grave]


def _navigation(view: View) -> Markup:
    places = [_place(endpoint, title, url_for(endpoint)) for endpoint, title in _PLACES]
    parts = [element("nav", blocks(places), class_="places", aria_label="Pages")]
    if view.operator:
        tabs = [_place(endpoint, title, url_for(endpoint, name=view.operator)) for endpoint, title in _TABS]
        parts.append(element("nav", blocks(tabs), class_="places tabs", aria_label="Pages of this operator"))
    return blocks(parts)


def _place(endpoint: str, title: str, address: str) -> Markup:
    return element("a", title, href=address, aria_current="page" if request.endpoint == endpoint else None)


def _below(view: View) -> Markup:
    zone = element("span", "Times are UTC.", class_="zone")
    told = element("p", zone, " Made by kuberay-advisor, which changed nothing.")
    if view.data is None:
        return told
    links = [element("a", form.title, href=_address(name), rel="nofollow") for name, form in _FORMS.items()]
    return blocks(
        [element("nav", "This page as a file:", *links, class_="exports", aria_label="This page as a file"), told]
    )


def _address(form: str = "") -> str:
    """This page's own address, as a file in a form where one is named."""
    asked = [(name, value) for name, value in request.args.items(multi=True) if name != _EXPORT]
    wanted = [*asked, (_EXPORT, form)] if form else asked
    # A name in the path may hold anything.
    return f"{quote(request.path)}{f'?{urlencode(wanted)}' if wanted else ''}"


def _exported(view: View, name: str) -> Response:
    form = _FORMS.get(name)
    if form is None:
        abort(HTTPStatus.BAD_REQUEST, f"{_EXPORT} is one of {', '.join(_FORMS)}, not {name!r}")
    response = Response(form.write(view), status=view.status, content_type=form.content_type)
    response.headers["Content-Disposition"] = f'attachment; filename="{_file_name(view)}.{form.ending}"'
    return response


def _permanent() -> str:
    """This page's whole address, without the form."""
    return f"{request.url_root.rstrip('/')}{_address()}"


def _html(view: View) -> str:
    origin = element("p", "From ", element("a", _permanent(), href=_permanent()), class_="source")
    text = page(_title(view), blocks([origin, view.header]), view.sections, skip=view.skip, style=sheet_text())
    # A file has no server to ask. Text has neither "<" nor a quotation mark: these are elements and attributes of ours.
    return _A_FORM.sub("", text).replace(' href="/', f' href="{request.url_root}')


def _markdown(view: View) -> str:
    sections = [blocks([element("h2", one.title), one.content]) for one in view.sections]
    return to_markdown(blocks([view.header, *sections]), root=request.url_root.rstrip("/"), origin=_permanent())


def _json(view: View) -> bytes:
    data = view.data() if callable(view.data) else view.data
    return msgspec.json.encode({"page": _permanent(), "title": view.title, "data": data})


def _title(view: View) -> str:
    return f"{view.title} - kuberay-advisor"


def _file_name(view: View) -> str:
    """The page's title as far as any file system takes it."""
    kept = "".join(one if one.isascii() and one.isalnum() else "-" for one in view.title)
    return "-".join(part for part in kept.split("-") if part)[:80] or "page"


class _Form(NamedTuple):
    """One form of a file: what it is called, its type, its ending, and who writes it."""

    title: str
    content_type: str
    ending: str
    write: Callable[[View], str | bytes]


_FORMS: Final = {
    "html": _Form("HTML", HTML_TYPE, "html", _html),
    "markdown": _Form("Markdown", "text/markdown; charset=utf-8", "md", _markdown),
    "json": _Form("JSON", "application/json", "json", _json),
}
