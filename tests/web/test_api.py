import json
import re
from http import HTTPStatus
from typing import Any

import jsonschema
import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from advisor.model.advice import Direction
from advisor.model.finding import FindingCode, Severity
from advisor.model.fleet import FleetFinding, FleetForecast, FleetKnob
from advisor.model.report import Report
from advisor.web.api import openapi
from advisor.web.app import create_app
from advisor.web.state import Service
from advisor.web.whatifline import LineRules
from tests.support import until
from tests.web.asking import Asking, Clocked, played
from tests.web.changing import Watched, advised, before
from tests.web.serving import NOW, World, failure, target

DESCRIPTION: dict[str, Any] = json.loads(openapi())


def fits(path: str, body: object) -> None:
    """Check an answer against what OpenAPI says of its path."""
    content = DESCRIPTION["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    jsonschema.validate(body, {**content, "components": DESCRIPTION["components"]})


class TestDescription:
    def test_has_every_route_and_no_other(self) -> None:
        """What is described is served, and what is served is described."""
        world = World()
        app = create_app(Service(world.store, list, lambda: NOW), world.access)
        rules = {rule.rule for rule in app.url_map.iter_rules() if rule.rule.startswith("/api/")}
        assert {re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", rule) for rule in rules} == set(DESCRIPTION["paths"])

    def test_is_served(self) -> None:
        """As it is checked in."""
        assert World().client().get("/api/v1/openapi.json").json == DESCRIPTION


class TestOperators:
    def test_pages_of_all(self) -> None:
        """By name, a page at a time, each naming the next."""
        world = World()
        for name in ("c", "a", "b"):
            world.analysed(name)
        world.store.add_failure("d", NOW, failure())
        client, address, names = world.client(), "/api/v1/operators?limit=2", []
        while address:
            answer = client.get(address).json
            assert answer is not None
            fits("/api/v1/operators", answer)
            names += [one["name"] for one in answer["operators"]]
            address = answer["next"]
        assert names == ["a", "b", "c", "d"]

    def test_one(self) -> None:
        """With its last report and what failed since."""
        world = World()
        world.analysed("x/y")
        world.store.add_failure("x/y", NOW, failure())
        answer = world.client().get("/api/v1/operators/x/y").json
        assert answer is not None
        fits("/api/v1/operators/{name}", answer)
        assert answer["failure"]["error"] == "connection refused"
        assert answer["report"]["verdict"]["finding"] == "workers-saturated"

    def test_reports(self) -> None:
        """Newest first in pages; each leads to the whole report, which is that of the command line."""
        world = World()
        numbers = [world.analysed("one", NOW - 100.0 + minute) for minute in range(3)]
        client = world.client()
        first = client.get("/api/v1/operators/one/reports?limit=2").json
        assert first is not None
        fits("/api/v1/operators/{name}/reports", first)
        assert [one["id"] for one in first["reports"]] == numbers[:0:-1]
        second = client.get(first["next"]).json
        assert second is not None
        assert ([one["id"] for one in second["reports"]], second["next"]) == (numbers[:1], None)
        whole = client.get(second["reports"][0]["report"])
        assert msgspec.json.decode(whole.data, type=Report).operator == "one"

    def test_findings(self) -> None:
        """All codes with what they mean."""
        answer = World().client().get("/api/v1/findings").json
        fits("/api/v1/findings", answer)


class TestErrors:
    @pytest.mark.parametrize(
        ("path", "status", "detail"),
        [
            ("/api/v1/operators?limit=0", 400, "limit is 1 to 500, not 0"),
            ("/api/v1/operators?limit=x", 400, "limit is a whole number, not 'x'"),
            ("/api/v1/operators/none", 404, "there is no operator 'none' here"),
            ("/api/v1/operators/none/reports", 404, "there is no operator 'none' here"),
            ("/api/v1/reports/9", 404, "there is no report 9 any more"),
        ],
    )
    def test_are_problems(self, path: str, status: int, detail: str) -> None:
        """Type, title, status and detail, as RFC 9457 has them."""
        answer = World().client().get(path)
        assert answer.content_type == "application/problem+json"
        body = json.loads(answer.data)
        assert body == {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}

    def test_an_unknown_path(self) -> None:
        """Also where no route is."""
        assert World().client().get("/api/v1/nothing").content_type == "application/problem+json"


def test_an_answer_that_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its tag, only that it is unchanged comes back."""
    client = World().client()
    tag = client.get("/api/v1/operators").headers["ETag"]
    assert client.get("/api/v1/operators", headers={"If-None-Match": tag}).status_code == 304


def exposed(world: World) -> dict[tuple[str, ...], float]:
    """What ``/metrics`` tells, by name and the values of labels in their order."""
    text = world.client().get("/metrics").text
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


class TestMetrics:
    def test_advice_and_how_analysing_goes(self) -> None:
        """Settings now and advised, their direction, the finding, and the schedule, under the fixed names."""
        world = World(targets=[target("one", failures=2, failures_total=5)])
        world.analysed("one", qps=FleetKnob(direction=Direction.NO_NUMBER, current=None, value=None))
        world.store.add_failure("two", NOW, failure())
        samples = exposed(world)
        assert samples["kuberay_advisor_current", "concurrency", "one"] == 1.0
        assert samples["kuberay_advisor_current", "burst", "one"] == 200.0
        assert ("kuberay_advisor_current", "cpu_cores", "one") not in samples
        assert samples["kuberay_advisor_recommended", "concurrency", "one"] > 1.0
        assert samples["kuberay_advisor_recommended_direction", "concurrency", "one"] == 1.0
        assert ("kuberay_advisor_recommended_direction", "one", "qps") not in samples
        assert samples["kuberay_advisor_finding", "critical", "one", "workers-saturated"] == 1.0
        assert samples["kuberay_advisor_analysis_last_success_timestamp_seconds", "one"] == NOW - 60.0
        assert samples["kuberay_advisor_analysis_duration_seconds", "one", "prometheus"] == 1.25
        assert samples["kuberay_advisor_analysis_failures_in_a_row", "one", "prometheus"] == 2.0
        assert samples["kuberay_advisor_analysis_errors_total", "one", "prometheus"] == 5.0

    def test_limits(self) -> None:
        """CPU and memory stand beside the three settings, where they are known."""
        world = World()
        cpu = FleetKnob(direction=Direction.RAISE, current=0.5, value=2.0)
        memory = FleetKnob(direction=Direction.KEEP, current=2.0**30, value=2.0**30)
        world.analysed("one", cpu_cores=cpu, memory_bytes=memory)
        samples = exposed(world)
        assert samples["kuberay_advisor_current", "cpu_cores", "one"] == 0.5
        assert samples["kuberay_advisor_recommended", "cpu_cores", "one"] == 2.0
        assert samples["kuberay_advisor_recommended_direction", "memory_bytes", "one"] == 0.0

    def test_every_finding_of_the_last_report(self) -> None:
        """Each with its severity and its share of the lost time; of a verdict of an older version the first one."""
        world = World()
        found = (
            FleetFinding(code=FindingCode.HOT_KEY, severity=Severity.CRITICAL, lost_ratio=0.75),
            FleetFinding(code=FindingCode.CPU_LIMITED, severity=Severity.WARNING, lost_ratio=0.125),
        )
        world.analysed("new", findings=(*found, found[0]))
        world.analysed("new", findings=found)
        world.analysed("old", findings=())
        samples = exposed(world)
        names = ("kuberay_advisor_finding", "kuberay_advisor_finding_lost_time_ratio")
        assert {key: value for key, value in samples.items() if key[0] in names} == {
            (names[0], "critical", "hot-key", "new"): 1.0,
            (names[0], "cpu-limited", "new", "warning"): 1.0,
            (names[0], "critical", "old", "workers-saturated"): 1.0,
            (names[1], "critical", "hot-key", "new"): 0.75,
            (names[1], "cpu-limited", "new", "warning"): 0.125,
        }

    @pytest.mark.parametrize("wanted", ["", "application/openmetrics-text; version=1.0.0"])
    def test_what_is_remembered_changes_no_answer(self, wanted: str) -> None:
        """Whoever has answered before tells after each change the same, byte for byte, as one that begins then."""
        world = World(targets=[target("one")])
        names = ("one", "two", 'a "b"\\ {x="y"}\n# HELP kuberay_advisor_finding \r\u00e9')
        before = world.client()
        for name in (*names, "one"):
            world.analysed(name, NOW - 30.0)
            answers = [one.get("/metrics", headers={"Accept": wanted}).data for one in (before, world.client())]
            assert answers[0] == answers[1]
            assert answers[0].count(b"last_success_timestamp_seconds{") == len(world.store.statuses())

    def test_forecasts(self) -> None:
        """Simulated ones have quantiles, closed forms bounds, and without advice there is none."""
        world = World()
        for name, is_simulated in (("twin", True), ("form", False)):
            forecast = FleetForecast(then=2.0, low=1.0, high=9.0, simulated=is_simulated)
            world.analysed(name, queue_wait_forecast=forecast)
        world.analysed("none", queue_wait_forecast=None)
        samples = exposed(world)
        name = "kuberay_advisor_predicted_queue_wait_seconds"
        assert {key[1:]: value for key, value in samples.items() if key[0] == name} == {
            ("0.1", "twin"): 1.0,
            ("0.5", "twin"): 2.0,
            ("0.9", "twin"): 9.0,
            ("0", "form"): 1.0,
            ("1", "form"): 9.0,
        }

    def test_how_far_predictions_were_off(self) -> None:
        """Of the last change that was measured, for each quantity that could be checked; others are passed over."""
        watched = Watched()
        watched.sees(NOW - 3600.0, before())
        watched.sees(NOW - 1800.0, advised(NOW - 1800.0))
        watched.sees(NOW - 60.0, advised(NOW - 600.0, wait_seconds=5.099270715))
        world = watched.world()
        world.store.set_outcome(world.store.add_change("other", NOW, "qps", 1.0, 2.0), None, b"{}")
        errors = {key[1:]: value for key, value in exposed(world).items() if key[0].endswith("prediction_error_ratio")}
        assert errors["one", "queue_wait_seconds_mean"] == pytest.approx(1.0)
        assert all("one" in key for key in errors)

    def test_probes(self) -> None:
        """Alive from the start; ready once there is a report."""
        world = World()
        assert (world.client().get("/healthz").status_code, world.client().get("/readyz").status_code) == (200, 503)
        world.analysed("one")
        assert world.client().get("/readyz").status_code == 200


class TestWhatIf:
    PATH = "/api/v1/operators/one/what-if"

    def test_from_question_to_result(self) -> None:
        """Accepted with an address, which tells state and result; asked again it is the same."""
        whatifs, begun = played(LineRules(), Clocked())
        world = Asking(whatifs=whatifs)
        world.watched()
        whatifs.start()
        client = world.client()
        answer = client.post(self.PATH, json={"concurrency": 4, "cpu_limit_cores": None})
        assert answer.status_code == HTTPStatus.ACCEPTED
        address = answer.headers["Location"]
        until(lambda: begun)
        assert client.get(address).json["phase"] == "running"  # type: ignore[index]
        begun[0].finish()
        until(lambda: client.get(address).json["phase"] == "done")  # type: ignore[index]
        found = client.get(address).json
        assert whatifs.stop()
        fits("/api/v1/what-ifs/{run}", found)
        assert found is not None
        assert found["asked"] == {"concurrency": 4, "qps": 100.0, "burst": 200, "cpu_limit_cores": None}
        assert [cell["concurrency"] for cell in found["answer"]["cells"]] == [1, 4]
        assert client.post(self.PATH, json={"concurrency": 4}).headers["Location"] == address
        assert "With 4 workers" in client.get(found["page"]).text

    def test_cancelling(self) -> None:
        """Ends what goes on; one that is not known is not found."""
        whatifs, begun = played(LineRules(), Clocked())
        world = Asking(whatifs=whatifs)
        world.watched()
        whatifs.start()
        client = world.client()
        address = client.post(self.PATH, json={"qps": -1}).headers["Location"]
        until(lambda: begun)
        assert client.delete(address).status_code == HTTPStatus.NO_CONTENT
        until(lambda: begun[0].is_ended)
        assert client.get(address).json["phase"] == "cancelled"  # type: ignore[index]
        assert client.delete(address, headers={"Origin": "http://evil.example"}).status_code == HTTPStatus.FORBIDDEN
        assert client.delete("/api/v1/what-ifs/none").status_code == HTTPStatus.NOT_FOUND
        assert whatifs.stop()

    @pytest.mark.parametrize(
        ("body", "status", "detail"),
        [
            ({"concurrency": 0}, 400, "concurrency: a whole number from 1 to 1000"),
            ({"concurrency": "4"}, 400, "these are no settings: Expected `int`, got `str` - at `$.concurrency`"),
            ({"workers": 4}, 400, "these are no settings: Object contains unknown field `workers`"),
            ({"qps": 1e9, "burst": 0}, 400, "qps: a number from 0.1 to 100000, or off for no limiter; burst: "),
        ],
    )
    def test_what_cannot_be(self, body: object, status: int, detail: str) -> None:
        """Is a problem that says what is allowed."""
        world = Asking(whatifs=played(LineRules(), Clocked())[0])
        world.watched()
        answer = world.client().post(self.PATH, json=body)
        assert (answer.status_code, answer.content_type) == (status, "application/problem+json")
        assert json.loads(answer.data)["detail"].startswith(detail)

    def test_what_is_refused(self) -> None:
        """Other forms than JSON, operators that are not known or have no load, questions that come too often."""
        world = Asking(whatifs=played(LineRules(), Clocked(), per_minute=1)[0])
        world.watched()
        world.analysed("idle")
        client = world.client()
        assert client.post(self.PATH, data={"concurrency": "4"}).status_code == HTTPStatus.UNSUPPORTED_MEDIA_TYPE
        assert client.post("/api/v1/operators/none/what-if", json={}).status_code == HTTPStatus.NOT_FOUND
        assert client.post("/api/v1/operators/idle/what-if", json={}).status_code == HTTPStatus.CONFLICT
        assert client.post(self.PATH, json={}).status_code == HTTPStatus.ACCEPTED
        answer = client.post(self.PATH, json={"burst": 5})
        assert (answer.status_code, answer.headers["Retry-After"]) == (HTTPStatus.TOO_MANY_REQUESTS, "60")
        assert answer.content_type == "application/problem+json"

    def test_turned_off(self) -> None:
        """Nothing can be asked, and nothing is known."""
        world = Asking()
        world.watched()
        assert world.client().post(self.PATH, json={}).status_code == HTTPStatus.CONFLICT
        assert world.client().get("/api/v1/what-ifs/x").status_code == HTTPStatus.NOT_FOUND
