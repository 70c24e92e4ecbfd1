"""What stands between readers and what-ifs: what speaks against a change, limits, and names that are markup."""

import re

import msgspec
import pytest

from advisor.model.advice import Direction
from advisor.model.finding import FindingCode
from advisor.web.security import Access
from advisor.web.whatifline import LineRules
from tests.support import until
from tests.web.asking import Asking, Clocked, played
from tests.web.serving import NOW
from tests.web.test_pages import HOSTILE, Seen
from tests.web.test_whatifpage import FOUR, PATH, RULES, asked, posted, refreshes, seen


class TestGuards:
    def told(self, around: dict[str, str], **report: object) -> str:
        """What a page tells of a question, with a report that says something else."""
        whatifs, begun = played(RULES, Clocked())
        world = Asking(whatifs=whatifs)
        world.watched()
        row = world.store.latest("one")
        assert row is not None
        document = msgspec.json.decode(world.store.document(row.id) or b"")
        document |= report
        world.store.add_report("one", NOW, row.verdict, msgspec.json.encode(document))
        whatifs.start()
        client = world.client()
        address = asked(client, around)
        until(lambda: begun)
        begun[0].finish()
        until(lambda: not refreshes(seen(client, address)))
        assert whatifs.stop()
        return seen(client, address).text

    def test_a_raise_that_does_not_help(self) -> None:
        """What the report says against it is beside the prediction: one hot key is not helped by more workers."""
        world = Asking()
        world.watched()
        row = world.store.latest("one")
        assert row is not None
        document = msgspec.json.decode(world.store.document(row.id) or b"")
        knob = {
            "direction": Direction.KEEP,
            "current": 1,
            "value": 1,
            "reason": "one key is never worked on twice at a time",
        }
        first = document["findings"][0] | {"code": FindingCode.HOT_KEY, "summary": "One key takes 80 % of all time."}
        text = self.told(FOUR, advice=document["advice"] | {"concurrency": knob}, findings=[first])
        assert "The report does not advise to raise concurrency: one key is never worked on twice at a time." in text
        assert "The report finds: One key takes 80 % of all time." in text
        assert "does not advise" not in self.told(FOUR)


class TestRateLimit:
    def test_each_reader_apart(self) -> None:
        """Who asks too often is told when to try again, as a page; others are not held up."""
        whatifs, _ = played(LineRules(), Clocked(), per_minute=2)
        world = Asking(whatifs=whatifs)
        world.watched()
        client = world.client()
        for count in (2, 3):
            asked(client, {"concurrency": f"{count}"})
        answer = posted(client, {"concurrency": "5"})
        assert (answer.status_code, answer.headers["Retry-After"]) == (429, "30")
        assert "try again in 30 s" in Seen(answer.text).text
        asked(client, {"concurrency": "2"})
        other = client.post(PATH, data=FOUR, environ_base={"REMOTE_ADDR": "127.0.0.2"})
        assert other.status_code == 303

    def test_behind_a_proxy(self) -> None:
        """Each reader whom it names has his own; a header from elsewhere counts for nothing."""
        whatifs, _ = played(LineRules(), Clocked(), per_minute=1)
        world = Asking(whatifs=whatifs, access=Access(user_header="X-User", proxies=["127.0.0.1"]))
        world.watched()
        client = world.client()
        found = [
            posted(client, {"concurrency": f"{2 + place}"}, **{"X-User": user}) for place, user in enumerate("aab")
        ]
        assert [one.status_code for one in found] == [303, 429, 303]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names(name: str) -> None:
    """A name is text on the page and in its exports, and the way to its what-if and back is kept."""
    whatifs, begun = played(RULES, Clocked())
    world = Asking(whatifs=whatifs)
    world.watched(name)
    whatifs.start()
    client = world.client()
    tabs = seen(client, next(one for one in seen(client, "/").hrefs() if one.startswith("/operators/"))).hrefs()
    address = asked(client, FOUR, next(one for one in tabs if one.startswith("/what-if/")))
    until(lambda: begun)
    begun[0].finish()
    until(lambda: not refreshes(seen(client, address)))
    assert whatifs.stop()
    for path in (address, f"{address}&export=html"):
        page = seen(client, path)
        assert not page.tags() & {"script", "img", "iframe"}
        assert not any(key.startswith("on") for _, found in page.elements for key in found)
        assert "\u202e" not in page.text
    text = client.get(f"{address}&export=markdown").text
    assert not re.search(r"(?<!\\)<(?:script|img)", text)
