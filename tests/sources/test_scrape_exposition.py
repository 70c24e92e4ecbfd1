import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.model.raw import Selection
from advisor.sources import exposition
from advisor.sources.exposition import Exposition, ExpositionParser, Sample, UnusableExpositionError

SELECTION = Selection(names=frozenset({"a_total", "b"}), aggregated={"object_info": ("kind", "instance")})
HERE = ("instance", "here:1")


def parse(text: bytes, selection: Selection | None = SELECTION, piece: int = 1 << 16) -> Exposition:
    """The text, fed in pieces."""
    parser = ExpositionParser(selection, "here:1")
    for start in range(0, len(text), piece):
        parser.feed(text[start : start + piece])
    return parser.finish()


@pytest.mark.parametrize("piece", [1, 7, 1 << 16])
def test_both_formats_are_read(piece: int) -> None:
    """Comments, types, labels, blanks, times, exemplars and the end marker, in pieces of any size."""
    text = (
        b"# HELP a_total Something.\n# TYPE a_total counter\n"
        b'a_total{x="1",y="\\"\\n"} 2 1600000000000\r\n'
        b'a_total{ x = "2" , }  3.5e2 # {trace="z"} 1 2\n'
        b"\n# TYPE b gauge\nb -1\nother 5\n# EOF\n"
    )
    found = parse(text, piece=piece)
    assert found.samples == [
        Sample("a_total", (HERE, ("x", "1"), ("y", '"\n')), 2.0),
        Sample("a_total", (HERE, ("x", "2")), 350.0),
        Sample("b", (HERE,), -1.0),
    ]
    assert found.types == {"a_total": "counter", "b": "gauge"}
    assert (found.malformed, found.ended) == (0, True)


def test_series_of_objects_become_one() -> None:
    """Series that exist once an object are summed over all labels that are not kept."""
    text = b'object_info{kind="x",name="1"} 1\nobject_info{kind="x",name="2"} 1\nobject_info{name="3"} 1\n'
    assert parse(text).samples == [
        Sample("object_info", (HERE, ("kind", "x")), 2.0),
        Sample("object_info", (HERE,), 1.0),
    ]


def test_the_first_of_two_equal_series_counts() -> None:
    """A series that is there twice is neither added up nor overwritten."""
    assert parse(b"b 1\nb 2\nobject_info 1\nobject_info 1\n").samples == [
        Sample("b", (HERE,), 1.0),
        Sample("object_info", (HERE,), 1.0),
    ]


def test_an_instance_in_the_text_is_renamed() -> None:
    """The label instance is that of the scrape."""
    assert parse(b'b{instance="x"} 1\n').samples == [Sample("b", (("exported_instance", "x"), HERE), 1.0)]


def test_without_a_selection_everything_is_kept() -> None:
    """All series are delivered, also those that nobody reads today."""
    assert [one.name for one in parse(b"x 1\ny 2\n", None).samples] == ["x", "y"]


def test_values_that_are_not_finite_are_left_out() -> None:
    """NaN and infinities are valid and no sample."""
    found = parse(b'b NaN\na_total +Inf\nb{x=""} -Inf\n')
    assert (found.samples, found.malformed) == ([], 0)


@pytest.mark.parametrize(
    "line", [b"b", b"b x", b"b 1_0", b'b{x="1} 1', b'b{x="1",x="2"} 1', b'b{__name__="c"} 1', b"b infinity", b"b 0x1"]
)
def test_malformed_lines_are_counted(line: bytes) -> None:
    """A line of a wanted series that cannot be read is skipped; the others count."""
    found = parse(b"a_total 1\n" + line + b"\n")
    assert [one.name for one in found.samples] == ["a_total"]
    assert found.malformed == 1


@pytest.mark.parametrize("text", [b"", b"\n\n", b"# TYPE b gauge\n", b"<html>\n<body>\n", b"\x00\xff\xfe\n"])
def test_text_without_samples_is_refused(text: bytes) -> None:
    """What holds no sample is not an operator's answer."""
    with pytest.raises(UnusableExpositionError, match="holds no sample"):
        parse(text)


def test_a_text_that_ends_within_a_line_is_cut_off() -> None:
    """The last line's end is what tells that it is whole; the end marker needs none."""
    with pytest.raises(UnusableExpositionError, match="cut off within a line"):
        parse(b"b 1\na_total 12")
    assert parse(b"b 1\n# EOF").ended
    assert not parse(b"b 1\n# EOF\nb 2\n").ended


def test_a_line_without_end_is_not_kept() -> None:
    """A line longer than any operator writes takes no memory and is malformed."""
    parser = ExpositionParser(SELECTION, "here:1")
    parser.feed(b"a_total 1\n")
    for _ in range(64):
        parser.feed(b'b{x="' + b"y" * 16_384)
        assert len(parser._rest) < 300_000
    parser.feed(b'"} 1\n')
    assert [one.name for one in parser.finish().samples] == ["a_total"]


def test_too_many_samples_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer with more samples than any operator has is no operator's."""
    monkeypatch.setattr(exposition, "_MOST_SAMPLES", 3)
    with pytest.raises(UnusableExpositionError, match="more than 3 samples"):
        parse(b"".join(b'b{x="%d"} 1\n' % number for number in range(4)))


def test_too_many_types_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Types beyond any operator's number are not remembered."""
    monkeypatch.setattr(exposition, "_MOST_TYPES", 1)
    assert parse(b"# TYPE a counter\n# TYPE b gauge\nb 1\n").types == {"a": "counter"}


@given(st.binary(max_size=400) | st.lists(st.sampled_from([b"b", b"{", b"}", b'"', b"\\", b" ", b"1", b"\n", b"#"])))
def test_any_bytes_are_survived(data: bytes | list[bytes]) -> None:
    """Whatever arrives is read or refused, and nothing else."""
    text = data if isinstance(data, bytes) else b"".join(data)
    for selection in (SELECTION, None):
        try:
            parse(text, selection, 5)
        except UnusableExpositionError:
            continue
