import gzip
import sys
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.errors import InputNotFoundError
from advisor.sources.textstream import LineReader

TEXT = b"".join(b"line %d of a file that is not short\n" % number for number in range(400))
LINES = TEXT.split(b"\n")[:-1]


def reader(folder: Path, content: bytes, chunk_bytes: int = 1 << 18) -> LineReader:
    """A reader of a file that holds the content."""
    path = folder / "file"
    path.write_bytes(content)
    return LineReader(path, chunk_bytes=chunk_bytes)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose files the examples of a property write over."""
    return tmp_path_factory.mktemp("textstream")


class TestWholeFiles:
    @pytest.mark.parametrize(
        "content", [TEXT, gzip.compress(TEXT), gzip.compress(TEXT[:500]) + gzip.compress(TEXT[500:])]
    )
    def test_plain_and_gzip_give_the_same_lines(self, tmp_path: Path, content: bytes) -> None:
        """A file may be plain, gzip, or several gzip members in a row; its name does not matter."""
        found = reader(tmp_path, content)
        assert list(found) == LINES
        assert (found.lines, found.problem, found.rest) == (len(LINES), None, b"")

    @pytest.mark.parametrize("content", [b"", gzip.compress(b"", mtime=0)])
    def test_an_empty_file_has_no_lines(self, tmp_path: Path, content: bytes) -> None:
        """Nothing in it is no problem of the file."""
        found = reader(tmp_path, content)
        assert list(found) == []
        assert (found.lines, found.problem, found.rest) == (0, None, b"")

    def test_both_kinds_of_line_ends(self, tmp_path: Path) -> None:
        """A carriage return before the line end is no part of the line; blank lines are lines."""
        assert list(reader(tmp_path, b"a\r\nb\n\r\n\nc\rd\r\n")) == [b"a", b"b", b"", b"", b"c\rd"]

    def test_a_last_line_without_end_is_given_out_but_is_not_whole(self, tmp_path: Path) -> None:
        """Whether it is complete is for the reader of the format to decide."""
        assert list(reader(tmp_path, b"a\nb")) == [b"a", b"b"]
        found = reader(tmp_path, b"a\nb")
        assert list(found.whole_lines()) == [b"a"]
        assert (found.lines, found.rest, found.problem) == (1, b"b", None)

    def test_padding_after_the_compressed_data_is_ignored(self, tmp_path: Path) -> None:
        """Some tools fill a file up with zeros."""
        found = reader(tmp_path, gzip.compress(TEXT) + bytes(1000), chunk_bytes=100)
        assert list(found) == LINES
        assert found.problem is None

    @given(
        content=st.lists(st.sampled_from([b"a", b"bc", b"\n", b"\r\n", b"\r", b"x" * 40])).map(b"".join),
        chunk_bytes=st.integers(2, 50),
        packed=st.booleans(),
    )
    def test_where_the_chunks_end_does_not_matter(
        self, folder: Path, content: bytes, chunk_bytes: int, packed: bool
    ) -> None:
        """Lines, and their ends of two bytes, are whole wherever reading stops in between."""
        whole = reader(folder, content)
        wanted = (list(whole), whole.lines, whole.rest)
        found = reader(folder, gzip.compress(content) if packed else content, chunk_bytes)
        assert (list(found), found.lines, found.rest) == wanted
        assert found.problem is None

    def test_much_from_little_is_unpacked_piece_by_piece(self, tmp_path: Path) -> None:
        """A small file that unpacks to a large one never stands in memory as a whole."""
        found = reader(tmp_path, gzip.compress(b"0123456\n" * 500_000), chunk_bytes=1000)
        assert sum(1 for _ in found) == 500_000


class TestDamagedFiles:
    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        """The error names the file and says why it cannot be opened."""
        with pytest.raises(InputNotFoundError, match=r"gone: cannot be opened: No such file"):
            list(LineReader(tmp_path / "gone"))

    @given(data=st.data(), chunk_bytes=st.integers(50, 2000))
    def test_cut_off_anywhere_it_gives_all_that_is_left(
        self, folder: Path, data: st.DataObject, chunk_bytes: int
    ) -> None:
        """The lines are those of what the remaining bytes unpack to, and the end that is missing is told."""
        packed = gzip.compress(TEXT)
        cut = packed[: data.draw(st.integers(2, len(packed) - 1))]
        found = reader(folder, cut, chunk_bytes)
        left = zlib.decompressobj(31).decompress(cut)
        assert b"\n".join(found) == left.removesuffix(b"\n")
        assert TEXT.startswith(left)
        assert found.problem == f"cut off after line {left.count(10)}: the compressed data has no end"

    def test_garbage_in_the_middle_costs_nothing_before_it(self, tmp_path: Path) -> None:
        """All that was unpacked until the damage is kept, whatever else stood in the same chunk."""
        intact = zlib.compressobj(9, zlib.DEFLATED, 31)
        front = intact.compress(TEXT) + intact.flush(zlib.Z_FULL_FLUSH)
        found = reader(tmp_path, front + b"\xff" * 500)
        assert list(found) == LINES
        assert found.problem is not None
        assert found.problem.startswith(f"damaged after line {len(LINES)}: ")

    def test_a_wrong_checksum_is_told_and_costs_no_line(self, tmp_path: Path) -> None:
        """The last bytes of a member only check it."""
        packed = bytearray(gzip.compress(TEXT))
        packed[-8] ^= 1
        found = reader(tmp_path, bytes(packed))
        assert list(found) == LINES
        assert found.problem is not None
        assert "incorrect data check" in found.problem

    def test_something_else_after_the_compressed_data(self, tmp_path: Path) -> None:
        """What follows the last member and is not gzip is told of and skipped."""
        found = reader(tmp_path, gzip.compress(TEXT) + b"not gzip")
        assert list(found) == LINES
        assert found.problem is not None
        assert found.problem.startswith(f"damaged after line {len(LINES)}: ")

    def test_a_line_without_end_does_not_fill_the_memory(self, tmp_path: Path) -> None:
        """Of a line that no operator writes only the end is given out, in a form that nothing reads."""
        found = reader(tmp_path, gzip.compress(b"a\n" + b"b" * (1 << 26) + b"\nc\n"))
        first, overlong, last = found
        assert (first, last) == (b"a", b"c")
        assert overlong.startswith(b"\0")
        assert len(overlong) < 1 << 26

    @pytest.mark.skipif(sys.platform != "linux", reason="needs a file that opens and cannot be read")
    def test_a_file_that_cannot_be_read(self) -> None:
        """An error of the disk ends the file where it occurs."""
        found = LineReader(Path("/proc/self/mem"))
        assert list(found) == []
        assert found.problem is not None
        assert found.problem.startswith("cannot be read beyond line 0: ")
