"""What the service tells Prometheus: advice and findings of each operator's last report, and how analysing goes."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from http import HTTPStatus
from typing import Final

import msgspec
from flask import Blueprint, Response, request
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from advisor.analysis.changes import error_ratio
from advisor.model.advice import Direction
from advisor.model.comparison import PredictionCheck, PredictionResult
from advisor.model.finding import FindingCode, Severity
from advisor.model.fleet import FleetForecast, FleetVerdict
from advisor.store.records import ReportRow
from advisor.web.state import Service

__all__ = ["blueprint"]

_PLAIN: Final = "text/plain; charset=utf-8"
_FAMILY: Final = re.compile(rb"(?P<head># HELP (?P<name>\S+).*\n# TYPE .*\n)(?P<lines>(?:[^#].*\n)*)")
"""A family in either format; a line of it never begins with a number sign, and no value has a line's end as it is."""
_Encode = Callable[[Collector], bytes]
_DIRECTIONS: Final = {Direction.RAISE: 1, Direction.KEEP: 0, Direction.LOWER: -1}


class _Families(Collector):
    """Some families, as encoders want them."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        """All of them."""
        return self._families


def _families(service: Service, rows: Sequence[ReportRow]) -> Iterator[Metric]:
    """Every family, with what these reports tell; the names are fixed for rules and dashboards."""
    *told, success = _told(rows)
    yield from told
    yield _errors(service.store.last_measured())
    yield success
    took = GaugeMetricFamily(
        "kuberay_advisor_analysis_duration_seconds",
        "How long the last analysis took.",
        labels=("operator", "source"),
    )
    failing = GaugeMetricFamily(
        "kuberay_advisor_analysis_failures_in_a_row",
        "How often in a row the operator could not be analysed.",
        labels=("operator", "source"),
    )
    errors = CounterMetricFamily(
        "kuberay_advisor_analysis_errors",
        "How often the operator could not be analysed.",
        labels=("operator", "source"),
    )
    for target in service.targets():
        labels = (target.name, service.kind(target.name))
        failing.add_metric(labels, target.failures)
        errors.add_metric(labels, target.failures_total)
        if target.last_duration_seconds is not None:
            took.add_metric(labels, target.last_duration_seconds)
    yield from (took, failing, errors)


def _told(rows: Sequence[ReportRow]) -> Iterator[Metric]:
    """What reports tell, and when they were made."""
    verdicts = [(one.operator, one.verdict) for one in rows]
    yield from _advice(verdicts)
    yield from _findings(verdicts)
    yield _forecasts(verdicts)
    success = GaugeMetricFamily(
        "kuberay_advisor_analysis_last_success_timestamp_seconds",
        "When the operator was last analysed.",
        labels=("operator",),
    )
    for one in rows:
        success.add_metric((one.operator,), one.time)
    yield success


def _advice(verdicts: list[tuple[str, FleetVerdict]]) -> Iterator[Metric]:
    labels = ("operator", "setting")
    current = GaugeMetricFamily("kuberay_advisor_current", "The setting as it is.", labels=labels)
    advised = GaugeMetricFamily("kuberay_advisor_recommended", "The setting as advised.", labels=labels)
    direction = GaugeMetricFamily(
        "kuberay_advisor_recommended_direction", "1 to raise it, 0 to keep it, -1 to lower it.", labels=labels
    )
    for operator, verdict in verdicts:
        for setting, knob in verdict.knobs():
            if knob.current is not None:
                current.add_metric((operator, setting), knob.current)
            if knob.value is not None:
                advised.add_metric((operator, setting), knob.value)
            if knob.direction in _DIRECTIONS:
                direction.add_metric((operator, setting), _DIRECTIONS[knob.direction])
    return iter((current, advised, direction))


def _findings(verdicts: list[tuple[str, FleetVerdict]]) -> Iterator[Metric]:
    labels = ("operator", "code", "severity")
    found = GaugeMetricFamily(
        "kuberay_advisor_finding", "1 for each finding of the last report; its series ends with it.", labels=labels
    )
    lost = GaugeMetricFamily(
        "kuberay_advisor_finding_lost_time_ratio",
        "Share of the time lost in the verdict's episode that the finding explains.",
        labels=labels,
    )
    for operator, verdict in verdicts:
        for code, severity, ratio in _found(verdict):
            found.add_metric((operator, code.value, severity.value), 1)
            if ratio is not None:
                lost.add_metric((operator, code.value, severity.value), ratio)
    return iter((found, lost))


def _found(verdict: FleetVerdict) -> Iterator[tuple[FindingCode, Severity, float | None]]:
    """Each finding with its share of the lost time; of a verdict of an older version the first one alone."""
    if not verdict.findings:
        yield verdict.finding, verdict.severity, None
    for one in verdict.findings:
        yield one.code, one.severity, one.lost_ratio


def _forecasts(verdicts: list[tuple[str, FleetVerdict]]) -> Metric:
    family = GaugeMetricFamily(
        "kuberay_advisor_predicted_queue_wait_seconds",
        "Mean queue wait with the settings as advised: quantiles of the forecast; 0 and 1 where only bounds are known.",
        labels=("operator", "quantile"),
    )
    for operator, verdict in verdicts:
        if verdict.queue_wait_forecast is not None:
            for quantile, value in _quantiles(verdict.queue_wait_forecast):
                family.add_metric((operator, quantile), value)
    return family


def _quantiles(forecast: FleetForecast) -> tuple[tuple[str, float], ...]:
    """Four of five simulated runs lie within the interval; bounds in closed form hold them all."""
    if forecast.simulated:
        return ("0.1", forecast.low), ("0.5", forecast.then), ("0.9", forecast.high)
    return ("0", forecast.low), ("1", forecast.high)


class _Compared(msgspec.Struct, frozen=True):
    """What of a comparison is asked here; the rest is not decoded."""

    predictions: tuple[PredictionCheck, ...]


class _Measured(msgspec.Struct, frozen=True):
    """The same of a measurement."""

    comparison: _Compared


_MEASURED: Final = msgspec.json.Decoder(_Measured)


def _errors(measured: Sequence[tuple[str, bytes]]) -> Metric:
    family = GaugeMetricFamily(
        "kuberay_advisor_prediction_error_ratio",
        "How far the prediction for the last measured change of settings was off: measured by predicted, less 1.",
        labels=("operator", "quantity"),
    )
    for operator, document in measured:
        for one in _checks(document):
            ratio = None if one.measured is None else error_ratio(one.then, one.measured)
            if one.result is not PredictionResult.NOT_CHECKED and ratio is not None:
                family.add_metric((operator, one.quantity), ratio)
    return family


def _checks(document: bytes) -> tuple[PredictionCheck, ...]:
    """What became of each prediction; nothing where the document is of another version."""
    try:
        return _MEASURED.decode(document).comparison.predictions
    except msgspec.DecodeError:
        return ()


class _Pieces:
    """Answers in one format, put together of what each report tells, which is encoded once."""

    def __init__(self) -> None:
        self._of: dict[str, tuple[int, dict[bytes, bytes]]] = {}

    def answer(self, service: Service, encode: _Encode) -> bytes:
        """All families with all their lines."""
        pieces: dict[str, tuple[int, dict[bytes, bytes]]] = {}
        for status in service.store.statuses():
            row = status.report
            if row is None:
                continue
            known = self._of.get(row.operator)
            if known is None or known[0] != row.id:
                families = _FAMILY.finditer(encode(_Families(_told((row,)))))
                known = row.id, {one["name"]: one["lines"] for one in families}
            pieces[row.operator] = known
        # Without those of operators that are gone.
        self._of = pieces

        def filled(frame: re.Match[bytes]) -> bytes:
            lines = (told.get(frame["name"], b"") for _, told in pieces.values())
            return b"".join((frame["head"], *lines, frame["lines"]))

        return _FAMILY.sub(filled, encode(_Families(_families(service, ()))))


class _Encoded:
    """The last answer in each format, for as long as nothing that it tells has changed: it has no time of its own."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[object, bytes]] = {}
        self._pieces: dict[str, _Pieces] = {}

    def get(self, service: Service, kind: str, encode: _Encode) -> bytes:
        """What ``encode`` makes, or made."""
        # Before the encoding: what changes meanwhile is told to whoever asks next.
        state = (service.store.revision, service.targets(), service.troubles())
        known = self._known.get(kind)
        if known is not None and state[0] is not None and known[0] == state:
            return known[1]
        body = self._pieces.setdefault(kind, _Pieces()).answer(service, encode)
        self._known[kind] = (state, body)
        return body


def blueprint(service: Service) -> Blueprint:
    """Metrics and health."""
    routes = Blueprint("metrics", __name__)
    known = _Encoded()

    @routes.get("/metrics")
    def metrics() -> Response:
        encode, kind = choose_encoder(request.headers.get("Accept", ""))
        return Response(known.get(service, kind, encode), content_type=kind)

    @routes.get("/healthz")
    def alive() -> Response:
        return Response("ok\n", content_type=_PLAIN)

    @routes.get("/readyz")
    def ready() -> Response:
        if service.store.has_report():
            return Response("ok\n", content_type=_PLAIN)
        return Response("not yet\n", status=HTTPStatus.SERVICE_UNAVAILABLE, content_type=_PLAIN)

    return routes
