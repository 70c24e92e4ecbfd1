from collections.abc import Mapping

import pytest

from tests.prometheusserver.targets import OnClash, target, with_target


def changed(line: str, labels: Mapping[str, str], on_clash: OnClash = "rename", leave: tuple[str, ...] = ()) -> str:
    """A line with a target's labels."""
    (found,) = with_target([f"{line}\n"], target(labels, on_clash, leave))
    return found.removesuffix("\n")


@pytest.mark.parametrize("series", ["up", "up{}"])
def test_a_series_without_labels_gets_the_targets(series: str) -> None:
    """With braces or without."""
    assert changed(f"{series} 1 5.5", {"job": "a", "pod": "b"}) == 'up{job="a",pod="b"} 1 5.5'


def test_labels_of_the_series_stay() -> None:
    """The target's come beside them."""
    assert changed('up{x="1",y="2"} 1 5', {"job": "a"}) == 'up{x="1",y="2",job="a"} 1 5'


@pytest.mark.parametrize(
    ("on_clash", "labels"),
    [
        ("rename", 'x="1",exported_job="own",job="new"'),
        ("keep", 'job="own",x="1"'),
        ("replace", 'job="new",x="1"'),
    ],
)
def test_of_two_values_of_a_label_one_is_kept_by_choice(on_clash: OnClash, labels: str) -> None:
    """By default the series' own is renamed, as Prometheus does without honor_labels."""
    assert changed('up{job="own",x="1"} 1 5', {"job": "new"}, on_clash) == f"up{{{labels}}} 1 5"


def test_a_renamed_label_takes_no_other_ones_name() -> None:
    """The prefix comes once more where the renamed one is there already."""
    line = changed('up{job="own",exported_job="older"} 1 5', {"job": "new"})
    assert line == 'up{exported_job="older",exported_exported_job="own",job="new"} 1 5'


def test_series_of_other_targets_stay_as_they_are() -> None:
    """Those whose names begin as given."""
    labels, leave = {"job": "a"}, ("container_", "kube_")
    assert changed("container_cpu 1 5", labels, leave=leave) == "container_cpu 1 5"
    assert changed("up 1 5", labels, leave=leave) == 'up{job="a"} 1 5'


def test_values_with_braces_quotes_and_commas_are_no_ends() -> None:
    """What stands between quotes is not read."""
    own = r'up{x="a} 1 2",y="b\",job=\"no\"",z="\\"} 1 5'
    assert changed(own, {"job": "a"}) == own.replace("} 1 5", ',job="a"} 1 5')


def test_values_of_the_target_are_escaped() -> None:
    """As OpenMetrics asks."""
    assert changed("up 1 5", {"job": 'a"\\\n'}) == r'up{job="a\"\\\n"} 1 5'


def test_all_but_labels_stays() -> None:
    """Comments, values, times, exemplars and the end; lines may come many at once."""
    text = (
        '# TYPE a counter\n# HELP a It{x="1"} is\na_total{x="1"} 1e+06 5.25 # {trace="{}"} 1.0\n'
        'a_total{x="1"} NaN 6\na_total{x="10"} +Inf 6\na_total 3 6\n# EOF\n'
    )
    wanted = text.replace('{x="1"} 1e', '{x="1",job="j"} 1e').replace('{x="1"} NaN', '{x="1",job="j"} NaN')
    wanted = wanted.replace('{x="10"}', '{x="10",job="j"}').replace("a_total 3", 'a_total{job="j"} 3')
    for pieces in ([text], text.splitlines(keepends=True)):
        assert "".join(with_target(pieces, target({"job": "j"}))) == wanted


@pytest.mark.parametrize("line", ['{"a.b"} 1 5', 'up{x="1 1 5', "up{x=1} 1 5", "up", 'up{x="1"}1 5', "1 2"])
def test_what_is_no_sample_is_refused(line: str) -> None:
    """Rather than written on with labels in a wrong place."""
    with pytest.raises(ValueError, match=r"no sample|do not end|no value"):
        changed(line, {"job": "a"})
