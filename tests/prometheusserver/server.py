"""A real Prometheus on loopback over a folder of blocks made from OpenMetrics text, and its end.

A server started from a thread dies with that thread: start it from the main one.
"""

import gzip
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx

from tests.lab.controlplane import free_ports
from tests.lab.processes import LabError, Process, wait_until
from tests.prometheusserver.targets import Target, with_target
from tests.prometheusserver.tools import Tool

__all__ = ["ServerError", "Text", "create_tsdb", "metrics_file", "running", "served"]

Text = Path | Iterable[str]
"""OpenMetrics text: a recording's folder, a file (of gzip or not), or pieces of whole lines."""

_START_SECONDS: Final = 40.0
_TRIES: Final = 3
_SETTINGS: Final = (
    # Samples of any date stay.
    "--storage.tsdb.retention.time=100y",
    # Blocks stay as they were made: nothing is merged beside what is measured.
    "--storage.tsdb.min-block-duration=2h",
    "--storage.tsdb.max-block-duration=2h",
)


class ServerError(Exception):
    """Text does not become blocks, or a server does not start; the text says what the program said."""


@contextmanager
def served(
    tool: Tool, source: Path | Sequence[Path], *, target: Target | None = None, flags: Sequence[str] = ()
) -> Iterator[str]:
    """A Prometheus that holds this text, at the address given; nothing is left of it afterwards.

    Several files are parts of one history. Recordings have the same labels, so two must never share a server.

    Raises:
        ServerError: the text is not OpenMetrics with times, or the server does not start.
    """
    with tempfile.TemporaryDirectory(prefix="prometheusserver-") as name:
        tsdb = Path(name) / "tsdb"
        create_tsdb(tool, [source] if isinstance(source, Path) else source, tsdb, target=target)
        with running(tool, tsdb, flags=flags) as address:
            yield address


def create_tsdb(tool: Tool, texts: Iterable[Text], tsdb: Path, *, target: Target | None = None) -> None:
    """Turn texts into blocks, one text after the other.

    A text is read once for each two hours that it spans, so a long history is best given as one text for each.

    Raises:
        ServerError: a text is not OpenMetrics with times.
    """
    tsdb.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="prometheusserver-") as name:
        plain = Path(name) / "metrics.om"
        for text in texts:
            try:
                _write_plain(text, plain, target)
            except (OSError, ValueError, EOFError) as error:
                raise ServerError(f"{text if isinstance(text, Path) else 'text'}: {error}") from error
            command: list[str | Path] = [tool.promtool, "tsdb", "create-blocks-from", "openmetrics", plain, tsdb]
            done = subprocess.run(
                ["setpriv", "--pdeathsig", "KILL", *command], capture_output=True, text=True, check=False
            )
            if done.returncode:
                said = (done.stderr or done.stdout).strip()
                raise ServerError(f"{text if isinstance(text, Path) else 'text'}: {said}")


def metrics_file(source: Path) -> Path:
    """A recording's metrics, or the file itself."""
    return source / "metrics.om.gz" if source.is_dir() else source


def _write_plain(text: Text, plain: Path, target: Target | None) -> None:
    """The tool maps a file into memory, so neither a pipe nor gzip will do."""
    if isinstance(text, Path):
        path = metrics_file(text)
        if path.suffix == ".gz":
            with gzip.open(path, "rb") as packed, plain.open("wb") as file:
                shutil.copyfileobj(packed, file)
        else:
            shutil.copyfile(path, plain)
        if target is None:
            return
        source = plain.with_suffix(".source")
        plain.rename(source)
        with (
            source.open(encoding="utf-8", newline="\n") as lines,
            plain.open("w", encoding="utf-8", newline="\n") as file,
        ):
            file.writelines(with_target(lines, target))
        source.unlink()
    else:
        with plain.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(text if target is None else with_target(text, target))


@contextmanager
def running(tool: Tool, tsdb: Path, *, flags: Sequence[str] = ()) -> Iterator[str]:
    """A Prometheus over these blocks, at the address given, with more flags if wanted; it scrapes nothing.

    Raises:
        ServerError: it does not start.
    """
    with tempfile.TemporaryDirectory(prefix="prometheusserver-") as name:
        process, address = _started(tool, tsdb, Path(name), flags)
        try:
            yield address
        finally:
            # Nothing is worth an orderly end.
            process.stop(signal.SIGKILL)


def _started(tool: Tool, tsdb: Path, folder: Path, flags: Sequence[str]) -> tuple[Process, str]:
    config = folder / "prometheus.yml"
    config.write_text("scrape_configs: []\n", encoding="utf-8")
    reason = LabError("")
    for number in range(_TRIES):
        # Somebody else may take the port before the server does.
        (port,) = free_ports(1)
        listen = f"127.0.0.1:{port}"
        command: tuple[str | Path, ...] = (
            tool.prometheus,
            f"--config.file={config}",
            f"--storage.tsdb.path={tsdb}",
            f"--web.listen-address={listen}",
            *_SETTINGS,
            *flags,
        )
        process = Process(f"prometheus {tool.version}", command, folder / f"{number}.log")
        try:
            process.start()
            _wait(process, f"http://{listen}", tsdb)
        except BaseException as error:
            process.stop(signal.SIGKILL)
            if not isinstance(error, LabError):
                raise
            reason = error
        else:
            return process, f"http://{listen}"
    raise ServerError(str(reason)) from reason


def _wait(process: Process, address: str, tsdb: Path) -> None:
    def answers() -> bool:
        process.check()
        try:
            if not httpx.get(f"{address}/-/ready", trust_env=False, timeout=5.0).is_success:
                return False
            flags = httpx.get(f"{address}/api/v1/status/flags", trust_env=False, timeout=5.0).json()
        except (httpx.HTTPError, ValueError):
            return False
        # Not one that has taken the port first.
        return bool(flags["data"]["storage.tsdb.path"] == str(tsdb))

    wait_until(f"{process.name} at {address}", answers, _START_SECONDS, pause=0.05)
