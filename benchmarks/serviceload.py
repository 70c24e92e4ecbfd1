"""Fifty readers of a service with two hundred operators' history: how long each page takes, and whether memory grows.

``python -m benchmarks.serviceload [SECONDS]``. The service runs as users start it, in a process of its own, and scrapes
and analyses two operators meanwhile, so that pages are read while the history is written. Each reader has a connection
of its own and asks for one page every two seconds, beginning somewhere within them; which page is drawn by lot. A time
is from the request to the last byte. The alternative is ``/healthz``, asked in the same way, which does nothing.
"""

import asyncio
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time as clock
from collections import defaultdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import msgspec

from advisor.model.finding import FindingCode, Severity
from advisor.store import Store
from benchmarks.store import analyses

OPERATORS = 200
REPORTS = 24
READERS = 50
PAUSE_SECONDS = 2.0
SECONDS = 60.0
BAR_SECONDS = 0.1
_SETTLED = 0.25
"""Of the run, after which memory should no longer grow."""
_METRICS = b"""\
controller_runtime_active_workers{controller="raycluster"} 1
controller_runtime_max_concurrent_reconciles{controller="raycluster"} 1
workqueue_depth{controller="raycluster",name="raycluster",priority="0"} 9
workqueue_adds_total{controller="raycluster",name="raycluster"} 3
process_start_time_seconds 1700000000
"""
PROGRAM = (sys.executable, "-c", "from advisor.cli import main; main()", "serve")


class Operator(BaseHTTPRequestHandler):
    """An operator that is scraped while pages are read."""

    def do_GET(self) -> None:
        """Always the same."""
        self.send_response(200)
        self.send_header("Content-Length", str(len(_METRICS)))
        self.end_headers()
        self.wfile.write(_METRICS)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def names() -> list[str]:
    """Of all operators."""
    return [f"team-{number % 7}/operator-{number:03d}" for number in range(OPERATORS)]


def fill(path: Path) -> None:
    """Put the history of all operators in, the newest report a minute old."""
    made, lot, now = analyses(), random.Random(1), clock.time()  # noqa: S311 - test data
    with Store.open(path, now=now) as store:
        for name in names():
            for number in range(REPORTS):
                verdict, document = lot.choice(made)
                verdict = msgspec.structs.replace(
                    verdict, severity=lot.choice(list(Severity)), finding=lot.choice(list(FindingCode))
                )
                store.add_report(name, now - 60.0 - 300.0 * (REPORTS - number), verdict, document)


def pages(lot: random.Random) -> tuple[str, str]:
    """What a reader asks for next: what it is called in the result, and its address."""
    name = quote(lot.choice(names()))
    return lot.choice(
        [
            ("/", "/"),
            ("/", "/?sort=wait&page=2"),
            ("/", "/?q=team-3"),
            ("/operators/NAME", f"/operators/{name}"),
            ("/operators/NAME", f"/operators/{name}"),
            ("/metrics", "/metrics"),
            ("/data", "/data"),
            ("/findings", "/findings"),
            ("/api/v1/operators", "/api/v1/operators"),
            ("/healthz", "/healthz"),
        ]
    )


class Readers:
    """All readers, and what they saw."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.taken: dict[str, list[float]] = defaultdict(list)
        self.errors = 0

    async def read(self, number: int, until: float) -> None:
        """One reader, until a time."""
        lot = random.Random(number)  # noqa: S311 - test data
        await asyncio.sleep(lot.random() * PAUSE_SECONDS)
        stream, sink = await asyncio.open_connection("127.0.0.1", self._port)
        due = clock.monotonic()
        while due < until:
            title, address = pages(lot)
            begin = clock.monotonic()
            sink.write(f"GET {address} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            head = await stream.readuntil(b"\r\n\r\n")
            length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
            await stream.readexactly(length)
            self.taken[title].append(clock.monotonic() - begin)
            self.errors += not head.startswith(b"HTTP/1.1 200")
            due += PAUSE_SECONDS
            await asyncio.sleep(max(0.0, due - clock.monotonic()))
        sink.close()

    async def all(self, seconds: float) -> None:
        """Fifty of them at a time."""
        until = clock.monotonic() + seconds
        await asyncio.gather(*(self.read(number, until) for number in range(READERS)))


def resident_bytes(pid: int) -> int:
    """The memory of a process now."""
    pages_used = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages_used * os.sysconf("SC_PAGE_SIZE")


def cpu_seconds(pid: int) -> float:
    """What a process and its ended children have used."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def started(process: "subprocess.Popen[str]") -> int:
    """The port of a service once it serves."""
    assert process.stderr is not None  # noqa: S101 - it is a pipe
    line = next(one for one in process.stderr if one.startswith("serving "))
    threading.Thread(target=process.stderr.read, daemon=True).start()
    return int(line.partition(";")[0].rstrip("/").rpartition(":")[2])


def main() -> None:
    """Fill, read, print."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    with tempfile.TemporaryDirectory() as folder, ThreadingHTTPServer(("127.0.0.1", 0), Operator) as operator:
        threading.Thread(target=operator.serve_forever, daemon=True).start()
        path = Path(folder) / "history.db"
        fill(path)
        config = Path(folder) / "service.toml"
        url = f"http://127.0.0.1:{operator.server_address[1]}/metrics"
        config.write_text(
            "[schedule]\ninterval = '5s'\n"
            + "".join(
                f"[[operators]]\nname = '{one}'\nscrape = {{urls = ['{url}'], interval = '1s'}}\n" for one in "ab"
            ),
            encoding="utf-8",
        )
        command = (*PROGRAM, "--listen-port", "0", "--store-path", str(path), "--config", str(config))
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
            readers = Readers(started(process))
            memory: list[int] = []
            over = threading.Event()

            def watch() -> None:
                while not over.wait(seconds / 60):
                    memory.append(resident_bytes(process.pid))

            threading.Thread(target=watch, daemon=True).start()
            asyncio.run(readers.all(seconds))
            over.set()
            cpu = cpu_seconds(process.pid)
            process.terminate()
        operator.shutdown()
    report(readers, memory, cpu / seconds)


def report(readers: Readers, memory: list[int], cores: float) -> None:
    """Print what was seen."""
    alone = statistics.median(readers.taken["/healthz"])
    for title, taken in sorted(readers.taken.items()):
        cuts = statistics.quantiles(taken, n=20)
        print(
            f"{title:20s} {len(taken):5d} times, median {cuts[9] * 1e3:6.1f} ms, {cuts[9] / alone:5.1f} x /healthz, "
            f"p95 {cuts[18] * 1e3:6.1f} ms, longest {max(taken) * 1e3:6.1f} ms"
        )
    every = [one for taken in readers.taken.values() for one in taken]
    p95 = statistics.quantiles(every, n=20)[18]
    print(f"all: {len(every)} pages, {readers.errors} errors, p95 {p95 * 1e3:.1f} ms of {BAR_SECONDS * 1e3:.0f} ms")
    settled = memory[int(len(memory) * _SETTLED)]
    print(f"memory {settled / 1e6:.0f} MB after a quarter, {memory[-1] / 1e6:.0f} MB at the end; {cores:.2f} cores")
    print(f"load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
