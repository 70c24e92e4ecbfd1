"""Everything that the command ``sidecar`` can be told."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from advisor.sidecar.pacing import PacingRules
from advisor.sources.endpoint import Endpoint

__all__ = ["LogPod", "Settings"]

_NAMESPACE: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_NAME: Final = re.compile(r"[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?")
_SELECTOR: Final = re.compile(r"[A-Za-z0-9][-A-Za-z0-9_./]*(?:=|==|!=)[-A-Za-z0-9_.]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPod:
    """Whose log is read through the API server.

    Attributes:
        namespace: its namespace; "" for the sidecar's own.
        name: its name; "" where labels tell it.
        selector: labels that it has, as the API server takes them; "" for those that KubeRay gives its operator.
    """

    namespace: str = ""
    name: str = ""
    selector: str = ""

    @classmethod
    def parse(cls, text: str) -> Self:
        """From ``NAME`` or ``LABEL=VALUE,...``, with ``NAMESPACE/`` before it or not; "" is KubeRay's chart.

        Raises:
            ValueError: it is none of them.
        """
        if not text:
            return cls()
        namespace, slash, rest = text.partition("/")
        if not slash or not _NAMESPACE.fullmatch(namespace):
            # The prefix of a label ends in a slash as well; other than a namespace, it has dots.
            namespace, rest = "", text
        if "=" in rest and all(map(_SELECTOR.fullmatch, rest.split(","))):
            return cls(namespace=namespace, selector=rest)
        if not _NAME.fullmatch(rest):
            raise ValueError(f"{text!r} tells no Pod; expected NAMESPACE/NAME or NAMESPACE/LABEL=VALUE")
        return cls(namespace=namespace, name=rest)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What one sidecar does; of the three ways to a log at most one is set.

    Raises:
        ValueError: two settings contradict each other, or one cannot be.
    """

    operator_metrics: str = "http://127.0.0.1:8080/metrics"
    """The operator's own metrics: in its Pod it is on this address."""
    scrape_interval_seconds: float = 5.0
    """From one scrape to the next, as long as they are cheap."""
    operator_cpu_limit_cores: float = 0.1
    """The operator's CPU limit, of which all scrapes take at most 2 %; its chart sets 100m."""
    log_file: Path | None = None
    """The operator's log file, on a volume that both mount."""
    log_stdin: bool = False
    """Whether its log comes on standard input."""
    log_pod: LogPod | None = None
    """Whose log to read through the API server."""
    from_start: bool = False
    """Whether the log is read from its beginning; else only what is written from now on."""
    watch: bool = True
    """Whether objects are watched; without, nothing is known of the queue, and the API server is not asked."""
    namespaces: tuple[str, ...] = ()
    """Which namespaces are watched; none for all."""
    kubeconfig: Path | None = None
    """How to reach the API server; None for the Pod's own account, or the usual file outside of a cluster."""
    qps: float = 10.0
    """Requests a second to the API server for each kind of object; a tenth of KubeRay's own default."""
    burst: int = 20
    """How many of them at once, after a pause."""
    reconcile_concurrency: int = 1
    """Workers of each of the sidecar's own controllers."""
    keys: int = 20
    """How many keys have series of their own; all others are told together."""
    cpu_budget_cores: float = 0.05
    """What the sidecar may use over time; at it, the log is read later."""
    memory_limit_bytes: int = 128 << 20
    """Where rings shrink and the log's digest is cut."""
    host: str = "0.0.0.0"  # noqa: S104 - a Pod is scraped from outside
    """Address that it serves at."""
    port: int = 8090
    """Port that it serves at; 0 takes a free one."""
    most_series: int = 500
    """Of ``/metrics``."""

    def __post_init__(self) -> None:
        """Refuse what contradicts itself."""
        try:
            Endpoint.parse(self.operator_metrics)
        except ValueError as error:
            raise ValueError(f"--operator-metrics: {error}") from None
        try:
            self.pacing()
        except ValueError as error:
            raise ValueError(f"--scrape-interval: {error}") from None
        logs = (self.log_file is not None, self.log_stdin, self.log_pod is not None)
        if sum(logs) > 1:
            raise ValueError("one log is read: give one of --log-file, --log-stdin and --log-pod")
        if self.from_start and not any(logs):
            raise ValueError("--from-start belongs to a log: give --log-file, --log-stdin or --log-pod")

    def pacing(self) -> PacingRules:
        """How often the operator is scraped."""
        return PacingRules(default_seconds=self.scrape_interval_seconds, cpu_limit_cores=self.operator_cpu_limit_cores)
