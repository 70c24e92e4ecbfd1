import json
from io import StringIO

import jsonschema
import msgspec
import pytest
from rich.console import Console

from advisor.analysis.compare import compare
from advisor.analysis.comparisonrules import ComparisonRules
from advisor.model.comparison import Comparison
from advisor.model.finding import FindingCode
from advisor.report.comparisonhtml import render_comparison_html
from advisor.report.comparisonjson import comparison_schema, render_comparison_json
from advisor.report.comparisontext import comparison_markdown, plain_comparison, print_comparison
from tests.analysis.reportsmade import CONTROLLER, DEMAND, after_ten, example, made
from tests.report.hostile import TEXT, hostile_value
from tests.report.test_html import ALLOWED, Document
from tests.support import ROOT, Golden

WIDTH = 120
SCHEMA = ROOT / "advisor" / "schemas" / "comparison-v1.schema.json"


@pytest.fixture(scope="module")
def worked() -> Comparison:
    """Ten workers instead of one: the worked example."""
    return compare(example(), after_ten(), ComparisonRules())


@pytest.fixture(scope="module")
def refused() -> Comparison:
    """An analysis that refuses, with less known, before one that does not."""
    before = made(dict.fromkeys(DEMAND), code=FindingCode.NOT_LEADER, refuses=True, version=None)
    return compare(before, made(known={"qps": -1.0}), ComparisonRules())


def test_text(worked: Comparison, golden: Golden) -> None:
    """The worked example in a pipe, whole."""
    golden.check("comparison/worked-example.txt", plain_comparison(worked, width=WIDTH))


def test_verbose_text(worked: Comparison, golden: Golden) -> None:
    """With settings that stayed and what chance can do, whole."""
    golden.check("comparison/worked-example-verbose.txt", plain_comparison(worked, width=WIDTH, verbose=True))


def test_markdown(worked: Comparison, golden: Golden) -> None:
    """The worked example for a pull request, whole."""
    golden.check("comparison/worked-example.md", comparison_markdown(worked))


def test_a_refusal_in_text(refused: Comparison, golden: Golden) -> None:
    """What cannot be compared says why, and what is not known on a side, whole."""
    golden.check("comparison/refused.txt", plain_comparison(refused, width=WIDTH, verbose=True))


def test_a_refusal_in_markdown(refused: Comparison, golden: Golden) -> None:
    """The same for a pull request, whole."""
    golden.check("comparison/refused.md", comparison_markdown(refused))


def test_checked_predictions_are_a_table(golden: Golden) -> None:
    """Each prediction stands with its interval and what was measured; those without a measure say why."""
    settings = {"concurrency": 4.0, "qps": 100.0, "burst": 200.0}
    after = msgspec.structs.replace(
        made({f"{CONTROLLER}queue_wait_seconds_mean": 3.0, "process.cpu_cores": None}, known=settings),
        episodes=example().episodes,
    )
    result = compare(example(), after, ComparisonRules())
    golden.check("comparison/predictions.txt", plain_comparison(result, width=WIDTH))
    golden.check("comparison/predictions.md", comparison_markdown(result))
    html = render_comparison_html(result)
    assert '<td class="number">2.1 s</td><td class="number">9.83 s</td><td class="number">3 s</td>' in html
    assert '<span class="word">inside</span>' in html


def test_html(worked: Comparison, golden: Golden) -> None:
    """The worked example as a file for a browser, whole."""
    golden.check("comparison/worked-example.html", render_comparison_html(worked))


def test_html_of_a_refusal(refused: Comparison) -> None:
    """What is not known has its reason; settings that stayed and what chance can do are there where asked for."""
    plain, verbose = (render_comparison_html(refused, verbose=verbose) for verbose in (False, True))
    assert "the analysis before refuses a verdict (not-leader)" in plain
    assert 'id="unknown"' in plain
    assert "chance up to" in verbose
    assert "cpu_limit_cores" in verbose
    assert "cpu_limit_cores" not in plain


def test_hostile_html(worked: Comparison) -> None:
    """Texts from elsewhere are text, whatever they hold; only elements that are meant are there, each with its name."""
    document = Document(render_comparison_html(hostile_value(worked), verbose=True))
    assert {tag for tag, _ in document.elements} <= ALLOWED
    assert "".join(document.text).count(TEXT) > 20


def test_what_stayed_is_said_to_have_stayed(golden: Golden) -> None:
    """Without a change of settings that is said; limits stand with their units; all predictions can be checked."""
    same = made(known={"concurrency": 4.0, "cpu_limit_cores": 0.5})
    predictions = (msgspec.structs.replace(example().predictions[0], low=1.0, high=5.0),)
    before = msgspec.structs.replace(same, predictions=predictions)
    result = compare(before, same, ComparisonRules())
    golden.check("comparison/nothing-set.md", comparison_markdown(result))
    golden.check("comparison/nothing-set-verbose.txt", plain_comparison(result, width=WIDTH, verbose=True))


def test_the_load_is_taken_out_in_a_column_of_its_own() -> None:
    """Where the loads differ, the change at equal load stands beside the change."""
    larger = made({"demand.clusters_created": 120.0, "demand.pods_created": 720.0})
    text = plain_comparison(compare(made(), larger, ComparisonRules()), width=WIDTH)
    assert "quantity                                   before  after   change  at equal load" in text
    assert "* cluster ready time, mean                 24 s    24 s    0%      -17%           better" in text


def test_narrow_terminals_lose_nothing(worked: Comparison) -> None:
    """On 60 columns no line is longer."""
    text = plain_comparison(worked, width=60)
    assert max(len(line) for line in text.splitlines()) <= 60


def test_a_terminal_gets_colour(worked: Comparison) -> None:
    """Colour goes with a terminal only; the words are the same."""
    printed = StringIO()
    print_comparison(worked, Console(file=printed, width=WIDTH, force_terminal=True, color_system="standard"))
    assert "\x1b[1;32mIt got better" in printed.getvalue()


def test_markdown_leaves_other_texts_as_they_are(worked: Comparison) -> None:
    """Mark-up, cell ends and line ends in a text from the input do not become Markdown."""
    before = msgspec.structs.replace(worked.before, version="1.7|<b>\n# no")
    text = comparison_markdown(msgspec.structs.replace(worked, before=before))
    assert "operator 1.7\\|\\<b> # no, load episode" in text


def test_json_fits_its_schema_and_can_be_read_back(worked: Comparison, refused: Comparison) -> None:
    """Both documents are valid against the published schema and decode to what was compared."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    for one in (worked, refused):
        jsonschema.validate(json.loads(render_comparison_json(one)), schema)
        assert msgspec.json.decode(render_comparison_json(one), type=Comparison) == one


def test_the_published_schema_is_the_one_of_the_code() -> None:
    """The file in the package has not drifted from the types."""
    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == json.loads(json.dumps(comparison_schema()))


def test_json_contract(worked: Comparison) -> None:
    """The keys that others rely on are where they are promised to be."""
    document = json.loads(render_comparison_json(worked))
    assert document["schema"] == "kuberay-advisor/comparison/v1"
    assert document["outcome"] == "better"
    assert set(document["quantities"][0]) >= {
        "name",
        "unit",
        "before",
        "after",
        "change",
        "normalised_ratio",
        "lower_is_better",
        "beyond_noise",
        "trend",
    }


def test_the_documentation_shows_the_real_output(worked: Comparison) -> None:
    """The worked example in docs/compare.md is what is printed, whole."""
    page = (ROOT / "docs" / "compare.md").read_text(encoding="utf-8")
    assert f"```\n{plain_comparison(worked, width=WIDTH)}```\n" in page


def test_the_documentation_names_each_default() -> None:
    """Tolerances and factors in docs/compare.md are those of the code."""
    page = (ROOT / "docs" / "compare.md").read_text(encoding="utf-8")
    rules = ComparisonRules()
    assert f"**{rules.tolerance:.0%}**, is the tolerance" in page
    assert f"**{rules.tolerance_per_pass:.0%}** for them" in page
    assert f"by more than a factor {rules.load_factor:g} in clusters" in page
    assert f"where they stand for the load: {rules.reconciles_factor:g})" in page
