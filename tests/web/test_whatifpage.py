import json
import re
from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from advisor.model.advice import Direction
from advisor.model.fleet import FleetKnob
from advisor.store.store import Store
from advisor.web.whatifasked import axes_around, read_asked
from advisor.web.whatifline import LineRules
from advisor.web.whatifprocess import Found, Step
from advisor.web.whatifs import WhatIfs
from tests.support import until
from tests.web.asking import TINY, Asking, Clocked, Played, basis, played, results
from tests.web.serving import NOW
from tests.web.test_pages import Seen

PATH = "/what-if/one"
FOUR = {"concurrency": "4"}
RULES = LineRules(at_a_time=1, most_waiting=1)


@pytest.fixture
def stage() -> Iterator[tuple[Asking, list[Played]]]:
    """A watched operator, and what-ifs with processes that the test plays."""
    whatifs, begun = played(RULES, Clocked())
    world = Asking(whatifs=whatifs)
    world.watched()
    whatifs.start()
    yield world, begun
    assert whatifs.stop(5.0)


Stage = tuple[Asking, list[Played]]


def posted(client: FlaskClient, given: dict[str, str], path: str = PATH, **headers: str) -> TestResponse:
    """Send the form, as the browser does from the page."""
    return client.post(path, data=given, headers={"Origin": "http://127.0.0.1:8091", **headers})


def asked(client: FlaskClient, given: dict[str, str], path: str = PATH) -> str:
    """Send the form; the address that it leads to."""
    answer = posted(client, given, path)
    assert answer.status_code == 303, answer.text
    return answer.headers["Location"]


def seen(client: FlaskClient, path: str, status: int = 200) -> Seen:
    """A page."""
    answer = client.get(path)
    assert answer.status_code == status, answer.text
    return Seen(answer.text)


def values(page: Seen) -> dict[str, str | None]:
    """What stands in the form."""
    return {
        str(found["name"]): found["value"] for tag, found in page.elements if tag == "input" and "type" not in found
    }


def refreshes(page: Seen) -> bool:
    """Whether a browser asks again by itself."""
    return any(tag == "meta" and found.get("http-equiv") == "refresh" for tag, found in page.elements)


class TestForm:
    def test_what_is_advised_stands_in_it(self, stage: Stage) -> None:
        """And what is in force is one link away; each value has a label and says what it is."""
        world, _ = stage
        page = seen(world.client(), PATH)
        advised = values(page)
        assert int(advised["concurrency"] or "") > 1
        assert (advised["qps"], advised["burst"], advised["cpu"]) == ("100", "200", "off")
        link = next(href for href in page.hrefs() if "concurrency=1&" in href)
        assert values(seen(world.client(), link))["concurrency"] == "1"
        assert not refreshes(page)
        assert re.search(r"what was seen up to \S+ \d\d:\d\d:\d\d UTC, 60 s ago", page.text)
        labels = [tag for tag, _ in page.elements if tag == "label"]
        assert len(labels) == 4

    def test_the_operators_pages_lead_there(self, stage: Stage) -> None:
        """And back."""
        world, _ = stage
        assert PATH in seen(world.client(), "/operators/one").hrefs()
        assert "/operators/one" in seen(world.client(), PATH).hrefs()
        assert "there is no operator" in seen(world.client(), "/what-if/nobody", 404).text.lower()

    def test_values_that_cannot_be(self, stage: Stage) -> None:
        """The form comes back as it was, each wrong value with what is allowed beside it; nothing is begun."""
        world, begun = stage
        given = {"concurrency": "<b>0</b>", "qps": "fast", "burst": "5", "cpu": ""}
        answer = posted(world.client(), given)
        assert answer.status_code == 400
        page = Seen(answer.text)
        assert values(page) == given
        assert "Allowed is a whole number from 1 to 1000." in page.text
        assert "Allowed is a number from 0.1 to 100000, or off for no limiter." in page.text
        wrong = [found for tag, found in page.elements if tag == "input" and found.get("aria-invalid")]
        assert [one["name"] for one in wrong] == ["concurrency", "qps"]
        assert all(str(one["aria-describedby"]).endswith("-wrong") for one in wrong)
        assert not begun

    def test_nothing_to_simulate_from(self) -> None:
        """The page says why, and what to do; nothing can be asked."""
        whatifs, begun = played(RULES, Clocked())
        world = Asking(whatifs=whatifs)
        world.analysed("one")
        assert "It has not been analysed since" in seen(world.client(), PATH).text.replace("it has", "It has")
        world.store.set_basis("one", NOW, None, "the samples carry no load: missing QPS")
        page = seen(world.client(), PATH)
        assert "There is not enough to simulate from: the samples carry no load: missing QPS." in page.text
        assert "settings that are in no series can be told with version and args" in page.text
        assert "form" not in {tag for tag, _ in page.elements}
        answer = posted(world.client(), FOUR)
        assert answer.status_code == 409
        assert "missing QPS" in answer.text
        assert not begun

    def test_a_basis_of_another_version(self) -> None:
        """Is as good as none."""
        world = Asking(whatifs=played(RULES, Clocked())[0])
        world.analysed("one")
        world.store.set_basis("one", NOW, b'{"form": 7}')
        assert "is no basis of a what-if" in seen(world.client(), PATH).text

    def test_an_older_load(self, stage: Stage) -> None:
        """Where the last analysis saw none, the one before is used, and the page says so."""
        world, _ = stage
        world.store.set_basis("one", NOW, None, "the operator was idle")
        assert "The last analysis found no load: the operator was idle." in seen(world.client(), PATH).text

    def test_settings_that_were_changed_since(self, stage: Stage) -> None:
        """The page says under which ones the load was seen."""
        world, _ = stage
        knob = FleetKnob(direction=Direction.KEEP, current=4.0, value=4.0)
        world.analysed("one", NOW - 1.0, concurrency=knob)
        assert "The load was seen with concurrency 1; it is 4 by now." in seen(world.client(), PATH).text

    def test_turned_off(self) -> None:
        """The page says by what."""
        world = Asking()
        world.watched()
        assert "What-ifs are turned off here: whatif.at_a_time is 0." in seen(world.client(), PATH).text
        assert posted(world.client(), FOUR).status_code == 409
        assert posted(world.client(), {"do": "cancel", "run": "x"}).status_code == 409


class TestRun:
    def test_for_real(self) -> None:
        """More workers are predicted to make keys wait less; with the form alone: a table, a map and curves."""
        whatifs = WhatIfs(LineRules(limit_seconds=300.0), TINY)
        world = Asking(whatifs=whatifs)
        world.watched()
        whatifs.start()
        client = world.client()
        address = asked(client, {"concurrency": "4", "qps": "", "burst": "", "cpu": "", "do": "run"})
        assert refreshes(seen(client, address))
        until(lambda: not refreshes(seen(client, address)), 150.0)
        page = seen(client, address)
        found = json.loads(client.get(f"{address}&export=json").data)["data"]["what_if"]
        assert whatifs.stop()
        waits = [
            next(one["value"] for one in cell["estimates"] if one["quantity"] == "queue_wait_seconds_mean")
            for cell in found["answer"]["cells"]
        ]
        assert waits[1] < 0.5 * waits[0]
        assert found["phase"] == "done"
        assert re.search(r"With 4 workers, QPS 100 with burst 200: mean queue wait \S+ .*, now \S+", page.text)
        assert re.search(r"mean queue wait\s*8\.31 s\s*8\.\d+ s.*-\d\d%", page.text, re.DOTALL)
        pictures = [found["class"] for tag, found in page.elements if tag == "svg"]
        assert any("heat" in str(one) for one in pictures)
        assert pictures.count("chart") == 4
        marked = {word for tag, one in page.elements if tag == "rect" for word in str(one["class"]).split()}
        assert {"heat-now", "heat-asked"} <= marked
        assert values(page)["concurrency"] == "4"

    def test_progress(self, stage: Stage) -> None:
        """While it goes on the page says what is done, and asks again by itself; the answer comes before the map."""
        world, begun = stage
        client = world.client()
        address = asked(client, FOUR)
        until(lambda: "Simulating: starting." in seen(client, address).text)
        begun[0].words.put(Step(text="calibrating on one"))
        until(lambda: "Simulating: calibrating on one." in seen(client, address).text)
        begun[0].words.put(Found(result=results()[0]))
        until(lambda: "With 4 workers" in seen(client, address).text)
        page = seen(client, address)
        assert refreshes(page)
        assert "Queue wait by workers and QPS" not in page.text
        begun[0].finish()
        until(lambda: not refreshes(seen(client, address)))
        assert "Queue wait by workers and QPS" in seen(client, address).text
        assert asked(client, FOUR) == address
        assert len(begun) == 1

    def test_waiting_and_a_full_line(self, stage: Stage) -> None:
        """Who waits is told; who does not even get to wait is told when to try again."""
        world, begun = stage
        client = world.client()
        asked(client, FOUR)
        until(lambda: begun)
        address = asked(client, {"concurrency": "5"})
        assert "Waiting for a place: it is the next." in seen(client, address).text
        answer = posted(client, {"concurrency": "6"})
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "10")
        assert "Too many what-ifs wait already; try again in 10 s." in Seen(answer.text).text

    def test_cancelling(self, stage: Stage) -> None:
        """By the button of the page, which has no script; afterwards it can be asked again."""
        world, begun = stage
        client = world.client()
        address = asked(client, FOUR)
        until(lambda: begun)
        page = seen(client, address)
        run = next(found["value"] for tag, found in page.elements if found.get("name") == "run")
        assert asked(client, {"do": "cancel", "run": str(run)}) == address
        page = seen(client, address)
        assert "It was cancelled." in page.text
        assert not refreshes(page)
        until(lambda: begun[0].is_ended)
        assert posted(client, {"do": "cancel", "run": "unknown"}).status_code == 404
        world.watched("two")
        assert posted(client, {"do": "cancel", "run": str(run)}, "/what-if/two").status_code == 404
        assert asked(client, FOUR) == address
        until(lambda: len(begun) == 2)

    def test_a_failure(self, stage: Stage) -> None:
        """Says why."""
        world, begun = stage
        client = world.client()
        address = asked(client, FOUR)
        until(lambda: begun)
        begun[0].words.put(None)
        until(lambda: not refreshes(seen(client, address)))
        assert "It failed. Its process ended before it was through" in seen(client, address).text

    def test_leaving(self) -> None:
        """Whoever does not ask again for a while finds it ended when he comes back."""
        clock = Clocked()
        whatifs, begun = played(RULES, clock)
        world = Asking(whatifs=whatifs)
        world.watched()
        whatifs.start()
        client = world.client()
        address = asked(client, FOUR)
        until(lambda: begun)
        clock.now += 14.0
        seen(client, address)
        clock.now += 14.0
        assert refreshes(seen(client, address))
        clock.now += 16.0
        until(lambda: begun[0].is_ended)
        assert "nobody looked at this page any more" in seen(client, address).text
        assert whatifs.stop()

    def test_a_link_after_a_restart(self, stage: Stage) -> None:
        """It offers its settings to be predicted again, and leads to the same result then."""
        world, _ = stage
        address = asked(world.client(), {"concurrency": "4", "qps": "off", "cpu": "0.5"})
        whatifs, begun = played(RULES, Clocked())
        world.whatifs = whatifs
        client = world.client()
        page = seen(client, address)
        assert "This result is no longer kept." in page.text
        assert values(page) == {"concurrency": "4", "qps": "off", "burst": "", "cpu": "0.5"}
        given = {name: text or "" for name, text in values(page).items()}
        assert asked(client, given) == address
        assert "no longer kept" not in seen(client, address).text
        assert not begun

    def test_a_link_without_a_run(self, stage: Stage) -> None:
        """Finds the run of its settings by itself; settings that cannot be are left for the form to tell."""
        world, _ = stage
        client = world.client()
        asked(client, FOUR)
        assert refreshes(seen(client, f"{PATH}?concurrency=4"))
        assert not refreshes(seen(client, f"{PATH}?concurrency=5"))
        assert values(seen(client, f"{PATH}?concurrency=0"))["concurrency"] == "0"

    def test_the_run_of_another(self, stage: Stage) -> None:
        """Is not shown under this operator's name."""
        world, _ = stage
        client = world.client()
        run = parse_qs(urlsplit(asked(client, FOUR)).query)["run"][0]
        world.watched("two")
        assert "no longer kept" in seen(client, f"/what-if/two?run={run}").text


def test_another_site(stage: Stage) -> None:
    """Nothing is begun for a page of another site, nor by reading."""
    world, begun = stage
    client = world.client()
    assert posted(client, FOUR, Origin="http://evil.example").status_code == 403
    assert client.post(PATH, data=FOUR, headers={"Origin": "null"}).status_code == 403
    assert client.get(f"{PATH}?concurrency=4&do=run").status_code == 200
    assert client.put(PATH, data=FOUR).status_code == 405
    assert client.post(PATH, data={"concurrency": "4" * 100_000}).status_code == 413
    assert not begun


@pytest.mark.parametrize("form", ["html", "markdown", "json"])
def test_exports(stage: Stage, form: str) -> None:
    """A result can be kept as a file, which has no form and says where it is from."""
    world, begun = stage
    client = world.client()
    address = asked(client, FOUR)
    until(lambda: begun)
    begun[0].finish()
    until(lambda: not refreshes(seen(client, address)))
    answer = client.get(f"{address}&export={form}")
    assert answer.headers["Content-Disposition"].startswith('attachment; filename="What-if-of-one.')
    assert "<form" not in answer.text
    assert "concurrency=4" in answer.text
    assert ("With 4 workers" in answer.text) is (form != "json")


def test_a_damaged_history() -> None:
    """A basis that cannot be read fails the page alone, and says no more than that."""
    world = Asking(whatifs=played(RULES, Clocked())[0], store=Store.open(None, now=NOW))
    world.watched()
    with world.store._connections.write() as connection:
        connection.execute("UPDATE bases SET data = x'00'")
    assert "This page failed" in seen(world.client(), PATH, 500).text


def test_what_is_asked_matches_what_is_played() -> None:
    """The results that these tests play are those of the question that they ask."""
    one = read_asked(FOUR, basis().settings)
    assert axes_around(basis().settings, one, (None, None), workers=2, paces=1).concurrency == (1, 4)
    assert [cell.concurrency for cell in results()[0].cells] == [1, 4]
