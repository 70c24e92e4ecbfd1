"""How the operator reads its command line: Go's flag package, and which of KubeRay's flags are switches."""

from collections.abc import Iterator

__all__ = ["effective_flags", "flag_values"]

_SWITCHES = frozenset(
    {
        "enable-batch-scheduler",
        "enable-leader-election",
        "enable-metrics",
        "forced-cluster-upgrade",
        "use-kubernetes-proxy",
        "version",
        "zap-devel",
    }
)
"""Flags of the operator that take no word after them (kuberay 1.1)."""


def effective_flags(args: tuple[str, ...]) -> Iterator[tuple[int, str, bool]]:
    """Place, name and whether the value is in the same word, of each flag that Go's flag package sees.

    It stops at the first word that is no flag. A flag that is no switch and has no ``=`` takes the next word.
    """
    index = 0
    while index < len(args):
        text = args[index]
        if not text.startswith("-") or text in ("-", "--"):
            return
        name, equals, _ = text.removeprefix("-").removeprefix("-").partition("=")
        alone = bool(equals) or name in _SWITCHES
        if not alone and index + 1 >= len(args):
            return
        yield index, name, bool(equals)
        index += 1 if alone else 2


def flag_values(args: tuple[str, ...]) -> dict[str, str]:
    """Each flag and what it says, the last time that it is given; a switch alone says ``true``."""
    values = {}
    for index, name, joined in effective_flags(args):
        if joined:
            values[name] = args[index].partition("=")[2]
        else:
            values[name] = "true" if name in _SWITCHES else args[index + 1]
    return values
