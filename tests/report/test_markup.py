import pytest

from advisor.report.markup import Markup, blocks, element, number, printable


def test_text_and_attributes_are_escaped() -> None:
    """Whatever is given as text stays text."""
    assert element("p", "<b>&", title="\"'>") == '<p title="&quot;&#x27;&gt;">&lt;b&gt;&amp;</p>'


def test_markup_is_not_escaped_again() -> None:
    """An element inside an element stays one."""
    assert element("p", element("b", "x"), None, " y") == "<p><b>x</b> y</p>"


def test_attributes() -> None:
    """None leaves an attribute out, an underscore stands for a hyphen, one at the end for nothing."""
    assert (
        element("line", class_="a", aria_hidden="true", x1=1.25, title=None)
        == '<line class="a" aria-hidden="true" x1="1.2"/>'
    )
    assert element("meta", charset="utf-8") == '<meta charset="utf-8">'


def test_blocks_leave_out_what_is_empty() -> None:
    """Each part has a line of its own."""
    assert blocks([Markup("<a>"), None, "", "<"]) == "<a>\n&lt;"


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (-0.01, "0"), (1.04, "1"), (1.05, "1.1"), (-2.46, "-2.5"), (1e6, "1000000")]
)
def test_numbers_have_one_decimal_at_most(value: float, text: str) -> None:
    """The same picture is the same text everywhere."""
    assert number(value) == text


@pytest.mark.parametrize("character", ["\x00", "\x1b", "\x9b", "\u202e", "\u2066", "\ud800"])
def test_what_hides_or_reorders_text_is_shown(character: str) -> None:
    """Control characters and changes of direction become a replacement character; line ends stay."""
    assert printable(f"a{character}\nb") == "a\ufffd\nb"
