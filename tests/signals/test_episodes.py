from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.model.raw import Series
from advisor.model.signal import Window
from advisor.model.signals import Episode, EpisodeKind
from advisor.signals.episodes import CutRules
from tests.signals.builders import controller, observations, series

RULES: Final = CutRules()
QUIET, LOAD, STARTUP = EpisodeKind.QUIET, EpisodeKind.LOAD, EpisodeKind.STARTUP


def episodes(*found: Series, rules: CutRules = RULES) -> tuple[Episode, ...]:
    """Episodes of these series."""
    return observations(found).episodes(rules)


def cuts(*found: Series, rules: CutRules = RULES) -> list[tuple[EpisodeKind, float, float]]:
    """Kind, start and end of each episode."""
    return [(one.kind, one.window.start, one.window.end) for one in episodes(*found, rules=rules)]


def depths(step: float, numbers: Sequence[float], column: str = "depth", start: float = 0.0) -> list[Series]:
    """A controller whose depth is known, scraped every ``step`` seconds."""
    times = [start + step * index for index in range(len(numbers))]
    return controller(times=times, given={column: numbers}, active=[0.0] * len(numbers))


def started(at: float, *times: float) -> Series:
    """A process start as scraped."""
    return series("process_start_time_seconds", {}, dict.fromkeys(times, at))


class TestLoadAndQuiet:
    def test_load_is_where_keys_wait(self) -> None:
        """Keys that wait make load, from the scrape before they were seen to the last one that saw them."""
        found = episodes(*depths(5, [0, 0, 0, 4, 6, 2, 0, 0, 0, 0]))
        assert found == (
            Episode(QUIET, Window(0, 10), "no key waited and hardly a worker was busy"),
            Episode(LOAD, Window(10, 25), "keys waited or workers were busy"),
            Episode(QUIET, Window(25, 45), "no key waited and hardly a worker was busy"),
        )

    def test_load_is_where_workers_work(self) -> None:
        """Workers that are busy for a twentieth of the time make load, though no key is seen to wait."""
        work = controller(times=[0, 10, 20, 30, 40, 50], work=[0, 0.1, 0.7, 1.3, 1.7, 1.8], workers=[1] * 6)
        assert cuts(*work) == [(QUIET, 0, 10), (LOAD, 10, 30), (QUIET, 30, 50)]

    def test_load_is_where_a_reconcile_lasts(self) -> None:
        """A reconcile that has run for a second at a scrape makes load on both sides of it."""
        lasting = controller(times=[0, 20, 40, 60, 80], unfinished=[0, 0, 5, 0, 0], workers=[1] * 5)
        assert cuts(*lasting) == [(QUIET, 0, 20), (LOAD, 20, 60), (QUIET, 60, 80)]

    def test_keys_behind_their_own_reconcile_are_no_load(self) -> None:
        """Depth no larger than the active workers is no backlog."""
        assert cuts(*controller(depth=[1, 1, 1], active=[1, 1, 1])) == [(QUIET, 0, 20)]

    def test_all_controllers_together(self) -> None:
        """Work of several controllers adds up."""
        found = [
            *controller("raycluster", work=[0, 0.3, 0.6], workers=[1] * 3),
            *controller("rayjob", work=[0, 0.3, 0.6], workers=[1] * 3),
        ]
        assert cuts(*found) == [(LOAD, 0, 20)]

    def test_a_short_pause_does_not_end_a_load(self) -> None:
        """Polling comes in bursts: a pause of up to ten seconds belongs to the load, a longer one does not."""
        assert cuts(*depths(5, [5, 5, 0, 0, 5, 5])) == [(LOAD, 0, 25)]
        assert cuts(*depths(5, [5, 5, 0, 0, 0, 5, 5])) == [(LOAD, 0, 5), (QUIET, 5, 20), (LOAD, 20, 30)]

    def test_a_pause_of_one_scrape_does_not_end_a_load(self) -> None:
        """At a scrape a minute, one quiet minute between loads is a pause."""
        assert cuts(*depths(60, [0, 5, 5, 0, 5, 0, 0, 0, 0, 5])) == [
            (LOAD, 0, 240),
            (QUIET, 240, 480),
            (LOAD, 480, 540),
        ]

    def test_a_blip_is_part_of_the_quiet_around_it(self) -> None:
        """A load of two seconds is no episode; one of four is."""
        assert cuts(*depths(2, [0] * 5 + [3] + [0] * 8)) == [(QUIET, 0, 26)]
        assert cuts(*depths(2, [0] * 5 + [3, 3] + [0] * 8)) == [(QUIET, 0, 8), (LOAD, 8, 12), (QUIET, 12, 28)]

    def test_rules_can_be_set(self) -> None:
        """What counts as a load's shortest length is a rule."""
        rules = CutRules(shortest_seconds=1.0)
        assert cuts(*depths(2, [0] * 5 + [3] + [0] * 8), rules=rules) == [(QUIET, 0, 8), (LOAD, 8, 10), (QUIET, 10, 26)]

    @pytest.mark.parametrize("found", [[], depths(5, [3])])
    def test_without_two_scrapes_there_are_none(self, found: list[Series]) -> None:
        """No scrape or one makes no time to cut."""
        assert episodes(*found) == ()

    def test_without_controllers_all_is_quiet(self) -> None:
        """A standby that is scraped has one quiet episode."""
        assert cuts(started(-500, 0, 10, 20)) == [(QUIET, 0, 20)]


class TestStartup:
    def test_lasts_until_the_initial_list_is_drained(self) -> None:
        """After a start all keys enter at once; the episode ends when none of them is left."""
        assert episodes(*depths(5, [0, 40, 60, 20, 0, 0, 0], "initial"), started(-3, 0, 5)) == (
            Episode(
                STARTUP,
                Window(0, 20),
                "the process had just started: every key entered at once at priority -100, until that list was drained",
            ),
            Episode(QUIET, Window(20, 30), "no key waited and hardly a worker was busy"),
        )

    def test_lasts_for_all_controllers(self) -> None:
        """The slowest controller's list ends it."""
        fast = controller("rayjob", times=[0, 5, 10, 15, 20], initial=[30, 0, 0, 0, 0])
        assert cuts(*depths(5, [30, 20, 10, 0, 0], "initial"), *fast, started(-1, 0)) == [
            (STARTUP, 0, 15),
            (QUIET, 15, 20),
        ]

    def test_may_last_to_the_end(self) -> None:
        """A list that is never drained is start-up to the end, and nothing comes after it."""
        assert cuts(*depths(5, [30, 20, 10, 5], "initial"), started(-1, 0)) == [(STARTUP, 0, 15)]

    @pytest.mark.parametrize(
        ("numbers", "column", "at"),
        [
            ([30, 20, 0, 0], "initial", -61.0),
            ([9, 9, 0, 0], "initial", -1.0),
            ([30, 20, 0, 0], "depth", -1.0),
            ([30, 20, 0, 0], "classic", -1.0),
            ([30, 20, 0, 0], "initial", 15.0),
        ],
        ids=["started long before", "few keys", "other priority", "classic queue", "started at the end"],
    )
    def test_else_it_is_load(self, numbers: list[float], column: str, at: float) -> None:
        """Keys that wait long after a start, few of them, or not of the initial list, are load."""
        assert cuts(*depths(5, numbers, column), started(at, 0)) == [(LOAD, 0, 5), (QUIET, 5, 15)]

    def test_a_resync_later_on_is_no_start_up(self) -> None:
        """A larger number of keys at the same priority minutes after the start does not stretch it."""
        numbers = [30.0, 10.0, *[0.0] * 30, 80.0, 40.0, *[0.0] * 4]
        assert cuts(*depths(5, numbers, "initial"), started(-1, 0)) == [
            (STARTUP, 0, 10),
            (QUIET, 10, 155),
            (LOAD, 155, 165),
            (QUIET, 165, 185),
        ]

    def test_a_restart_in_between(self) -> None:
        """What came before a restart is cut as ever; the start-up begins at the last scrape before it."""
        numbers = [0, 0, 0, 0, 30, 10, 0, 0]
        begun = series("process_start_time_seconds", {}, {0: -500, 15: -500, 20: 17, 25: 17})
        assert cuts(*depths(5, numbers, "initial"), begun) == [(QUIET, 0, 15), (STARTUP, 15, 30), (QUIET, 30, 35)]

    def test_a_restart_during_a_start_up_belongs_to_it(self) -> None:
        """A process that starts again before its list is drained is still starting up."""
        numbers = [40, 30, 40, 30, 0, 0]
        begun = series("process_start_time_seconds", {}, {0: -1, 5: -1, 10: 7, 15: 7})
        assert cuts(*depths(5, numbers, "initial"), begun) == [(STARTUP, 0, 20), (QUIET, 20, 25)]


@st.composite
def recordings(draw: st.DrawFn) -> list[Series]:
    """A controller with any depths, work and restarts."""
    step = draw(st.sampled_from([1.0, 2.0, 15.0, 60.0]))
    count = draw(st.integers(2, 40))
    numbers = st.lists(st.sampled_from([0.0, 0.0, 3.0, 20.0]), min_size=count, max_size=count)
    times = [step * index for index in range(count)]
    begun = sorted(draw(st.lists(st.floats(-100.0, step * count), min_size=count, max_size=count)))
    return [
        *controller(
            times=times, initial=draw(numbers), depth=draw(numbers), active=draw(numbers), unfinished=draw(numbers)
        ),
        series("process_start_time_seconds", {}, dict(zip(times, begun, strict=True))),
    ]


class TestProperties:
    @given(recordings())
    def test_episodes_cover_all_in_order_without_gaps(self, found: list[Series]) -> None:
        """Each episode has a length and begins where the one before ends; together they are all scraped time."""
        result = episodes(*found)
        scrapes = observations(found).scrapes
        borders = [result[0].window.start, *(one.window.end for one in result)]
        assert borders == [scrapes[0], *(one.window.start for one in result[1:]), scrapes[-1]]
        assert borders == sorted(set(borders))
        assert set(borders) <= set(scrapes)

    @given(recordings())
    def test_quiet_does_not_follow_quiet(self, found: list[Series]) -> None:
        """Two quiet episodes in a row would be one."""
        kinds = [one.kind for one in episodes(*found)]
        assert (QUIET, QUIET) not in set(pairwise(kinds))

    @given(recordings())
    def test_loads_last(self, found: list[Series]) -> None:
        """No load is shorter than the shortest one that counts."""
        assert all(one.window.seconds >= RULES.shortest_seconds for one in episodes(*found) if one.kind is LOAD)
