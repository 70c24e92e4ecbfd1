import os
from pathlib import Path

import pytest

from tests.support import Golden, find_shared, golden_from, leave_out


class TestGolden:
    def test_same_text_passes(self, tmp_path: Path) -> None:
        """A text equal to its golden file is accepted."""
        (tmp_path / "a.txt").write_bytes(b"one\n")
        Golden(tmp_path).check("a.txt", "one\n")

    def test_other_text_fails_with_diff(self, tmp_path: Path) -> None:
        """A text that differs fails, shows the diff and leaves the file as it was."""
        (tmp_path / "a.txt").write_bytes(b"one\ntwo\n")
        with pytest.raises(pytest.fail.Exception, match=r"(?s)-two\n.*\+three\n"):
            Golden(tmp_path).check("a.txt", "one\nthree\n")
        assert (tmp_path / "a.txt").read_bytes() == b"one\ntwo\n"

    @pytest.mark.parametrize("text", ["one", "one\r\n", "one\n\n", ""])
    def test_line_ends_count(self, tmp_path: Path, text: str) -> None:
        """A missing, translated or additional line end is a difference."""
        (tmp_path / "a.txt").write_bytes(b"one\n")
        with pytest.raises(pytest.fail.Exception, match="differs"):
            Golden(tmp_path).check("a.txt", text)

    def test_missing_file_fails(self, tmp_path: Path) -> None:
        """Without its golden file a text fails and nothing is written."""
        with pytest.raises(pytest.fail.Exception, match="does not exist"):
            Golden(tmp_path).check("a.txt", "one\n")
        assert not list(tmp_path.iterdir())

    def test_update_writes_what_a_later_run_accepts(self, tmp_path: Path) -> None:
        """Updating writes the file, folders included, byte for byte."""
        Golden(tmp_path, update=True).check("sub/a.txt", "é\r\n")
        Golden(tmp_path).check("sub/a.txt", "é\r\n")

    @pytest.mark.parametrize(
        ("environ", "update"),
        [({}, False), ({"UPDATE_GOLDEN": "0"}, False), ({"UPDATE_GOLDEN": "1"}, True), ({"CI": "true"}, False)],
    )
    def test_update_is_asked_for_by_environment(self, tmp_path: Path, environ: dict[str, str], update: bool) -> None:
        """Only UPDATE_GOLDEN=1 rewrites golden files."""
        assert golden_from(environ, tmp_path) == Golden(tmp_path, update=update)

    def test_update_is_refused_in_ci(self, tmp_path: Path) -> None:
        """CI cannot accept new golden files."""
        with pytest.raises(pytest.fail.Exception, match="CI only compares"):
            golden_from({"UPDATE_GOLDEN": "1", "CI": "true"}, tmp_path)


class TestFindShared:
    def test_beside_the_repository(self, tmp_path: Path) -> None:
        """Without a variable the folder ``shared`` beside the repository is used."""
        (tmp_path / "shared").mkdir()
        assert find_shared({"CI": "true"}, tmp_path / "repo") == tmp_path / "shared"

    def test_variable_wins(self, tmp_path: Path) -> None:
        """ADVISOR_SHARED replaces the folder beside the repository."""
        (tmp_path / "shared").mkdir()
        (tmp_path / "other").mkdir()
        environ = {"ADVISOR_SHARED": str(tmp_path / "other")}
        assert find_shared(environ, tmp_path / "repo") == tmp_path / "other"

    def test_absent_skips(self, tmp_path: Path) -> None:
        """On a developer's machine an absent folder skips the test and says which folder."""
        with pytest.raises(pytest.skip.Exception, match=r"no folder .*shared"):
            find_shared({}, tmp_path / "repo")

    def test_absent_fails_in_ci(self, tmp_path: Path) -> None:
        """In CI an absent folder is a failure."""
        with pytest.raises(pytest.fail.Exception, match=r"no folder .*shared"):
            find_shared({"CI": "true"}, tmp_path / "repo")


def test_what_is_left_out_fails_in_ci() -> None:
    """The reason is told either way."""
    with pytest.raises(pytest.skip.Exception, match="no helm"):
        leave_out({}, "no helm")
    with pytest.raises(pytest.fail.Exception, match="no helm"):
        leave_out({"CI": "true"}, "no helm")


def test_environment_is_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """No colour, cluster or proxy setting of the caller's shell reaches a test."""
    leaked = {"NO_COLOR", "FORCE_COLOR", "TERM", "KUBECONFIG", "AWS_PROFILE", "HTTPS_PROXY", "https_proxy"}
    assert leaked.isdisjoint(os.environ)
    assert os.environ["COLUMNS"] == "80"
