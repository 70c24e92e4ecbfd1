"""For each fault of the story the service's own analysis has the right finding first, whenever its analyses come."""

import importlib
import socket
import threading
import webbrowser
from dataclasses import replace

import pytest
from click.testing import CliRunner

from advisor.analysis.simulated import answer_of
from advisor.cli.commands import cli
from advisor.cli.demowatch import MAIN, LiveDemo, PastService, advised_by, main_actor
from advisor.demo.actor import Actor
from advisor.demo.check import PERIODS, Seen, judge
from advisor.demo.past import Past, Rhythm
from advisor.demo.stage import STANDING, quiet_operator
from advisor.demo.story import CHAPTERS, CURTAIN, START, Chapter, Load, Story
from advisor.model.finding import FindingCode
from advisor.model.report import Report
from advisor.signals.names import SELECTION
from advisor.sources.exposition import Exposition, ExpositionParser
from advisor.sources.expositiontext import exposition_text
from advisor.store.store import Store
from advisor.twin.exposed import operator_families
from advisor.web.history import StoreSink
from advisor.web.notify import Notifier, NotifyRules

# The story is played once, in the first test that asks for it.
pytestmark = pytest.mark.timeout(240)

demo = importlib.import_module("advisor.cli.demo")
BEGIN = 1_790_000_000.0
RHYTHM = Rhythm()
STORY = Story()
# Seconds by which analyses come later than at the first phase; live, nobody knows when they will.
PHASES = (6.0, 0.0, 12.0)


class Watching:
    """The demo's observer, with analyses at other phases beside its own, which alone are kept and followed."""

    def __init__(self, store: Store) -> None:
        self.seen: dict[float, list[Seen]] = {phase: [] for phase in PHASES}
        self._sink = StoreSink(store, Notifier(NotifyRules()), lambda _: None)
        self._service = PastService(store, self._sink, RHYTHM, lambda *told: self._see(PHASES[0], *told))
        self._beside = {
            phase: PastService(store, self._nowhere(), RHYTHM, lambda *told, phase=phase: self._see(phase, *told))
            for phase in PHASES[1:]
        }
        self.actor: Actor | None = None

    def keep(self, operator: str, time: float, exposition: Exposition) -> None:
        """Keep a scrape, and analyse where it is time for another phase."""
        self._service.keep(operator, time, exposition)
        for phase, service in self._beside.items():
            since = time - BEGIN - phase
            if self.actor is not None and since > RHYTHM.analysis_seconds and since % RHYTHM.analysis_seconds == 0.0:
                service.analyse(self.actor, time)

    def analyse(self, actor: Actor, time: float) -> None:
        """Analyse as the demo does."""
        self._service.analyse(actor, time)

    def _nowhere(self) -> StoreSink:
        return StoreSink(Store.open(None, now=BEGIN), Notifier(NotifyRules()), lambda _: None)

    def _see(self, phase: float, _operator: str, time: float, report: Report) -> None:
        self.seen[phase].append(Seen(time - BEGIN, report.findings[0].code))


@pytest.fixture(scope="module")
def played() -> tuple[Watching, Store]:
    """The whole story, once."""
    store = Store.open(None, now=BEGIN)
    watching = Watching(store)
    actor = watching.actor = main_actor(STORY, BEGIN, store)
    actor.serve()
    try:
        Past(actor, watching, RHYTHM, BEGIN).play(lambda: BEGIN + STORY.seconds, threading.Event())
    finally:
        actor.end()
    return watching, store


@pytest.mark.parametrize("phase", PHASES)
def test_each_fault_is_named_in_time(played: tuple[Watching, Store], phase: float) -> None:
    """Of the first two analyses after each fault's begin one has it first, and what is set right is said to be well."""
    judged = judge(STORY, played[0].seen[phase])
    assert [(one.chapter.name, one.found) for one in judged if not one.is_right] == []
    assert [one.chapter.name for one in judged if one.after_seconds is None] == []
    assert all(
        (one.after_seconds or 0.0) <= PERIODS * RHYTHM.analysis_seconds for one in judged if one.chapter.is_fault
    )


def test_somebody_follows_the_advice(played: tuple[Watching, Store]) -> None:
    """Settings change as reports advise, and the service notices each change."""
    store = played[1]
    changes = [(one.setting, one.before, one.after) for one in reversed(store.changes(MAIN))]
    # The first is advised, the second is the fault, the third is advised.
    assert changes[0][:2] == ("concurrency", 1.0)
    assert ("qps", 100.0, 10.0) in changes
    assert ("burst", 200.0, 20.0) in changes
    advised = [one.verdict for one in store.reports(MAIN) if one.verdict.finding is FindingCode.CLIENT_THROTTLED]
    raised = next(after for setting, before, after in changes if setting == "qps" and before == 10.0)
    assert raised in {one.qps.value for one in advised}


def test_the_story_holds_what_it_should() -> None:
    """Idle, burst, throttled, a hot key, a slow API server, and set right again; a hundred clusters all the time."""
    assert [one.expected for one in CHAPTERS if one.is_fault] == [
        FindingCode.WORKERS_SATURATED,
        FindingCode.CLIENT_THROTTLED,
        FindingCode.HOT_KEY,
        FindingCode.API_SERVER_SLOW,
    ]
    assert CHAPTERS[0].expected is CHAPTERS[-1].expected is FindingCode.HEALTHY
    assert STANDING == 100
    assert CURTAIN in {one.name for one in CHAPTERS}


def test_places() -> None:
    """Chapters follow each other, and begin anew after the last."""
    first, second = (
        Chapter(name="a", title="", seconds=10.0, expected=FindingCode.HEALTHY, load=Load(1.0, 1)),
        CHAPTERS[1],
    )
    story = Story((first, second))
    assert story.seconds == 10.0 + second.seconds
    assert story.at(-5.0) == story.at(0.0) == (first, 0, 0.0)
    assert story.at(10.0) == (second, 1, 10.0)
    assert story.at(10.0).fault_seconds == 10.0 + second.pause_seconds
    assert story.at(2 * story.seconds + 10.0) == (second, 5, 2 * story.seconds + 10.0)
    assert story.number_of(second.name) == 1


def test_judgements() -> None:
    """A fault has to be named in one of two analyses after it; of what is well the last word counts."""
    fault = replace(CHAPTERS[1], seconds=60.0, pause_seconds=5.0)
    well = replace(CHAPTERS[0], seconds=40.0)
    story = Story((fault, well))
    right, wrong = fault.expected, FindingCode.HEALTHY
    named = judge(story, [Seen(4.0, wrong), Seen(20.0, wrong), Seen(35.0, right), Seen(70.0, right), Seen(99.0, wrong)])
    assert [(one.found, one.after_seconds, one.is_right) for one in named] == [(right, 30.0, True), (wrong, 39.0, True)]
    late = judge(story, [Seen(20.0, wrong), Seen(35.0, wrong), Seen(50.0, right), Seen(70.0, wrong), Seen(99.0, right)])
    assert [(one.after_seconds, one.is_right) for one in late] == [(45.0, False), (10.0, False)]
    assert [(one.found, one.is_right) for one in judge(story, [])] == [(None, False), (None, False)]


def test_what_the_past_keeps_is_what_a_scrape_gives() -> None:
    """Series of the time before go on as those that are scraped: same names, labels and values."""
    operator = quiet_operator(BEGIN)
    operator.live(30_000_000_000)
    parser = ExpositionParser(SELECTION, "127.0.0.1:9")
    parser.feed(exposition_text(list(operator_families(operator)), openmetrics=False).encode())
    scraped, played = parser.finish(), answer_of(operator, SELECTION, "127.0.0.1:9")
    assert sorted(played.samples) == sorted(scraped.samples)
    assert played.types == scraped.types
    assert len(played.samples) > 100


def test_nobody_advises_anything() -> None:
    """Without a report, and where the history is gone, the story goes its own way."""
    store = Store.open(None, now=BEGIN)
    assert advised_by(store, MAIN) is None
    store.close()
    assert advised_by(store, MAIN) is None


def test_an_analysis_of_nothing() -> None:
    """What cannot be analysed is kept as a failure, as the service does."""
    with Store.open(None, now=BEGIN) as store:
        actor = Actor(MAIN, quiet_operator(BEGIN))
        actor.serve()
        try:
            sink = StoreSink(store, Notifier(NotifyRules()), lambda _: None)
            PastService(store, sink, RHYTHM).analyse(actor, BEGIN)
        finally:
            actor.end()
        (status,) = store.statuses()
        assert status.failure is not None
        assert "fewer than two scrapes" in status.failure.failure.error


def test_where_it_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    """The usual port, or any other where that one is taken."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setattr(demo, "_PORT", taken.getsockname()[1])
        assert demo._free_port() == 0
    assert demo._free_port() == demo._PORT


@pytest.mark.parametrize("is_there", [True, False])
def test_a_browser(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, is_there: bool) -> None:
    """It is opened where it is asked for; where there is none, the address is enough."""
    opened: list[str] = []

    def show(url: str) -> bool:
        opened.append(url)
        return is_there

    monkeypatch.setattr(webbrowser, "open", show)
    live = LiveDemo(0, STORY, RHYTHM)
    try:
        demo._introduce(live, opens=False)
        assert opened == []
        demo._introduce(live, opens=True)
        assert opened == [live.address]
    finally:
        live.end()
    assert ("no browser was found" in capsys.readouterr().err) is not is_there


def wrong_story() -> Story:
    """A story that expects what does not come."""
    return Story((replace(CHAPTERS[0], seconds=30.0, expected=FindingCode.HOT_KEY, settings=START),))


def short_story() -> Story:
    """One chapter in which all is well."""
    return Story((replace(CHAPTERS[0], seconds=45.0),))


class TestCheck:
    """`demo --check` says of each chapter what was found, and ends."""

    def test_right(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Exit code 0 where all is as expected."""
        monkeypatch.setattr("advisor.demo.story.Story", short_story)
        result = CliRunner().invoke(cli, ["demo", "--check"], standalone_mode=False)
        assert result.return_value == 0
        assert result.output.splitlines()[1].split() == ["idle", "healthy", "healthy", "21", "s", "right"]

    def test_wrong(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Exit code 1 where something else was found."""
        monkeypatch.setattr("advisor.demo.story.Story", wrong_story)
        result = CliRunner().invoke(cli, ["demo", "--check"], standalone_mode=False)
        assert result.return_value == 1
        assert result.output.splitlines()[1].split() == ["idle", "hot-key", "healthy", "WRONG"]

    @pytest.mark.parametrize("option", [("--open",), ("--for", "3s"), ("--listen-port", "0")])
    def test_what_does_not_belong_together(self, option: tuple[str, ...]) -> None:
        """Options for watching are refused."""
        result = CliRunner().invoke(cli, ["demo", "--check", *option])
        assert result.exit_code == 2
        assert f"{option[0]} does not belong to --check" in result.output


def test_operator_without_lines() -> None:
    """An operator of the demo has no log and no object changes, which takes half its time."""
    operator = quiet_operator(BEGIN)
    operator.live(60_000_000_000)
    assert operator.watcher.log.lines == operator.watcher.objects.lines == []
    assert operator.watcher.objects.clusters
