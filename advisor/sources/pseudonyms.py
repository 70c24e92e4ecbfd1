"""Pseudonyms for the names in a recording: whoever reads it learns no name, and the same name stays the same.

What may stay is listed here; everything else is replaced or dropped. A log line is not cleaned but written anew from
what an analysis reads of it, so that no free text comes along. The key of the pseudonyms is random and kept nowhere.
"""

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

import msgspec

from advisor.knowledge.logs import (
    CONFLICT_TEXT,
    ERROR_MESSAGE,
    EXPECTATION_FIELD,
    GROUP_EXPECTATION_TEXT,
    HEAD_EXPECTATION_TEXT,
    LAST_MESSAGES,
    LEASE_ACQUIRED_MESSAGE,
    LEASE_RENEW_FAILED_TEXT,
    LOGGERS,
    POD_CREATED_MESSAGES,
    RECONCILE_ID_FIELD,
    REQUEUE_MESSAGE,
    REQUEUE_SECONDS_FIELD,
    SOURCE_STARTED_MESSAGE,
    VERBOSE_END_PREFIXES,
    VERBOSE_LEVEL,
    VERBOSE_REQUEUE_AFTER_PREFIX,
    VERBOSE_REQUEUE_MESSAGE,
    VERBOSE_START_MESSAGE,
    WORKERS_STARTED_COUNT_FIELD,
    WORKERS_STARTED_MESSAGE,
    control_flow_error,
)
from advisor.model.raw import LogRecord, ObjectChange, Series, Subject
from advisor.sources.exposition import Exposition, Sample
from advisor.sources.operatorlog import BACKOFF

__all__ = ["CONTROL_FLOW_TEXTS", "Pseudonyms", "anonymous_args", "anonymous_version"]

_SECRET_BYTES = 32
_DIGITS = 12
_OPEN_LABELS = frozenset(
    {
        "code",
        "condition",
        "controller",
        "le",
        "method",
        "owner_kind",
        "priority",
        "quantile",
        "resource",
        "result",
        "unit",
        "verb",
    }
)
"""Labels whose values are words of Kubernetes and controller-runtime."""
_OPEN_CONTAINERS = ("", "POD", "kuberay-operator", "manager", "operator")
_CONTROLLERS = tuple(spec.controller for spec in LOGGERS)
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_WORD = re.compile(r"[^\W_][\w.-]*")
_SHORT_NUMBER = re.compile(r"\d{1,5}")
_CAPITALISED = re.compile(r"[A-Z][A-Za-z]{0,31}")
"""A state or kind: no name in Kubernetes has a capital letter."""
_OPEN_WORDS = ("", "ready", "suspended", "failed", "unhealthy", "head", "worker")
_UNKNOWN = "\N{HORIZONTAL ELLIPSIS}"
_THROTTLED = re.compile(r"(?P<verb>[A-Z]{1,10}) .*?/(?:api/v1|apis/[^/]+/[^/]+)/(?:namespaces/[^/]+/)?(?P<kind>[a-z]+)")
_VERBOSE = f"Level({-VERBOSE_LEVEL})"
_MESSAGES = {
    Subject.LINE: "line",
    Subject.START: VERBOSE_START_MESSAGE,
    Subject.END: VERBOSE_END_PREFIXES[1],
    Subject.POD_CREATED: POD_CREATED_MESSAGES[1],
    Subject.POD_DELETED: "Randomly deleting Pod",
    Subject.SOURCE_STARTED: SOURCE_STARTED_MESSAGE,
    Subject.LEADER_ACQUIRED: LEASE_ACQUIRED_MESSAGE,
    Subject.LEADER_LOST: LEASE_RENEW_FAILED_TEXT,
}
"""Messages that tell all of a record that is not in its key."""
_ARGUMENT = re.compile(r"--?[a-z][a-z0-9-]*")
_VERSION = re.compile(r"v?\d+(\.\d+){0,2}(-(alpha|beta|rc)\.?\d+)?")
_PLAIN_VALUE = re.compile(r"true|false|-?\d+(\.\d+)?")

CONTROL_FLOW_TEXTS = {
    "unhealthy-workers-deleted": "delete 1 unhealthy worker Pods",
    "head-pod-ended": f"The head Pod {_UNKNOWN} status is {_UNKNOWN} which is a terminal state",
    "head-container-ended": f"The Pod status of the head Pod {_UNKNOWN} so KubeRay will delete it",
    "scale-strategy": "deleted 1 worker Pods based on ScaleStrategy, requeueing",
    "incomplete-replica-group": f"cleaned up incomplete replica group {_UNKNOWN}, requeueing",
    "mtls-not-ready": f"mTLS secrets not ready: {_UNKNOWN}",
    "no-head-yet": f"found 0 head. cluster name {_UNKNOWN}",
}
"""What stands for each error that a healthy operator returns on purpose."""

_KNOWN_WORDS = frozenset(
    """
    a access account admission after again all allowed already an and annotation annotations api apiserver apiVersion
    apply as at attempt attempts authorized available backoff bad be because been before body bound but by bytes call
    calls canceled cannot certificate change changes client closed cluster clusters code condition conditions conflict
    connect connection container containers context could CPU create created creating creation dashboard deadline
    delete deleted deleting denied deployment dial did do does due EOF error errors etcd event events exceed exceeded
    exceeds exist existing exists expected external fail failed FailedCreateHeadPod FailedCreateWorkerPod failing
    failure field fields finalizer finalizers find for forbidden found from fulfilled generic get gone GPU group groups
    handshake has have head header host http https i/o id image in ingress injected internal invalid io is it its job
    jobs key kind kubelet kubernetes label labels latest lease leader limit limited limits list listen lookup
    many match maximum memory message metadata method minimum missing mode modified must my name named names namespace
    network no node nodes none not object objects of off on open operation or out over overload owner patch path peer
    pending permission please pod pods policy port priority quota quotas rate ray raycluster rayclusters rayjob rayjobs
    rayservice rayservices read ready reason reconcile refused release request requested requests required requires
    reset resource resources response retries retry returned role roles running secret secrets server service
    serviceaccount serviceaccounts services set should size spec start started state status stop stopped stream such
    system tcp that the this time timed timeout timeouts TLS to token too try type unable unauthorized unavailable
    unexpected unhealthy unknown update updated updating url used used: user using valid validation value values
    version volume volumes waiting was watch webhook while with within without worker workers write
    rayclusters.ray.io rayjobs.ray.io rayservices.ray.io ray.io
    """.lower().split()
)
"""Words of error texts that may stay."""


class Pseudonyms:
    """Replaces names; the same name by the same pseudonym, wherever it stands."""

    def __init__(self, secret: bytes | None = None) -> None:
        self._secret = secret or secrets.token_bytes(_SECRET_BYTES)
        self._known: dict[str, str] = {}

    def of(self, name: str) -> str:
        """The pseudonym of a name; "" stays."""
        if not name:
            return ""
        found = self._known.get(name)
        if found is None:
            digest = hmac.new(self._secret, name.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
            found = self._known[name] = f"n-{digest[:_DIGITS]}"
        return found

    def exposition(self, exposition: Exposition) -> Exposition:
        """A scrape without names."""
        samples = [Sample(one.name, self._labels(one.name, one.labels), one.value) for one in exposition.samples]
        return exposition._replace(samples=samples)

    def series(self, series: Series) -> Series:
        """A series without names."""
        labels = dict(self._labels(series.name, series.labels.items()))
        return Series(series.name, labels, series.times, series.values)

    def _labels(self, name: str, labels: Iterable[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
        return tuple((label, self._value(name, label, value)) for label, value in labels)

    def _value(self, name: str, label: str, value: str) -> str:
        # Before KubeRay 1.1 the queue's series name their controller so.
        queue = label == "name" and name.startswith("workqueue_") and value in _CONTROLLERS
        container = label == "container" and value in _OPEN_CONTAINERS
        return value if label in _OPEN_LABELS or queue or container else self.of(value)

    def learn(self, record: LogRecord) -> None:
        """Know the names of a log record, so that they are replaced in the texts of others."""
        self.of(record.namespace)
        self.of(record.name)

    def change(self, change: ObjectChange) -> str:
        """An object change as a line without names."""
        clean = msgspec.structs.replace(
            change,
            event=self._word(change.event),
            kind=self._word(change.kind),
            namespace=self.of(change.namespace),
            name=self.of(change.name),
            cluster=None if change.cluster is None else self.of(change.cluster),
            state=None if change.state is None else self._word(change.state),
            phase=None if change.phase is None else self._word(change.phase),
            node_type=None if change.node_type is None else self._word(change.node_type),
        )
        return msgspec.json.encode(clean).decode()

    def _word(self, text: str) -> str:
        return text if text in _OPEN_WORDS or _CAPITALISED.fullmatch(text) else self.of(text)

    def line(self, record: LogRecord) -> str:
        """A line of a log that gives the same record, without names and without anything else."""
        fields: dict[str, object] = {"level": "info", "ts": _stamp(record.time)}
        spec = next((one for one in LOGGERS if one.controller == record.controller), None)
        if spec is not None:
            fields["logger"] = spec.logger
        told = self._told(record)
        fields["msg"] = told.pop("msg")
        if spec is not None and record.name:
            fields[spec.key_field] = {"name": self.of(record.name), "namespace": self.of(record.namespace)}
            identity = record.reconcile_id
            fields[RECONCILE_ID_FIELD] = identity if _UUID.fullmatch(identity) else self.of(identity)
        if record.exact:
            fields["level"] = _VERBOSE
        return json.dumps(fields | told, separators=(",", ":"))

    def _told(self, record: LogRecord) -> dict[str, object]:
        """Message and later fields that make the parser see the record's subject."""
        match record.subject:
            case Subject.END | Subject.LAST_LINE:
                return _ended(record)
            case Subject.WORKERS_STARTED:
                count = {WORKERS_STARTED_COUNT_FIELD: int(record.detail)} if record.detail.isdecimal() else {}
                return {"msg": WORKERS_STARTED_MESSAGE, **count}
            case Subject.ERROR | Subject.CONFLICT:
                return {"msg": ERROR_MESSAGE, "error": self.text(record.detail)}
            case Subject.THROTTLED:
                return self._throttled(record)
            case Subject.EXPECTATION:
                is_head = record.detail == "head"
                group = {} if is_head else {"worker group": self.of(record.detail)}
                return {
                    "msg": "wait",
                    **group,
                    EXPECTATION_FIELD: HEAD_EXPECTATION_TEXT if is_head else GROUP_EXPECTATION_TEXT,
                }
        return {"msg": _MESSAGES[record.subject]}

    @staticmethod
    def _throttled(record: LogRecord) -> dict[str, object]:
        """Of the address only the kind of object remains."""
        match = _THROTTLED.match(record.detail)
        verb, url = (match["verb"], f"/api/v1/{match['kind']}") if match else ("", "")
        return {
            "msg": "Waited before sending request",
            "delay": f"{record.delay_seconds or 0.0:.9f}s",
            "reason": "client-side throttling",
            "verb": verb,
            "URL": url,
        }

    def text(self, text: str) -> str:
        """An error text: names replaced, and of the other words those kept that are no names."""
        on_purpose = control_flow_error(text)
        if on_purpose is not None:
            return CONTROL_FLOW_TEXTS[on_purpose.name]
        return CONFLICT_TEXT.join(_WORD.sub(self._shown, part) for part in text.split(CONFLICT_TEXT))

    def _shown(self, match: re.Match[str]) -> str:
        word = match.group()
        bare = word.rstrip(".-_")
        if bare in self._known:
            return self._known[bare] + word[len(bare) :]
        if bare.lower() in _KNOWN_WORDS or _SHORT_NUMBER.fullmatch(bare):
            return word
        return _UNKNOWN


def _stamp(time: float) -> str:
    moment = datetime.fromtimestamp(time, UTC)
    spec = "microseconds" if moment.microsecond % 1000 else "milliseconds"
    return moment.isoformat(timespec=spec).replace("+00:00", "Z")


def anonymous_args(args: Iterable[str]) -> Iterator[str]:
    """A command line whose flags keep their places, and their values where these are numbers or switches."""
    for word in args:
        flag, equals, value = word.partition("=")
        shown = value if _PLAIN_VALUE.fullmatch(value) else _UNKNOWN
        if _ARGUMENT.fullmatch(flag):
            yield f"{flag}={shown}" if equals else flag
        else:
            yield word if _PLAIN_VALUE.fullmatch(word) else _UNKNOWN


def anonymous_version(version: str | None) -> str | None:
    """A version where it is a number of one; it could be the name of somebody's image."""
    return version if version is not None and _VERSION.fullmatch(version) else None


def _ended(record: LogRecord) -> dict[str, object]:
    """Message and delay of an end, which the verbose markers write into the message."""
    delay = record.delay_seconds
    if record.subject is Subject.LAST_LINE:
        return {"msg": next(text for text, seconds in LAST_MESSAGES.items() if seconds == delay)}
    if not record.exact:
        return {"msg": REQUEUE_MESSAGE, REQUEUE_SECONDS_FIELD: delay}
    if delay is not None:
        return {"msg": f"{VERBOSE_REQUEUE_AFTER_PREFIX}{delay:.9f}s"}
    return {"msg": VERBOSE_REQUEUE_MESSAGE if record.detail == BACKOFF else VERBOSE_END_PREFIXES[1]}
