"""Changes of settings: noted, held against what was predicted, and shown."""

import json
import logging
from pathlib import Path

import msgspec
import pytest

from advisor.model.change import ChangeState
from advisor.model.comparison import Outcome
from advisor.store.store import Store
from advisor.web import assembly
from tests.analysis.reportsmade import after_ten, example, moved
from tests.web.changing import BEGIN, RULES, Watched, advised, before, quiet
from tests.web.serving import NOW, World
from tests.web.test_api import fits
from tests.web.test_pages import page

SEEN = BEGIN + 300.0
LATER = SEEN + 600.0


def changed(watched: Watched | None = None) -> Watched:
    """Four workers were set, as advised; nothing was measured yet."""
    found = watched or Watched()
    found.sees(BEGIN, before())
    found.sees(SEEN, advised(SEEN - 30.0))
    return found


class TestFollowing:
    def test_what_was_advised_is_predicted_and_measured(self) -> None:
        """The prediction of the report before is kept at once, the measurement with the first report wholly after."""
        watched = changed()
        (change,) = watched.changes()
        assert [(one.setting, one.before, one.after) for one in change.moves] == [("concurrency", 1.0, 4.0)]
        assert (change.time, change.state, change.measured) == (SEEN, ChangeState.SETTLING, None)
        assert change.predicted is not None
        assert change.predicted.reason == ""
        assert change.predicted.predictions == example().predictions

        watched.sees(LATER, advised(SEEN + 100.0))
        assert watched.changes()[0].state is ChangeState.SETTLING
        watched.sees(LATER + 300.0, advised(LATER))
        watched.sees(LATER + 600.0, advised(LATER + 300.0, wait_seconds=7.0))
        (change,) = watched.changes()
        assert change.state is ChangeState.MEASURED
        assert change.measured is not None
        assert change.measured.time == LATER + 300.0
        checks = {one.quantity: one for one in change.measured.comparison.predictions}
        assert checks["queue_wait_seconds_mean"].measured == 3.0

    def test_settings_that_change_together(self) -> None:
        """They are one change with one prediction."""
        watched = Watched()
        watched.sees(BEGIN, before())
        after = advised(SEEN, workers=2.0)
        knob = msgspec.structs.replace(after.advice.qps, current=50.0)
        setting = msgspec.structs.replace(after.settings.qps, value=50.0)
        watched.sees(
            SEEN,
            msgspec.structs.replace(
                after,
                advice=msgspec.structs.replace(after.advice, qps=knob),
                settings=msgspec.structs.replace(after.settings, qps=setting),
            ),
        )
        (change,) = watched.changes()
        assert [one.setting for one in change.moves] == ["concurrency", "qps"]
        assert change.predicted is not None
        assert change.predicted.reason == "qps was to stay 100 and is 50"

    def test_a_limit_that_changes(self) -> None:
        """The limit of CPU is a setting too."""
        watched = Watched()
        for time, cores in ((BEGIN, 0.5), (SEEN, 2.0)):
            knob = msgspec.structs.replace(example().advice.cpu_cores, current=cores, value=cores)
            advice = msgspec.structs.replace(example().advice, cpu_cores=knob)
            watched.sees(time, msgspec.structs.replace(before(time - 100.0), advice=advice))
        (change,) = watched.changes()
        assert [(one.setting, one.before, one.after) for one in change.moves] == [("cpu_cores", 0.5, 2.0)]

    def test_what_cannot_be_compared_gives_way(self) -> None:
        """A time of little load is kept as the reason so far, until one comes that can be compared."""
        watched = changed()
        watched.sees(LATER, quiet(LATER - 100.0))
        watched.sees(LATER + 300.0, quiet(LATER + 200.0))
        (change,) = watched.changes()
        assert change.state is ChangeState.NOT_COMPARABLE
        assert change.measured is not None
        assert change.measured.time == LATER
        assert "the loads differ by more than a factor 1.5" in change.measured.comparison.summary
        watched.sees(LATER + 600.0, advised(LATER + 500.0))
        assert watched.changes()[0].state is ChangeState.MEASURED

    def test_another_change_before_it_settled(self) -> None:
        """Of the first nothing can be told any more; the second is measured against the report before it."""
        watched = changed()
        watched.sees(LATER, advised(SEEN + 60.0, workers=8.0))
        watched.sees(LATER + 600.0, advised(LATER + 300.0, workers=8.0, wait_seconds=1.0))
        second, first = watched.changes()
        assert (first.state, first.following, first.measured) == (ChangeState.OVERTAKEN, LATER, None)
        assert (second.state, second.following) == (ChangeState.MEASURED, None)
        assert second.predicted is not None
        assert second.predicted.time == SEEN

    def test_nothing_comes_for_long(self) -> None:
        """After a week it is no longer waited for."""
        watched = changed()
        watched.now = SEEN + RULES.watch_seconds + 1.0
        assert watched.changes()[0].state is ChangeState.NOT_MEASURED
        watched.sees(watched.now, advised(watched.now - 60.0))
        assert watched.changes()[0].state is ChangeState.NOT_MEASURED

    def test_survives_a_restart(self, tmp_path: Path) -> None:
        """A service that is started anew waits on, and keeps what was measured; the report before may be gone."""
        path = tmp_path / "history.db"
        with Store.open(path, now=NOW) as store:
            changed(Watched(store=store))
        with Store.open(path, now=NOW) as store:
            with store._connections.write() as connection:
                connection.execute("DELETE FROM reports WHERE time < ?", (SEEN,))
            Watched(store=store).sees(LATER, advised(LATER - 60.0))
        with Store.open(path, now=NOW) as store:
            (change,) = Watched(store=store).changes()
            assert change.state is ChangeState.MEASURED
            assert change.measured is not None
            assert change.measured.comparison.outcome is Outcome.NO_CLEAR_CHANGE

    def test_a_report_before_that_is_damaged(self, caplog: pytest.LogCaptureFixture) -> None:
        """The change is noted all the same, and that nothing is known of its prediction."""
        watched = Watched()
        watched.sees(BEGIN, before())
        with watched.store._connections.write() as connection:
            connection.execute("UPDATE documents SET data = x'00'")
        with caplog.at_level(logging.WARNING):
            watched.sees(SEEN, advised(SEEN))
        (change,) = watched.changes()
        assert (change.predicted, change.state) == (None, ChangeState.SETTLING)
        assert "what was predicted of a change cannot be told" in caplog.text
        watched.sees(LATER, advised(LATER - 60.0))
        assert watched.changes()[0].measured is None
        assert "the report before could not be read" in page(watched.world(), "/changes/one").text

    def test_what_is_kept_of_a_change_is_damaged(self, caplog: pytest.LogCaptureFixture) -> None:
        """It is logged; reports are kept on."""
        watched = changed()
        with watched.store._connections.write() as connection:
            connection.execute("UPDATE changes SET predicted = x'00'")
        with caplog.at_level(logging.WARNING):
            watched.sees(LATER, advised(LATER - 60.0))
        assert "its changes of settings cannot be followed" in caplog.text
        assert len(watched.store.reports("one")) == 3

    def test_a_document_of_another_version(self) -> None:
        """What cannot be understood is as if it were not there."""
        watched = changed()
        watched.store.set_outcome(watched.changes()[0].id, b"{}", b"[]")
        (change,) = watched.changes()
        assert (change.predicted, change.measured) == (None, None)


class TestPage:
    def test_a_change_that_was_measured(self) -> None:
        """Predicted and measured stand side by side with the interval, and with what the load was."""
        watched = changed()
        watched.sees(LATER, advised(LATER - 60.0))
        seen = page(watched.world(), "/changes/one")
        (change,) = watched.changes()
        assert f"#change-{change.id}" in seen.hrefs()
        assert f"change-{change.id}" in {found.get("id") for _, found in seen.elements}
        assert "concurrency 1 -> 4" in seen.text
        assert "2.1 s to 9.83 s" in seen.text
        assert "inside" in seen.text
        assert "Pods created" in seen.text
        assert [found["class"] for tag, found in seen.elements if tag == "svg"]
        assert change.predicted is not None
        assert change.measured is not None
        assert f"/compare?a={change.predicted.report}&b={change.measured.report}" in seen.hrefs()

    def test_a_change_that_settles(self) -> None:
        """What was predicted is told, and what is waited for."""
        text = page(changed().world(), "/changes/one").text
        assert "It has to settle" in text
        assert "Predicted, simulated; four cases of five lie between:" in text

    def test_something_else_was_set(self) -> None:
        """That it was not predicted stands there before and after it is measured."""
        watched = Watched()
        watched.sees(BEGIN, before())
        watched.sees(SEEN, moved(after_ten(), SEEN))
        reason = "Not predicted: concurrency was to become 4 and is 10."
        assert reason in page(watched.world(), "/changes/one").text
        watched.sees(LATER, moved(after_ten(), LATER))
        text = page(watched.world(), "/changes/one").text
        assert reason in text
        assert "It got better: wait in the queue per created Pod fell" in text

    def test_every_state_is_told(self) -> None:
        """Less load, another change, and too long a wait have their sentences."""
        watched = changed()
        watched.sees(LATER, quiet(LATER - 60.0))
        assert "the loads differ" in page(watched.world(), "/changes/one").text
        watched.sees(LATER + 300.0, advised(LATER, workers=8.0))
        assert "Another change came before this one had settled" in page(watched.world(), "/changes/one").text
        watched.now = LATER + 2 * RULES.watch_seconds
        assert "Nothing after it was measured in a week." in page(watched.world(), "/changes/one").text

    def test_nothing_changed(self) -> None:
        """The page says what to expect; the operator's page has no such part."""
        world = World()
        world.analysed("one")
        assert "No change of settings has been seen." in page(world, "/changes/one").text
        assert "changes" not in {found.get("id") for _, found in page(world, "/operators/one").elements}

    def test_nobody(self) -> None:
        """A name that is not known is an error with its own page."""
        assert "there is no operator 'x' here" in page(World(), "/changes/x", 404).text.lower()

    def test_is_linked(self) -> None:
        """From the operator's page, with what came of each."""
        seen = page(changed().world(), "/operators/one")
        assert seen.hrefs().count("/changes/one") == 2
        assert "settling" in seen.text


class TestApi:
    def test_changes_in_pages(self) -> None:
        """The last one first, as described; a page ends between changes, and knows what came after it."""
        watched = changed()
        watched.sees(LATER, advised(LATER - 60.0))
        watched.sees(LATER + 300.0, advised(LATER + 200.0, workers=8.0))
        client, address, states = watched.world().client(), "/api/v1/operators/one/changes?limit=1", []
        while address:
            answer = client.get(address).json
            assert answer is not None
            fits("/api/v1/operators/{name}/changes", answer)
            states += [(one["state"], one["next_change"]) for one in answer["changes"]]
            address = answer["next"]
        assert states == [("settling", None), ("measured", LATER + 300.0)]

    def test_of_nobody(self) -> None:
        """An operator that is not known is a problem."""
        assert World().client().get("/api/v1/operators/none/changes").status_code == 404

    def test_says_what_the_page_says(self) -> None:
        """The page as JSON has the same changes."""
        client = changed().world().client()
        answer = client.get("/api/v1/operators/one/changes").json
        assert answer is not None
        assert json.loads(client.get("/changes/one?export=json").data)["data"]["changes"] == answer["changes"]


@pytest.mark.parametrize(("interval_seconds", "expected"), [(5.0, 5.0), (300.0, RULES.settle_seconds)])
def test_who_looks_often_waits_less(interval_seconds: float, expected: float) -> None:
    """An operator settles in two minutes at most, and in one interval where analyses come sooner."""
    assert assembly._change_rules(interval_seconds).settle_seconds == expected
