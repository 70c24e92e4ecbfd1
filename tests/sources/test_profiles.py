"""Profiles that somebody names: names and files."""

from pathlib import Path

import msgspec
import pytest

from advisor.errors import InputFormatError, InputNotFoundError, UnknownNameError
from advisor.knowledge.profiles import PROFILES
from advisor.sources.profiles import absolute_profile, check_profile, chosen_profile, profile_file, read_profile
from tests.support import ROOT

HEAD = "name: mine\ntitle: Mine\nsummary: Ours.\n"


def written(folder: Path, text: str) -> Path:
    """A file with a text."""
    path = folder / "mine.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_example_of_the_page_is_one(tmp_path: Path) -> None:
    """What docs/profiles.md shows can be used as it stands."""
    page = (ROOT / "docs" / "profiles.md").read_text(encoding="utf-8")
    profile = read_profile(written(tmp_path, page.partition("```yaml\n")[2].partition("```")[0]))
    assert (profile.name, profile.fixed_workers) == ("database-operator", {"restore": 1})


@pytest.mark.parametrize("profile", PROFILES[1:], ids=lambda one: one.name)
def test_what_is_printed_can_be_read(tmp_path: Path, profile: object) -> None:
    """The JSON of a profile is a file of one."""
    text = msgspec.json.format(msgspec.json.encode(profile), indent=2).decode()
    assert read_profile(written(tmp_path, text)) == profile


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (HEAD + "qps:\n  flga: --qps\n", 5, "Object contains unknown field `flga` - at `$.qps`"),
        (HEAD + "colour: red\n", 4, "Object contains unknown field `colour` - at `$`"),
        (
            HEAD + "qps:\n  flag: qps\n",
            5,
            "Expected `str` matching regex '^--[A-Za-z0-9][A-Za-z0-9._-]*$' - at `$.qps.flag`",
        ),
        (
            HEAD + "burst:\n  defaults:\n    - {value: 1, source: a}\n    - value: 2\n",
            7,
            "Object missing required field `source` - at `$.burst.defaults[1]`",
        ),
        (HEAD + "qps:\n  defaults: [{value: .nan, source: a}]\n", 5, "nan is no figure; leave out what is unknown"),
        ("name: Mine\ntitle: a\nsummary: b\n", 1, "Expected `str` matching regex"),
        (
            HEAD + "recognised_by:\n  labels:\n    job: 7\n",
            5,
            "Expected `array`, got `int` - at `$.recognised_by.labels[...]`",
        ),
    ],
)
def test_line_and_place_of_what_is_wrong(tmp_path: Path, text: str, line: int, message: str) -> None:
    """The error names the file, the line and the key."""
    path = written(tmp_path, text)
    with pytest.raises(InputFormatError) as caught:
        read_profile(path)
    assert caught.value.where == f"{path}:{line}"
    assert caught.value.message.startswith(message)
    assert "docs/profiles.md" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a\n", "holds no mapping"),
        (HEAD + "name: other\n", "the key 'name' stands twice, again in line 4"),
        ("name: [\n", "is not YAML"),
        ("title: a\nsummary: b\n", "Object missing required field `name` - at `$`"),
        ("name: kuberay\ntitle: a\nsummary: b\n", "the name 'kuberay' is that of the profile with KubeRay's releases"),
    ],
)
def test_what_is_no_profile(tmp_path: Path, text: str, message: str) -> None:
    """What cannot be read, or may not be called so, is refused."""
    with pytest.raises(InputFormatError) as caught:
        read_profile(written(tmp_path, text))
    assert caught.value.message.startswith(message)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """The path is named."""
    with pytest.raises(InputNotFoundError, match=r"none\.yaml"):
        chosen_profile(str(tmp_path / "none.yaml"))


def test_names() -> None:
    """A known name is that profile; auto and nothing leave it open."""
    chosen = chosen_profile("flux")
    assert chosen is not None
    assert (chosen.profile.name, chosen.why) == ("flux", "it was chosen")
    assert chosen_profile("auto") is None
    assert chosen_profile(None) is None


@pytest.mark.parametrize(
    ("name", "hint"),
    [("fluxx", "did you mean flux? "), ("argo", "did you mean argo-cd? "), ("zzz", "there are auto, kuberay, flux")],
)
def test_unknown_names(name: str, hint: str) -> None:
    """The error lists what there is, and what may be meant."""
    with pytest.raises(UnknownNameError) as caught:
        check_profile(name)
    assert caught.value.message == f"there is no profile '{name}'"
    assert caught.value.hint.startswith(hint)


def test_paths(tmp_path: Path) -> None:
    """What looks like a path is one, from the folder of the file that names it on."""
    assert profile_file("flux") is None
    assert profile_file("mine.yaml") == Path("mine.yaml")
    assert absolute_profile("mine.yml", tmp_path) == str(tmp_path / "mine.yml")
    assert absolute_profile("flux", tmp_path) == "flux"
    chosen = chosen_profile(str(written(tmp_path, HEAD)))
    assert chosen is not None
    assert chosen.why == "it was chosen, from the file mine.yaml"
