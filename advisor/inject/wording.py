"""Each change in a sentence, with its reason."""

import posixpath
from dataclasses import dataclass
from typing import Final

from advisor.inject.logplan import LogPlan
from advisor.inject.options import ANNOTATION, SIDECAR_NAME, Options
from advisor.inject.record import Record
from advisor.inject.workload import Workload

__all__ = ["Change", "added_changes", "removed_changes"]

_TEMPLATE: Final = "spec.template"
_POD: Final = f"{_TEMPLATE}.spec"


@dataclass(frozen=True, slots=True)
class Change:
    """One change.

    Attributes:
        where: the field, or the ConfigMap.
        what: what is added or taken out.
        why: the reason.
    """

    where: str
    what: str
    why: str


def added_changes(record: Record, plan: LogPlan, workload: Workload, options: Options) -> tuple[Change, ...]:
    """What was added, in the order in which a reader meets it."""
    changes = [_sidecar(record, options), _log(plan)]
    if workload.user is not None or workload.group is not None:
        who = " and ".join(
            f"{key} {value}" for key, value in (("runAsUser", workload.user), ("runAsGroup", workload.group)) if value
        )
        changes.append(
            Change(f"{_POD}.{record.list}", f"{who} as in the operator's container", "the log file has mode 0600")
        )
    else:
        changes.append(
            Change(
                f"{_POD}.{record.list}",
                "no user of its own",
                "the log file has mode 0600: both images have user 65532, and what the Pod, or OpenShift for its "
                "namespace, sets counts for both",
            )
        )
    changes += _for_the_log(record)
    if record.argument or record.config:
        changes.append(
            Change(
                "cleaner",
                f"logging.baseDir: {posixpath.dirname(plan.log.path)} and logging.fileName: "
                f"{posixpath.basename(plan.log.path)} among the values of KubeRay's chart",
                "then the chart makes the volume and the log by itself, and only the container is put in",
            )
        )
    changes.append(
        Change(f"{_TEMPLATE}.metadata.annotations", ANNOTATION, "records what was added, so that --remove finds it")
    )
    return tuple(changes)


def _sidecar(record: Record, options: Options) -> Change:
    kind = "a sidecar that Kubernetes starts first" if options.native else "a container"
    return Change(
        f"{_POD}.{record.list}",
        f"{kind}, {SIDECAR_NAME}, of {options.image}",
        "without probes, as one that fails would make the operator's Pod not ready or end the container; requests "
        "are its limits, so that the Pod's class of service stays what it is",
    )


def _log(plan: LogPlan) -> Change:
    return Change(
        f"{plan.log.path}",
        f"is read through the volume {plan.log.mount.volume}, mounted read-only",
        "the file is not sampled as standard output is, and the sidecar cannot change it",
    )


def _for_the_log(record: Record) -> list[Change]:
    changes = []
    if record.volume:
        changes.append(
            Change(
                f"{_POD}.volumes",
                f"an emptyDir, {record.volume}, without a size limit",
                "KubeRay keeps up to 11 files of 500 MB, and a limit below 5.5 GB ends in eviction; the node's disk "
                "has to have as much",
            )
        )
    if record.mount:
        changes.append(
            Change(
                f"{record.container}.volumeMounts", record.mount, "the operator writes its log there, where both see it"
            )
        )
    if record.argument:
        changes.append(
            Change(
                f"{record.container}.args",
                f"{record.argument}, in front",
                "it writes no log file yet; behind the others it could be lost, as Go stops at an empty argument",
            )
        )
    if record.config:
        changes.append(
            Change(
                f"ConfigMap {record.config}", f"logFile: {record.path}", "with --config the operator ignores its flags"
            )
        )
    return changes


def removed_changes(record: Record) -> tuple[Change, ...]:
    """What was taken out."""
    why = "was put in by this command"
    places = [
        (f"{_POD}.{record.list}", SIDECAR_NAME),
        (f"{_POD}.volumes", record.volume),
        (f"{record.container}.volumeMounts", record.mount),
        (f"{record.container}.args", record.argument),
        (f"ConfigMap {record.config}", f"logFile: {record.path}" if record.config else ""),
        (f"{_TEMPLATE}.metadata.annotations", ANNOTATION),
    ]
    return tuple(Change(where, what, why) for where, what in places if what)
