"""Damaged blocks and documents are told, not guessed at."""

import struct
import zlib

import pytest

from advisor.store import documents
from advisor.store.codec import Block, decode, encode
from tests.store.storemade import document_of

BLOCK = Block([1.0, 2.0], [[3.0, 4.5], [5.0, 5.0]], {1: [5.0, 6.0]})
ALONE = Block([1.0], [[3.0]], {})


@pytest.mark.parametrize("block", [BLOCK, ALONE])
@pytest.mark.parametrize("cut", [0, 5, 20])
def test_a_cut_block_is_damaged(block: Block, cut: int) -> None:
    """Wherever it ends too early."""
    with pytest.raises(ValueError, match="damaged"):
        decode(encode(block)[:cut])


@pytest.mark.parametrize("head", [(9, 1, 1, 0), (2, 1, 7, 0), (1, 1, 7, 0)])
def test_a_block_that_does_not_fit_its_head_is_damaged(head: tuple[int, int, int, int]) -> None:
    """An unknown form, or another size than it says."""
    with pytest.raises(ValueError, match="damaged"):
        decode(struct.pack("<BIII", *head) + zlib.compress(bytes(16)))


@pytest.mark.parametrize(
    ("block", "wanted"),
    [
        (BLOCK, Block([1.0, 2.0], [(), [5.0, 5.0]], {1: [5.0, 6.0]})),
        (Block([1.0], [[3.0], [4.0]], {}), Block([1.0], [(), [4.0]], {})),
    ],
)
def test_columns_that_are_asked_for(block: Block, wanted: Block) -> None:
    """All others are empty, and times are there."""
    found = decode(encode(block), frozenset({1}))
    assert list(found.times) == list(wanted.times)
    assert [list(column) for column in found.columns] == [list(column) for column in wanted.columns]
    assert {place: list(values) for place, values in found.peaks.items()} == wanted.peaks


def test_a_minus_zero_stays_one() -> None:
    """Bits are kept, not only values."""
    assert repr(decode(encode(Block([1.0, 2.0], [[-0.0, 1.0]], {}))).columns) == repr([(-0.0, 1.0)])


def test_a_document_against_a_similar_one_is_small() -> None:
    """Also where both are much longer than deflate looks back."""
    base, text = document_of(1, 4000), document_of(1, 4000).replace(b"figure 17", b"figure xx")
    packed = documents.pack_against(base, text)
    assert len(text) > 150_000
    assert len(packed) * 10 < len(documents.pack(text))
    assert documents.unpack_against(base, packed) == text
    with pytest.raises(zlib.error):
        documents.unpack_against(b"another base", packed)
