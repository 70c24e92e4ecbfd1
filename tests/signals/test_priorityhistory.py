import pytest

from advisor.model.priorityhistory import ControllerPriorities, PriorityHistory
from advisor.model.raw import Series, SeriesStore
from advisor.model.signal import Quality
from advisor.signals import sidecarnames as names
from advisor.signals.priorityhistory import priority_history
from tests.signals.builders import every, series, store

STEP = 15.0


def shadow(
    priority: str, *, depth: tuple[float, ...] = (), quality: str = "estimated", start: float = 0.0, **told: object
) -> list[Series]:
    """A sidecar's series of one priority of raycluster: depth, and by name what else there is."""
    metrics = {
        "depth": names.DEPTH,
        "oldest": names.OLDEST_AGE,
        "served": names.WAIT_COUNT,
        "waited": names.WAIT_SUM,
        "active": names.ACTIVE,
        "blocked": names.BLOCKED,
    }
    labels = {"controller": "raycluster", "priority": priority, "quality": quality, "instance": "a"}
    found = []
    for name, values in ({"depth": depth} | told).items():
        assert isinstance(values, tuple)
        found.append(series(metrics[name], labels, every(STEP, *values, start=start)))
    return found


def own(*columns: tuple[str, str, tuple[float, ...]], controller: str = "raycluster") -> SeriesStore:
    """Series of an operator: name, priority where it has one, values."""
    made = []
    for name, priority, values in columns:
        labels = {"controller": controller, "name": controller, "instance": "o"}
        labels |= {"priority": priority} if name == "workqueue_depth" and priority else {}
        made.append(series(name, labels, every(STEP, *values)))
    return store(*made)


def history_of(found: SeriesStore, peaks: SeriesStore | None = None) -> PriorityHistory:
    """The history, which there is."""
    history = priority_history(found, peaks)
    assert history is not None
    return history


def only(history: PriorityHistory) -> ControllerPriorities:
    """Its one controller."""
    (found,) = history.controllers
    return found


class TestSidecar:
    def test_figures(self) -> None:
        """Depth now and at its peak, mean wait of what was handed out, ages, shares; the highest priority first."""
        found = store(
            *shadow(
                "-100", depth=(9.0, 9.0, 8.0), oldest=(1.0, 5.0, 2.0), served=(0.0, 4.0, 5.0), waited=(0.0, 8.0, 9.0)
            ),
            *shadow(
                "0", depth=(1.0, 3.0, 0.0), oldest=(0.0, 0.5, 0.0), served=(10.0, 12.0, 25.0), waited=(1.0, 2.0, 4.0)
            ),
        )
        one = only(history_of(found))
        high, low = one.priorities
        assert (high.priority, low.priority, one.origin) == ("0", "-100", "sidecar")
        assert (high.depth_now, high.depth_peak, low.depth_peak) == (0.0, 3.0, 9.0)
        assert (low.wait_seconds_mean, low.served, low.served_share) == (1.8, 5.0, 0.25)
        assert (low.oldest_now_seconds, low.oldest_peak_seconds) == (2.0, 5.0)
        assert (one.served, one.wait_seconds_mean) == (20.0, 0.6)
        assert low.waits == (2.0, 1.0)
        assert high.depths == (3.0, 0.0)
        assert (low.starved_seconds, low.is_starving, high.is_starving) == (0.0, False, False)
        assert low.quality is Quality.ESTIMATED

    def test_peaks_that_no_sample_has(self) -> None:
        """Largest values since the sample before are what charts and peaks show; now is the sample."""
        found = store(*shadow("0", depth=(1.0, 1.0), served=(0.0, 1.0), waited=(0.0, 1.0)))
        peaks = store(*shadow("0", depth=(1.0, 40.0)))
        (one,) = only(history_of(found, peaks)).priorities
        assert (one.depth_now, one.depth_peak, one.depths) == (1.0, 40.0, (40.0,))

    def test_a_quality_that_changes(self) -> None:
        """The counter goes on under another label: nothing is counted twice, and the newest label is said."""
        found = store(
            *shadow("0", depth=(1.0, 1.0), served=(100.0, 110.0), waited=(10.0, 11.0)),
            *shadow("0", depth=(1.0, 1.0), served=(115.0, 120.0), waited=(12.0, 13.0), quality="exact", start=30.0),
        )
        (one,) = only(history_of(found)).priorities
        assert (one.served, one.wait_seconds_mean, one.quality) == (20.0, 0.15, Quality.EXACT)
        assert one.depths == (1.0, 1.0, 1.0)

    def test_a_quality_that_nobody_knows(self) -> None:
        """It is no more than an estimate."""
        found = store(*shadow("0", depth=(1.0, 1.0), quality="<script>"))
        assert only(history_of(found)).priorities[0].quality is Quality.ESTIMATED

    def test_a_sidecar_that_began_anew(self) -> None:
        """Counters that fell count from zero again."""
        found = store(*shadow("0", depth=(1.0,) * 3, served=(100.0, 104.0, 3.0), waited=(10.0, 12.0, 1.5)))
        (one,) = only(history_of(found)).priorities
        assert (one.served, one.wait_seconds_mean) == (7.0, 0.5)

    def test_without_watches(self) -> None:
        """Workers are told and no queue: what is not known is not zero."""
        labels = {"controller": "raycluster", "priority": "", "quality": "lower_bound", "instance": "a"}
        (one,) = only(history_of(store(series(names.ACTIVE, labels, every(STEP, 1.0, 2.0))))).priorities
        assert (one.active_now, one.depth_now, one.served, one.wait_seconds_mean) == (2.0, None, None, None)
        assert one.depths == (None,)

    def test_the_shadow_s_error(self) -> None:
        """As of the last scrape."""
        labels = {"controller": "raycluster", "priority": "0", "instance": "a"}
        error = series(names.DEPTH_ERROR, labels, every(STEP, 0.0, -3.0))
        (one,) = only(history_of(store(*shadow("0", depth=(1.0, 1.0)), error))).priorities
        assert one.depth_error == -3.0

    def test_many_priorities(self) -> None:
        """The highest and the lowest are kept, in order of their numbers; what is no number comes last."""
        labels = [str(number) for number in range(-10, 10)] + ["odd"]
        found = store(*(each for label in labels for each in shadow(label, depth=(1.0, 1.0))))
        order = [one.priority for one in only(history_of(found)).priorities]
        assert order == ["9", "8", "7", "6", "5", "-7", "-8", "-9", "-10", "odd"]


class TestStarvation:
    OLD = (0.0, 15.0, 30.0, 45.0, 60.0)

    def low_and_high(self, low_served: tuple[float, ...], high_served: tuple[float, ...]) -> SeriesStore:
        """A lower priority whose oldest key grows old, and what is handed out of both."""
        none = (0.0,) * 5
        return store(
            *shadow("0", depth=(2.0,) * 5, oldest=none, served=high_served, waited=none),
            *shadow("-100", depth=(9.0,) * 5, oldest=self.OLD, served=low_served, waited=none),
        )

    def test_keys_wait_while_others_are_handed_out(self) -> None:
        """From half a minute on it starves, and does so now."""
        high, low = only(history_of(self.low_and_high((0.0,) * 5, (0.0, 9.0, 18.0, 27.0, 36.0)))).priorities
        assert low.starved_seconds == pytest.approx(45.0)
        assert low.is_starving
        assert (high.starved_seconds, high.is_starving) == (0.0, False)

    def test_keys_that_get_their_turn(self) -> None:
        """One of ten is a turn, however long the line."""
        low = only(history_of(self.low_and_high((0.0, 1.0, 2.0, 3.0, 4.0), (0.0, 9.0, 18.0, 27.0, 36.0)))).priorities[1]
        assert (low.starved_seconds, low.is_starving) == (0.0, False)

    def test_nothing_else_is_handed_out(self) -> None:
        """Then workers are stuck, which is another finding."""
        low = only(history_of(self.low_and_high((0.0,) * 5, (7.0,) * 5))).priorities[1]
        assert (low.starved_seconds, low.is_starving) == (0.0, False)


class TestOperator:
    def test_two_priorities(self) -> None:
        """Depths by priority, waits over all: what the operator does not tell by priority is not known."""
        found = own(
            ("workqueue_depth", "0", (1.0, 2.0, 0.0)),
            ("workqueue_depth", "-100", (5.0, 4.0, 3.0)),
            ("workqueue_queue_duration_seconds_sum", "", (0.0, 1.0, 4.0)),
            ("workqueue_queue_duration_seconds_count", "", (0.0, 2.0, 4.0)),
        )
        one = only(history_of(found))
        assert (one.origin, one.wait_seconds_mean, one.served, one.waits) == ("operator", 1.0, 4.0, (0.5, 1.5))
        high, low = one.priorities
        assert (high.depth_peak, low.depth_peak, low.depth_now) == (2.0, 5.0, 3.0)
        assert (low.wait_seconds_mean, low.served, low.oldest_now_seconds) == (None, None, None)
        assert (low.quality, low.starved_seconds) == (Quality.EXACT, 0.0)

    def test_the_classic_queue(self) -> None:
        """It has one priority, so all that is told is about that one."""
        found = own(
            ("workqueue_depth", "", (0.0, 3.0, 3.0)),
            ("workqueue_adds_total", "", (10.0, 14.0, 14.0)),
            ("workqueue_queue_duration_seconds_sum", "", (0.0, 1.0, 1.0)),
            ("workqueue_queue_duration_seconds_count", "", (10.0, 11.0, 11.0)),
            ("controller_runtime_active_workers", "", (0.0, 1.0, 1.0)),
        )
        (one,) = only(history_of(found)).priorities
        assert (one.priority, one.wait_seconds_mean, one.served_share, one.active_now) == ("", 1.0, 1.0, 1.0)
        assert one.oldest_now_seconds == pytest.approx(22.5)
        assert one.oldest_peak_seconds == pytest.approx(22.5)

    @pytest.mark.parametrize(
        ("low", "high", "seconds"),
        [
            ((4.0, 4.0, 4.0, 5.0), (1.0,) * 4, 45.0),
            ((4.0, 3.0, 2.0, 1.0), (1.0,) * 4, 0.0),
            ((4.0, 4.0, 4.0, 5.0), (0.0,) * 4, 0.0),
            ((0.0, 4.0, 3.0, 3.0), (1.0,) * 4, 0.0),
            ((4.0, 4.0, 0.0, 4.0), (1.0,) * 4, 0.0),
        ],
        ids=["stays", "shrinks", "nothing-above", "too-short", "empties"],
    )
    def test_starvation_by_depths(self, low: tuple[float, ...], high: tuple[float, ...], seconds: float) -> None:
        """A lower priority that neither empties nor shrinks for half a minute while keys are handed out starves."""
        found = own(
            ("workqueue_depth", "0", high),
            ("workqueue_depth", "-100", low),
            ("workqueue_queue_duration_seconds_count", "", (0.0, 9.0, 18.0, 27.0)),
        )
        starving = only(history_of(found)).priorities[1]
        assert starving.starved_seconds == pytest.approx(seconds)
        assert starving.is_starving == (seconds > 0)

    def test_the_sidecar_s_own_controllers_are_none(self) -> None:
        """They are not the operator's."""
        found = own(("workqueue_depth", "0", (1.0, 1.0)), controller="advisor-raycluster")
        assert priority_history(found) is None


@pytest.mark.parametrize("found", [SeriesStore(), own(("workqueue_depth", "0", (1.0,)))])
def test_nothing_yet(found: SeriesStore) -> None:
    """With fewer than two scrapes there is no history."""
    assert priority_history(found) is None
