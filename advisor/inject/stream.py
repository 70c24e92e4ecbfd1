"""A stream of manifests: its pieces, the objects in them, and the same stream with pieces changed."""

import re
from dataclasses import dataclass
from typing import Final, Self

from advisor.inject.operator import Manifest, objects
from advisor.inject.tree import Alias, Mapping, Node, Scalar, Sequence, check, parse, pieces

__all__ = ["Stream"]

_OURS: Final = re.compile(
    r"""\bkind["']?\s*:\s*(?:[&!]\S+\s+)*["']?(?:Deployment|ConfigMap|[A-Za-z]*List)\b""",
)
"""Of what may be looked at; a CRD has thousands of lines."""
_MARK: Final = "\ufeff"


@dataclass(frozen=True, slots=True)
class Stream:
    """Pieces of text that joined are the stream, the last of them with a line end.

    Attributes:
        pieces: the text cut before each ``---``.
        manifests: the objects of pieces that may matter.
        documents: the trees of those pieces.
        mark: the byte order mark, or "".
        ended: whether the last line had an end.
    """

    pieces: tuple[str, ...]
    manifests: tuple[Manifest, ...]
    documents: dict[int, list[Node]]
    mark: str
    ended: bool

    @classmethod
    def read(cls, text: str) -> Self:
        """The stream that a text is.

        Raises:
            InputFormatError: it is not YAML.
        """
        mark = _MARK if text.startswith(_MARK) else ""
        body = text.removeprefix(_MARK)
        check(body)
        ended = body.endswith(("\n", "\r"))
        return cls._of(pieces(body if ended else f"{body}\n"), mark, {}, ended=ended)

    def changed(self, texts: dict[int, str]) -> Self:
        """The stream with some pieces exchanged.

        Raises:
            InputFormatError: one is no YAML.
        """
        for text in texts.values():
            check(text)
        cut = [texts.get(index, piece) for index, piece in enumerate(self.pieces)]
        known = {index: nodes for index, nodes in self.documents.items() if index not in texts}
        return self._of(cut, self.mark, known, ended=self.ended)

    @property
    def text(self) -> str:
        """The whole text."""
        body = "".join(self.pieces)
        return self.mark + (body if self.ended else body[:-1])

    @classmethod
    def _of(cls, cut: list[str], mark: str, known: dict[int, list[Node]], *, ended: bool) -> Self:
        documents = {
            index: known[index] if index in known else parse(piece)
            for index, piece in enumerate(cut)
            if _OURS.search(piece)
        }
        found = [each for index, nodes in documents.items() for each in objects(index, cut[index], nodes)]
        return cls(tuple(cut), tuple(found), documents, mark, ended)

    def aliased(self, piece: int) -> frozenset[str]:
        """Names of the anchors of a piece to which something refers."""
        return frozenset(name for document in self.documents[piece] for name in _aliases(document))


def _aliases(node: Node) -> set[str]:
    match node:
        case Alias(name=name):
            return {name}
        case Sequence(items=items):
            return set().union(*map(_aliases, items))
        case Mapping(entries=entries):
            return set().union(*(_aliases(each) for pair in entries for each in pair))
        case Scalar():
            return set()
