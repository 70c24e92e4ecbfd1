"""The JSON around every answer of the API, and the data in it, checked and decoded."""

import math
from array import array
from typing import Any, Final

import msgspec

from advisor.model.raw import Series
from advisor.sources.prometheus.answers import Bucket, Histogram, HistogramSeries, Result

__all__ = ["QUERY_PATHS", "Envelope", "data_of", "envelope_of"]

QUERY_PATHS: Final = frozenset({"/api/v1/query", "/api/v1/query_range"})
_NAME: Final = "__name__"
_WITH_LOW: Final = (1, 3)
_WITH_HIGH: Final = (0, 3)
"""The API's rules of bounds: 0 open at the left, 1 open at the right, 2 open at both, 3 closed."""


class Envelope(msgspec.Struct):
    """What an answer says beside its data, which is left undecoded."""

    status: str
    data: msgspec.Raw = msgspec.Raw(b"null")
    errorType: str = ""  # noqa: N815 - the API's names
    error: str = ""
    warnings: list[str] | None = None
    infos: list[str] | None = None
    isPartial: bool = False  # noqa: N815 - VictoriaMetrics' name, for what Thanos says in a warning

    def remarks(self) -> tuple[str, ...]:
        """What whoever reads the answer should know."""
        partial = ("the store's answer is partial: some of its nodes did not answer",) if self.isPartial else ()
        return (*partial, *(self.warnings or ()), *(self.infos or ()))


class _Data(msgspec.Struct):
    resultType: str  # noqa: N815 - the API's name
    result: msgspec.Raw


_Value = tuple[float, float]
_Text = tuple[float, str]


class _Buckets(msgspec.Struct):
    count: float
    sum: float
    buckets: list[tuple[int, float, float, float]] = []


class _TextBuckets(msgspec.Struct):
    count: str
    sum: str
    buckets: list[tuple[int, str, str, str]] = []


class _Found(msgspec.Struct):
    """A series of a vector or of a matrix, in the usual form: values are strings that JSON's numbers have as well."""

    metric: dict[str, str]
    value: _Value | None = None
    values: list[_Value] = []
    histogram: tuple[float, _Buckets] | None = None
    histograms: list[tuple[float, _Buckets]] = []


class _FoundText(msgspec.Struct):
    """The same where a value such as "+Inf" is no number of JSON's."""

    metric: dict[str, str]
    value: _Text | None = None
    values: list[_Text] = []
    histogram: tuple[float, _TextBuckets] | None = None
    histograms: list[tuple[float, _TextBuckets]] = []


_ENVELOPE: Final = msgspec.json.Decoder(Envelope)
_DATA: Final = msgspec.json.Decoder(_Data)
_MANY: Final = msgspec.json.Decoder(list[msgspec.Raw] | None)
_FOUND: Final = msgspec.json.Decoder(_Found, strict=False)
_FOUND_TEXT: Final = msgspec.json.Decoder(_FoundText)
_SCALAR: Final = msgspec.json.Decoder(_Text)
_OTHERS: Final[dict[str, msgspec.json.Decoder[Any]]] = {
    "/api/v1/series": msgspec.json.Decoder(list[dict[str, str]] | None),
    "/api/v1/labels": msgspec.json.Decoder(list[str] | None),
    "/api/v1/status/buildinfo": msgspec.json.Decoder(dict[str, Any]),
}
_LABEL_VALUES: Final = msgspec.json.Decoder(list[str] | None)


def envelope_of(body: bytearray) -> Envelope:
    """The envelope of an answer.

    Raises:
        DecodeError or RecursionError: it is no JSON of that form.
    """
    return _ENVELOPE.decode(body)


def data_of(path: str, envelope: Envelope) -> Any:  # noqa: ANN401 - by path
    """The data of an answer: of a query ``resultType`` and ``result``, a :class:`Result`; else a list or a dictionary.

    Raises:
        DecodeError, ValueError or RecursionError: it is not of the form that this path has.
    """
    if path in QUERY_PATHS:
        data = _DATA.decode(envelope.data)
        return {"resultType": data.resultType, "result": _result(data)}
    found = _OTHERS.get(path, _LABEL_VALUES).decode(envelope.data)
    return [] if found is None else found


def _result(data: _Data) -> Result:
    if data.resultType in ("vector", "matrix"):
        reading = _Reading()
        # One series at a time is in memory in decoded form.
        for raw in _MANY.decode(data.result) or ():
            reading.add(_found(raw))
        return reading.result()
    if data.resultType != "scalar":
        raise ValueError(f"a result of type {data.resultType!r} holds no series")
    time, text = _SCALAR.decode(data.result)
    reading = _Reading()
    reading.add(_Found({}, value=(time, float(text))))
    return reading.result()


def _found(raw: msgspec.Raw) -> _Found:
    try:
        return _FOUND.decode(raw)
    except msgspec.ValidationError:
        text = _FOUND_TEXT.decode(raw)
    return _Found(
        text.metric,
        None if text.value is None else _number(text.value),
        list(map(_number, text.values)),
        None if text.histogram is None else (text.histogram[0], _numbers(text.histogram[1])),
        [(time, _numbers(one)) for time, one in text.histograms],
    )


def _number(value: _Text) -> _Value:
    return value[0], float(value[1])


def _numbers(text: _TextBuckets) -> _Buckets:
    buckets = [(rule, float(low), float(high), float(count)) for rule, low, high, count in text.buckets]
    return _Buckets(float(text.count), float(text.sum), buckets)


class _Reading:
    """Collects series, leaving out what is no number."""

    def __init__(self) -> None:
        self._series: list[Series] = []
        self._histograms: list[HistogramSeries] = []
        self._nan = 0
        self._infinite = 0

    def add(self, found: _Found) -> None:
        labels = found.metric
        name = labels.pop(_NAME, "")
        pairs = found.values if found.value is None else [found.value]
        histograms = found.histograms if found.histogram is None else [found.histogram]
        if pairs:
            self._add_values(name, labels, pairs)
        if histograms:
            times = array("d", [time for time, _ in histograms])
            self._histograms.append(HistogramSeries(name, labels, times, [_histogram(one) for _, one in histograms]))

    def _add_values(self, name: str, labels: dict[str, str], pairs: list[_Value]) -> None:
        values = array("d", [value for _, value in pairs])
        # One sum tells whether there is anything to look for; it may also be that it is too large.
        if not math.isfinite(sum(values)):
            self._nan += sum(map(math.isnan, values))
            self._infinite += sum(map(math.isinf, values))
            pairs = [pair for pair in pairs if math.isfinite(pair[1])]
            values = array("d", [value for _, value in pairs])
        if pairs:
            self._series.append(Series(name, labels, array("d", [time for time, _ in pairs]), values))

    def result(self) -> Result:
        return Result(tuple(self._series), tuple(self._histograms), self._nan, self._infinite)


def _histogram(found: _Buckets) -> Histogram:
    buckets = tuple(
        Bucket(low, high, count, has_low=rule in _WITH_LOW, has_high=rule in _WITH_HIGH)
        for rule, low, high, count in found.buckets
    )
    return Histogram(found.count, found.sum, buckets)
