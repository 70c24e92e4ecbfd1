"""What other settings would do to one operator: a form, and the result of what was asked."""

from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from flask import Blueprint, Response, abort, redirect, request, url_for

from advisor.errors import NothingToAnalyseError
from advisor.model.report import Report
from advisor.report.document import Section
from advisor.report.fleetwording import age_text
from advisor.report.markup import Markup, blocks, element
from advisor.store.records import OperatorStatus
from advisor.web.asked import known_status
from advisor.web.layout import present
from advisor.web.pages.whatifresult import headline, result_sections
from advisor.web.questions import Ground, ask, ground_of, page_address, refusal, run_values
from advisor.web.state import Service
from advisor.web.view import View, moment
from advisor.web.whatifasked import FIELDS, Asked, AskError, read_asked, run_id
from advisor.web.whatifline import Phase
from advisor.web.whatifs import BusyError, WhatIfRun

__all__ = ["register"]

_REFRESH_SECONDS: Final = 2
_SKIP: Final = "Skip to the settings"
_LABELS: Final = {
    "concurrency": ("Concurrency", "workers of each controller", "numeric"),
    "qps": ("QPS", "requests a second of each client, or off", "decimal"),
    "burst": ("Burst", "requests at once; nothing without QPS", "numeric"),
    "cpu": ("CPU limit", "cores, or off", "decimal"),
}
_OVER: Final = {
    Phase.CANCELLED: "It was cancelled.",
    Phase.LEFT: "It was ended, since nobody looked at this page any more.",
    Phase.LATE: "It took longer than whatif.timeout allows, and was ended.",
    Phase.FAILED: "It failed.",
}


def register(routes: Blueprint, service: Service) -> None:
    """``/what-if/NAME``: shows with GET, begins and cancels with POST."""

    def answer(name: str) -> Response:
        return _posted(service, name) if request.method == "POST" else present(_shown(service, name))

    routes.add_url_rule("/what-if/<path:name>", "whatif", answer, methods=["GET", "POST"])


def _posted(service: Service, name: str) -> Response:
    """Begin or cancel, and lead to the page that shows it."""
    status, given = known_status(service, name), request.form.to_dict()
    run = given.get("run", "")
    if given.get("do") == "cancel" and service.whatifs is not None:
        known = service.whatifs.look(run)
        if known is None or known.operator != name:
            abort(HTTPStatus.NOT_FOUND, "this what-if is not known any more")
        service.whatifs.cancel(run)
        return _to(page_address(name, known.asked, run))
    try:
        found = ask(service, status, given)
    except AskError as error:
        return present(_view(service, status, given, error.problems))
    except (BusyError, NothingToAnalyseError) as error:
        return refusal(error)
    return _to(page_address(name, found.asked, found.id))


def _to(address: str) -> Response:
    response = redirect(address, HTTPStatus.SEE_OTHER, Response)
    assert isinstance(response, Response)  # noqa: S101 - as asked for
    return response


def _shown(service: Service, name: str) -> View:
    return _view(service, known_status(service, name), request.args.to_dict(), {})


def _view(service: Service, status: OperatorStatus, given: Mapping[str, str], problems: Mapping[str, str]) -> View:
    """The page.

    Args:
        service: what there is.
        status: of the operator.
        given: values and the name of a run, as the address or the form has them.
        problems: what is wrong with the values.
    """
    name = status.operator
    ground = ground_of(service, name)
    if service.whatifs is None or ground.basis is None:
        return _impossible(name, ground, is_off=service.whatifs is None)
    now = Asked.of(ground.basis.settings)
    run = None if problems else _run(service, ground, name, given)
    report = None if status.report is None else service.report(status.report)
    texts = {**now.texts(), **_advised(report, now), **(now.texts() if _is_given(given) else {})}
    texts |= {} if run is None else run.asked.texts()
    texts |= {field: given[field] for field in FIELDS if field in given and run is None}
    form = blocks([*_gone(given, run, problems), _form(name, texts, problems), _hints(name, now, report)])
    sections = [Section("settings", "Settings to try", form), *_result(run, report)]
    header = _header(name, run, [*_doubts(status, ground, now)], ground.time, service.clock())
    goes_on = run is not None and run.phase.goes_on
    return View(
        title=f"What-if of {name}",
        header=header,
        sections=sections,
        data={
            "operator": name,
            "basis": {"time": ground.time, "window": ground.basis.window, "missing_since": ground.missing},
            "now": now,
            "problems": problems,
            "what_if": None if run is None else run_values(run),
        },
        operator=name,
        skip=_SKIP,
        status=HTTPStatus.BAD_REQUEST if problems else HTTPStatus.OK,
        refresh_seconds=_REFRESH_SECONDS if goes_on else 0,
    )


def _impossible(name: str, ground: Ground, *, is_off: bool) -> View:
    header = element("header", element("h1", f"What if {name} had other settings?"))
    if is_off:
        parts = [element("p", "What-ifs are turned off here: ", element("code", "whatif.at_a_time"), " is 0.")]
    else:
        parts = [
            element("p", f"There is not enough to simulate from: {ground.missing}.", class_="stale"),
            element("p", "A prediction needs a load that was seen, and the settings under which it was seen:"),
            element(
                "ul",
                element(
                    "li", "keep the operator watched while clusters are created; the next analysis finds the load;"
                ),
                element(
                    "li",
                    "settings that are in no series can be told with ",
                    element("code", "version"),
                    " and ",
                    element("code", "args"),
                    " of the operator in the service's configuration;",
                ),
                element("li", "a sidecar sees single objects, and tells most."),
            ),
        ]
    section = Section("missing", "No prediction here yet", blocks(parts))
    data = {"operator": name, "missing": "what-ifs are turned off" if is_off else ground.missing, "what_if": None}
    return View(title=f"What-if of {name}", header=header, sections=[section], data=data, operator=name)


def _is_given(given: Mapping[str, str]) -> bool:
    return any(field in given for field in FIELDS)


def _run(service: Service, ground: Ground, name: str, given: Mapping[str, str]) -> WhatIfRun | None:
    """The run that the address names, or else one with its values on the newest basis, if there is any."""
    assert service.whatifs is not None  # noqa: S101 - the caller has looked
    assert ground.basis is not None  # noqa: S101 - as well
    found = service.whatifs.look(given.get("run", ""))
    if found is not None:
        return found if found.operator == name else None
    if not _is_given(given):
        return None
    try:
        asked = read_asked(given, ground.basis.settings)
    except AskError:
        return None
    return service.whatifs.look(run_id(name, ground.time, asked))


def _advised(report: Report | None, now: Asked) -> dict[str, str]:
    """What the report advises, where that is another value, as a form has it."""
    if report is None:
        return {}
    advice, found = report.advice, {}
    knobs = (
        ("concurrency", advice.concurrency),
        ("qps", advice.qps),
        ("burst", advice.burst),
        ("cpu", advice.cpu_cores),
    )
    for field, knob in knobs:
        if knob.moves and knob.value is not None:
            found[field] = f"{knob.value:.12g}"
    return {field: text for field, text in found.items() if text != now.texts()[field]}


def _doubts(status: OperatorStatus, ground: Ground, now: Asked) -> Iterator[Markup]:
    """What has changed since the load was seen."""
    if ground.missing:
        yield element("p", f"The last analysis found no load: {ground.missing}.", class_="stale")
    if status.report is None:
        return
    verdict = status.report.verdict
    knobs = (("concurrency", verdict.concurrency, now.concurrency), ("QPS", verdict.qps, now.qps))
    for title, knob, then in knobs:
        if knob.current is not None and max(knob.current, -1.0) != then:
            told = f"The load was seen with {title} {then:g}; it is {knob.current:g} by now. Now is what was then."
            yield element("p", told, class_="stale")


def _header(name: str, run: WhatIfRun | None, doubts: Sequence[Markup], time: float, now: float) -> Markup:
    title = element("h1", f"What if {name} had other settings?")
    time = time if run is None else run.basis_time
    since = element("p", "The load is what was seen up to ", moment(time), f", {age_text(now - time)} ago.")
    notes = list(doubts)
    if run is not None and run.answer is not None:
        notes.append(element("p", element("strong", headline(run.answer))))
    return element("header", blocks([title, *notes, since]))


def _gone(given: Mapping[str, str], run: WhatIfRun | None, problems: Mapping[str, str]) -> Iterator[Markup]:
    if given.get("run") and run is None and not problems:
        yield element("p", "This result is no longer kept. Its settings are below: predict them again.", class_="stale")


def _form(name: str, texts: Mapping[str, str], problems: Mapping[str, str]) -> Markup:
    fields = [_field(field, texts[field], problems.get(field)) for field in FIELDS]
    return element(
        "form",
        *fields,
        element("button", "Predict", name="do", value="run"),
        class_="ask",
        method="post",
        action=url_for("pages.whatif", name=name),
    )


def _field(field: str, text: str, problem: str | None) -> Markup:
    title, about, mode = _LABELS[field]
    told = f"{field}-about {field}-wrong" if problem else f"{field}-about"
    return element(
        "div",
        element(
            "label",
            title,
            element(
                "input",
                name=field,
                value=text,
                inputmode=mode,
                autocomplete="off",
                maxlength=20,
                aria_describedby=told,
                aria_invalid="true" if problem else None,
            ),
        ),
        element("p", about, class_="about", id=f"{field}-about"),
        element("p", f"Allowed is {problem}.", class_="wrong", id=f"{field}-wrong", role="alert") if problem else None,
    )


def _hints(name: str, now: Asked, report: Report | None) -> Markup:
    """The values in force and those advised, each as a link that fills them in."""
    links = [("in force", now.texts())]
    if advised := _advised(report, now):
        links.append(("advised", now.texts() | advised))
    items = [
        element("li", element("a", title, href=_filled(name, texts)), f": {_told(texts)}") for title, texts in links
    ]
    return element("ul", *items, class_="about")


def _filled(name: str, texts: Mapping[str, str]) -> str:
    values: dict[str, Any] = dict(texts)
    return url_for("pages.whatif", name=name, **values)


def _told(texts: Mapping[str, str]) -> str:
    return ", ".join(f"{_LABELS[field][0]} {texts[field] or '-'}" for field in FIELDS)


def _result(run: WhatIfRun | None, report: Report | None) -> Iterator[Section]:
    if run is None:
        return
    if run.phase is not Phase.DONE:
        yield Section("progress", "Progress", blocks(_progress(run)))
    if run.answer is not None:
        yield from result_sections(run.answer, run.around, report)


def _progress(run: WhatIfRun) -> Iterator[Markup]:
    if run.phase is Phase.WAITING:
        before = "it is the next" if not run.ahead else f"{run.ahead} before it"
        yield element("p", f"Waiting for a place: {before}.", role="status")
    elif run.phase is Phase.RUNNING:
        yield element("p", f"Simulating: {run.step or 'starting'}.", role="status")
    else:
        why = f" {run.error[:1].upper()}{run.error[1:]}." if run.error else ""
        yield element("p", f"{_OVER[run.phase]}{why}", class_="stale", role="status")
    if run.phase.goes_on:
        yield element("p", "This page asks again by itself. Leave it, and the simulation ends.", class_="about")
        yield element(
            "form",
            element("input", type="hidden", name="run", value=run.id),
            element("button", "Cancel", name="do", value="cancel"),
            class_="stop",
            method="post",
            action=url_for("pages.whatif", name=run.operator),
        )
