import os
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from advisor.sidecar.streams import Stop, StreamFollower, stdin_chunks

Chunks = Callable[[Stop], Iterator[bytes | None]]


def giving(*pieces: bytes | None) -> Chunks:
    """A stream of these pieces."""
    return lambda _stop: iter(pieces)


def drained(follower: StreamFollower, seconds: float = 10.0) -> list[bytes]:
    """All lines until the stream has ended."""
    lines: list[bytes] = []
    until = time.monotonic() + seconds
    while not follower.ended:
        assert time.monotonic() < until, "the stream does not end"
        lines += follower.poll()
        time.sleep(0.001)
    return lines


class TestLines:
    def test_pieces_become_lines(self) -> None:
        """Wherever they are cut; the last line needs no end."""
        follower = StreamFollower(giving(b"on", b"e\ntwo\nth", b"ree\nfour"))
        assert drained(follower) == [b"one", b"two", b"three", b"four"]
        assert (follower.lines, follower.bytes, follower.problem) == (4, 18, None)

    def test_a_stream_that_begins_anew_gives_up_a_begun_line(self) -> None:
        """Its end does not come on the new connection."""
        follower = StreamFollower(giving(b"one\ntw", None, b"two\n"))
        assert drained(follower) == [b"one", b"two"]

    def test_a_line_that_is_too_long_is_dropped_and_counted(self) -> None:
        """Memory is bounded whatever comes."""
        follower = StreamFollower(giving(b"x" * 11, b"x\none\n"), longest_line_bytes=10)
        assert drained(follower) == [b"one"]
        assert follower.dropped_long_lines == 1

    def test_one_call_gives_out_about_as_much_as_it_may(self) -> None:
        """The rest is told as behind."""
        follower = StreamFollower(giving(*[b"12345\n"] * 100), most_bytes=60)
        while follower.behind_bytes < 600:
            time.sleep(0.001)
        assert len(follower.poll()) == 10
        assert follower.behind_bytes == 540
        assert not follower.ended
        assert len(drained(follower)) == 90


class TestEnd:
    def test_an_empty_stream_ends(self) -> None:
        """There are no lines, and no more will come."""
        assert drained(StreamFollower(giving())) == []

    def test_a_stream_that_fails_says_why(self) -> None:
        """What came before is kept."""

        def failing(_stop: Stop) -> Iterator[bytes]:
            yield b"one\n"
            raise ConnectionResetError("the peer went away")

        follower = StreamFollower(failing)
        assert drained(follower) == [b"one"]
        assert follower.problem == "ConnectionResetError: the peer went away"

    def test_closing_ends_a_reader_that_waits_for_room(self) -> None:
        """No thread is left behind."""
        before = threading.active_count()

        def endless(_stop: Stop) -> Iterator[bytes]:
            while True:
                yield b"x" * 1000 + b"\n"

        follower = StreamFollower(endless, waiting_bytes=10_000)
        while follower.behind_bytes < 10_000:
            time.sleep(0.001)
        follower.close()
        until = time.monotonic() + 10
        while threading.active_count() > before:
            assert time.monotonic() < until, "the reading thread does not end"
            time.sleep(0.001)


def test_nothing_is_read_while_nobody_asks() -> None:
    """So that a pipe fills up and its writer waits, instead of this process taking all memory."""
    taken = 0

    def counted(_stop: Stop) -> Iterator[bytes]:
        nonlocal taken
        for _ in range(1000):
            taken += 1
            yield b"x" * 999 + b"\n"

    follower = StreamFollower(counted, waiting_bytes=10_000)
    while follower.behind_bytes < 10_000:
        time.sleep(0.001)
    time.sleep(0.05)
    assert taken <= 11
    assert len(drained(follower)) == 1000
    assert follower.behind_bytes == 0


class TestStandardInput:
    def test_a_pipe_is_read_to_its_end(self) -> None:
        """A call never waits for what has not come."""
        reader, writer = os.pipe()
        follower = StreamFollower(partial(stdin_chunks, descriptor=reader))
        begin = time.monotonic()
        assert follower.poll() == []
        assert time.monotonic() - begin < 0.2
        os.write(writer, b"one\ntwo")
        got: list[bytes] = []
        while not got:
            got = follower.poll()
        assert got == [b"one"]
        assert not follower.ended
        os.close(writer)
        assert drained(follower) == [b"two"]
        os.close(reader)

    def test_a_silent_pipe_can_be_closed(self) -> None:
        """The reader looks now and then whether it shall end."""
        reader, writer = os.pipe()
        follower = StreamFollower(partial(stdin_chunks, descriptor=reader))
        follower.close()
        assert drained(follower) == []
        os.close(writer)
        os.close(reader)

    @pytest.mark.parametrize("size", [1, 1000, 1 << 20])
    def test_many_lines_through_a_pipe(self, size: int) -> None:
        """Each once and in order, by whatever pieces they are written."""
        reader, writer = os.pipe()
        data = b"".join(b"%06d\n" % number for number in range(20_000))

        def write() -> None:
            with os.fdopen(writer, "wb", buffering=0) as pipe:
                for begin in range(0, 2000 if size == 1 else len(data), size):
                    pipe.write(data[begin : begin + size])

        thread = threading.Thread(target=write)
        thread.start()
        follower = StreamFollower(partial(stdin_chunks, descriptor=reader), most_bytes=5000, waiting_bytes=5000)
        lines = drained(follower)
        thread.join()
        os.close(reader)
        assert lines == data[: 2000 if size == 1 else None].rstrip(b"\n").split(b"\n")
