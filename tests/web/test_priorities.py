"""The page of priorities: of a sidecar's shadow queue, of an operator that is scraped, of reports alone."""

import json

import msgspec
import pytest

from advisor.model.finding import Confidence, Finding, FindingCode, Severity
from advisor.model.report import Figure
from advisor.model.signal import Quality
from advisor.report.jsonreport import render_json
from advisor.sidecar.collector import SidecarView
from advisor.sources.exposition import Exposition, Sample
from advisor.web.history import KeptHistory
from tests.sidecar.sidecarviews import full, worst_case
from tests.web.serving import NOW, World, report
from tests.web.sidecarkept import kept, queue_view
from tests.web.test_api import fits
from tests.web.test_exports import exported
from tests.web.test_pages import HOSTILE, Seen, page

SIDECAR = "sidecar"
STARVED = [queue_view(("0", 2, 0.1, 10 * scrape), ("-100", 9, 15.0 * scrape, 3)) for scrape in range(5)]
"""At priority -100 the oldest key grows old, and none is handed out."""


def scraped(world: World, *rows: dict[str, float], **depths: str) -> None:
    """Scrapes of an operator: values by name of the series, depths by their priority."""
    history = KeptHistory(world.store)
    labels = (("controller", "raycluster"), ("instance", "o"), ("name", "raycluster"))
    for place, row in enumerate(rows):
        samples = [
            Sample("workqueue_depth", tuple(sorted((*labels, ("priority", depths[name])))), value)
            if name in depths
            else Sample(name, labels, value)
            for name, value in row.items()
        ]
        history.keep("one", world.now - 15.0 * (len(rows) - 1 - place), Exposition(samples, {}, 0, ended=True))


def with_starvation(world: World) -> int:
    """A report that finds it."""
    found = report("one")
    finding = Finding(
        code=FindingCode.PRIORITY_STARVATION,
        title="t",
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        summary="Keys of raycluster at -100 wait.",
        evidence=(),
        checks=(),
        next_steps=(),
        subject="raycluster",
        lost_seconds=1.0,
        lost_ratio=0.1,
    )
    found = msgspec.structs.replace(found, findings=(*found.findings, finding))
    world.analysed("one")
    verdict = world.store.reports("one")[0].verdict
    return world.store.add_report("one", NOW - 30.0, verdict, render_json(found).encode())


class TestSidecar:
    def test_figures_of_each_priority(self) -> None:
        """Now, at the peak, wait, age, what was handed out; the highest priority first; with its quality."""
        world = World(kind=SIDECAR)
        kept(
            world,
            [queue_view(("0", 2, 0.1, 10), ("-100", 9, 2.0, 1)), queue_view(("0", 1, 0.1, 40), ("-100", 7, 3.0, 11))],
        )
        seen = page(world, "/priorities/one")
        assert "0 (changes)1240 ms100 ms100 ms3075%noestimated" in seen.text
        assert "-100 (initial list, resync)7940 ms3 s3 s1025%noestimated" in seen.text
        assert "40 ms mean wait of 40 keys handed out, all priorities together." in seen.text
        assert "depth of the sidecar's shadow was off the operator's own by 1" in seen.text
        assert "estimated: the sidecar's shadow of the queue" in seen.text
        assert "No: whenever keys of a lower priority waited long" in seen.text
        charts = [tag for tag, found in seen.elements if tag == "svg" and found.get("class") == "chart"]
        assert len(charts) == 3

    def test_starvation(self) -> None:
        """Which priority, for how long, how old its oldest key is; and what the last report finds."""
        world = World(kind=SIDECAR)
        kept(world, STARVED)
        number = with_starvation(world)
        seen = page(world, "/priorities/one")
        told = "raycluster, priority -100 (initial list, resync): now, 45 s in all; its oldest key waited up to 60 s"
        assert told in seen.text
        assert "finds priority-starvation: Keys of raycluster at -100 wait." in seen.text
        assert {f"/reports/{number}", "/findings/priority-starvation"} <= set(seen.hrefs())

    def test_starvation_that_is_over(self) -> None:
        """It is said that it was."""
        world = World(kind=SIDECAR)
        over = [queue_view(("0", 0, 0.0, 40), ("-100", 0, 0.0, 12))] * 2
        kept(world, [*STARVED, *over])
        assert "(initial list, resync): not now, 45 s in all" in page(world, "/priorities/one").text

    def test_the_classic_queue(self) -> None:
        """It has one priority, and the page says so."""
        world = World(kind=SIDECAR)
        kept(world, [queue_view(("", 2, 0.1, served), quality=Quality.LOWER_BOUND) for served in (1, 5)])
        seen = page(world, "/priorities/one")
        assert "classic queue2240 ms" in seen.text
        assert "which has no priorities: first in, first out" in seen.text
        assert "there is one priority alone" in seen.text
        assert "lower bound: at least so much" in seen.text

    def test_every_controller(self) -> None:
        """Each has a section of its own."""
        world = World(kind=SIDECAR)
        kept(world, [worst_case()] * 2)
        ids = {str(found.get("id")) for _, found in page(world, "/priorities/one").elements}
        assert {"controller-0", "controller-1", "controller-2", "starvation", "quality"} <= ids


class TestScraped:
    def test_depths_by_priority(self) -> None:
        """Waits are known over all priorities only, and the page says what to do for more."""
        world = World(kind="scrape")
        names = {"high": "0", "low": "-100"}
        total, counted = "workqueue_queue_duration_seconds_sum", "workqueue_queue_duration_seconds_count"
        rows = [{"high": 1.0, "low": 4.0 + at, total: 2.0 * at, counted: 4.0 * at} for at in range(4)]
        scraped(world, *rows, **names)
        seen = page(world, "/priorities/one")
        assert "-100 (initial list, resync)77-----45 sexact" in seen.text
        assert "500 ms mean wait of 12 keys handed out" in seen.text
        assert "The operator tells depths by priority, and waits over all of them only" in seen.text
        assert "now, 45 s in all, while keys of higher priorities were handed out. By depths alone" in seen.text
        assert "all priorities: highest 500 ms" in seen.text

    def test_the_classic_queue(self) -> None:
        """All that is told is about its one priority."""
        world = World(kind="scrape")
        total, counted = "workqueue_queue_duration_seconds_sum", "workqueue_queue_duration_seconds_count"
        scraped(world, *({"depth": 2.0, total: 2.0 * at, counted: 4.0 * at} for at in range(3)), depth="")
        assert "classic queue22500 ms--8100%noexact" in page(world, "/priorities/one").text

    def test_peaks_outlive_their_samples(self) -> None:
        """A spike between two samples that are left is in the chart and in the peak."""
        world = World(kind="scrape")
        scraped(world, *({"depth": 40.0 if at == 101 else 1.0} for at in range(240)), depth="0")
        world.now += 5 * 3600.0
        world.store.prune(world.now)
        assert "0 (changes)140-" in page(world, "/priorities/one?window=6h").text


class TestEmpty:
    def test_reports_alone(self) -> None:
        """What the last report and those before say, and how to know more."""
        world = World()
        for minute in range(4):
            world.analysed("one", NOW - 600.0 + 60.0 * minute, queue_wait_seconds=float(minute))
        found = report("one")
        name = "controllers.raycluster.depth_by_priority"
        figures = {
            f"{name}.-100.mean": Figure(value=2.5, unit="count", quality="exact", origin=""),
            f"{name}.none.peak": Figure(value=7.0, unit="count", quality="exact", origin=""),
        }
        whole = msgspec.structs.replace(found, figures={**found.figures, **figures})
        verdict = world.store.reports("one")[0].verdict
        world.store.add_report("one", NOW - 30.0, verdict, render_json(whole).encode())
        seen = page(world, "/priorities/one")
        assert "keeps reports and no samples" in seen.text
        assert "raycluster-1002.5" in seen.text
        assert "classic queue-7" in seen.text
        assert "Starvation came first in 0 of 5 reports of the last hour." in seen.text
        assert "Mean queue wait by report" in seen.text

    @pytest.mark.parametrize(
        ("kind", "told"),
        [
            (SIDECAR, "Nothing that the sidecar tells has been kept yet"),
            ("scrape", "Fewer than two scrapes of the operator were kept in the last hour."),
        ],
    )
    def test_nothing_yet(self, kind: str, told: str) -> None:
        """What to expect, by the kind of source."""
        world = World(kind=kind)
        world.analysed("one")
        assert told in page(world, "/priorities/one").text

    def test_a_sidecar_that_knows_no_queue(self) -> None:
        """Why that may be."""
        world = World(kind=SIDECAR)
        kept(world, [SidecarView(own=full().own)] * 2)
        assert "it was not reached, it reads no log" in page(world, "/priorities/one").text

    def test_never_analysed(self) -> None:
        """Without a report nothing is said of any."""
        world = World(kind=SIDECAR)
        kept(world, STARVED[:2])
        assert "finds" not in page(world, "/priorities/one").text

    def test_stale(self) -> None:
        """What was told is there, marked as old."""
        world = World(kind=SIDECAR)
        kept(world, STARVED)
        world.now += 600.0
        seen = page(world, "/priorities/one")
        assert any(tag == "p" and found.get("class") == "stale" for tag, found in seen.elements)
        assert "10 min ago" in seen.text

    def test_unknown(self) -> None:
        """A name that is not known is an error."""
        assert "there is no operator 'x' here" in page(World(), "/priorities/x", 404).text.lower()


class TestApi:
    def test_the_same_values(self) -> None:
        """As the page as JSON has them, and as they are described."""
        world = World(kind=SIDECAR)
        kept(world, STARVED)
        answer = world.client().get("/api/v1/operators/one/priorities").json
        assert answer is not None
        fits("/api/v1/operators/{name}/priorities", answer)
        assert answer["history"]["controllers"][0]["priorities"][1]["is_starving"] is True
        assert json.loads(exported(world, "/priorities/one", "json"))["data"] == answer

    def test_nothing_kept(self) -> None:
        """Null, and not an error."""
        world = World()
        world.analysed("one")
        answer = world.client().get("/api/v1/operators/one/priorities").json
        fits("/api/v1/operators/{name}/priorities", answer)


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("form", ["", "html"])
def test_hostile_names(name: str, form: str) -> None:
    """Of controllers and priorities are text."""
    world = World(kind="scrape")
    history = KeptHistory(world.store)
    labels = tuple(sorted({"controller": name, "name": name, "instance": "o", "priority": name}.items()))
    for place in range(3):
        samples = [Sample("workqueue_depth", labels, 1.0)]
        history.keep("one", world.now - 30.0 + 15.0 * place, Exposition(samples, {}, 0, ended=True))
    text = exported(world, "/priorities/one", form) if form else world.client().get("/priorities/one").text
    seen = Seen(text)
    assert not seen.tags() & {"script", "img", "iframe", "object"}
    assert name.replace("\u202e", "\ufffd") in seen.text
