from pathlib import Path
from typing import Final

import pytest

from tests.inject.conftest import Command
from tests.support import Golden, run

NAMES: Final = ("kustomize-install", "configured")
SHARED: Final = (
    "configuration-mode", "default", "feature-gates", "logging", "logging-limited", "namespaced", "openshift-like"
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_golden(name: str, data: Path, golden: Golden, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What comes out and how it is explained; removing gives the input back, byte by byte."""
    source, made, back = data / "inject" / f"{name}.yaml", tmp_path / "made.yaml", tmp_path / "back.yaml"
    assert run("inject", str(source), "--out", str(made), "--image", "advisor:1") == 0
    golden.check(f"inject/{name}.yaml", made.read_text(encoding="utf-8"))
    told = capsys.readouterr()
    assert told.out == ""
    golden.check(f"inject/{name}.txt", told.err)
    assert run("inject", str(made), "--remove", "--out", str(back)) == 0
    golden.check(f"inject/{name}-removed.txt", capsys.readouterr().err)
    assert back.read_bytes() == source.read_bytes()


@pytest.mark.parametrize("name", SHARED)
def test_what_the_chart_renders(name: str, shared: Path, golden: Golden, tmp_path: Path) -> None:
    """Each of them: the added lines are as agreed, a second time changes nothing, removing gives the input back."""
    source, made, again, back = shared / "manifests" / f"{name}.yaml", *(tmp_path / each for each in "mab")
    assert run("inject", str(source), "--out", str(made), "--image", "advisor:1", "--quiet") == 0
    before, after = (path.read_text(encoding="utf-8").split("\n") for path in (source, made))
    added, rest = [], iter(before)
    expected = next(rest, None)
    for line in after:
        if line == expected:
            expected = next(rest, None)
        else:
            added.append(line)
    assert expected is None, "a line of the input is missing"
    golden.check(f"inject/chart-{name}.txt", "\n".join(added) + "\n")
    assert run("inject", str(made), "--check", "--image", "advisor:1") == 0
    assert run("inject", str(made), "--out", str(again), "--image", "advisor:1") == 0
    assert again.read_bytes() == made.read_bytes()
    assert run("inject", str(made), "--remove", "--out", str(back)) == 0
    assert back.read_bytes() == source.read_bytes()


def test_pipe(command: Command, data: Path) -> None:
    """From standard input to standard output, CRLF and a byte order mark included; the explanation goes elsewhere."""
    given = b"\xef\xbb\xbf" + (data / "inject" / "configured.yaml").read_bytes().replace(b"\n", b"\r\n")
    made = command("inject", given=given)
    assert made.returncode == 0
    assert b"kuberay-advisor-sidecar" in made.stdout
    assert b"\n" not in made.stdout.replace(b"\r\n", b"")
    assert b"restarts the operator" in made.stderr
    back = command("inject", "--remove", "--quiet", "-", given=made.stdout)
    assert back.stdout == given
    assert back.stderr == b""


class TestCheck:
    def test_something_would_change(self, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Exit code 1, and nothing is written."""
        assert run("inject", "--check", str(data / "inject" / "configured.yaml")) == 1
        assert run("inject", "--check", "--remove", str(data / "inject" / "configured.yaml")) == 0
        assert capsys.readouterr().out == ""

    def test_with_a_file_to_write(self, data: Path, tmp_path: Path) -> None:
        """They contradict each other."""
        assert run("inject", "--check", "--out", str(tmp_path / "x"), str(data / "inject" / "configured.yaml")) == 2


class TestWrongInput:
    @pytest.mark.parametrize(
        ("text", "code", "says"),
        [
            (b"a: [1\nb: 2\n", 3, "is not YAML"),
            (b"a: 1\nb: \x01\n", 3, "line 2"),
            (b"a: 1\nb: \xff\n", 3, "is not UTF-8, line 2"),
            (b"a: " + b"[" * 300 + b"]" * 300 + b"\nkind: Deployment\n", 3, "levels deep"),
            (b"", 4, "no KubeRay operator's Deployment is in the input, nor any other"),
            (b"kind: Deployment\nmetadata: {name: x}\n", 4, "there are x"),
        ],
    )
    def test_it_is_said_where(
        self, text: bytes, code: int, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The error names file, line and reason; nothing is written."""
        path = tmp_path / "in.yaml"
        path.write_bytes(text)
        assert run("inject", str(path)) == code
        told = capsys.readouterr()
        assert told.out == ""
        assert says in told.err

    def test_no_such_file(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """It is named."""
        assert run("inject", str(tmp_path / "no")) == 3
        assert f"{tmp_path / 'no'}: cannot be read" in capsys.readouterr().err

    def test_out_is_a_folder(self, data: Path, tmp_path: Path) -> None:
        """Wrong use."""
        assert run("inject", str(data / "inject" / "configured.yaml"), "--out", str(tmp_path)) == 2


def test_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody types a manifest: help is printed."""
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    assert run("inject") == 0
    assert "Usage:" in capsys.readouterr().out
