"""Where the operator logs, or is to log, and what has to be added for it."""

import posixpath
from dataclasses import dataclass, field

from advisor.errors import InputFormatError, SettingsError
from advisor.inject.configuration import Configuration, find_configuration
from advisor.inject.container import Log
from advisor.inject.operator import Found, Manifest
from advisor.inject.options import VOLUME, Options, mebibytes_of
from advisor.inject.workload import Mount, Workload, mount_of
from advisor.knowledge.defaults import LOG_FILE_BACKUPS, LOG_FILE_MAX_BYTES

__all__ = ["LogPlan", "plan_log"]

_FULL_MEBIBYTES = LOG_FILE_MAX_BYTES * (LOG_FILE_BACKUPS + 1) / 1024**2
_FULL = "KubeRay keeps up to 11 files of 500 MB"
_VALUES = "logging.baseDir and logging.fileName of KubeRay's chart"
_KINDS = frozenset({"configMap", "secret", "projected", "downwardAPI"})
"""Volumes that nothing can be written to."""


@dataclass(frozen=True, slots=True)
class LogPlan:
    """The log and what is missing for it.

    Attributes:
        log: the file and the mount in which it is or will be.
        volume: name of the volume to add, "" for none.
        mount: where to mount it in the operator's container, "" for nowhere.
        argument: what to put in front of the operator's arguments, "" for nothing.
        configuration: the operator's configuration file, None where it has none.
        configure: whether the log's path has to go into it.
        warnings: what may go wrong.
    """

    log: Log
    volume: str = ""
    mount: str = ""
    argument: str = ""
    configuration: Configuration | None = None
    configure: bool = False
    warnings: tuple[str, ...] = ()


@dataclass(slots=True)
class _Planner:
    found: Found
    workload: Workload
    options: Options
    warnings: list[str] = field(default_factory=list)


def plan_log(found: Found, workload: Workload, manifests: list[Manifest], options: Options) -> LogPlan:
    """What has to be added.

    Raises:
        InputFormatError: a configuration file that is not in the input decides.
        SettingsError: the sidecar could not read the log that the operator writes.
    """
    planner = _Planner(found, workload, options)
    file = workload.flag("config")
    configuration = None if file is None else find_configuration(file, workload, found.deployment, manifests)
    path, told = _written(planner, file, configuration)
    log, volume, mount = _place(planner, path, added=told is None)
    _warn(planner, log, file)
    return LogPlan(
        log=log,
        volume=volume,
        mount=mount,
        argument="" if told is not None or file is not None else f"--log-file-path={path}",
        configuration=configuration,
        configure=told is None and file is not None,
        warnings=tuple(planner.warnings),
    )


def _written(planner: _Planner, file: str | None, configuration: Configuration | None) -> tuple[str, str | None]:
    """The log's path, and who says so now, None where nobody does."""
    options, flags = planner.options, planner.workload.flags
    if file is None:
        path = flags.get("log-file-path")
        if path == "":
            raise SettingsError(
                "the operator is told --log-file-path with nothing behind it, which would win over one put in front",
                hint="remove that argument, or set " + _VALUES,
            )
        return (path, "flag") if path else (options.log_path, None)
    if configuration is None and options.log_folder and options.log_name:
        planner.warnings.append(
            f"the configuration file {file} is not in the input; taken from --log-dir and --log-file-name that it "
            f"says logFile: {options.log_path}"
        )
        return options.log_path, "options"
    if configuration is None:
        raise InputFormatError(
            f"the operator reads {file} and ignores all flags, and the ConfigMap with that file is not in the input",
            where=f"Deployment {planner.found.deployment.title}",
            hint=f"put the ConfigMap into the input too, or set {_VALUES} and give the same as --log-dir and "
            "--log-file-name",
        )
    path = configuration.field("logFile")
    return (path, "file") if path else (options.log_path, None)


def _place(planner: _Planner, path: str, *, added: bool) -> tuple[Log, str, str]:
    """The log's mount, and the volume and the mount to add for it."""
    if not posixpath.isabs(path) or "$(" in path:
        raise SettingsError(f"the operator's log goes to {path}, which cannot be found from another container")
    workload, folder = planner.workload, posixpath.dirname(posixpath.normpath(path))
    mount = mount_of(path, workload.mounts)
    if mount is not None:
        if mount.sub_path_expression is not None:
            raise SettingsError(
                f"the log's volume {mount.volume} is mounted with subPathExpr, which cannot be repeated"
            )
        volume = workload.volume(mount.volume)
        if mount.read_only or (volume is not None and volume.kind in _KINDS):
            raise SettingsError(
                f"the log goes to {path}, in the volume {mount.volume}, to which nothing can be written",
                hint="choose another folder with --log-dir" if added else "correct that first",
            )
        return Log(path, mount), "", ""
    if folder == "/":
        raise SettingsError(f"the log goes to {path}, and no volume can be mounted at /", hint="choose another folder")
    return Log(path, Mount(VOLUME, folder)), _free_volume(planner), folder


def _free_volume(planner: _Planner) -> str:
    """The volume to add, "" where one of that name is there and can be used."""
    there = planner.workload.volume(VOLUME)
    if there is None:
        return VOLUME
    if there.kind != "emptyDir":
        raise SettingsError(
            f"the Pod has a volume {VOLUME} of the kind {there.kind}, which is not mounted at the log's folder",
            hint=f"mount it there, or rename it, or set {_VALUES}",
        )
    return ""


def _warn(planner: _Planner, log: Log, file: str | None) -> None:
    workload, warnings = planner.workload, planner.warnings
    volume = workload.volume(log.mount.volume)
    limits = [
        (f"the volume {volume.name} has sizeLimit {volume.size_limit}" if volume else "", volume and volume.size_limit),
        (f"the operator has the limit ephemeral-storage {workload.storage_limit}", workload.storage_limit),
    ]
    for what, limit in limits:
        mebibytes = mebibytes_of(limit or "")
        if mebibytes is not None and mebibytes < _FULL_MEBIBYTES:
            warnings.append(f"{what}, and {_FULL}: when the limit is reached the Pod is evicted")
    if workload.flag("log-file-encoder") not in (None, "json"):
        warnings.append(
            "--log-file-encoder is not json: the sidecar reads JSON lines only, and counts all others as unread; set "
            "logging.fileEncoder to json"
        )
    if file is not None and workload.flag("log-file-path"):
        warnings.append("--log-file-path has no effect beside --config, and was not taken for the log's path")
    if workload.root:
        warnings.append("the operator runs as root, and so will the sidecar, as it could not read the log otherwise")
    if workload.host_network:
        warnings.append(f"the Pod is in the node's network, where port {planner.options.port} has to be free as well")
