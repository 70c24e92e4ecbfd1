"""Selectors: nothing in a name or a value can change what is asked."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.sources.prometheus.promql import Matcher, label_in_path, literal, quote, selector

NASTY = 'it\'s a "test"\\\n}or vector(1)#'


@given(st.text())
def test_quoting_round_trip(text: str) -> None:
    """Whatever the value, what PromQL reads from its literal is the value again, and the literal ends at its end."""
    quoted = quote(text)
    assert "\n" not in quoted
    assert Matcher.parse(f"a={quoted}") == Matcher("a", "=", text)


@given(st.text(min_size=1), st.text())
def test_a_literal_matches_itself_alone(text: str, other: str) -> None:
    """A regular expression of a value matches this value, and no other one."""
    assert re.fullmatch(literal(text), text)
    assert (re.fullmatch(literal(text), other) is not None) == (other == text)


@given(st.lists(st.text(), min_size=1, max_size=4))
def test_several_values(values: list[str]) -> None:
    """One of several values matches each of them; through the quotes as well."""
    matcher = Matcher.parse(str(Matcher.one_of("a", values)))
    pattern = matcher.value if matcher.operator == "=~" else literal(matcher.value)
    assert all(re.fullmatch(pattern, value) for value in values)


@given(st.text(min_size=1), st.sampled_from(["=", "!=", "=~", "!~"]), st.text())
def test_matchers_round_trip(label: str, operator: str, value: str) -> None:
    """Any label, also one that has to be quoted, and any value are read as they were written."""
    matcher = Matcher(label, operator, value)
    assert Matcher.parse(str(matcher)) == matcher


@pytest.mark.parametrize(
    ("names", "matchers", "text"),
    [
        (["up"], [], "up"),
        (["up"], [Matcher("job", "=", "a")], 'up{job="a"}'),
        (["a", "b:c"], [Matcher("job", "!=", "")], '{__name__=~"a|b:c",job!=""}'),
        (["http.requests"], [], '{"http.requests"}'),
        (["a.b", "c"], [], '{__name__=~"a\\\\.b|c"}'),
        ([], [Matcher("k8s.cluster", "=", "eu")], '{"k8s.cluster"="eu"}'),
        (["up"], [Matcher("pod", "=~", "op-.*")], 'up{pod=~"op-.*"}'),
        (["up"], [Matcher("pod", "!~", "", ("op-1", "op.2"))], 'up{pod!~"op-1|op\\\\.2"}'),
        (["up"], [Matcher.one_of("pod", ["op.1"])], 'up{pod="op.1"}'),
        (["up"], [Matcher("a", "=", NASTY)], 'up{a="it\'s a \\"test\\"\\\\\\n}or vector(1)#"}'),
    ],
)
def test_selectors(names: list[str], matchers: list[Matcher], text: str) -> None:
    """One name goes first, several into a matcher, and those that are not classic into quotes."""
    assert selector(names, matchers) == text


def test_a_selector_of_everything_is_refused() -> None:
    """It would load a store for nothing."""
    with pytest.raises(ValueError, match="a selector needs a name or a matcher"):
        selector([])


@pytest.mark.parametrize(
    ("text", "matcher"),
    [
        ("env=prod", Matcher("env", "=", "prod")),
        ("env=", Matcher("env", "=", "")),
        (' env =~ "a|b" ', Matcher("env", "=~", "a|b")),
        ("env!='it\\'s'", Matcher("env", "!=", "it's")),
        ("env!~`a\\b`", Matcher("env", "!~", "a\\b")),
        ('"k8s.env"="a"', Matcher("k8s.env", "=", "a")),
        ('a="\\x41\\u00e4\\U0001f600\\t\\a"', Matcher("a", "=", "Aä😀\t\a")),
    ],
)
def test_matchers_as_people_write_them(text: str, matcher: Matcher) -> None:
    """All quotes of PromQL, and none where none is needed, as a shell leaves it."""
    assert Matcher.parse(text) == matcher


@pytest.mark.parametrize(
    "text",
    [
        "",
        "env",
        "=a",
        "1a=b",
        'env="a',
        'env="a"b',
        "env=a b",
        "env==a",
        'a="b",c="d"',
        'a="\\q"',
        'a="\\xff"',
        '""="a"',
    ],
)
def test_what_is_no_matcher(text: str) -> None:
    """It is refused, and not sent for a store to refuse."""
    with pytest.raises(ValueError, match=r"."):
        Matcher.parse(text)


@pytest.mark.parametrize(
    ("label", "operator", "values"), [("a", "==", ()), ("", "=", ()), ("a", "=", ("b", "c")), ("a", "!=", ("b",))]
)
def test_impossible_matchers(label: str, operator: str, values: tuple[str, ...]) -> None:
    """No such operator, no label, or several values where one fits."""
    with pytest.raises(ValueError, match=r"."):
        Matcher(label, operator, "", values)


def test_half_a_surrogate_pair_cannot_be_sent() -> None:
    """It has no form in UTF-8."""
    with pytest.raises(ValueError, match="no valid Unicode"):
        quote("\ud800")


@pytest.mark.parametrize(
    ("label", "path"),
    [
        ("job", "job"),
        ("__name__", "__name__"),
        ("k8s.pod_name", "U__k8s_2e_pod__name"),
        ("a/../b", "U__a_2f__2e__2e__2f_b"),
    ],
)
def test_labels_in_paths(label: str, path: str) -> None:
    """A label that is not classic is escaped as Prometheus has it, so that no path is left."""
    assert label_in_path(label) == path
