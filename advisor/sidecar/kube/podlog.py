"""Follows the log of the operator's Pod through the API server, across lost connections, restarts and new Pods.

A log can only be asked for from a whole second on. So each line is asked for with its time, which the kubelet puts
before it to the nanosecond: what came before the connection was lost is told by it and dropped, however slow this
machine's clock is. Lines that the kubelet has rotated away in between are gone; this way of reading cannot know.
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from http import HTTPStatus
from math import ceil
from random import random as evenly
from typing import NamedTuple

from advisor.sidecar.kube.backoff import Backoff
from advisor.sidecar.kube.kinds import PODS, Selection
from advisor.sidecar.kube.objects import ObjectDecoder
from advisor.sidecar.kube.podcontainers import container_in_list, container_of
from advisor.sidecar.kube.reading import ByteStream, KubeError, KubeReader, LogRequest, Wait, split_lines
from advisor.sidecar.observed import Observed

__all__ = ["OPERATOR_SELECTORS", "LogSource", "PodLog", "newest", "pod_by_name", "pods_by_labels"]

OPERATOR_SELECTORS = (
    "app.kubernetes.io/name=kuberay-operator",
    "app.kubernetes.io/component=kuberay-operator",
)
"""How the chart and the plain manifests label the operator's Pods."""
_HEALTHY_SECONDS = 10.0
"""A log that has been followed for so long counts as one that works, even if it said nothing."""
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)")
_T_AT = 10
"""Where a time in RFC 3339 has its T."""

Choose = Callable[[Sequence[Observed]], Observed | None]


class LogSource(NamedTuple):
    """A Pod, and which of its containers writes the log; "" where it has one alone."""

    pod: Observed
    container: str


def newest(pods: Sequence[Observed]) -> Observed | None:
    """The Pod to follow where nobody knows the leader: a ready one, if there is one, and of those the newest."""
    return max(pods, key=lambda pod: (bool(pod.ready), pod.created or 0.0), default=None)


def pods_by_labels(
    reader: KubeReader,
    namespace: str,
    *,
    selectors: Sequence[str] = OPERATOR_SELECTORS,
    choose: Choose = newest,
) -> Callable[[], LogSource | None]:
    """A function that finds the operator's Pod by its labels; it raises `KubeError` where the server does.

    Args:
        reader: the client.
        namespace: where the operator is.
        selectors: asked one after the other until there are running Pods.
        choose: which of several, such as the one that leads.
    """
    decoder = ObjectDecoder(PODS)

    def find() -> LogSource | None:
        for selector in selectors:
            listed = reader.list_page(Selection(PODS, namespace, selector))
            pods = decoder.page(listed).objects
            running = [pod for pod in pods if pod.phase == "Running" and pod.deleting_since is None]
            if running:
                chosen = choose(running)
                return None if chosen is None else LogSource(chosen, container_in_list(listed, chosen.uid))
        return None

    return find


def pod_by_name(reader: KubeReader, namespace: str, name: str) -> LogSource | None:
    """The Pod of a name; None where there is none.

    Raises:
        KubeError: the server does not answer, or refuses.
    """
    try:
        told = reader.get(Selection(PODS, namespace), name)
    except KubeError as error:
        if error.status == HTTPStatus.NOT_FOUND:
            return None
        raise
    pod = ObjectDecoder(PODS).object(told)
    return None if pod is None else LogSource(pod, container_of(told))


class PodLog:
    """The log of whichever Pod is found, as one stream.

    Args:
        reader: the client.
        find: the Pod to follow now; None where there is none. Asked before each connection.
        wait: sleeps between tries; what it returns ends the stream.
        since_seconds: how much of the first Pod's past is read; None for all of it.
        monotonic: seconds of a clock that never goes back.
        random: evenly distributed between 0 and 1.

    Attributes:
        pod: ``namespace/name`` of the Pod that is followed; "" where there is none.
        connections: how often a log was opened.
        errors: tries that failed.
        repeated: lines that came twice and were dropped.
        problem: why nothing is followed now, or "".
    """

    def __init__(
        self,
        reader: KubeReader,
        find: Callable[[], LogSource | None],
        wait: Wait,
        *,
        since_seconds: int | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        random: Callable[[], float] = evenly,
    ) -> None:
        self._reader = reader
        self._find = find
        self._wait = wait
        self._since_seconds = since_seconds
        self._monotonic = monotonic
        self._backoff = Backoff(random)
        self._uid = ""
        self._first_opened: float | None = None
        self._last = _LastLine()
        self.pod = ""
        self.connections = 0
        self.errors = 0
        self.repeated = 0
        self.problem = ""

    def chunks(self) -> Iterator[bytes]:
        """Whole lines as they come, some at a time, without the kubelet's times; ends when `wait` says so."""
        while True:
            began = self._monotonic()
            seconds = 0.0
            try:
                yield from self._one_connection()
                if self._monotonic() - began > _HEALTHY_SECONDS:
                    self._backoff.reset()
                # It has ended, so its container has: the next one takes a moment.
                seconds = self._backoff.next_seconds()
            except KubeError as error:
                self.errors += 1
                self.problem = str(error)
                seconds = self._backoff.next_seconds(error.retry_after_seconds)
            if self._wait(seconds):
                return

    def _one_connection(self) -> Iterator[bytes]:
        found = self._find()
        if found is None:
            self.pod = ""
            raise KubeError("no running Pod of the operator is found")
        pod = found.pod
        if pod.uid != self._uid:
            self._uid, self._last = pod.uid, _LastLine()
        self.pod = pod.key
        since_time = self._last.second()
        request = LogRequest(
            namespace=pod.namespace,
            name=pod.name,
            container=found.container,
            since_time=since_time,
            since_seconds=None if since_time else self._past_seconds(),
        )
        stream = self._reader.pod_log(request)
        self.connections += 1
        self.problem = ""
        try:
            yield from self._new_lines(stream)
        finally:
            stream.close()

    def _past_seconds(self) -> int | None:
        """How much of the past is read where no line has come yet: what was asked for, and all time since then.

        So nothing is lost of a Pod that came later, or that said nothing before the connection was lost.
        """
        now = self._monotonic()
        if self._first_opened is None:
            self._first_opened = now
        if self._since_seconds is None:
            return None
        # The API takes whole seconds from 1 on.
        return max(1, ceil(self._since_seconds + now - self._first_opened))

    def _new_lines(self, stream: ByteStream) -> Iterator[bytes]:
        last = self._last
        last.resume()
        for some in split_lines(stream):
            kept: list[bytes] = []
            for line in some:
                stamp, _, text = line.partition(b" ")
                if stamp[_T_AT : _T_AT + 1] != b"T":
                    # No time, so there is nothing to tell a repeated line by.
                    kept.append(line)
                elif last.is_repeated(stamp):
                    self.repeated += 1
                else:
                    kept.append(text)
            if kept:
                self._backoff.reset()
                yield b"\n".join((*kept, b""))


def _order(stamp: bytes) -> tuple[int, str] | None:
    """Unix seconds and nine digits of a time, to compare it by; None where it is no time."""
    match = _TIME.fullmatch(stamp.decode("ascii", "replace"))
    if match is None:
        return None
    second, fraction, zone = match.groups(default="")
    try:
        return int(datetime.fromisoformat(second + zone).timestamp()), fraction.ljust(9, "0")
    except ValueError:
        return None


class _LastLine:
    """The time of the last line, and how many lines had that same time."""

    __slots__ = ("_is_resuming", "_seen_again", "count", "stamp")

    def __init__(self) -> None:
        self.stamp = b""
        self.count = 0
        self._is_resuming = False
        self._seen_again = 0

    def second(self) -> str:
        """The second from which on to ask again, in RFC 3339; "" where no line has come."""
        order = _order(self.stamp)
        return "" if order is None else datetime.fromtimestamp(order[0], UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def resume(self) -> None:
        """What follows may repeat lines, up to the last one."""
        self._is_resuming = bool(self.stamp)
        self._seen_again = 0

    def is_repeated(self, stamp: bytes) -> bool:
        """Whether a line of this time has come before; if not, it is the last one from now on."""
        if self._is_resuming:
            now, before = _order(stamp), _order(self.stamp)
            if now is not None and before is not None and now < before:
                return True
            if now == before and self._seen_again < self.count:
                self._seen_again += 1
                return True
            self._is_resuming = False
        if stamp == self.stamp:
            self.count += 1
        else:
            self.stamp, self.count = stamp, 1
        return False
