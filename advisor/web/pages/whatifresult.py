"""What a what-if came to: now and then, what stands against it, a heat map, curves, and what it all rests on."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from advisor.diagnosis.findings import RULES
from advisor.model.advice import Direction
from advisor.model.finding import FindingCode, Severity
from advisor.model.report import Report
from advisor.model.signal import Unit
from advisor.model.text import format_value
from advisor.model.whatif import Interval, SettingsCell, WhatIf
from advisor.report.charts import draw_swatch
from advisor.report.curves import Curve, Curves, draw_curves
from advisor.report.document import Section, wide_table
from advisor.report.heatmap import heat_maps
from advisor.report.markup import Child, Markup, blocks, element
from advisor.report.quantitywording import quantity_words
from advisor.report.whatifwording import (
    INTERVAL_NOTE,
    load_line,
    named,
    pace_text,
    parameter_rows,
    point_line,
    spread,
    unfinished_line,
)
from advisor.web.pages.moves import UNKNOWN

__all__ = ["asked_cell", "headline", "result_sections"]

_QUANTITIES: Final = (
    "queue_wait_seconds_mean",
    "ready_seconds_mean",
    "makespan_seconds",
    "limiter_wait_seconds_mean",
    "requests_per_second",
    "cpu_cores",
    "utilisation",
)
_CURVES: Final = (
    ("queue_wait_seconds_mean", Unit.SECONDS),
    ("ready_seconds_mean", Unit.SECONDS),
    ("requests_per_second", Unit.PER_SECOND),
    ("cpu_cores", Unit.CORES),
)
_FEWEST: Final = 2
_SAME: Final = 0.05
"""A change by less than this part is none."""
_SETTINGS: Final = {"concurrency": "concurrency", "qps": "QPS", "burst": "burst", "cpu_limit_cores": "the CPU limit"}
_HEALTHY: Final = frozenset({FindingCode.HEALTHY, FindingCode.INSUFFICIENT_DATA})


def asked_cell(answer: WhatIf) -> SettingsCell | None:
    """What was asked; what is in force where that was asked, None where nothing is finished."""
    return next((one for one in answer.cells if not one.is_now), answer.now)


def headline(answer: WhatIf) -> str:
    """The result in one sentence."""
    then, now = asked_cell(answer), answer.now
    if then is None or now is None:
        return "Nothing could be predicted."
    told = [
        f"{quantity_words(quantity)} {spread(after)}{'' if then.is_now else f', now {spread(before)}'}"
        for quantity in _QUANTITIES[:2]
        if (after := then.estimate(quantity)) is not None and (before := now.estimate(quantity)) is not None
    ]
    return f"With {named(then)}: {'; '.join(told) or 'no key waits for a worker'}."


def result_sections(answer: WhatIf, around: WhatIf | None, report: Report | None) -> Iterator[Section]:
    """All that a result shows.

    Args:
        answer: the settings in force and those that were asked.
        around: the combinations beside; None until they are there.
        report: the operator's newest; None where there is none.
    """
    yield Section("prediction", "Now and then", blocks(_prediction(answer)))
    if told := list(_guards(answer, around, report)):
        items = blocks(element("li", one) for one in told)
        yield Section("guards", "What to bear in mind", element("ul", items))
    if around is not None:
        yield from _around(answer, around)
    yield Section("basis", "What the model rests on", blocks(_basis(answer)))


def _prediction(answer: WhatIf) -> Iterator[Markup]:
    then, now = asked_cell(answer), answer.now
    if then is None or now is None:
        return
    measured = {one.quantity: format_value(one.value, one.unit) for one in answer.measured}
    rows = []
    for quantity in _QUANTITIES:
        before, after = now.estimate(quantity), then.estimate(quantity)
        if before is None and after is None:
            continue
        cells: list[Child] = [
            quantity_words(quantity),
            measured.get(quantity, UNKNOWN),
            *(_text(one) for one in (before, after)),
        ]
        rows.append([*cells, _change(before, after)])
    heads = ("", "measured now", "model now", "model then", "change")
    yield element("p", "Now: ", named(now), ". Then: ", element("strong", named(then)), ".")
    yield wide_table("Now and then", heads, rows, numbers=range(1, 5))
    yield element("p", INTERVAL_NOTE, class_="about")


def _text(one: Interval | None) -> str:
    return UNKNOWN if one is None else spread(one)


def _change(before: Interval | None, after: Interval | None) -> str:
    if before is None or after is None:
        return UNKNOWN
    if abs(after.value - before.value) <= _SAME * max(abs(before.value), abs(after.value)):
        return "same"
    if before.value <= 0.0 or after.value <= 0.0:
        return "more" if after.value > before.value else "less"
    ratio = after.value / before.value
    return f"{ratio:.1f} times" if ratio >= _FEWEST else f"{ratio - 1.0:+.0%}"


def _guards(answer: WhatIf, around: WhatIf | None, report: Report | None) -> Iterator[str]:
    """What speaks against it, or makes it a guess; sentences."""
    then, now = asked_cell(answer), answer.now
    if then is None or now is None:
        return
    if then.is_beyond:
        yield (
            "This is a guess: it lies beyond what the model was calibrated on, or would take more CPU than the limit "
            "allows. Try a smaller step, and ask again with what is measured then."
        )
    if not then.is_complete:
        yield "Not everything got ready within the run: the means leave out what would take longest."
    yield from _without_gain(answer, around)
    if report is not None:
        yield from _advice(report, now, then)


def _without_gain(answer: WhatIf, around: WhatIf | None) -> Iterator[str]:
    then = asked_cell(answer)
    if then is None or then.is_now:
        return
    cells = () if around is None else around.cells
    same = (one for one in cells if (one.concurrency, one.qps) == (then.concurrency, then.qps))
    axes = dict.fromkeys([*then.no_gain, *(axis for one in same for axis in one.no_gain)])
    for axis in axes:
        yield f"Raising {_SETTINGS[axis]} so far gains less than 5 %: the next smaller value does as well."


def _advice(report: Report, now: SettingsCell, then: SettingsCell) -> Iterator[str]:
    """What the report says where it advises otherwise."""
    advice = report.advice
    raised = (
        ("concurrency", then.concurrency > now.concurrency, advice.concurrency),
        ("QPS", _pace(then) > _pace(now), advice.qps),
        ("burst", then.qps >= 0 and now.qps >= 0 and then.burst > now.burst, advice.burst),
    )
    against = [(name, knob) for name, is_raised, knob in raised if is_raised and knob.direction is not Direction.RAISE]
    for name, knob in against:
        if knob.reason:
            yield f"The report does not advise to raise {name}: {knob.reason}."
    first = next((one for one in report.findings if one.code not in _HEALTHY), None)
    if against and first is not None and first.severity is not Severity.INFO:
        page = next(rule.page for rule in RULES if rule.code is first.code)
        yield f"The report finds: {first.summary} {page.what_not_to_do}"


def _pace(cell: SettingsCell) -> float:
    return float("inf") if cell.qps < 0 else cell.qps


def _around(answer: WhatIf, around: WhatIf) -> Iterator[Section]:
    then = asked_cell(answer)
    limit = None if then is None else then.cpu_limit_cores
    shown = _with_limit(around, limit)
    notes = [element("p", unfinished_line(around).replace("Interrupted", "Not all in the time"), class_="short")]
    notes = notes if not around.is_complete else []
    about = "Burst is twice the QPS" + ("." if limit is None else f", the CPU limit {limit:g} cores.")
    maps = blocks(heat_maps(shown, None if then is None or then.is_now else (then.concurrency, then.qps)))
    if maps:
        content = blocks([*notes, element("div", maps, class_="charts"), element("p", about, class_="about")])
        yield Section("map", "Queue wait by workers and QPS", content)
    curves = blocks(_curves(shown, answer))
    if curves:
        yield Section("curves", "By workers", blocks([*notes, element("div", curves, class_="charts")]))


def _with_limit(around: WhatIf, limit: float | None) -> WhatIf:
    """The combinations with one CPU limit; what is in force may have another."""
    kept = [index for index, one in enumerate(around.cells) if one.cpu_limit_cores == limit]
    smallest = kept.index(around.smallest) if around.smallest in kept else None
    cells = tuple(around.cells[index] for index in kept)
    return msgspec.structs.replace(around, cells=cells, smallest=smallest, best=())


def _curves(around: WhatIf, answer: WhatIf) -> Iterator[Markup]:
    """A picture for each quantity: with the QPS that was asked, and with that in force."""
    then, now = asked_cell(answer), answer.now
    workers = sorted({one.concurrency for one in around.cells})
    if then is None or now is None or len(workers) < _FEWEST:
        return
    paces = list(dict.fromkeys((then.qps, now.qps)))
    places = [_place(count, then, now) for count in workers]
    for index, (quantity, unit) in enumerate(_CURVES):
        title = f"{quantity_words(quantity)[0].upper()}{quantity_words(quantity)[1:]}"
        curves = [
            Curve(
                f"{pace_text(qps)}{' (now)' if qps == now.qps else ''}", style, _values(around, workers, qps, quantity)
            )
            for qps, style in zip(paces, ("first", "second"), strict=False)
        ]
        curves = [one for one in curves if any(value is not None for value in one.values)]
        if not curves:
            continue
        legend = [element("span", draw_swatch(one.style), f" {one.name}") for one in curves]
        caption = element("figcaption", element("strong", title), *legend)
        picture = draw_curves(Curves(title, unit, "workers", places, curves), f"curve-{index}")
        yield element("figure", blocks([caption, picture]))


def _place(count: int, then: SettingsCell, now: SettingsCell) -> str:
    words = [word for word, cell in (("now", now), ("asked", then)) if cell.concurrency == count]
    return f"{count} {', '.join(words)}" if len(words) == 1 else str(count)


def _values(around: WhatIf, workers: Sequence[int], qps: float, quantity: str) -> list[Interval | None]:
    # What is in force may have a burst of its own; the others follow their QPS.
    cells = sorted((one for one in around.cells if one.qps == qps), key=lambda one: one.is_now)
    at = {one.concurrency: one for one in reversed(cells)}
    return [None if count not in at else at[count].estimate(quantity) for count in workers]


def _basis(answer: WhatIf) -> Iterator[Markup]:
    lines = [load_line(answer), point_line(answer), *answer.notes]
    yield element("ul", blocks(element("li", line) for line in lines))
    heads = ("parameter", "value", "between", "and", "from")
    yield wide_table("Parameters of the model", heads, parameter_rows(answer), numbers=(1, 2, 3))
    told = f"{answer.draws} draws for each interval of what was asked, seed {answer.seed}."
    yield element("p", told, class_="about")
