"""The profile that somebody names: one that comes with the advisor, or a file of one's own (docs/profiles.md)."""

from pathlib import Path
from typing import Final

import msgspec

from advisor.errors import InputFormatError, UnknownNameError, nearest
from advisor.knowledge.profile import KUBERAY_NAME, Profile
from advisor.knowledge.profiles import PROFILES, built_in
from advisor.knowledge.recognise import Choice

__all__ = ["AUTO", "absolute_profile", "check_profile", "chosen_profile", "profile_file", "read_profile"]

AUTO: Final = "auto"
"""What leaves the choice to what is seen of the operator."""
_ENDINGS: Final = (".yaml", ".yml", ".json")
_LARGEST_BYTES: Final = 256 * 1024
_HINT: Final = (
    "docs/profiles.md lists the keys; kuberay-advisor profiles NAME --output json prints a file to begin from"
)


def profile_file(text: str) -> Path | None:
    """The file that a text names; None where it is a name."""
    return Path(text) if "/" in text or "\\" in text or text.lower().endswith(_ENDINGS) else None


def absolute_profile(text: str, folder: Path) -> str:
    """The same text, a path in it made absolute from a folder on."""
    path = profile_file(text)
    return text if path is None else str(folder / path)


def check_profile(text: str) -> str:
    """The same text, if it is a file's path or a known name; the file is not looked at.

    Raises:
        UnknownNameError: it is neither.
    """
    if text != AUTO and profile_file(text) is None and built_in(text) is None:
        names = [one.name for one in PROFILES]
        longer = next((f"did you mean {name}?" for name in names if name.startswith(text)), "")
        meant = nearest(text, names, longer)
        raise UnknownNameError(
            f"there is no profile {text!r}",
            where="profile",
            hint=f"{meant}{meant and ' '}there are {AUTO}, {', '.join(names)}, and files of your own (.yaml)",
        )
    return text


def chosen_profile(text: str | None) -> Choice | None:
    """The profile that is named; None where what is seen of the operator decides.

    Raises:
        UnknownNameError: there is no such name.
        InputNotFoundError: the file cannot be opened.
        InputFormatError: it is no profile.
    """
    if text is None or check_profile(text) == AUTO:
        return None
    path = profile_file(text)
    if path is not None:
        return Choice(profile=read_profile(path), why=f"it was chosen, from the file {path.name}")
    found = built_in(text)
    assert found is not None  # noqa: S101 - it was looked at just now
    return Choice(profile=found, why="it was chosen")


def read_profile(path: Path) -> Profile:
    """Read and check a profile.

    Raises:
        InputNotFoundError: the file cannot be opened.
        InputFormatError: it is not YAML, has an unknown key or an impossible value; the error names line and place.
    """
    # Imported here: most analyses read no file of profiles, and YAML is slow to import.
    from advisor.sources.strictyaml import line_of, load_document, refuse_unreal, with_place  # noqa: PLC0415

    document = load_document(path, kind="profile", largest_bytes=_LARGEST_BYTES)
    if not isinstance(document, dict):
        raise InputFormatError("holds no mapping", where=str(path), hint=_HINT)
    try:
        refuse_unreal(document)
        profile = msgspec.convert(document, Profile)
    except msgspec.ValidationError as error:
        message = with_place(str(error), "$")
        line = line_of(path, message)
        raise InputFormatError(message, where=f"{path}:{line}" if line else str(path), hint=_HINT) from error
    if profile.name == KUBERAY_NAME:
        message = f"the name {KUBERAY_NAME!r} is that of the profile with KubeRay's releases - at `$.name`"
        raise InputFormatError(message, where=str(path), hint="call it otherwise")
    return profile
