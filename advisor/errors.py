"""The one exception tree of kuberay-advisor.

::

    AdvisorError                      exit code 70
    +-- InputError                    exit code 3
    |   +-- InputNotFoundError        exit code 3
    |   +-- InputFormatError          exit code 3
    +-- OutputError                   exit code 3
    +-- NothingToAnalyseError         exit code 4
    +-- UnknownNameError              exit code 2

Each error says what is wrong, where, and what to do. The command line maps an error to its ``exit_code``; library
callers catch :class:`AdvisorError`.
"""

from typing import ClassVar

__all__ = [
    "AdvisorError",
    "InputError",
    "InputFormatError",
    "InputNotFoundError",
    "NothingToAnalyseError",
    "OutputError",
    "UnknownNameError",
]


class AdvisorError(Exception):
    """Anything that this package raises on purpose.

    Args:
        message: what is wrong, one sentence without a trailing stop.
        where: the file, series or option it was found in, or "".
        hint: what the reader can do about it, or "".
    """

    exit_code: ClassVar[int] = 70

    def __init__(self, message: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        """``where: message (hint)``, leaving out what is empty."""
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text} ({self.hint})" if self.hint else text


class InputError(AdvisorError):
    """An input cannot be used at all."""

    exit_code = 3


class InputNotFoundError(InputError):
    """The named file or folder does not exist or may not be read."""


class InputFormatError(InputError):
    """The input is not in a format that this program reads."""


class OutputError(AdvisorError):
    """What was made cannot be written where it should go."""

    exit_code = 3


class NothingToAnalyseError(AdvisorError):
    """The input was read, but holds no sample of a controller-runtime operator."""

    exit_code = 4


class UnknownNameError(AdvisorError):
    """A finding code, metric or setting of that name does not exist."""

    exit_code = 2
