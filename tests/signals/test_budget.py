from typing import Final

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.model.settings import Setting, SettingSource
from advisor.model.signal import Quality, Signal, Unit, Window, measured, missing
from advisor.model.signals import ClientSignals, ControllerSignals, ProcessSignals, TimeBudget
from advisor.signals.budget import inferred_write_seconds, time_budget
from tests.signals.builders import controller, every, observations, requests, values

WINDOW: Final = Window(0, 100)
CALLERS: Final = frozenset({"rayjob"})
UNKNOWN: Final = Setting(None, SettingSource.UNKNOWN)
PARTS: Final = ("api_server", "client_limiter", "cpu", "external")

NOTHING: Final = observations(controller(workers=(1, 1, 1))).signals(WINDOW)


def seconds(value: float | None, unit: Unit = Unit.SECONDS) -> Signal:
    """A known or missing signal."""
    return missing(unit, "not exposed", window=WINDOW) if value is None else measured(value, unit, origin="test")


def busy(name: str, value: float | None) -> ControllerSignals:
    """A controller of which only its busy time is known."""
    return msgspec.structs.replace(
        NOTHING.controllers[0], controller=name, busy_worker_seconds=seconds(value, Unit.WORKER_SECONDS)
    )


def client(api: float | None, limiter: float | None, writes: float | None = None) -> ClientSignals:
    """A client of which only these times and writes are known."""
    return msgspec.structs.replace(
        NOTHING.client,
        api_seconds=seconds(api),
        limiter_wait_seconds=seconds(limiter),
        write_requests_per_second=seconds(writes, Unit.PER_SECOND),
    )


def process(cpu: float | None, throttled: float | None = None) -> ProcessSignals:
    """A process of which only CPU and throttled time are known."""
    return msgspec.structs.replace(NOTHING.process, cpu_seconds=seconds(cpu), cpu_throttled_seconds=seconds(throttled))


def budget(
    inside: float | None,
    outside: float = 0.0,
    *,
    api: float | None,
    limiter: float | None,
    cpu: float | None,
    throttled: float | None = None,
) -> TimeBudget:
    """The budget of a controller without external calls and of one with them."""
    controllers = (busy("raycluster", inside), busy("rayjob", outside))
    return time_budget(controllers, client(api, limiter), process(cpu, throttled), WINDOW, CALLERS)


def shares(found: TimeBudget) -> dict[str, tuple[float | None, float | None, float | None]]:
    """Value and bounds of each part."""
    return {part: ((one := getattr(found, part)).value, one.low, one.high) for part in PARTS}


class TestShares:
    def test_parts_that_add_up_are_exact(self) -> None:
        """Where the bounds add up to the busy time, each part is its bound."""
        assert shares(budget(100.0, api=60.0, limiter=30.0, cpu=10.0)) == {
            "api_server": (0.6, 0.6, 0.6),
            "client_limiter": (0.3, 0.3, 0.3),
            "cpu": (0.1, 0.1, 0.1),
            "external": (0.0, 0.0, 0.0),
        }

    def test_more_than_the_busy_time_is_scaled_within_its_bounds(self) -> None:
        """Where others than workers use the client too, parts are scaled, and each keeps what the rest leave over."""
        assert shares(budget(100.0, api=160.0, limiter=50.0, cpu=50.0)) == {
            "api_server": (0.5, 0.0, 1.0),
            "client_limiter": (0.25, 0.0, 0.5),
            "cpu": (0.25, 0.0, 0.5),
            "external": (0.0, 0.0, 0.0),
        }

    def test_external_calls_get_what_nothing_else_explains(self) -> None:
        """Time that neither API server, limiter nor CPU can have taken was spent in calls to others."""
        assert shares(budget(20.0, 80.0, api=15.0, limiter=0.0, cpu=5.0)) == {
            "api_server": (0.15, 0.15, 0.15),
            "client_limiter": (0.0, 0.0, 0.0),
            "cpu": (0.05, 0.05, 0.05),
            "external": (0.8, 0.8, 0.8),
        }

    def test_external_calls_have_at_most_the_time_of_those_that_make_them(self) -> None:
        """Where the rest explains all, external calls may still have had the time of those that make them."""
        assert shares(budget(20.0, 80.0, api=95.0, limiter=0.0, cpu=5.0)) == {
            "api_server": (0.95, 0.15, 0.95),
            "client_limiter": (0.0, 0.0, 0.0),
            "cpu": (0.05, 0.0, 0.05),
            "external": (0.0, 0.0, 0.8),
        }

    def test_what_nothing_explains_stays_unexplained(self) -> None:
        """Without external calls the parts may fall short; none is blown up beyond what it can have been."""
        found = budget(100.0, api=10.0, limiter=0.0, cpu=5.0)
        assert shares(found) == {
            "api_server": (0.1, 0.1, 0.1),
            "client_limiter": (0.0, 0.0, 0.0),
            "cpu": (0.05, 0.05, 0.05),
            "external": (0.0, 0.0, 0.0),
        }
        assert found.rest.value == pytest.approx(0.85)
        assert found.rest.quality is Quality.LOWER_BOUND

    def test_nothing_is_left_where_the_bounds_cover_all(self) -> None:
        """As long as the upper bounds cover the busy time, nothing is called unexplained."""
        assert budget(100.0, api=160.0, limiter=50.0, cpu=50.0).rest.value == 0.0

    def test_throttled_time_holds_up_the_busy_workers(self) -> None:
        """A CPU quota that stops the process for 40 of 100 s stops one busy worker in two for 20."""
        found = budget(50.0, api=30.0, limiter=0.0, cpu=0.0, throttled=40.0)
        assert shares(found)["cpu"] == (0.4, 0.4, 0.4)

    def test_throttled_time_of_many_threads_is_at_most_the_window(self) -> None:
        """Throttled seconds are of all threads; nobody is held up for longer than the window."""
        found = budget(50.0, api=0.0, limiter=0.0, cpu=0.0, throttled=4000.0)
        assert shares(found)["cpu"] == (1.0, 1.0, 1.0)

    def test_says_how_it_was_made(self) -> None:
        """A share is an estimate over the busy time of all controllers."""
        found = budget(60.0, 40.0, api=30.0, limiter=0.0, cpu=70.0)
        assert found.busy_worker_seconds == Signal(
            unit=Unit.WORKER_SECONDS, value=100.0, window=WINDOW, origin="busy worker seconds of all controllers"
        )
        assert found.client_limiter == Signal(
            unit=Unit.RATIO,
            value=0.0,
            low=0.0,
            high=0.0,
            quality=Quality.ESTIMATED,
            window=WINDOW,
            origin="test, over busy worker seconds",
        )


class TestMissing:
    def test_parts_that_are_not_measured(self) -> None:
        """A part without a figure is missing, and the others keep the bounds that are left."""
        found = budget(100.0, api=None, limiter=20.0, cpu=10.0)
        assert shares(found)["client_limiter"] == (0.2 * (100.0 / 130.0), 0.0, 0.2)
        assert (found.api_server.missing, found.external.value) == ("not measurable here: not exposed", 0.0)

    def test_external_cannot_be_told_from_what_is_not_measured(self) -> None:
        """Where API time is not exposed, time of controllers that call others may be either."""
        found = budget(20.0, 80.0, api=None, limiter=None, cpu=5.0)
        assert found.external.missing == "not separable from api_server and client_limiter, not exposed here"
        assert shares(found)["cpu"] == (0.05 * (100.0 / 205.0), 0.0, 0.05)

    def test_cpu_that_is_not_measured(self) -> None:
        """Without CPU its share is missing."""
        assert budget(100.0, api=90.0, limiter=0.0, cpu=None).cpu.missing == "not measurable here: not exposed"

    @pytest.mark.parametrize("inside", [0.0, None])
    def test_without_busy_time_there_is_no_budget(self, inside: float | None) -> None:
        """Nobody was busy: nothing to share out, and no zero shares."""
        found = budget(inside, api=1.0, limiter=1.0, cpu=1.0)
        assert set(values(found).values()) == {None}
        assert found.external.missing == "no worker was busy in the window"


AMOUNT = st.floats(0.0, 1000.0)


class TestProperties:
    @given(AMOUNT, AMOUNT, AMOUNT, AMOUNT, AMOUNT, AMOUNT)
    def test_bounds_hold(
        self, inside: float, outside: float, api: float, limiter: float, cpu: float, throttled: float
    ) -> None:
        """Whatever was measured: shares lie in their bounds, lower bounds fit into one, and so do the shares."""
        if inside + outside < 1e-3:
            inside = 1.0
        found = shares(budget(inside, outside, api=api, limiter=limiter, cpu=cpu, throttled=throttled))
        for value, low, high in found.values():
            assert value is not None
            assert low is not None
            assert high is not None
            assert 0.0 <= low <= value <= high <= 1.0
        assert sum(low or 0.0 for _, low, _ in found.values()) <= 1.0 + 1e-9
        assert sum(value or 0.0 for value, _, _ in found.values()) <= 1.0 + 1e-9

    @given(AMOUNT, AMOUNT, AMOUNT, AMOUNT, AMOUNT)
    def test_shares_add_up_where_the_bounds_cover_all(
        self, inside: float, outside: float, api: float, limiter: float, cpu: float
    ) -> None:
        """Where the parts can have taken all busy time, the shares add up to one."""
        total = inside + outside
        if total < 1e-3 or min(api, total) + min(limiter, total) + min(cpu, total) + outside < total:
            api = total = total + 1.0
            inside = total - outside
        found = shares(budget(inside, outside, api=api, limiter=limiter, cpu=cpu))
        assert sum(value or 0.0 for value, _, _ in found.values()) == pytest.approx(1.0)

    @given(AMOUNT.filter(lambda amount: amount > 1e-3), AMOUNT, AMOUNT, AMOUNT)
    def test_without_external_callers_external_is_zero(
        self, inside: float, api: float, limiter: float, cpu: float
    ) -> None:
        """Controllers that call nothing else spend no time in such calls."""
        assert shares(budget(inside, api=api, limiter=limiter, cpu=cpu))["external"] == (0.0, 0.0, 0.0)


class TestInferredWrites:
    def test_is_what_a_write_costs_a_worker_at_least(self) -> None:
        """Busy time of controllers without external calls, less CPU, over all writes."""
        controllers = (busy("raycluster", 60.0), busy("rayjob", 900.0))
        assert inferred_write_seconds(controllers, client(None, None, 2.0), process(10.0), WINDOW, CALLERS) == Signal(
            unit=Unit.SECONDS,
            value=0.25,
            quality=Quality.LOWER_BOUND,
            window=WINDOW,
            origin="(busy worker seconds of controllers without external calls - CPU seconds) / write requests",
        )

    def test_is_never_negative(self) -> None:
        """CPU of others than workers does not make a write cost less than nothing."""
        found = inferred_write_seconds(
            (busy("raycluster", 1.0),), client(None, None, 2.0), process(10.0), WINDOW, CALLERS
        )
        assert found.value == 0.0

    @pytest.mark.parametrize(
        ("name", "amount", "writes"), [("raycluster", 60.0, 0.0), ("raycluster", 60.0, None), ("rayjob", 60.0, 2.0)]
    )
    def test_needs_writes_and_a_busy_controller_without_external_calls(
        self, name: str, amount: float, writes: float | None
    ) -> None:
        """Without a write, or with nothing but controllers that call others, it is not known."""
        found = inferred_write_seconds((busy(name, amount),), client(None, None, writes), process(1.0), WINDOW, CALLERS)
        assert found.missing == "no write and busy worker of a controller without external calls"

    def test_is_a_signal_of_the_client(self) -> None:
        """The client's signals carry it, from the samples of all."""
        found = observations(
            [
                *controller(work=(0, 5, 10), workers=(1, 1, 1)),
                requests("201", "POST", every(10, 0, 5, 20)),
                *controller("rayjob", work=(0, 9, 20), workers=(1, 1, 1)),
            ]
        ).signals(Window(0, 20))
        assert found.client.inferred_write_seconds_mean.value == 0.5
