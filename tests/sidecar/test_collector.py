from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.parser import text_string_to_metric_families

from advisor.model.signal import Quality
from advisor.sidecar.collector import MAX_SERIES, SidecarCollector, SidecarView
from advisor.sidecar.families import ALL, EXPOSED, Section
from advisor.sidecar.keystate import BlockReason, KeyStateView
from advisor.sidecar.selfview import SelfView
from advisor.sidecar.views import HotKey, KeysView, PeaksView, PriorityView, ShadowView
from advisor.sources.exposition import ExpositionParser
from tests.sidecar.sidecarviews import KUBERAY, durations, full, key_total, priority, worst_case
from tests.support import Golden


def text_of(view: SidecarView, max_series: int = MAX_SERIES) -> str:
    """What a scrape gets."""
    registry = CollectorRegistry()
    registry.register(SidecarCollector(lambda: view, max_series))
    return generate_latest(registry).decode()


def series_of(view: SidecarView, max_series: int = MAX_SERIES) -> dict[str, float]:
    """Every series by name and labels as written, none of them twice."""
    lines = [line.rpartition(" ") for line in text_of(view, max_series).splitlines() if not line.startswith("#")]
    found = {key: float(value) for key, _, value in lines}
    assert len(found) == len(lines)
    return found


def names_of(view: SidecarView) -> set[str]:
    """Names of its series."""
    return {key.partition("{")[0] for key in series_of(view)}


def without_watches() -> SidecarView:
    """Log and scrapes only."""
    whole = full()
    assert whole.own is not None
    return SidecarView(
        shadows=(
            ShadowView(
                controller="raycluster",
                by_priority={"": priority(2, is_watched=False)},
                queue_quality=Quality.ESTIMATED,
                time_quality=Quality.LOWER_BOUND,
                unattributed_seconds=0.125,
            ),
        ),
        peaks=whole.peaks,
        keys=whole.keys,
        hot_keys=tuple(replace(one, writer="") for one in whole.hot_keys),
        key_state=KeyStateView(blocked_keys={BlockReason.NOT_SATISFIED: 1}),
        own=replace(whole.own, component_failures={"scraper": 0, "follower": 1}),
    )


def on_classic_queue() -> SidecarView:
    """An operator whose queue has no priorities."""
    return SidecarView(
        shadows=(
            ShadowView(
                controller="raycluster",
                by_priority={"": priority(2, depth_error=0.5)},
                queue_quality=Quality.ESTIMATED,
                time_quality=Quality.LOWER_BOUND,
            ),
        ),
        peaks=PeaksView(depth={"raycluster": 7.0}),
        keys=KeysView(totals=(), rest=(), error_seconds={}),
    )


@pytest.mark.parametrize(
    ("name", "view"),
    [
        ("full", full()),
        ("without-watches", without_watches()),
        ("classic-queue", on_classic_queue()),
        ("nothing-known", SidecarView()),
        ("just-started", SidecarView(own=SelfView(cpu_seconds=0.25, resident_bytes=1 << 20))),
    ],
)
def test_the_whole_answer(golden: Golden, name: str, view: SidecarView) -> None:
    """A scrape gets exactly these families, in this order."""
    golden.check(f"sidecar/{name}.txt", text_of(view))


def test_what_is_not_known_is_absent() -> None:
    """Without watches nothing is said of what only they tell, not even zero."""
    absent = {
        "kuberay_advisor_workqueue_depth",
        "kuberay_advisor_workqueue_adds_total",
        "kuberay_advisor_workqueue_queue_duration_seconds_count",
        "kuberay_advisor_oldest_ready_age_seconds",
        "kuberay_advisor_blocked_keys",
        "kuberay_advisor_shadow_depth_error",
        "kuberay_advisor_generation_lag_seconds",
    }
    assert names_of(without_watches()) & absent == set()
    assert names_of(full()) >= absent


def test_a_priority_that_never_had_a_key_is_absent() -> None:
    """Only that its depth is as the operator says can be told of it."""
    untouched = PriorityView(
        depth=0,
        adds=0,
        active_workers=0,
        oldest_ready_seconds=None,
        blocked_keys=0,
        wait=durations(),
        time=durations(),
        results={"success": 0, "error": 0, "requeue": 0, "requeue_after": 0},
        depth_error=0.0,
    )
    shadow = ShadowView(
        controller="rayjob",
        by_priority={"0": priority(), "-100": untouched},
        queue_quality=Quality.ESTIMATED,
        time_quality=Quality.EXACT,
    )
    found = [key for key in series_of(SidecarView(shadows=(shadow,))) if 'priority="-100"' in key]
    assert found == ['kuberay_advisor_shadow_depth_error{controller="rayjob",priority="-100"}']


def test_no_ready_key_is_age_zero() -> None:
    """Where the queue is known and nothing is ready, the oldest age is 0, not absent."""
    drained = replace(priority(), depth=0, oldest_ready_seconds=None)
    shadow = ShadowView(
        controller="rayjob",
        by_priority={"0": drained},
        queue_quality=Quality.ESTIMATED,
        time_quality=Quality.EXACT,
    )
    ages = [value for key, value in series_of(SidecarView(shadows=(shadow,))).items() if "oldest_ready_age" in key]
    assert ages == [0]


def test_the_worst_case_is_within_the_limit() -> None:
    """Three controllers with two priorities, three of its own and twenty keys: everything is told in 500 series."""
    found = series_of(worst_case())
    assert len(found) <= 500
    assert found["kuberay_advisor_sidecar_series_dropped"] == 0
    busy = [key for key in found if key.startswith("kuberay_advisor_key_busy_seconds_total")]
    assert len(busy) == 20 + len(KUBERAY)


def test_light_keys_go_first() -> None:
    """Over the limit, the lightest keys lose their series, and how many series that are is told."""
    view = worst_case()
    found = series_of(view, 450)
    whole = series_of(view)
    assert len(found) <= 450
    missing = whole.keys() - found.keys()
    assert {key.partition("{")[0] for key in missing} == {
        "kuberay_advisor_key_busy_seconds_total",
        "kuberay_advisor_key_reconciles_total",
        "kuberay_advisor_key_errors_total",
        "kuberay_advisor_key_conflicts_total",
    }
    assert found["kuberay_advisor_sidecar_series_dropped"] == len(missing)
    kept = {value for key, value in found.items() if "key_busy_seconds_total" in key and "other" not in key}
    lost = {whole[key] for key in missing if "key_busy_seconds_total" in key}
    assert min(kept) > max(lost)
    others = [key for key in found if 'object_name="other"' in key]
    assert all(found[key] == whole[key] for key in others)


def test_buckets_go_next() -> None:
    """Where dropping keys does not do, histograms keep count and sum only, and keys get the room that this makes."""
    view = worst_case((*KUBERAY, "raycronjob", "networkpolicy", "raycluster-mtls"))
    found = series_of(view)
    assert len(found) <= 500
    buckets = [key for key in found if "_bucket{" in key]
    assert buckets
    assert all('le="+Inf"' in key for key in buckets)
    assert [key for key in found if key.startswith("kuberay_advisor_reconcile_time_seconds_sum")]
    assert [key for key in found if key.startswith("kuberay_advisor_key_busy") and "key-19" in key]
    wanted = len(series_of(view, 10_000))
    assert found["kuberay_advisor_sidecar_series_dropped"] == wanted - len(found)


@pytest.mark.parametrize("limit", [30, 60, 120, 240, 300, 400, 499])
def test_the_limit_is_hard(limit: int) -> None:
    """However low, the limit holds, and what tells of it stays."""
    view = worst_case()
    found = series_of(view, limit)
    assert len(found) <= limit
    wanted = len(series_of(view, 10_000))
    assert found["kuberay_advisor_sidecar_series_dropped"] == wanted - len(found)
    assert "kuberay_advisor_sidecar_log_lag_seconds" in found


def test_own_controllers_have_few_buckets_of_the_real_ones() -> None:
    """Buckets of the embedded controllers are some of controller-runtime's bounds, and count and sum are unchanged."""
    found = series_of(full())
    own = 'controller="advisor-raycluster"'
    time = "controller_runtime_reconcile_time_seconds"
    assert found[f'{time}_bucket{{{own},le="0.1"}}'] == 2
    assert found[f'{time}_bucket{{{own},le="+Inf"}}'] == found[f"{time}_count{{{own}}}"] == 2
    assert found[f"{time}_sum{{{own}}}"] == pytest.approx(0.006)
    assert len([key for key in found if key.startswith(f"{time}_bucket")]) == 2


def test_slow_runs_are_above_the_bounds() -> None:
    """An observation above the last bound that is shown counts in the last bucket."""
    view = full()
    slow = replace(view.controllers[0].reconcile_time, buckets=(1, *(0 for _ in range(38)), 4, 2))
    found = series_of(replace(view, controllers=(replace(view.controllers[0], reconcile_time=slow),)))
    buckets = [value for key, value in found.items() if key.startswith("controller_runtime_reconcile_time_seconds_b")]
    assert buckets == [1, 7]


def test_keys_of_the_embedded_operator_have_no_series() -> None:
    """Series by key are of KubeRay's keys only."""
    assert not [key for key in series_of(full()) if "object_name" in key and "advisor-" in key]


def test_hot_keys_are_few() -> None:
    """At most ten hot keys are told, those with the largest share."""
    hot = [
        HotKey(
            controller="raycluster",
            key=f"ns/k{number}",
            writer="w",
            busy_share=number / 100,
            consecutive=1,
            updates_per_second=None,
            since=0.0,
        )
        for number in range(30)
    ]
    found = series_of(SidecarView(hot_keys=hot))
    names = [key for key in found if key.startswith("kuberay_advisor_hot_key")]
    assert len(names) == 10
    assert any('object_name="k29"' in key for key in names)
    assert not any('object_name="k19"' in key for key in names)


def test_readers_get_every_series() -> None:
    """The product's own parser and the client library's read all series and types, odd names included."""
    text = text_of(full())
    parser = ExpositionParser(None, "here:1")
    parser.feed(text.encode())
    ours = parser.finish()
    assert ours.malformed == 0
    assert len(ours.samples) == len(series_of(full()))
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    assert 'odd"na\\me' in {sample.labels.get("object_name") for sample in samples}
    assert len(samples) == len(ours.samples)


def test_openmetrics_is_the_same() -> None:
    """A scraper that asks for OpenMetrics gets it."""
    registry = CollectorRegistry()
    registry.register(SidecarCollector(full))
    text = generate_openmetrics(registry).decode()  # type: ignore[no-untyped-call] # the library has no types for it
    assert text.endswith("# EOF\n")


def test_one_view_a_scrape() -> None:
    """Each scrape takes one view, and registering takes none."""
    taken = []

    def take() -> SidecarView:
        taken.append(1)
        return SidecarView()

    registry = CollectorRegistry()
    registry.register(SidecarCollector(take))
    assert taken == []
    generate_latest(registry)
    assert taken == [1]


def test_each_family_is_described_once() -> None:
    """Names differ, sections are in one piece, and a second collector in the registry is refused."""
    assert len({family.name for family in ALL}) == len(ALL)
    assert [section for section in Section for one in EXPOSED if one.section is section] == [
        one.section for one in EXPOSED
    ]
    registry = CollectorRegistry()
    registry.register(SidecarCollector(full))
    with pytest.raises(ValueError, match="Duplicated timeseries"):
        registry.register(SidecarCollector(full))


def test_every_family_can_be_seen() -> None:
    """No family is documented and never exposed."""
    view = full()
    exposed_names = {name.removesuffix("_bucket") for name in names_of(view)}
    assert {family.name for family in ALL} <= exposed_names


def test_all_others_are_one_object() -> None:
    """What keys without series had is one object of each controller."""
    view = SidecarView(
        keys=KeysView(totals=(), rest=(key_total("raycluster", "", 4),), error_seconds={"raycluster": 0.25})
    )
    other = '{controller="raycluster",object_name="other",object_namespace=""}'
    assert series_of(view) == {
        f"kuberay_advisor_key_busy_seconds_total{other}": 2,
        f"kuberay_advisor_key_reconciles_total{other}": 40,
        f"kuberay_advisor_key_errors_total{other}": 4,
        f"kuberay_advisor_key_conflicts_total{other}": 2,
        'kuberay_advisor_key_busy_error_seconds{controller="raycluster"}': 0.25,
        "kuberay_advisor_sidecar_series_dropped": 0,
    }
