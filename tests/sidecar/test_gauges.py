"""What one scrape says of each controller."""

import pytest

from advisor.sidecar.gauges import GAUGE_NAMES, Gauges, gauges_of
from advisor.sources.exposition import Sample


def sample(series: str, value: float, /, **labels: str) -> Sample:
    """One sample."""
    return Sample(series, tuple(sorted(labels.items())), value)


class TestGaugesOf:
    def test_all_that_is_read(self) -> None:
        """Each name goes into its field, and depths by priority."""
        found = gauges_of(
            [
                sample("workqueue_depth", 3.0, name="raycluster", controller="raycluster", priority="0"),
                sample("workqueue_depth", 7.0, name="raycluster", controller="raycluster", priority="-100"),
                sample("controller_runtime_active_workers", 2.0, controller="raycluster"),
                sample("controller_runtime_max_concurrent_reconciles", 4.0, controller="raycluster"),
                sample("controller_runtime_reconcile_time_seconds_sum", 12.5, controller="raycluster"),
                sample("controller_runtime_reconcile_time_seconds_count", 50.0, controller="raycluster"),
            ]
        )
        assert found == {
            "raycluster": Gauges(
                depths={"0": 3.0, "-100": 7.0},
                active_workers=2.0,
                max_workers=4.0,
                reconcile_seconds=12.5,
                reconciles=50.0,
            )
        }

    def test_a_queue_without_priorities(self) -> None:
        """Its depth has no label of one; the classic queue names its controller by `name` alone."""
        assert gauges_of([sample("workqueue_depth", 3.0, name="rayjob")]) == {"rayjob": Gauges(depths={"": 3.0})}

    def test_what_is_not_told_is_not_zero(self) -> None:
        """A controller that has but one of them has None for the others."""
        found = gauges_of([sample("controller_runtime_active_workers", 0.0, controller="rayjob")])["rayjob"]
        assert found == Gauges(active_workers=0.0)
        assert found.max_workers is None
        assert found.depths == {}

    def test_each_controller_has_its_own(self) -> None:
        """Nothing of one goes to the other."""
        found = gauges_of(
            [
                sample("workqueue_depth", 1.0, controller="raycluster", priority="0"),
                sample("controller_runtime_active_workers", 2.0, controller="rayjob"),
            ]
        )
        assert found == {"raycluster": Gauges(depths={"0": 1.0}), "rayjob": Gauges(active_workers=2.0)}

    def test_what_tells_of_nothing_is_left_out(self) -> None:
        """Other series, and those of no controller."""
        assert gauges_of([sample("up", 1.0, controller="raycluster"), sample("workqueue_depth", 1.0)]) == {}

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
    def test_what_is_no_number_is_left_out(self, value: float) -> None:
        """Nothing can be reckoned with it."""
        samples = [sample(name, value, controller="raycluster") for name in sorted(GAUGE_NAMES)]
        assert gauges_of(samples) == {}

    def test_names(self) -> None:
        """Every name that is read is told to whoever reads the exposition, and is one that is read."""
        for name in GAUGE_NAMES:
            assert gauges_of([sample(name, 1.0, controller="raycluster")])["raycluster"] != Gauges()
