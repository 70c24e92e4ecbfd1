"""A facts file: strictly checked YAML, for people without samples (docs/facts-format.md).

A file that carries an evaluation beside the facts can be given as it is: those keys are dropped unread.
"""

from pathlib import Path

import msgspec

from advisor.errors import InputFormatError
from advisor.knowledge.profiles import PROFILES, built_in
from advisor.model.facts import ControllerFacts, Facts
from advisor.sources.strictyaml import load_document, refusal, refuse_unreal, with_place

__all__ = ["read_facts"]

_EVALUATION_KEYS = ("id", "title", "source", "stated", "expected")
_LARGEST_BYTES = 256 * 1024
"""A facts file is written by a person; anything larger is something else."""


def read_facts(path: Path) -> Facts:
    """Read and check a facts file.

    Raises:
        InputNotFoundError: the file cannot be opened.
        InputFormatError: it is not YAML, has an unknown key or an impossible value; the error names the path in it.
    """
    document = load_document(path, kind="facts file", largest_bytes=_LARGEST_BYTES, instead="was a recording meant?")
    return _checked(document, path)


def _checked(document: object, path: Path) -> Facts:
    if not isinstance(document, dict):
        raise InputFormatError("holds no mapping", where=str(path), hint="see docs/facts-format.md")
    facts = {key: value for key, value in document.items() if key not in _EVALUATION_KEYS}
    try:
        refuse_unreal(facts)
        _check_controllers(facts.get("controllers"))
        return _known(msgspec.convert(facts, Facts))
    except msgspec.ValidationError as error:
        raise refusal(error, path, Facts, "docs/facts-format.md") from error


def _known(facts: Facts) -> Facts:
    """The same facts, if the profile that they name is one.

    Raises:
        ValidationError: it is none.
    """
    profile = facts.operator.profile
    if profile is not None and built_in(profile) is None:
        names = ", ".join(one.name for one in PROFILES)
        raise msgspec.ValidationError(f"there is no profile {profile!r}: there are {names} - at `$.operator.profile`")
    return facts


def _check_controllers(controllers: object) -> None:
    """Each controller by itself, so that an error names it."""
    for name, one in controllers.items() if isinstance(controllers, dict) else ():
        try:
            msgspec.convert(one, ControllerFacts)
        except msgspec.ValidationError as error:
            raise msgspec.ValidationError(with_place(str(error), f"$.controllers.{name}")) from error
