"""The command ``sidecar``: watches an operator from its own Pod, and tells load by priority and by key."""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from advisor.cli.durations import Duration
from advisor.cli.stderrlog import log_to_stderr

if TYPE_CHECKING:
    from queue import SimpleQueue

    from advisor.sidecar.settings import Settings

__all__ = ["sidecar"]

_LARGEST_PORT = 65_535
_LAST_SECONDS = 1.7
"""After a signal, the process ends as it is."""
_FILE = click.Path(path_type=Path)
_option = functools.partial(click.option, show_default=True)


class _Listen(click.ParamType[tuple[str, int]]):
    """Host and port; without a host all addresses of this machine."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:  # noqa: ANN401
        """Host without brackets, and port."""
        if isinstance(value, tuple):
            return value
        host, _, port = str(value).rpartition(":")
        if not (port.isascii() and port.isdigit()) or int(port) > _LARGEST_PORT:
            self.fail(f"{value!r} is no address such as 0.0.0.0:8090 or [::]:8090", param, ctx)
        return host.removeprefix("[").removesuffix("]") or "0.0.0.0", int(port)  # noqa: S104 - as documented


@click.command(context_settings={"auto_envvar_prefix": "KUBERAY_ADVISOR_SIDECAR"})
@_option(
    "--operator-metrics", default="http://127.0.0.1:8080/metrics", metavar="URL", help="The operator's own metrics."
)
@_option("--scrape-interval", type=Duration(), default="5s", metavar="DURATION", help="From one scrape to the next.")
@_option(
    "--operator-cpu-limit",
    type=click.FloatRange(0.0, 1024.0, min_open=True),
    default=0.1,
    metavar="CORES",
    help="The operator's CPU limit; scrapes take at most 2 % of it, and are rarer where they would take more.",
)
@_option("--log-file", type=_FILE, metavar="PATH", help="Follow the operator's log file.")
@_option("--log-stdin", is_flag=True, help="Read the operator's log from standard input.")
@_option(
    "--log-pod",
    is_flag=False,
    flag_value="",
    metavar="[POD]",
    help="Follow the log of a Pod, told by NAMESPACE/NAME or NAMESPACE/LABEL=VALUE; without a value, of the operator "
    "that KubeRay's chart installs in this namespace.",
)
@_option("--from-start", is_flag=True, help="Read what is in the log already, too.")
@_option("--watch/--no-watch", default=True, help="Watch Ray objects and their Pods, to know the queue.")
@_option("--namespace", multiple=True, metavar="NAME", help="Watch this namespace only; may be repeated.")
@_option("--kubeconfig", type=_FILE, metavar="FILE", help="How to reach the API server from outside a Pod.")
@_option(
    "--qps",
    type=click.FloatRange(0.0, 10_000.0, min_open=True),
    default=10.0,
    help="Requests a second to the API server, by kind.",
)
@_option("--burst", type=click.IntRange(1, 10_000), default=20, help="How many of them at once, after a pause.")
@_option(
    "--reconcile-concurrency", type=click.IntRange(1, 100), default=1, help="Workers of each of its own controllers."
)
@_option("--keys", type=click.IntRange(0, 200), default=20, help="How many keys have series of their own.")
@_option(
    "--cpu-budget",
    type=click.FloatRange(0.0, 64.0, min_open=True),
    default=0.05,
    metavar="CORES",
    help="What it may use over time; at it, the log is read later.",
)
@_option(
    "--memory-limit",
    type=click.IntRange(32, 65_536),
    default=128,
    metavar="MIB",
    help="At this much memory it holds less of the past.",
)
@_option("--listen", type=_Listen(), default="0.0.0.0:8090", metavar="ADDRESS", help="Where it serves.")
@_option("--max-series", type=click.IntRange(50, 100_000), default=500, help="Of its own /metrics.")
def sidecar(**asked: Any) -> int:  # noqa: ANN401 - the options
    """Watch a KubeRay operator: queue waits by priority, load by key, peaks; on /metrics, and for analyze --sidecar.

    It changes nothing in the cluster. Each option can be given as KUBERAY_ADVISOR_SIDECAR_NAME in the environment, such
    as KUBERAY_ADVISOR_SIDECAR_LOG_FILE. SIGTERM or Ctrl-C ends it.
    """
    # Before anything else is imported: the first process of a container gets no signal that it does not ask for.
    with _asked_to_end() as asked_to_end:
        log_to_stderr()
        try:
            settings = _settings(asked)
        except ValueError as error:
            raise click.UsageError(f"{error}.") from error
        from advisor.sidecar.assembly import assemble
        from advisor.sidecar.process import run

        return run(settings, asked_to_end, assemble)


@contextmanager
def _asked_to_end() -> Iterator["SimpleQueue[None]"]:
    """A queue with something in it from the first signal on; then the process ends soon, whatever its threads do."""
    import os
    import threading
    import time
    from queue import SimpleQueue

    from advisor.sources.interruption import first_signal

    asked: SimpleQueue[None] = SimpleQueue()
    ends: SimpleQueue[bool] = SimpleQueue()

    def ask() -> None:
        asked.put(None)
        ends.put(True)  # noqa: FBT003 - whether the process ends

    def end_at_last() -> None:
        if ends.get():
            time.sleep(_LAST_SECONDS)
            os._exit(0)

    # Made now, since a handler may interrupt the making of another thread.
    threading.Thread(target=end_at_last, name="end", daemon=True).start()
    try:
        with first_signal(ask):
            yield asked
    finally:
        ends.put(False)  # noqa: FBT003 - likewise


def _settings(asked: dict[str, Any]) -> "Settings":
    from advisor.sidecar.settings import LogPod, Settings

    host, port = asked["listen"]
    return Settings(
        operator_metrics=asked["operator_metrics"],
        scrape_interval_seconds=asked["scrape_interval"],
        operator_cpu_limit_cores=asked["operator_cpu_limit"],
        log_file=asked["log_file"],
        log_stdin=asked["log_stdin"],
        log_pod=None if asked["log_pod"] is None else LogPod.parse(asked["log_pod"]),
        from_start=asked["from_start"],
        watch=asked["watch"],
        namespaces=asked["namespace"],
        kubeconfig=asked["kubeconfig"],
        qps=asked["qps"],
        burst=asked["burst"],
        reconcile_concurrency=asked["reconcile_concurrency"],
        keys=asked["keys"],
        cpu_budget_cores=asked["cpu_budget"],
        memory_limit_bytes=asked["memory_limit"] << 20,
        host=host,
        port=port,
        most_series=asked["max_series"],
    )
