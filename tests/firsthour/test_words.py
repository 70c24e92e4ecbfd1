"""Words that are nearly right: what was meant is suggested."""

from pathlib import Path

import pytest

from tests.firsthour.program import EXAMPLE
from tests.support import run


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("anlyze",), "No such command 'anlyze'; did you mean analyze?"),
        (("help",), "No such command 'help'; write --help behind any command, or alone"),
        (("version",), "No such command 'version'; write kuberay-advisor --version"),
        (("xyz",), "No such command 'xyz'; commands are analyze, backtest, "),
        (("analyze", "--promtheus", "x"), "'--prometheus'"),
        (("explain", "hotkey"), "hint: did you mean hot-key?"),
        (("explain", "xyz"), "hint: known are api-server-slow, "),
        (("metrics", "workqueue_dept"), "hint: did you mean workqueue_depth?"),
        (("metrics", "xyz"), "hint: run without a name for the list"),
        (("analyze", "--facts", "x", "--set", "threshold.a=1"), "hint: did you mean thresholds?"),
        (("analyze", "--facts", "x", "--set", "thresholds.wait_target=1"), "hint: did you mean wait_target_seconds?"),
        (("analyze", "a.facts.yaml"), "did you mean --facts a.facts.yaml?"),
        (("analyze", "http://a:9090"), "name it by its kind: --prometheus, --scrape or --sidecar http://a:9090"),
        (("analyze", "nothing"), "inputs are named by options"),
        (("analyze", str(EXAMPLE)), f"did you mean --recording {EXAMPLE}?"),
        (("analyze", "--prometheus", "localhost:9090"), "hint: did you mean http://localhost:9090"),
        (("analyze", "--scrape", "localhost:8080/metrics"), "did you mean http://localhost:8080/metrics"),
        (("serve", "--listen-port", "0", "--listen-host", "nohost.invalid"), "the name of the host is not known"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_slip_gets_a_suggestion(
    args: tuple[str, ...],
    said: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """On standard error, with an exit code that says that nothing was done."""
    monkeypatch.chdir(tmp_path)
    assert run(*args) in (2, 3)
    printed = capsys.readouterr()
    assert said in printed.err
    assert printed.out == ""


def test_a_store_with_a_password_is_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    """A suggestion shows an address only where that holds no secret."""
    assert run("analyze", "--prometheus", "user:secret@host:9090") == 2
    assert "secret" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "text", "said"),
    [
        ("--facts", "controler: {}\n", "there is no key `controler` - at `$`\nhint: did you mean controllers?"),
        ("--facts", "xyz: {}\n", "hint: docs/facts-format.md lists the keys"),
        (
            "--facts",
            "controllers: {raycluster: {utilization: 1}}\n",
            "there is no key `utilization` - at `$.controllers.raycluster`\nhint: did you mean utilisation?",
        ),
        ("--fleet", "operator: []\n", "did you mean operators?"),
        ("--fleet", "operators: [{name: a, promtheus: {}}]\n", "did you mean prometheus?"),
    ],
)
def test_a_wrong_key_in_a_file_gets_a_suggestion(
    option: str, text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The key, its place, and the one that was meant."""
    path = tmp_path / "mit Leerzeichen und \u00fc.yaml"
    path.write_text(text, encoding="utf-8")
    assert run("analyze", option, str(path), "--out", str(tmp_path / "out")) in (2, 3)
    errors = capsys.readouterr().err
    assert said in errors
    assert str(path) in errors


@pytest.mark.parametrize("option", ["--facts", "--fleet"])
def test_a_folder_in_place_of_a_file_is_told(option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It says that it is a folder, and what was to be there."""
    (tmp_path / "d").mkdir()
    assert run("analyze", option, str(tmp_path / "d"), "--out", str(tmp_path / "out")) in (2, 3)
    assert "is a folder, and no f" in capsys.readouterr().err


def test_the_list_of_commands_is_whole(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the terminal is narrow no sentence is cut off, and the first steps are told."""
    monkeypatch.setenv("COLUMNS", "40")
    assert run("--help") == 0
    printed = capsys.readouterr().out
    assert "..." not in printed.partition("Commands:")[2]
    assert "kuberay-advisor demo" in printed
