"""The sidecar put into a stream of manifests, and taken out again.

What comes out is looked at before anybody gets it: it has to hold what was there and what was added and nothing else,
and taking that out has to give the input back, character by character.
"""

from dataclasses import dataclass
from typing import Final, TypeAlias

from advisor.errors import InputFormatError, SettingsError
from advisor.inject.additions import Addition, Traces, add, expected, take
from advisor.inject.configuration import add_log_file, configuration_of, take_log_file
from advisor.inject.container import PORT_NAME, container, metrics_port
from advisor.inject.editing import Editor, child, dig, scalar_of
from advisor.inject.logplan import LogPlan, plan_log
from advisor.inject.operator import Found, Manifest, containers_of, find_container, find_operator
from advisor.inject.options import ANNOTATION, SIDECAR_NAME, Options
from advisor.inject.record import Record, encode, record_of
from advisor.inject.stream import Stream
from advisor.inject.tree import Mapping, Node, Scalar, Sequence, Value, value_of
from advisor.inject.wording import Change, added_changes, removed_changes
from advisor.inject.workload import Workload, read_workload

__all__ = ["Outcome", "inject", "remove"]

_UNSAFE = "is written in a form in which the sidecar cannot be put in and taken out safely"
_POD: Final = ("spec", "template", "spec")
_Place: TypeAlias = tuple[tuple[str | int, ...], Addition]
_PLAIN = "write the operator's Deployment out anew, for example with kubectl create --dry-run=client --output yaml"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it.

    Attributes:
        text: the stream afterwards; the very input where nothing changes.
        title: namespace and name of the operator's Deployment.
        changed: whether it is another stream, apart from its form.
        changes: what was added or taken out, each with its reason.
        warnings: what may go wrong.
    """

    text: str
    title: str
    changed: bool
    changes: tuple[Change, ...]
    warnings: tuple[str, ...]


def inject(text: str, options: Options) -> Outcome:
    """Put the sidecar in; one that this has put in before is taken out first.

    Raises:
        InputFormatError: the input is not YAML, or no such manifest.
        NothingToAnalyseError: the operator is not in it.
        SettingsError: more than one may be the operator, or something is in the way.
    """
    given = Stream.read(text)
    found = find_operator(list(given.manifests), options)
    record = record_of(found.deployment)
    base, missed = _without(given, found, record)
    if missed:
        raise InputFormatError(f"{missed}, which is not in the input", hint="put it into the input too")
    found = find_operator(list(base.manifests), options)
    _refuse_strangers(found, options)
    workload = read_workload(found)
    plan = plan_log(found, workload, list(base.manifests), options)
    result, entry = _with(base, found, workload, plan, options)
    taken, _ = _without(result, find_operator(list(result.manifests), options), entry)
    if taken.text != base.text:
        raise InputFormatError(f"the Deployment {found.deployment.title} {_UNSAFE}", hint=_PLAIN)
    changed = not _same(given, result)
    return Outcome(
        text=result.text if changed else text,
        title=found.deployment.title,
        changed=changed,
        changes=added_changes(entry, plan, workload, options),
        warnings=plan.warnings,
    )


def remove(text: str, options: Options) -> Outcome:
    """Take out what :func:`inject` has put in.

    Raises:
        InputFormatError: the input is not YAML, or no such manifest.
        NothingToAnalyseError: the operator is not in it.
        SettingsError: more than one may be the operator.
    """
    given = Stream.read(text)
    found = find_operator(list(given.manifests), options)
    record = record_of(found.deployment)
    if record is None:
        return Outcome(text, found.deployment.title, changed=False, changes=(), warnings=())
    result, missed = _without(given, found, record)
    left = find_operator(list(result.manifests), options).deployment
    if record_of(left) is not None or SIDECAR_NAME in _names(left):
        raise InputFormatError(f"the Deployment {left.title} {_UNSAFE}", hint=_PLAIN)
    warnings = (f"{missed}, which is not in the input and keeps it",) if missed else ()
    return Outcome(result.text, left.title, changed=True, changes=removed_changes(record), warnings=warnings)


def _refuse_strangers(found: Found, options: Options) -> None:
    """Refuse a Pod in which the sidecar's name or port is taken.

    Raises:
        SettingsError: it is.
    """
    deployment = found.deployment
    if SIDECAR_NAME in _names(deployment):
        raise SettingsError(
            f"the Deployment {deployment.title} has a container {SIDECAR_NAME} that this command has not put in",
            hint="take it out in the way in which it came in, such as a kustomize component",
        )
    for each in (*containers_of(deployment), *containers_of(deployment, "initContainers")):
        ports = dig(each, "ports", text=deployment.text)
        for port in ports.items if isinstance(ports, Sequence) else ():
            number = scalar_of(dig(port, "containerPort", text=deployment.text))
            name = scalar_of(dig(port, "name", text=deployment.text))
            if number == str(options.port) or name == PORT_NAME:
                raise SettingsError(
                    f"port {number} ({name}) of the Deployment {deployment.title} is in the sidecar's way",
                    hint="choose another with --port" if name != PORT_NAME else "rename it",
                )


def _names(deployment: Manifest) -> list[str | None]:
    every = (*containers_of(deployment), *containers_of(deployment, "initContainers"))
    return [scalar_of(dig(each, "name", text=deployment.text)) for each in every]


def _with(base: Stream, found: Found, workload: Workload, plan: LogPlan, options: Options) -> tuple[Stream, Record]:
    """The stream with the sidecar, and the record of it.

    Raises:
        InputFormatError: it would not hold just what it should.
    """
    deployment, configuration = found.deployment, plan.configuration
    template = deployment.get("spec", "template")
    assert isinstance(template, Mapping)  # noqa: S101 - the Pod's spec is in it
    places = _places(found, plan, options, _sidecar(workload, plan, options))
    editors = _Editors(base)
    editor, traces, aliased = editors.of(deployment.piece), Traces(), base.aliased(deployment.piece)
    editor.step, editor.dash = _indents(found, editor)
    _note(traces, template, ("metadata", "annotations"), editor)
    for _, addition in places:
        add(editor, addition, traces, aliased)
    record = _record(found, plan, options, traces)
    places.append((_POD[:2], Addition(template, ("metadata", "annotations"), entry=(ANNOTATION, encode(record)))))
    add(editor, places[-1][1], Traces(), aliased)
    wanted = {
        deployment.piece: expected(
            _values(base, deployment.piece), [(deployment.path + place, each) for place, each in places]
        )
    }
    if configuration is not None and plan.configure:
        where = configuration.manifest
        file = add_log_file(editors.of(where.piece), configuration, plan.log.path)
        wanted.setdefault(where.piece, _values(base, where.piece))
        wanted[where.piece] = expected(
            wanted[where.piece], [((*where.path, "data"), Addition(where.node, (), entry=(configuration.key, file)))]
        )
    result = base.changed(editors.results())
    if any(_values(result, piece) != value for piece, value in wanted.items()):
        raise InputFormatError(f"the Deployment {deployment.title} {_UNSAFE}", hint=_PLAIN)
    return result, record


def _sidecar(workload: Workload, plan: LogPlan, options: Options) -> Value:
    """The sidecar's container.

    Raises:
        SettingsError: the operator is at its port.
    """
    configuration = plan.configuration
    metrics = metrics_port(workload, None if configuration is None else configuration.field("metricsAddr"))
    if metrics is not None and metrics[1] == options.port:
        raise SettingsError(f"the operator itself is at port {options.port}", hint="choose another with --port")
    watched = workload.flag("watch-namespace") if configuration is None else configuration.field("watchNamespace")
    namespaces = tuple(name for word in (watched or "").split(",") if (name := word.strip()))
    return container(options, workload, plan.log, metrics, namespaces)


def _places(found: Found, plan: LogPlan, options: Options, sidecar: Value) -> list[_Place]:
    """What is added to the Pod, and the way from the Deployment to where it goes."""
    own, pod = (*_POD, "containers", found.index), found.deployment.pod()
    places: list[_Place] = []
    if plan.argument:
        places.append((own, Addition(found.container, ("args",), item=plan.argument, front=True)))
    if plan.mount:
        mount: Value = {"name": plan.log.mount.volume, "mountPath": plan.mount}
        places.append((own, Addition(found.container, ("volumeMounts",), item=mount)))
    places.append((_POD, Addition(pod, (_list(options),), item=sidecar)))
    if plan.volume:
        places.append((_POD, Addition(pod, ("volumes",), item={"name": plan.volume, "emptyDir": {}})))
    return places


def _list(options: Options) -> str:
    return "initContainers" if options.native else "containers"


def _record(found: Found, plan: LogPlan, options: Options, traces: Traces) -> Record:
    configuration = plan.configuration
    return Record(
        version=1,
        container=scalar_of(child(found.container, "name", found.deployment.text)) or "",
        list=_list(options),
        volume=plan.volume,
        mount=plan.mount,
        argument=plan.argument,
        config=configuration.title if configuration is not None and plan.configure else "",
        path=plan.log.path if plan.configure else "",
        created=tuple(sorted(traces.created)),
        was=traces.was,
    )


def _note(traces: Traces, mapping: Mapping, path: tuple[str, ...], editor: Editor) -> None:
    """Note what has to be made, before it is, since the record that says so goes in there."""
    node: Node = mapping
    for key in path:
        value = child(node, key, editor.text) if isinstance(node, Mapping) else None
        if value is None:
            traces.created.append(key)
            return
        if isinstance(value, Scalar) and value.null:
            traces.was[key] = editor.raw(value)
            return
        node = value


def _values(stream: Stream, piece: int) -> object:
    return [value_of(document) for document in stream.documents[piece]]


def _same(one: Stream, other: Stream) -> bool:
    """Whether two streams with the same objects hold the same."""
    return one.documents.keys() == other.documents.keys() and all(
        one.pieces[piece] == other.pieces[piece] or _values(one, piece) == _values(other, piece)
        for piece in one.documents
    )


class _Editors:
    """One editor for each piece that changes."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._editors: dict[int, Editor] = {}

    def of(self, piece: int) -> Editor:
        """The editor of a piece."""
        return self._editors.setdefault(piece, Editor(self._stream.pieces[piece]))

    def results(self) -> dict[int, str]:
        """The texts of all."""
        return {piece: editor.result() for piece, editor in self._editors.items()}


def _indents(found: Found, editor: Editor) -> tuple[int, int]:
    """By how much mappings and lists are further in than their keys, in the operator's Pod."""
    text, pod = editor.text, found.deployment.pod()
    names = {name.value: name for name, _ in pod.entries if isinstance(name, Scalar)}
    key, outer = names["containers"], found.deployment.get("spec", "template")
    outer_name = outer.entries[0][0] if isinstance(outer, Mapping) else key

    def column(offset: int) -> int:
        start = max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1
        line = text[start:offset]
        return len(line) if not line.strip(" ") else len(line) - len(line.lstrip(" "))

    step = column(key.start) - column(outer_name.start)
    containers = child(pod, "containers", text)
    dash = 0 if not isinstance(containers, Sequence) or containers.flow else _dash(text, containers) - column(key.start)
    return (step if 1 < step <= 8 else 2), max(dash, 0)  # noqa: PLR2004 - as wide as anybody writes


def _dash(text: str, sequence: Sequence) -> int:
    first = sequence.items[0].start
    start = max(text.rfind("\n", 0, first), text.rfind("\r", 0, first)) + 1
    return len(text[start:first]) - len(text[start:first].lstrip(" "))


def _without(stream: Stream, found: Found, record: Record | None) -> tuple[Stream, str]:
    """The stream without what the record tells of, and what could not be taken out, "" for nothing."""
    if record is None:
        return stream, ""
    deployment = found.deployment
    editors = _Editors(stream)
    editor, text = editors.of(deployment.piece), deployment.text
    traces = Traces(list(record.created), record.was)
    operator = find_container(deployment, record.container).container
    template, pod = deployment.get("spec", "template"), deployment.pod()
    assert isinstance(template, Mapping)  # noqa: S101 - the Pod's spec is in it

    def named(name: str, key: str = "name") -> "_Wanted":
        return _Wanted(name, key, text)

    take(editor, template, ("metadata", "annotations"), named(ANNOTATION, ""), traces)
    take(editor, pod, (record.list,), named(SIDECAR_NAME), traces)
    if record.volume:
        take(editor, pod, ("volumes",), named(record.volume), traces)
    if record.mount:
        take(editor, operator, ("volumeMounts",), named(record.mount, "mountPath"), traces)
    if record.argument:
        take(editor, operator, ("args",), named(record.argument, ""), traces)
    missed = ""
    if record.config:
        name, _, key = record.config.partition("/")
        configuration = configuration_of(name, key, deployment, list(stream.manifests))
        there = configuration is not None and take_log_file(
            editors.of(configuration.manifest.piece), configuration, record.path
        )
        missed = "" if there else f"logFile: {record.path} was put into the ConfigMap {record.config}"
    return stream.changed(editors.results()), missed


@dataclass(frozen=True, slots=True)
class _Wanted:
    """Whether an item or entry is the one: a key or word itself, or a mapping with a key that says it."""

    says: str
    key: str
    text: str

    def __call__(self, node: Node, _: Node | None) -> bool:
        return scalar_of(dig(node, self.key, text=self.text) if self.key else node) == self.says
