import pytest

from advisor.model.keyhistory import KeyHistory, KeyPast
from advisor.model.raw import Series, SeriesStore
from advisor.model.signal import Window
from advisor.signals import sidecarnames as names
from advisor.signals.keyhistory import key_history
from tests.signals.builders import every, series, store

STEP = 15.0


def counter(name: str, *values: float, metric: str = names.KEY_BUSY, start: float = 0.0, **labels: str) -> Series:
    """One of a key's counters, scraped each 15 s; a name without a namespace is the rest."""
    namespace, _, rest = name.rpartition("/")
    told = {"controller": "raycluster", "instance": "a", "object_namespace": namespace, "object_name": rest} | labels
    return series(metric, told, every(STEP, *values, start=start))


def lag(scrapes: int, value: float = 0.0) -> Series:
    """What tells that the sidecar was scraped, whatever keys there are."""
    return series(names.LOG_LAG, {"instance": "a"}, every(STEP, *[value] * scrapes))


def hot(*times: float, writer: str = "annotator") -> Series:
    """Times at which team/a was hot."""
    labels = {"controller": "raycluster", "object_namespace": "team", "object_name": "a"}
    return series(names.HOT_KEY, labels | {"instance": "a", "writer": writer}, dict.fromkeys(times, 1.0))


def made(*found: Series, most: int = 200) -> KeyHistory:
    """Their history, which there is."""
    history = key_history(store(*found), most=most)
    assert history is not None
    return history


def one(history: KeyHistory, name: str = "a") -> KeyPast:
    """The key of a name."""
    return next(each for each in history.keys if each.name == name)


class TestCosts:
    def test_shares_are_of_all_busy_time(self) -> None:
        """Of keys and rest of every controller; the heaviest comes first."""
        history = made(
            counter("team/a", 10.0, 16.0, 16.0),
            counter("team/b", 1.0, 2.0, 3.0),
            counter("team/c", 0.0, 0.0, 8.0, controller="rayjob"),
            counter("other", 50.0, 52.0, 54.0),
        )
        assert [(each.name, each.busy_seconds) for each in history.keys] == [("c", 8.0), ("a", 6.0), ("b", 2.0)]
        assert history.busy_seconds == 20.0
        assert one(history).busy_share == 0.3
        (rest,) = history.others
        assert (rest.controller, rest.busy_seconds, rest.busy_share) == ("raycluster", 4.0, 0.2)
        assert one(history).shares == (0.6667, 0.0)
        assert history.window == Window(0.0, 30.0)
        assert history.bounds == (0.0, 15.0, 30.0)

    def test_every_counter(self) -> None:
        """Reconciles, errors and conflicts beside the time, and reconciles a second over time."""
        history = made(
            counter("team/a", 0.0, 1.0, 2.0),
            counter("team/a", 0.0, 30.0, 45.0, metric=names.KEY_RECONCILES),
            counter("team/a", 5.0, 6.0, 7.0, metric=names.KEY_ERRORS),
            counter("team/a", 1.0, 1.0, 2.0, metric=names.KEY_CONFLICTS),
        )
        found = one(history)
        assert (found.reconciles, found.errors, found.conflicts) == (45.0, 2.0, 1.0)
        assert found.rates == (2.0, 1.0)

    def test_a_sidecar_that_began_anew(self) -> None:
        """Counters that fell count from zero again: keys, and the rest."""
        history = made(counter("team/a", 90.0, 100.0, 3.0, 5.0), counter("other", 40.0, 41.0, 2.0, 2.0))
        assert one(history).busy_seconds == 15.0
        assert history.others[0].busy_seconds == 3.0

    def test_a_key_that_appears(self) -> None:
        """Its counter begins at nothing one scrape before."""
        history = made(lag(4), counter("team/a", 0.0, 1.0, 1.0, 1.0), counter("team/b", 2.0, 5.0, start=30.0))
        assert one(history, "b").busy_seconds == 5.0
        assert one(history, "b").shares == (None, 1.0, 1.0)

    def test_a_key_that_goes_is_not_counted_twice(self) -> None:
        """What it had comes to the rest, which leaps; what it had since its last scrape is the rest's."""
        history = made(lag(4), counter("team/a", 5.0, 9.0), counter("other", 1.0, 2.0, 13.5, 14.0))
        assert one(history).busy_seconds == 4.0
        assert history.others[0].busy_seconds == pytest.approx(4.0)
        assert history.busy_seconds == pytest.approx(8.0)

    def test_a_key_whose_series_was_left_out(self) -> None:
        """A sidecar at its limit leaves keys out and adds them to nothing: the rest loses no more than it grew by."""
        history = made(lag(4), counter("team/a", 5.0, 9.0), counter("other", 1.0, 2.0, 2.0, 6.0))
        assert history.others[0].busy_seconds == pytest.approx(5.0)

    def test_a_key_that_goes_as_the_sidecar_begins_anew(self) -> None:
        """Then it came to no rest, and all that the rest has is new."""
        history = made(lag(4), counter("team/a", 5.0, 9.0), counter("other", 20.0, 21.0, 3.0, 4.0))
        assert history.others[0].busy_seconds == 5.0

    def test_two_sidecars_one_after_the_other(self) -> None:
        """Under another address counters are taken up as they are; a key's parts are added."""
        history = made(
            counter("team/a", 5.0, 9.0),
            counter("other", 1.0, 1.0),
            counter("team/a", 500.0, 502.0, start=30.0, instance="b"),
            counter("other", 70.0, 71.0, start=30.0, instance="b"),
        )
        assert one(history).busy_seconds == 6.0
        assert history.others[0].busy_seconds == 1.0

    def test_a_time_without_scrapes(self) -> None:
        """In a gap nothing is drawn, and all is counted."""
        busy = {0.0: 0.0, 15.0: 1.0, 30.0: 2.0, 3600.0: 9.0, 3615.0: 10.0}
        labels = {"controller": "c", "instance": "a", "object_namespace": "team", "object_name": "a"}
        history = made(series(names.KEY_BUSY, labels, busy))
        assert one(history).busy_seconds == 10.0
        assert one(history).shares == (1.0, 1.0, None, 1.0)

    def test_namespaces(self) -> None:
        """Sums of keys with series of their own, the heaviest first, with how many keys they are."""
        history = made(
            counter("x/a", 0.0, 1.0), counter("y/b", 0.0, 2.0), counter("x/c", 0.0, 3.0), counter("z/idle", 4.0, 4.0)
        )
        found = [(each.namespace, each.keys, each.busy_seconds) for each in history.namespaces]
        assert found == [("x", 2, 4.0), ("y", 1, 2.0)]

    def test_more_keys_than_are_listed(self) -> None:
        """The lightest are counted, and in all sums."""
        history = made(*(counter(f"n/{number}", 0.0, 1.0 + number) for number in range(5)), most=2)
        assert [each.name for each in history.keys] == ["4", "3"]
        assert history.keys_left_out == 3
        assert history.namespaces[0].busy_seconds == history.busy_seconds == 15.0

    def test_a_key_called_as_the_rest(self) -> None:
        """Only without a namespace it is the rest."""
        history = made(counter("team/other", 0.0, 1.0), counter("other", 0.0, 2.0))
        assert [(each.namespace, each.name) for each in history.keys] == [("team", "other")]


class TestWhatIsKnown:
    @pytest.mark.parametrize("found", [SeriesStore(), store(lag(3)), store(counter("team/a", 1.0))])
    def test_nothing(self, found: SeriesStore) -> None:
        """Without samples, without keys, or with one scrape alone there is no history."""
        assert key_history(found) is None

    def test_how_far_it_goes(self) -> None:
        """The bound of other keys, time that no line covers, how far behind the log: as of the last scrape."""
        controller = {"controller": "raycluster", "instance": "a"}
        history = made(
            counter("other", 0.0, 1.0),
            series(names.KEY_BUSY_ERROR, controller, every(STEP, 0.25, 0.5)),
            series(names.UNATTRIBUTED, controller, every(STEP, 3.0)),
            series(names.SERIES_DROPPED, {"instance": "a"}, every(STEP, 0.0, 7.0)),
            lag(2, 90.0),
        )
        (rest,) = history.others
        assert (rest.largest_busy_seconds, rest.unattributed_seconds) == (0.5, None)
        assert (history.log_lag_seconds, history.series_dropped) == (90.0, 7.0)


class TestHot:
    def test_now(self) -> None:
        """Since the first scrape of the stretch that still goes on; before it is for how long, not since when."""
        history = made(counter("team/a", *[1.0] * 5, 2.0), hot(0.0, 45.0, 60.0, 75.0))
        found = one(history)
        assert (found.hot_since, found.hot_throughout, found.hot_seconds) == (45.0, False, 45.0)
        assert found.writers == ("annotator",)

    def test_all_the_time(self) -> None:
        """Then it may have begun before."""
        history = made(counter("team/a", 1.0, 2.0, 3.0), hot(0.0, 15.0, 30.0))
        assert (one(history).hot_since, one(history).hot_throughout) == (0.0, True)

    def test_no_longer(self) -> None:
        """For how long it was, and by whom: the last writer first, one that is not known is none."""
        history = made(
            counter("team/a", *[1.0] * 5, 2.0),
            hot(0.0, 15.0, writer="first"),
            hot(15.0, 30.0, writer="second"),
            hot(45.0, writer=""),
        )
        found = one(history)
        assert (found.hot_since, found.hot_seconds, found.writers) == (None, 60.0, ("second", "first"))

    def test_never(self) -> None:
        """A series that is there and says no is none."""
        labels = {"controller": "raycluster", "object_namespace": "team", "object_name": "a", "instance": "a"}
        history = made(counter("team/a", 1.0, 2.0), series(names.HOT_KEY, labels, every(STEP, 0.0, 0.0)))
        assert (one(history).hot_since, one(history).hot_seconds, one(history).writers) == (None, 0.0, ())
