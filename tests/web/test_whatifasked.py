import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.twin.parameters import OperatorSettings
from advisor.web.readers import Readers
from advisor.web.whatifasked import Asked, AskError, axes_around, read_asked, run_id

NOW = OperatorSettings(concurrency=2, qps=100.0, burst=200, cpu_limit_cores=0.5)


def test_what_is_not_said_is_as_it_is() -> None:
    """Empty is not said either."""
    asked = read_asked({"concurrency": " 8 ", "qps": "", "other": "x"}, NOW)
    assert asked == Asked(concurrency=8, qps=100.0, burst=200, cpu_limit_cores=0.5)
    assert read_asked({}, NOW) == Asked.of(NOW)


def test_off() -> None:
    """No limiter, as a word or as KubeRay is told, and no limit; without a limiter the burst says nothing."""
    asked = read_asked({"qps": "OFF", "burst": "7", "cpu": "off"}, NOW)
    assert asked == Asked(concurrency=2, qps=-1.0, burst=200, cpu_limit_cores=None)
    assert read_asked({"qps": "-1", "cpu": "off"}, NOW) == asked


@pytest.mark.parametrize(
    ("field", "text"),
    [
        *[("concurrency", text) for text in ("0", "1001", "x", "1.5", "-3", "²", "9" * 5000)],
        *[("qps", text) for text in ("0", "1e6", "nan", "inf", "-inf", "many")],
        *[("burst", text) for text in ("0", "1000001", "2.5")],
        *[("cpu", text) for text in ("0", "1e9", "nan", "<b>")],
    ],
)
def test_what_cannot_be(field: str, text: str) -> None:
    """Is refused with what is allowed, for each value apart."""
    with pytest.raises(AskError) as caught:
        read_asked({field: text}, NOW)
    assert list(caught.value.problems) == [field]
    assert any(word in caught.value.problems[field] for word in ("from 1 to", "from 0.1 to", "from 0.01 to"))


@given(
    st.integers(1, 1000),
    st.floats(0.1, 100_000.0) | st.just(-1.0),
    st.integers(1, 1_000_000),
    st.none() | st.floats(0.01, 1024.0),
)
def test_an_address_says_the_same(workers: int, qps: float, burst: int, limit: float | None) -> None:
    """What stands in an address is read again as it was written."""
    texts = Asked(concurrency=workers, qps=qps, burst=burst, cpu_limit_cores=limit).texts()
    asked = read_asked(texts, NOW)
    assert read_asked(asked.texts(), NOW) == asked
    assert run_id("x", 1.0, asked) == run_id("x", 1.0, read_asked(asked.texts(), NOW))


def test_a_name_of_a_question() -> None:
    """Differs with the operator, the load and the values."""
    asked = Asked.of(NOW)
    names = {run_id("a", 1.0, asked), run_id("b", 1.0, asked), run_id("a", 2.0, asked)}
    names.add(run_id("a", 1.0, read_asked({"burst": "1"}, NOW)))
    assert len(names) == 4


def test_what_is_shown_around() -> None:
    """What is, what is asked and what is advised, with doubles and halves, no more than there may be."""
    asked = read_asked({"concurrency": "8", "cpu": "2"}, NOW)
    axes = axes_around(NOW, asked, (4.0, 50.0), workers=5, paces=3)
    assert axes.concurrency == (1, 2, 4, 8, 16)
    assert axes.qps == (50.0, 100.0, 200.0)
    assert axes.cpu_limit_cores == (2.0,)
    axes.settings(NOW)


def test_no_limiter_around() -> None:
    """It stands beside rates that are usual."""
    unlimited = OperatorSettings(concurrency=1, qps=-1.0)
    axes = axes_around(unlimited, Asked.of(unlimited), (None, None), workers=1, paces=2)
    assert axes.concurrency == (1,)
    assert axes.qps == (50.0, 100.0, 200.0, -1.0)


def test_readers() -> None:
    """Each may ask so many at once and so many a minute; who is refused is told how long to wait."""
    readers = Readers(2)
    assert [readers.wait_seconds("a", 10.0), readers.wait_seconds("a", 10.0)] == [0.0, 0.0]
    assert readers.wait_seconds("a", 10.0) == pytest.approx(30.0)
    assert readers.wait_seconds("b", 10.0) == 0.0
    assert readers.wait_seconds("a", 39.0) == pytest.approx(1.0)
    assert readers.wait_seconds("a", 40.0) == 0.0


def test_many_readers() -> None:
    """Those who asked the longest ago are forgotten, so that strangers take no memory."""
    readers = Readers(1)
    assert readers.wait_seconds("first", 0.0) == 0.0
    for index in range(1000):
        assert readers.wait_seconds(f"r{index}", 0.0) == 0.0
    assert readers.wait_seconds("r999", 0.0) > 0.0
    assert readers.wait_seconds("first", 0.0) == 0.0
