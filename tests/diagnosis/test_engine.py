import pkgutil
import re
from itertools import pairwise

import msgspec
import pytest

from advisor.diagnosis import engine, findings
from advisor.diagnosis.engine import Diagnosis, diagnose, rule_for, verdict_index
from advisor.diagnosis.findings import RULES
from advisor.diagnosis.rule import Rule
from advisor.diagnosis.thresholds import Thresholds
from advisor.errors import UnknownNameError
from advisor.model.finding import FindingCode, Severity
from advisor.model.signal import Window
from advisor.model.signals import EpisodeKind
from advisor.recommend.policy import Policy
from tests.diagnosis.builders import (
    NO_CONTROLLERS,
    a_finding,
    budget,
    case,
    classic_client,
    codes,
    controller,
    diagnosed,
    diagnosis_of,
    estimated,
    found,
    key,
    loaded_client,
    process,
    saturated,
    unknown_controller,
)
from tests.support import ROOT


def ranked(*wanted: tuple[FindingCode, Severity, float], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Codes in rank order of rules that always find the given."""
    template = RULES[0]
    rules = [
        Rule(
            code=code,
            title=code.value,
            page=template.page,
            examine=lambda _, code=code, severity=severity, lost=lost: a_finding(code, severity, lost_seconds=lost),  # type: ignore[misc]
        )
        for code, severity, lost in wanted
    ]
    monkeypatch.setattr(engine, "RULES", tuple(rules))
    return codes(diagnose(case()))


def test_severity_comes_before_lost_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A critical finding precedes a warning that explains more; among equals more lost time comes first."""
    order = ranked(
        (FindingCode.HOT_KEY, Severity.INFO, 900.0),
        (FindingCode.CPU_LIMITED, Severity.WARNING, 500.0),
        (FindingCode.API_SERVER_SLOW, Severity.CRITICAL, 10.0),
        (FindingCode.CLIENT_THROTTLED, Severity.CRITICAL, 20.0),
        monkeypatch=monkeypatch,
    )
    assert order == ["client-throttled", "api-server-slow", "cpu-limited", "hot-key"]


def test_equals_are_in_alphabetical_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """The order never depends on that of the rules."""
    order = ranked(
        (FindingCode.WORKERS_SATURATED, Severity.WARNING, 5.0),
        (FindingCode.CPU_LIMITED, Severity.WARNING, 5.0),
        monkeypatch=monkeypatch,
    )
    assert order == ["cpu-limited", "workers-saturated"]


def test_places_within_one_severity(monkeypatch: pytest.MonkeyPatch) -> None:
    """The all-clear comes before notes, the state of the data last, whatever they explain."""
    order = ranked(
        (FindingCode.METRICS_MISSING, Severity.INFO, 99.0),
        (FindingCode.HOT_KEY, Severity.INFO, 50.0),
        (FindingCode.HEALTHY, Severity.INFO, 0.0),
        monkeypatch=monkeypatch,
    )
    assert order == ["healthy", "hot-key", "metrics-missing"]
    order = ranked(
        (FindingCode.HOT_KEY, Severity.INFO, 50.0),
        (FindingCode.OVER_PROVISIONED, Severity.INFO, 0.0),
        (FindingCode.HEALTHY, Severity.INFO, 0.0),
        monkeypatch=monkeypatch,
    )
    assert order == ["over-provisioned", "hot-key"]


def test_missing_core_series_are_no_problem_of_the_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    """They come first as a warning, and the all-clear stays beside them."""
    order = ranked(
        (FindingCode.METRICS_MISSING, Severity.WARNING, 0.0),
        (FindingCode.HEALTHY, Severity.INFO, 0.0),
        monkeypatch=monkeypatch,
    )
    assert order == ["metrics-missing", "healthy"]


@pytest.mark.parametrize("severity", [Severity.WARNING, Severity.CRITICAL])
def test_healthy_gives_way_to_any_problem(severity: Severity, monkeypatch: pytest.MonkeyPatch) -> None:
    """A warning or worse is not healthy."""
    order = ranked(
        (FindingCode.HOT_KEY, severity, 0.0), (FindingCode.HEALTHY, Severity.INFO, 0.0), monkeypatch=monkeypatch
    )
    assert order == ["hot-key"]


def test_a_refusal_stands_alone() -> None:
    """Nothing else is said beside it, but for missing series that explain it."""
    assert codes(diagnosed(saturated(), loaded_client(), scrapes=2)) == ["insufficient-data"]
    alone = diagnosed(saturated(), classic_client(), scrapes=2, absent=("workqueue_depth",))
    assert codes(alone) == ["insufficient-data", "metrics-missing"]
    assert alone.refuses
    standby = diagnosed(NO_CONTROLLERS, process(leader=0.0))
    assert codes(standby) == ["not-leader"]
    assert standby.refuses
    assert not diagnosed().refuses


def test_there_is_always_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no rule holds, that is what is said."""
    assert ranked(monkeypatch=monkeypatch) == ["insufficient-data"]


def test_waiting_that_only_notes_explain_is_unexplained(monkeypatch: pytest.MonkeyPatch) -> None:
    """A note beside keys that wait is no verdict."""
    monkeypatch.setattr(engine, "RULES", (rule_for("write-conflicts"),))
    one = case(saturated(), loaded_client(conflict_ratio=0.2, conflicts_per_second=1.0), key(share=0.1))
    assert codes(diagnose(one)) == ["insufficient-data", "write-conflicts"]


def test_nothing_but_a_controllers_name_is_insufficient() -> None:
    """A controller without figures: not healthy, and nothing is advised."""
    made = diagnosed(unknown_controller(), absent=("workqueue_depth",))
    assert made.refuses
    assert set(codes(made)) == {"insufficient-data", "metrics-missing"}


def test_the_primary_is_the_first() -> None:
    """Saturated workers beside a release without durations."""
    made = diagnosed(saturated(), classic_client(write_requests_per_second=35.0))
    assert codes(made) == ["workers-saturated", "metrics-missing"]
    assert made.primary is made.findings[0]
    assert found(made, FindingCode.METRICS_MISSING) is made.findings[1]


def test_shares_of_lost_time_are_ratios() -> None:
    """Each finding explains a part of what was lost, never more than all of it."""
    jobs = saturated("rayjob", workers=2.0)
    made = diagnosed(jobs, loaded_client(), budget(external=estimated("external", 0.8, low=0.7, high=0.9)))
    assert codes(made) == ["external-call-slow", "workers-saturated"]
    assert all(0.0 < one.lost_ratio <= 1.0 for one in made.findings)


def episode(
    severity: Severity, *, lost: float = 0.0, seconds: float = 100.0, busy: float = 0.0, startup: bool = False
) -> Diagnosis:
    """A diagnosis whose episode lost so much key time, with workers busy for so long in sum."""
    kind = EpisodeKind.STARTUP if startup else EpisodeKind.LOAD
    window = Window(1000.0, 1000.0 + seconds)
    one = controller(
        window=window, busy_workers_mean=busy / seconds, busy_worker_seconds=busy, waiting_key_seconds=lost
    )
    code = FindingCode.HEALTHY if severity is Severity.INFO else FindingCode.HOT_KEY
    return diagnosis_of(a_finding(code, severity), of=case(one, kind=kind, window=window))


@pytest.mark.parametrize(
    ("episodes", "chosen"),
    [
        ((episode(Severity.INFO), episode(Severity.WARNING, lost=5.0), episode(Severity.WARNING, lost=9.0)), 2),
        ((episode(Severity.CRITICAL, lost=5.0), episode(Severity.WARNING, lost=9.0)), 1),
        ((episode(Severity.INFO, lost=99.0), episode(Severity.WARNING, lost=1.0)), 1),
        ((episode(Severity.INFO, busy=900.0, startup=True), episode(Severity.INFO, busy=50.0)), 1),
        ((episode(Severity.INFO, seconds=900.0, busy=5.0), episode(Severity.INFO, seconds=60.0, busy=50.0)), 1),
        ((episode(Severity.INFO, seconds=60.0), episode(Severity.INFO, seconds=90.0)), 1),
        ((episode(Severity.INFO), episode(Severity.INFO)), 0),
    ],
)
def test_the_episode_of_the_verdict(episodes: tuple[Diagnosis, ...], chosen: int) -> None:
    """The most time lost to something worth a warning; else the most work after start-up; the first among equals."""
    assert verdict_index(episodes) == chosen


def test_a_refusal_is_no_verdict_where_another_episode_has_one() -> None:
    """An episode that says nothing does not outweigh one that says something."""
    refusal = diagnosis_of(a_finding(FindingCode.INSUFFICIENT_DATA, Severity.CRITICAL, refuses=True))
    assert verdict_index([refusal, episode(Severity.WARNING, lost=1.0)]) == 1


def test_there_is_one_rule_for_each_module_and_code() -> None:
    """A new module is not forgotten, and no code has two rules."""
    names = sorted(module.name for module in pkgutil.iter_modules(findings.__path__))
    assert sorted(rule.code.value.replace("-", "_") for rule in RULES) == names
    assert len(RULES) == len({rule.code for rule in RULES}) == len(FindingCode)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code.value)
def test_pages_are_complete(rule: Rule) -> None:
    """Each page says something in each part and names thresholds that exist, once."""
    assert rule_for(rule.code.value) is rule
    assert rule.title
    assert not rule.title.endswith(".")
    page = rule.page
    for text in (
        page.meaning,
        page.condition,
        page.refuted_by,
        page.what_to_do,
        page.what_not_to_do,
        page.rests_on,
    ):
        assert text.endswith(".")
    assert set(page.thresholds) <= set(Thresholds.__struct_fields__)
    assert len(page.thresholds) == len(set(page.thresholds))


def test_an_unknown_code_names_the_known_ones() -> None:
    """Somebody who mistypes a code sees what there is."""
    with pytest.raises(UnknownNameError, match="workers-saturated") as caught:
        rule_for("workers-saturatd")
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("kind", [Thresholds, Policy])
def test_every_setting_is_used(kind: type[msgspec.Struct]) -> None:
    """A threshold that no rule reads, or a bound that no advice reads, would promise what it does not do."""
    folder = ROOT / "advisor"
    owners = ("thresholds.py", "policy.py")
    sources = [path for path in folder.rglob("*.py") if path.name not in owners]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    unused = [name for name in kind.__struct_fields__ if not re.search(rf"\.{name}\b", text)]
    assert not unused


def test_every_threshold_is_on_a_page() -> None:
    """Whoever wants to move a threshold finds the findings that it moves."""
    named = {name for rule in RULES for name in rule.page.thresholds}
    assert named == set(Thresholds.__struct_fields__)


def test_harm_grows_with_the_wait() -> None:
    """The order of severities is that of the waits."""
    order = [Severity.INFO, Severity.WARNING, Severity.CRITICAL]
    waits = [case(controller(queue_wait_seconds_mean=wait)).harm for wait in (0.1, 2.0, 20.0)]
    assert waits == order
    assert all(order.index(one) < order.index(other) for one, other in pairwise(waits))
