"""Files as Windows leaves them: byte order marks, carriage returns, UTF-16 of a redirection in PowerShell."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from advisor.sources.textstream import LineReader
from tests.firsthour.program import EXAMPLE
from tests.support import run


def with_mark(text: str) -> bytes:
    """UTF-8 with a byte order mark and CRLF."""
    return text.replace("\n", "\r\n").encode("utf-8-sig")


def of_powershell(text: str) -> bytes:
    """UTF-16 with its mark and CRLF."""
    return text.replace("\n", "\r\n").encode("utf-16")


FORMS = pytest.mark.parametrize("form", [with_mark, of_powershell])


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example with fewer lines of log, unpacked."""
    folder = tmp_path_factory.mktemp("small recording")
    for path in EXAMPLE.iterdir():
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        lines = data.splitlines(keepends=True)
        cut = lines[:300] if path.name.startswith("operator") else lines
        (folder / path.name.removesuffix(".gz")).write_bytes(b"".join(cut))
    return folder


def report(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The report on a recording."""
    assert run("analyze", "--recording", str(path)) == 0
    return capsys.readouterr().out


@FORMS
def test_a_recording_loses_nothing(
    form: Callable[[str], bytes], small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Metrics, log, objects and setup give the report of the untouched files."""
    for path in small.iterdir():
        (tmp_path / path.name).write_bytes(form(path.read_text(encoding="utf-8")))
    assert report(tmp_path, capsys) == report(small, capsys)


@FORMS
def test_facts_and_reports_are_read(
    form: Callable[[str], bytes], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A facts file, and a report for compare."""
    facts = tmp_path / "a.yaml"
    facts.write_bytes(form("controllers:\n  raycluster:\n    max_concurrent_reconciles: 1\n    utilisation: 1\n"))
    assert run("analyze", "--facts", str(facts), "--output", "json") == 0
    document = capsys.readouterr().out
    assert json.loads(document)["schema"] == "kuberay-advisor/report/v1"
    (tmp_path / "b.json").write_bytes(form(document))
    assert run("compare", str(tmp_path / "b.json"), str(tmp_path / "b.json")) == 0


def test_settings_and_tokens_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The service's TOML, and a file that holds a token."""
    settings = tmp_path / "a.toml"
    settings.write_bytes(with_mark("[listen]\nport = 8123\n"))
    assert run("serve", "--config", str(settings), "--print-config") == 0
    assert "8123" in capsys.readouterr().out
    token = tmp_path / "token"
    token.write_bytes(with_mark("secret\n"))
    scrape = ("--scrape", "http://127.0.0.1:1", "--for", "0.1s", "--interval", "0.1s")
    assert run("analyze", *scrape, "--bearer-token-file", str(token)) == 3
    assert "Connection refused" in capsys.readouterr().err


@pytest.mark.parametrize("chunk_bytes", [2, 3, 5, 4096])
@FORMS
def test_marks_are_seen_whatever_is_read_at_once(
    form: Callable[[str], bytes], chunk_bytes: int, tmp_path: Path
) -> None:
    """Also packed, and where a chunk ends within a character."""
    lines = ["\u00fcber", "", "\U0001f600 b"]
    for packed in (bytes, gzip.compress):
        path = tmp_path / "text"
        path.write_bytes(packed(form("\n".join([*lines, ""]))))
        assert [line.decode() for line in LineReader(path, chunk_bytes=chunk_bytes)] == lines


@pytest.mark.parametrize("data", [b"", b"a", b"\xef\xbb", b"\xff"])
def test_what_is_shorter_than_a_mark_is_kept(data: bytes, tmp_path: Path) -> None:
    """A file of a byte or two is what it is."""
    path = tmp_path / "text"
    path.write_bytes(data)
    assert b"".join(LineReader(path)) == data
