"""Which object of a stream is the operator's Deployment, and which of its containers is the operator."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from advisor.errors import InputFormatError, NothingToAnalyseError, SettingsError
from advisor.inject.editing import dig, scalar_of
from advisor.inject.options import SIDECAR_NAME, Options
from advisor.inject.tree import Mapping, Node, Sequence, line_of
from advisor.knowledge.defaults import CONTAINER_NAME

__all__ = ["Found", "Manifest", "containers_of", "find_container", "find_operator", "objects"]

_IMAGE: Final = re.compile(r"(?:.*/)?(?:kuberay/operator|kuberay-operator)(?:[:@].*)?")
"""Of any registry; mirrors as a rule keep the last words."""
_NAME, _COMPONENT = "app.kubernetes.io/name", "app.kubernetes.io/component"


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object.

    Attributes:
        piece: which piece of the stream it is in.
        text: that piece.
        path: the way to it in the piece: number of the document, then keys and numbers.
        node: the object.
    """

    piece: int
    text: str
    path: tuple[str | int, ...]
    node: Mapping

    @property
    def kind(self) -> str | None:
        """Its kind."""
        return scalar_of(self.peek("kind"))

    @property
    def name(self) -> str | None:
        """Its name."""
        return scalar_of(self.peek("metadata", "name"))

    @property
    def namespace(self) -> str | None:
        """Its namespace, None where it is not told."""
        return scalar_of(self.peek("metadata", "namespace"))

    @property
    def title(self) -> str:
        """Namespace and name."""
        return f"{self.namespace}/{self.name}" if self.namespace else str(self.name)

    def get(self, *keys: str) -> Node | None:
        """What lies below, see :func:`dig`."""
        return dig(self.node, *keys, text=self.text)

    def peek(self, *keys: str) -> Node | None:
        """The same of an object that may be none of ours, where everything that is unusual is nothing."""
        try:
            return self.get(*keys)
        except InputFormatError:
            return None

    def pod(self) -> Mapping:
        """The Pod's spec.

        Raises:
            InputFormatError: there is none.
        """
        spec = self.get("spec", "template", "spec")
        if not isinstance(spec, Mapping):
            raise InputFormatError(f"the Deployment {self.title} has no spec.template.spec")
        return spec


@dataclass(frozen=True, slots=True)
class Found:
    """The operator: its Deployment, and the container in it with its place among the containers."""

    deployment: Manifest
    container: Mapping
    index: int


def objects(piece: int, text: str, documents: list[Node]) -> Iterator[Manifest]:
    """The objects of one piece, those of lists too."""
    for number, document in enumerate(documents):
        if not isinstance(document, Mapping):
            continue
        whole = Manifest(piece, text, (number,), document)
        items = whole.peek("items")
        if isinstance(items, Sequence) and (whole.kind or "").endswith("List"):
            for index, item in enumerate(items.items):
                if isinstance(item, Mapping):
                    yield Manifest(piece, text, (number, "items", index), item)
        else:
            yield whole


def find_operator(manifests: list[Manifest], options: Options) -> Found:
    """The operator.

    Raises:
        NothingToAnalyseError: no Deployment is it.
        SettingsError: several may be.
        InputFormatError: its Deployment cannot be understood.
    """
    deployments = [each for each in manifests if each.kind == "Deployment"]
    if options.name is None and options.namespace is None:
        candidates = [each for each in deployments if _is_kuberay(each)]
    elif options.name is None:
        candidates = [each for each in deployments if each.namespace == options.namespace and _is_kuberay(each)]
    else:
        candidates = [
            each for each in deployments if each.name == options.name and options.namespace in (None, each.namespace)
        ]
    if not candidates:
        raise NothingToAnalyseError(_none(deployments, options), hint=_NONE_HINT)
    if len(candidates) > 1:
        names = ", ".join(each.title for each in candidates)
        raise SettingsError(
            f"{len(candidates)} Deployments may be the operator: {names}", hint="say which with --name and --namespace"
        )
    return find_container(candidates[0], options.container)


_NONE_HINT: Final = (
    "it is known by the labels of KubeRay's chart or of its kustomize install, and by the name or image of its "
    "container; say which Deployment it is with --name"
)


def _none(deployments: list[Manifest], options: Options) -> str:
    wanted = "/".join(word for word in (options.namespace, options.name) if word)
    what = f"no Deployment {wanted} is in the input" if wanted else "no KubeRay operator's Deployment is in the input"
    others = ", ".join(each.title for each in deployments)
    return f"{what}; there are {others}" if others else f"{what}, nor any other"


def find_container(deployment: Manifest, name: str | None) -> Found:
    """The operator's container.

    Raises:
        SettingsError: none has that name, or several may be it.
        InputFormatError: there are no containers.
    """
    containers = containers_of(deployment)
    own = [(index, each) for index, each in enumerate(containers) if _name_of(each, deployment.text) != SIDECAR_NAME]
    tests: tuple[Callable[[Mapping], bool], ...] = (
        lambda each: _name_of(each, deployment.text) == (name or CONTAINER_NAME),
        lambda each: name is None and _has_image(each, deployment.text),
        lambda _: name is None and len(own) == 1,
    )
    for is_it in tests:
        hits = [(index, each) for index, each in own if is_it(each)]
        if len(hits) == 1:
            return Found(deployment, hits[0][1], hits[0][0])
        if hits:
            break
    names = ", ".join(str(_name_of(each, deployment.text)) for _, each in own)
    what = f"has no container {name}" if name else "has no container that is clearly the operator"
    raise SettingsError(
        f"the Deployment {deployment.title} {what}; there are {names}", hint="say which it is with --container"
    )


def containers_of(deployment: Manifest, key: str = "containers") -> list[Mapping]:
    """The containers of its Pod.

    Raises:
        InputFormatError: they are no list of mappings.
    """
    text = deployment.text
    containers = dig(deployment.pod(), key, text=text)
    if containers is None and key != "containers":
        return []
    items = containers.items if isinstance(containers, Sequence) else ()
    found = [item for item in items if isinstance(item, Mapping)]
    if not found and key == "containers":
        raise InputFormatError(
            f"the Deployment {deployment.title} has no containers", where=f"line {line_of(text, deployment.node.start)}"
        )
    if len(found) != len(items):
        raise InputFormatError(f"a container of the Deployment {deployment.title} is no mapping")
    return found


def _is_kuberay(deployment: Manifest) -> bool:
    labels = [deployment.peek("metadata", "labels"), deployment.peek("spec", "template", "metadata", "labels")]
    for each in labels:
        if not isinstance(each, Mapping):
            continue
        pairs = {scalar_of(key): scalar_of(value) for key, value in each.entries}
        if pairs.get(_NAME) == CONTAINER_NAME or pairs.get(_COMPONENT) == CONTAINER_NAME:
            return True
    containers = deployment.peek("spec", "template", "spec", "containers")
    items = containers.items if isinstance(containers, Sequence) else ()
    return any(
        isinstance(item, Mapping)
        and (_name_of(item, deployment.text) == CONTAINER_NAME or _has_image(item, deployment.text))
        for item in items
    )


def _name_of(container: Mapping, text: str) -> str | None:
    return scalar_of(dig(container, "name", text=text))


def _has_image(container: Mapping, text: str) -> bool:
    return _IMAGE.fullmatch(scalar_of(dig(container, "image", text=text)) or "") is not None
