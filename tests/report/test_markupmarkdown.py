import pytest

from advisor.report.document import wide_table
from advisor.report.markup import Markup, blocks, element
from advisor.report.markupmarkdown import to_markdown


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        (element("p", "one ", element("strong", "two"), " three"), "one **two** three"),
        (element("h2", element("code", "a`b")), "## `` a`b ``"),
        (element("p", "a*b_c|d <x> @me #1"), "a\\*b_c\\|d \\<x> @<!-- -->me #<!-- -->1"),
        (element("a", "there", href="/operators/x (y)"), "[there](http://here/operators/x%20%28y%29)"),
        (element("a", "below", href="#below"), "below"),
        (element("ul", element("li", "a"), element("li", element("code", "b"))), "- a\n- `b`"),
        (element("pre", element("code", "a:\n  - ```\n")), "````\na:\n  - ```\n````"),
        (element("svg", element("path", d="M0 0"), aria_label="a line"), "*a line*"),
        (element("svg", element("title", "Wait"), element("desc", "It rose.")), "*Wait It rose.*"),
        (blocks([element("nav", element("a", "x", href="/")), element("p", "kept")]), "kept"),
        (element("form", element("button", "Go")), ""),
        (element("div", "text beside", element("p", "a block")), "text beside\n\na block"),
        (element("details", element("summary", "More"), element("p", "told")), "#### More\n\ntold"),
    ],
)
def test_elements(markup: Markup, text: str) -> None:
    """Each element becomes what Markdown has for it; text shows as it is."""
    assert to_markdown(markup, root="http://here").strip() == text


def test_a_table() -> None:
    """Heads, cells and code with bars in it; an empty cell stays one."""
    table = wide_table("t", ("name", "value"), [[element("code", "a|b"), "1|2"], ["c", None]])
    assert to_markdown(table) == "| name | value |\n| --- | --- |\n| `a\\|b` | 1\\|2 |\n| c |   |\n"


def test_the_origin() -> None:
    """It is said at the end."""
    assert to_markdown(element("p", "a"), origin="http://here/x?y=1") == "a\n\nFrom <http://here/x?y=1>\n"
