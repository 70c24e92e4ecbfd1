"""What can go wrong with the history.

::

    StoreOpenError    exit code 3, an InputError
    StoreReadError    exit code 3, an InputError
    StoreWriteError   exit code 3, an OutputError
"""

from advisor.errors import InputError, OutputError

__all__ = ["StoreOpenError", "StoreReadError", "StoreWriteError"]


class StoreOpenError(InputError):
    """The file is no history, is of a newer program, or cannot be opened or made."""


class StoreReadError(InputError):
    """Something that should be in the history cannot be read."""


class StoreWriteError(OutputError):
    """Something was not kept: the disk is full, or the file cannot be written. What was kept before is still there."""
