"""What an analysis can be told."""

import msgspec

from advisor.analysis.comparisonrules import ComparisonRules
from advisor.diagnosis.thresholds import Thresholds
from advisor.errors import UnknownNameError, nearest
from advisor.recommend.policy import Policy
from advisor.signals.episodes import CutRules

__all__ = ["Options", "override"]


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Thresholds of the diagnosis, bounds of the advice, rules for cutting episodes, rules of a comparison."""

    thresholds: Thresholds = Thresholds()
    policy: Policy = Policy()
    cut_rules: CutRules = CutRules()
    comparison: ComparisonRules = ComparisonRules()


def override(options: Options, assignments: tuple[str, ...]) -> Options:
    """Options with ``SECTION.NAME=VALUE`` applied in order, for example ``thresholds.wait_target_seconds=10``.

    Raises:
        UnknownNameError: no such section or name, or the value is not a number of the right kind.
    """
    for text in assignments:
        path, _, value = text.partition("=")
        section_name, _, name = path.strip().partition(".")
        section = getattr(options, section_name, None)
        if not isinstance(section, msgspec.Struct):
            raise UnknownNameError(
                f"there is no section {section_name!r}",
                where=f"--set {text}",
                hint=nearest(section_name, [field.name for field in msgspec.structs.fields(Options)]),
            )
        known = {field.name: field.type for field in msgspec.structs.fields(section)}
        if name not in known:
            raise UnknownNameError(
                f"{section_name} has no {name!r}", where=f"--set {text}", hint=nearest(name, sorted(known))
            )
        try:
            number = msgspec.convert(value.strip(), known[name], strict=False)
        except msgspec.ValidationError as error:
            raise UnknownNameError(str(error), where=f"--set {text}", hint="give a number") from error
        options = msgspec.structs.replace(options, **{section_name: msgspec.structs.replace(section, **{name: number})})
    return options
