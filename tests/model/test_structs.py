"""Every value type of the model: frozen, without a dictionary of its own, and the same after a trip through JSON."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import advisor.model
from advisor.model.advice import Advice, Direction, KnobAdvice, Patch, Prediction
from advisor.model.backtest import BacktestRow
from advisor.model.change import ChangeBasis, ChangeMeasurement, ChangePrediction
from advisor.model.comparison import (
    Comparison,
    LoadMeasure,
    Outcome,
    PredictionCheck,
    PredictionResult,
    Quantity,
    SettingChange,
    Side,
    Trend,
)
from advisor.model.facts import (
    ClientFacts,
    ControllerFacts,
    DemandFacts,
    ExternalFacts,
    Facts,
    OperatorFacts,
    ProcessFacts,
    ScalingPoint,
)
from advisor.model.finding import Check, Confidence, Evidence, Finding, FindingCode, Severity
from advisor.model.fleet import FleetFinding, FleetForecast
from advisor.model.raw import LogRecord, ObjectChange, ReadNote, Series, Setup, Subject
from advisor.model.report import EpisodeReport, Figure, MissingFigure, ProfileUsed, Report, SourceInfo
from advisor.model.settings import Setting, Settings, SettingSource
from advisor.model.signal import Quality, Signal, Unit, Window, measured, missing
from advisor.model.signals import ApiServerSignals, Episode, EpisodeKind, KeyLoad, NamespaceLoad, OperatorSignals
from advisor.model.timeline import Timeline, TimelineSeries
from tests.model import historymade
from tests.report import fleetmade, whatifmade
from tests.signals.builders import controller, every, histogram, observations, record, requests

NUMBERS: Final = st.floats(allow_nan=False, allow_infinity=False)
WINDOW: Final = Window(0.0, 20.0)
KNOB: Final = KnobAdvice(direction=Direction.RAISE, current=1.0, value=4.0, reason="busy")
SETTING: Final = Setting(4.0, SettingSource.METRIC, "a series")
SETTINGS: Final = Settings(
    version="1.7.0",
    concurrency=SETTING,
    qps=Setting(-1.0, SettingSource.ARGUMENT, "--qps"),
    burst=Setting(None, SettingSource.UNKNOWN),
    cpu_limit_cores=SETTING,
    memory_limit_bytes=SETTING,
)
EPISODE: Final = Episode(EpisodeKind.LOAD, WINDOW, "keys waited")
FINDING: Final = Finding(
    code=FindingCode.HOT_KEY,
    severity=Severity.WARNING,
    confidence=Confidence.LOW,
    title="t",
    summary="s",
    evidence=(Evidence(text="e", value=1.0, unit="ratio", origin="o", quality=Quality.ESTIMATED), Evidence(text="e")),
    checks=(Check(question="q", answer="a", refuted=None), Check(question="q", answer="a", refuted=False)),
    next_steps=("look",),
    subject="team/a",
    lost_seconds=2.0,
    lost_ratio=0.5,
)
ADVICE: Final = Advice(
    concurrency=KNOB,
    qps=msgspec.structs.replace(KNOB, direction=Direction.KEEP, value=1.0),
    burst=msgspec.structs.replace(KNOB, direction=Direction.NO_NUMBER, current=None, value=None),
    cpu_cores=msgspec.structs.replace(KNOB, direction=Direction.LOWER),
    memory_bytes=KNOB,
    actions=("wait",),
    patches=(Patch(kind="helm-values", title="values", text="a: 1\n"),),
)
PREDICTION: Final = Prediction(quantity="wait", unit="seconds", now=4.0, then=1.0, low=0.5, high=2.0, method="m")
KEY: Final = KeyLoad(
    controller="raycluster",
    namespace="team",
    name="a",
    reconciles=3,
    busy_seconds=1.5,
    busy_share=0.5,
    errors=1,
    conflicts=0,
    pods_created=7,
)
NAMESPACE: Final = NamespaceLoad(namespace="team", reconciles=3, busy_share=0.5, errors=1, pods_created=7)
NOTE: Final = ReadNote(where="metrics.om", message="cut off")
SOURCE: Final = SourceInfo(kind="recording", samples=1, log_lines=2, object_changes=3, window=WINDOW, notes=(NOTE,))
REPORT: Final = Report(
    operator="kuberay",
    verdict="v",
    source=SOURCE,
    findings=(FINDING,),
    advice=ADVICE,
    predictions=(PREDICTION,),
    figures={"a.b": Figure(value=1.0, unit="seconds", quality="exact", origin="o", low=0.5, high=None)},
    missing=(MissingFigure(name="c.d", reason="r"),),
    episodes=(EpisodeReport(episode=EPISODE, findings=(FINDING,), lost_seconds=4.0, is_verdict=True),),
    settings=SETTINGS,
    keys=(KEY,),
    namespaces=(NAMESPACE,),
    profile=ProfileUsed(name="kuberay", title="KubeRay", why="w"),
)
SIGNALS: Final = observations(
    [
        *controller(workers=(1, 1, 1), active=(1, 1, 1), depth=(0, 2, 1), work=(0, 4, 10), adds=(0, 3, 6)),
        requests("409", "PUT", every(10, 0, 1, 2)),
        *histogram(
            "rest_client_request_duration_seconds", {"verb": "PUT"}, total=every(10, 0, 1), count=every(10, 0, 4)
        ),
    ],
    log=[record(1.0), record(3.0)],
).signals(WINDOW)
LOG_RECORD: Final = record(1.0, Subject.THROTTLED, delay_seconds=1.5, detail="/api", exact=True)
CHANGE: Final = ObjectChange(
    t=1.0,
    event="ADDED",
    kind="Pod",
    namespace="team",
    name="p",
    state="ready",
    desired=1,
    ready_workers=1,
    generation=2,
    observed=1,
    phase="Running",
    ready=True,
    cluster="a",
    node_type="worker",
)
SETUP: Final = Setup(version="1.7.0", args=("--qps=1",), start=0.0, end=1.0)

FACTS: Final = Facts(
    operator=OperatorFacts(name="kuberay", version="1.7.0", queue="priority"),
    controllers={
        "raycluster": ControllerFacts(
            utilisation=1.0,
            depth_by_priority={"0": 1.0},
            scaling=(ScalingPoint(workers=4.0, items_per_second=0.3),),
        )
    },
    client=ClientFacts(qps=-1.0),
    external=ExternalFacts(call_seconds_mean=2.0),
    process=ProcessFacts(leader=True, restarts=1),
    demand=DemandFacts(objects={"pod": 3}, resync_seconds=300.0),
    missing_metrics=("workqueue_depth",),
)
TIMELINE: Final = Timeline(
    bounds=(0.0, 10.0, 20.0),
    series=(TimelineSeries(controller="", quantity="requests", unit="per_second", values=(1.0, None)),),
)
SIDE: Final = Side(
    operator="kuberay",
    version=None,
    verdict="v",
    primary=FindingCode.HEALTHY,
    severity=Severity.INFO,
    episode=EpisodeKind.LOAD,
    episode_seconds=10.0,
)
COMPARISON: Final = Comparison(
    outcome=Outcome.BETTER,
    summary="s",
    reasons=("r",),
    costs=(),
    notes=("n",),
    before=SIDE,
    after=SIDE,
    settings=(SettingChange(name="qps", before=1.0, after="2", changed=True),),
    load=(LoadMeasure(name="a", title="t", unit="per_second", before=1.0, after=None, ratio=None, alike=None),),
    quantities=(
        Quantity(
            name="wait",
            title="t",
            unit="seconds",
            before=2.0,
            after=1.0,
            change=-1.0,
            ratio=0.5,
            normalised_ratio=None,
            normalised_by="",
            lower_is_better=True,
            tolerance=0.1,
            beyond_noise=True,
            trend=Trend.BETTER,
            decides=True,
        ),
    ),
    predictions=(
        PredictionCheck(
            quantity="wait",
            unit="seconds",
            low=0.5,
            high=2.0,
            then=1.0,
            measured=1.0,
            result=PredictionResult.INSIDE,
        ),
    ),
)

EXAMPLES: Final[tuple[msgspec.Struct, ...]] = (
    measured(1.5, Unit.SECONDS, origin="o", window=WINDOW, quality=Quality.LOWER_BOUND, low=1.0, high=2.0),
    missing(Unit.RATIO, "off"),
    WINDOW,
    SETTINGS,
    FINDING,
    ADVICE,
    PREDICTION,
    SOURCE,
    REPORT,
    SIGNALS,
    LOG_RECORD,
    CHANGE,
    SETUP,
    NOTE,
    FACTS,
    TIMELINE,
    COMPARISON,
    BacktestRow(
        recording="r", quantity="makespan_seconds", predicted=1.0, low=0.5, high=2.0, measured=1.5, relative_error=None
    ),
    whatifmade.example(),
    ApiServerSignals(
        write_seconds_mean=measured(0.05, Unit.SECONDS, origin="o", window=WINDOW),
        rejected_per_second=missing(Unit.PER_SECOND, "none"),
    ),
    fleetmade.example(),
    FleetFinding(code=FindingCode.HOT_KEY, severity=Severity.WARNING, lost_ratio=0.5),
    FleetForecast(then=1.0, low=0.5, high=2.0, simulated=True),
    ChangePrediction(report=7, time=10.0, predictions=(PREDICTION,), reason=""),
    ChangeBasis(report=7, time=10.0, predictions=(), reason="it advised nothing", before=REPORT),
    ChangeMeasurement(report=8, time=20.0, comparison=COMPARISON),
    historymade.key_history(),
    historymade.priority_history(),
)


def structs() -> list[type[msgspec.Struct]]:
    """Every struct that the model defines."""
    found = {
        each
        for module in pkgutil.iter_modules(advisor.model.__path__, "advisor.model.")
        for _, each in inspect.getmembers(importlib.import_module(module.name), inspect.isclass)
        if issubclass(each, msgspec.Struct)
        and each.__module__.startswith("advisor.model.")
        and not each.__name__.startswith("_")
    }
    return sorted(found, key=lambda each: each.__qualname__)


def held(value: object) -> Iterator[msgspec.Struct]:
    """A struct and every struct in it."""
    if isinstance(value, msgspec.Struct):
        yield value
        for name in value.__struct_fields__:
            yield from held(getattr(value, name))
    elif isinstance(value, dict):
        for each in value.values():
            yield from held(each)
    elif isinstance(value, tuple):
        for each in value:
            yield from held(each)


def test_examples_hold_every_struct() -> None:
    """No struct of the model is without an example below."""
    found = {type(each) for example in EXAMPLES for each in held(example)}
    assert {each for each in found if each.__module__.startswith(advisor.model.__name__)} == set(structs())


@pytest.mark.parametrize("struct", structs(), ids=lambda struct: struct.__qualname__)
def test_is_frozen_and_slotted(struct: type[msgspec.Struct]) -> None:
    """No field of a value can be changed, and none can be added."""
    example = next(each for one in EXAMPLES for each in held(one) if type(each) is struct)
    assert struct.__struct_config__.frozen
    assert not hasattr(example, "__dict__")
    field = struct.__struct_fields__[0]
    with pytest.raises(AttributeError, match="immutable type"):
        setattr(example, field, getattr(example, field))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: type(example).__qualname__)
def test_json_round_trip(example: msgspec.Struct) -> None:
    """A value written as JSON and read back is the same value, and is written the same again."""
    text = msgspec.json.encode(example)
    back = msgspec.json.decode(text, type=type(example))
    assert back == example
    assert msgspec.json.encode(back) == text


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: type(example).__qualname__)
def test_unlike_types_are_refused(example: msgspec.Struct) -> None:
    """What is not an object of that form is refused when it is read."""
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b"[1]", type=type(example))


@given(
    st.builds(
        measured,
        NUMBERS,
        st.sampled_from(Unit),
        origin=st.text(),
        window=st.none() | st.builds(Window, NUMBERS, NUMBERS),
        quality=st.sampled_from(Quality),
        low=st.none() | NUMBERS,
        high=st.none() | NUMBERS,
    )
    | st.builds(missing, st.sampled_from(Unit), st.text())
)
def test_any_signal_survives(signal: Signal) -> None:
    """A signal with any value, bounds, texts and window is the same after JSON."""
    assert msgspec.json.decode(msgspec.json.encode(signal), type=Signal) == signal


def test_a_signal_that_breaks_the_rules_is_refused_when_read() -> None:
    """A signal without value and without reason does not come in by JSON either."""
    with pytest.raises(msgspec.ValidationError, match="either a value or a reason"):
        msgspec.json.decode(b'{"unit":"seconds"}', type=Signal)


def test_what_a_signal_does_not_have_is_not_written() -> None:
    """Absent bounds and defaults are left out of the text."""
    assert msgspec.json.encode(measured(1.0, Unit.COUNT, origin="o")) == b'{"unit":"count","value":1.0,"origin":"o"}'


def test_knobs_are_in_the_order_shown() -> None:
    """Each setting with its advice, in the order in which they are shown."""
    assert ADVICE.knobs() == (
        ("concurrency", ADVICE.concurrency),
        ("qps", ADVICE.qps),
        ("burst", ADVICE.burst),
        ("cpu_cores", ADVICE.cpu_cores),
        ("memory_bytes", ADVICE.memory_bytes),
    )


def test_controller_by_name() -> None:
    """A controller is found by its label, or there is none."""
    assert isinstance(SIGNALS, OperatorSignals)
    assert SIGNALS.controller("raycluster") is SIGNALS.controllers[0]
    assert SIGNALS.controller("rayjob") is None


def test_a_record_of_no_key_has_empty_names() -> None:
    """What a line does not tell is empty, not made up."""
    one = LogRecord(time=1.0, subject=Subject.LINE)
    assert (one.controller, one.namespace, one.name, one.reconcile_id, one.detail) == ("", "", "", "", "")
    assert (one.delay_seconds, one.exact) == (None, False)


def test_series_have_no_dictionary_of_their_own() -> None:
    """A series is slotted: there are many of them."""
    assert not hasattr(Series("x", {}), "__dict__")
