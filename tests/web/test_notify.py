"""Which findings are told: new ones and resolved ones, each once."""

from collections.abc import Sequence
from itertools import pairwise

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from advisor.model.finding import FindingCode, Severity
from advisor.model.report import Report
from advisor.web.notify import Notice, NoticeKind, Notifier, NotifyRules, Told
from tests.analysis.reportsmade import example, made

HOUR = 3600.0
CODES = (FindingCode.WORKERS_SATURATED, FindingCode.HOT_KEY, FindingCode.CLIENT_THROTTLED)


def finding(code: FindingCode, severity: Severity = Severity.CRITICAL, *, refuses: bool = False) -> Report:
    """A report with one finding."""
    return made(code=code, severity=severity, refuses=refuses)


SATURATED = finding(FindingCode.WORKERS_SATURATED)
HEALTHY = finding(FindingCode.HEALTHY, Severity.INFO)


def told(notices: Sequence[Notice]) -> list[tuple[str, str]]:
    """Kind and code of each."""
    return [(one.kind.value, one.code.value) for one in notices]


def test_new_and_resolved() -> None:
    """A finding is told once when it comes and once when it is gone."""
    notifier = Notifier(NotifyRules())
    (new,) = notifier.report("eu", 0.0, SATURATED)
    assert (new.operator, new.kind, new.code) == ("eu", NoticeKind.NEW, FindingCode.WORKERS_SATURATED)
    assert (new.title, new.verdict, new.time) == (SATURATED.findings[0].title, SATURATED.verdict, 0.0)
    assert notifier.report("eu", 60.0, SATURATED) == ()
    (resolved,) = notifier.report("eu", 120.0, HEALTHY)
    assert (resolved.kind, resolved.title, resolved.severity) == (NoticeKind.RESOLVED, new.title, Severity.CRITICAL)
    assert notifier.report("eu", 180.0, HEALTHY) == ()


def test_operators_and_codes_are_told_apart() -> None:
    """The same finding of another operator, or another finding of the same, is a notice of its own."""
    notifier = Notifier(NotifyRules())
    assert len(notifier.report("eu", 0.0, SATURATED)) == 1
    assert len(notifier.report("us", 0.0, SATURATED)) == 1
    assert told(notifier.report("eu", 1.0, finding(FindingCode.HOT_KEY))) == [
        ("new", "hot-key"),
        ("resolved", "workers-saturated"),
    ]


def test_coming_and_going() -> None:
    """Within the cool-down it is told once in all; what was not told as new is not told as resolved."""
    notifier = Notifier(NotifyRules(cooldown_seconds=HOUR))
    reports = [SATURATED, HEALTHY] * 5
    notices = [notifier.report("eu", 60.0 * number, report) for number, report in enumerate(reports)]
    assert [told(one) for one in notices[:2]] == [[("new", "workers-saturated")], [("resolved", "workers-saturated")]]
    assert not any(notices[2:])
    assert told(notifier.report("eu", HOUR, SATURATED)) == [("new", "workers-saturated")]


def test_what_still_holds_after_the_cool_down_is_told() -> None:
    """One that came back within it and stays is told when it ends."""
    notifier = Notifier(NotifyRules(cooldown_seconds=HOUR))
    for time, report in ((0.0, SATURATED), (60.0, HEALTHY), (120.0, SATURATED)):
        notifier.report("eu", time, report)
    assert notifier.report("eu", HOUR - 1.0, SATURATED) == ()
    assert told(notifier.report("eu", HOUR, SATURATED)) == [("new", "workers-saturated")]


def test_severities() -> None:
    """Critical ones alone, unless others are asked for; a healthy operator is no news at all."""
    warning = finding(FindingCode.HOT_KEY, Severity.WARNING)
    assert Notifier(NotifyRules()).report("eu", 0.0, warning) == ()
    every = Notifier(NotifyRules(severities=frozenset(Severity)))
    assert told(every.report("eu", 0.0, warning)) == [("new", "hot-key")]
    assert told(every.report("us", 0.0, HEALTHY)) == []
    assert told(every.report("us", 0.0, finding(FindingCode.INSUFFICIENT_DATA))) == []


def test_the_gravest_of_one_code_counts() -> None:
    """A report may hold the same code several times."""
    both = (
        msgspec.structs.replace(SATURATED.findings[0], severity=Severity.INFO),
        SATURATED.findings[0],
    )
    report = msgspec.structs.replace(SATURATED, findings=both)
    assert [one.severity for one in Notifier(NotifyRules()).report("eu", 0.0, report)] == [Severity.CRITICAL]


def test_less_grave_is_not_resolved() -> None:
    """A finding that has become a warning is still there."""
    notifier = Notifier(NotifyRules())
    notifier.report("eu", 0.0, SATURATED)
    assert notifier.report("eu", 1.0, finding(FindingCode.WORKERS_SATURATED, Severity.WARNING)) == ()
    assert len(notifier.report("eu", 2.0, HEALTHY)) == 1


def test_a_report_that_cannot_judge_resolves_nothing() -> None:
    """Without data nobody knows whether it is gone."""
    notifier = Notifier(NotifyRules())
    notifier.report("eu", 0.0, SATURATED)
    assert notifier.report("eu", 1.0, finding(FindingCode.INSUFFICIENT_DATA, Severity.INFO)) == ()
    assert notifier.report("eu", 2.0, finding(FindingCode.NOT_LEADER, Severity.WARNING, refuses=True)) == ()
    assert told(notifier.report("eu", 3.0, HEALTHY)) == [("resolved", "workers-saturated")]


def test_a_clock_that_is_set_back() -> None:
    """It silences a finding for no longer than the cool-down."""
    notifier = Notifier(NotifyRules(cooldown_seconds=HOUR))
    notifier.report("eu", 1e9, SATURATED)
    notifier.report("eu", 1e9, HEALTHY)
    notifier.report("eu", 1000.0, SATURATED)
    assert told(notifier.report("eu", 1000.0 + HOUR, SATURATED)) == [("new", "workers-saturated")]


def test_remembered_over_a_restart() -> None:
    """Who is given what was known goes on where the other was; it can be written down."""
    first = Notifier(NotifyRules())
    first.report("eu", 0.0, SATURATED)
    kept = msgspec.json.decode(msgspec.json.encode(first.known), type=dict[str, dict[FindingCode, Told]])
    second = Notifier(NotifyRules(), kept)
    assert second.report("eu", 60.0, SATURATED) == ()
    assert told(second.report("eu", 120.0, HEALTHY)) == [("resolved", "workers-saturated")]


def test_little_is_remembered() -> None:
    """What is over for longer than the cool-down is forgotten, and so are operators that are watched no more."""
    notifier = Notifier(NotifyRules(cooldown_seconds=HOUR))
    notifier.report("eu", 0.0, SATURATED)
    notifier.report("eu", 60.0, HEALTHY)
    assert "eu" in notifier.known
    notifier.report("eu", HOUR, HEALTHY)
    assert notifier.known == {}
    notifier.report("us", 0.0, SATURATED)
    notifier.forget(["us", "nobody"])
    assert notifier.known == {}


@given(
    st.lists(
        st.tuples(st.floats(1.0, 3000.0), st.sets(st.sampled_from(CODES))),
        max_size=40,
    )
)
def test_what_always_holds(steps: list[tuple[float, set[FindingCode]]]) -> None:
    """New and resolved take turns; from new to new is a cool-down at least; at the end what is open is there."""
    notifier, time = Notifier(NotifyRules(cooldown_seconds=HOUR)), 0.0
    history: dict[FindingCode, list[Notice]] = {code: [] for code in CODES}
    base = example().findings[0]
    present: set[FindingCode] = set()
    for seconds, present in steps:
        time += seconds
        found = tuple(
            msgspec.structs.replace(base, code=code, severity=Severity.CRITICAL, refuses=False)
            for code in sorted(present)
        )
        for notice in notifier.report("eu", time, msgspec.structs.replace(HEALTHY, findings=found or HEALTHY.findings)):
            history[notice.code].append(notice)
    for code, notices in history.items():
        kinds = [one.kind for one in notices]
        assert kinds == [NoticeKind.NEW, NoticeKind.RESOLVED] * (len(kinds) // 2) + [NoticeKind.NEW] * (len(kinds) % 2)
        news = [one.time for one in notices if one.kind is NoticeKind.NEW]
        assert all(later - earlier >= HOUR for earlier, later in pairwise(news))
        assert len(kinds) % 2 == 0 or code in present
