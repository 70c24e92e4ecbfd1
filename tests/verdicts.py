"""The right answer about one operator, and how a report compares with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from advisor.model.finding import Severity
from advisor.model.report import Report

__all__ = ["Answer"]


@dataclass(frozen=True, slots=True)
class Answer:
    """A verdict: the finding that comes first or one as defensible, what must not be warned of, the advice."""

    primary: str
    accepted: tuple[str, ...]
    must_not: tuple[str, ...]
    advice: Mapping[str, str]

    @classmethod
    def of(cls, key: Mapping[str, Any]) -> "Answer":
        """From the keys of an ``expected.json``."""
        return cls(key["primary"], tuple(key["also_accept"]), tuple(key["must_not"]), key["advice"])

    def faults(self, report: Report) -> list[str]:
        """What is wrong about a report; empty where it is right."""
        found = []
        first = report.findings[0].code.value
        if first not in (self.primary, *self.accepted):
            found.append(f"says {first} first, not {self.primary}")
        wrong = [one for one in report.findings if one.code.value in self.must_not]
        found += [f"warns of {one.code.value}" for one in wrong if one.severity is not Severity.INFO]
        for name, knob in report.advice.knobs():
            wanted = self.advice.get(name, "any")
            if wanted not in ("any", knob.direction.value):
                found.append(f"advises {name} {knob.direction.value}, not {wanted}")
        return found
