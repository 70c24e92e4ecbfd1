"""Selectors of PromQL from names and values that may hold anything.

A value can neither end its quotes nor change what is asked; names that are not classic ones are quoted, as Prometheus
3.x wants them.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

__all__ = ["Matcher", "equal", "label_in_path", "literal", "quote", "selector"]

_OPERATORS: Final = ("=", "!=", "=~", "!~")
_REGEX_OPERATORS: Final = ("=~", "!~")
_METRIC: Final = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_LABEL: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_NOT_IN_PATH: Final = re.compile(r"[^a-zA-Z0-9]")
_QUOTES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
_MEANT_BY_RE2: Final = str.maketrans({character: f"\\{character}" for character in r"\.+*?()|[]{}^$"})
_WRITTEN: Final = re.compile(
    r"""\s*(?P<label>[a-zA-Z_][a-zA-Z0-9_]*|"(?:[^"\\\n]|\\.)*")\s*(?P<operator>=~|!~|!=|=)\s*"""
    r"""(?P<value>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`]*`|(?:[^\s"'`{},=~!][^\s"'`{},]*)?)\s*"""
)
_ESCAPE: Final = re.compile(
    r"""\\(?:(?P<one>[abfnrtv\\'"])|x(?P<x>[0-9a-fA-F]{2})|u(?P<u>[0-9a-fA-F]{4})|U(?P<U>[0-9a-fA-F]{8})|(?P<bad>.))""",
    re.DOTALL,
)
_ONES: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ASCII: Final = 0x80


@dataclass(frozen=True, slots=True, order=True)
class Matcher:
    """What the value of one label has to be.

    ``value`` is the text of = and !=, the regular expression (RE2) of =~ and !~. ``values``, where given, are the texts
    of which =~ wants one and !~ none, in place of ``value``.

    Raises:
        ValueError: there is no such operator, no label, or ``values`` go with = or !=.
    """

    label: str
    operator: str
    value: str
    values: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.operator not in _OPERATORS:
            raise ValueError(f"{self.operator!r} is none of the operators {' '.join(_OPERATORS)}")
        if not self.label:
            raise ValueError("a matcher needs a label")
        if self.values and self.operator not in _REGEX_OPERATORS:
            raise ValueError(f"{self.operator} takes one value")

    @classmethod
    def one_of(cls, label: str, values: Iterable[str]) -> "Matcher":
        """The label has one of these values, whatever characters they have."""
        texts = tuple(values)
        return cls(label, "=", texts[0]) if len(texts) == 1 else cls(label, "=~", "", texts)

    @classmethod
    def parse(cls, text: str) -> "Matcher":
        """A matcher as PromQL writes it; the quotes of a plain value may be left out.

        Raises:
            ValueError: it is none.
        """
        match = _WRITTEN.fullmatch(text)
        if match is None:
            raise ValueError(f'{text!r} is no matcher such as env="prod" or env=~"prod|test"')
        return cls(_unquoted(match["label"]), match["operator"], _unquoted(match["value"]))

    def __str__(self) -> str:
        """As PromQL writes it."""
        value = "|".join(map(literal, self.values)) if self.values else self.value
        name = self.label if _LABEL.fullmatch(self.label) else quote(self.label)
        return f"{name}{self.operator}{quote(value)}"


def equal(labels: Iterable[tuple[str, str]]) -> tuple[Matcher, ...]:
    """Each label has its value; those without a name or a value are left open."""
    return tuple(Matcher(label, "=", value) for label, value in labels if label and value)


def quote(text: str) -> str:
    """A string literal of PromQL.

    Raises:
        ValueError: it holds half of a surrogate pair, which no request can carry.
    """
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError(f"{text!r} cannot be sent: it is no valid Unicode")
    return f'"{text.translate(_QUOTES)}"'


def literal(text: str) -> str:
    """A regular expression (RE2) that matches this text alone."""
    return text.translate(_MEANT_BY_RE2)


def selector(names: Sequence[str], matchers: Iterable[Matcher] = ()) -> str:
    """What selects the series of these metric names, any name if there is none, that fulfil all matchers.

    Raises:
        ValueError: nothing would be selected by: neither names nor matchers.
    """
    conditions = list(map(str, matchers))
    metric = ""
    if len(names) == 1 and _METRIC.fullmatch(names[0]):
        metric = names[0]
    elif len(names) == 1:
        conditions.insert(0, quote(names[0]))
    elif names:
        conditions.insert(0, str(Matcher.one_of("__name__", names)))
    if not metric and not conditions:
        raise ValueError("a selector needs a name or a matcher")
    return f"{metric}{{{','.join(conditions)}}}" if conditions else metric


def label_in_path(label: str) -> str:
    """The name of a label as a part of a URL's path; one that is no classic name in Prometheus' own escaped form."""
    if _LABEL.fullmatch(label):
        return label
    return "U__" + _NOT_IN_PATH.sub(lambda match: "__" if match[0] == "_" else f"_{ord(match[0]):x}_", label)


def _unquoted(text: str) -> str:
    """The text that a literal stands for; one without quotes stands for itself."""
    if text.startswith("`"):
        return text[1:-1]
    if not text.startswith(('"', "'")):
        return text
    return _ESCAPE.sub(_character, text[1:-1])


def _character(match: re.Match[str]) -> str:
    code = match["x"] or match["u"] or match["U"]
    if match["bad"] or (match["x"] and int(match["x"], 16) >= _ASCII):
        raise ValueError(f"{match[0]} is no escape of a character here")
    return chr(int(code, 16)) if code else _ONES.get(match["one"], match["one"])
