"""Ending early on the user's first signal, and at once on the second."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["first_signal"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def first_signal(act: Callable[[], None]) -> Iterator[None]:
    """While inside, the first signal of a user calls ``act``; the next does what it did before.

    Outside the main thread, which alone may handle signals, nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def handle(_number: int, _frame: FrameType | None) -> None:
        restore()
        act()

    for number in _SIGNALS:
        signal.signal(number, handle)
    try:
        yield
    finally:
        restore()
