"""The one exception tree of kuberay-advisor.

::

    AdvisorError                      exit code 70
    +-- InputError                    exit code 3
    |   +-- InputNotFoundError        exit code 3
    |   +-- InputFormatError          exit code 3
    |   +-- StoreError                exit code 3
    |       +-- StoreUnreachableError exit code 3
    |       +-- StoreAccessError      exit code 3
    |       +-- StoreAnswerError      exit code 3
    |       +-- StoreQueryError       exit code 3
    |       +-- StoreBudgetError      exit code 3
    +-- OutputError                   exit code 3
    +-- NothingToAnalyseError         exit code 4
    +-- SettingsError                 exit code 2
    +-- UnknownNameError              exit code 2

Each error says what is wrong, where, and what to do. The command line maps an error to its ``exit_code``; library
callers catch :class:`AdvisorError`.
"""

from collections.abc import Collection
from difflib import get_close_matches
from typing import ClassVar

__all__ = [
    "AdvisorError",
    "InputError",
    "InputFormatError",
    "InputNotFoundError",
    "NothingToAnalyseError",
    "OutputError",
    "SettingsError",
    "StoreAccessError",
    "StoreAnswerError",
    "StoreBudgetError",
    "StoreError",
    "StoreQueryError",
    "StoreUnreachableError",
    "UnknownNameError",
    "nearest",
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


class StoreError(InputError):
    """A store of samples, such as a Prometheus, does not give what it was asked for.

    Args:
        message: what is wrong, one sentence without a trailing stop.
        where: the address without credentials, or the file of a credential.
        hint: what the reader can do about it, or "".
        too_much: whether less at once may succeed.
    """

    def __init__(self, message: str, *, where: str = "", hint: str = "", too_much: bool = False) -> None:
        super().__init__(message, where=where, hint=hint)
        self.too_much = too_much


class StoreUnreachableError(StoreError):
    """No connection, no trust in whom it leads to, or no whole answer in time."""


class StoreAccessError(StoreError):
    """Credentials are missing, refused, or cannot be read."""


class StoreAnswerError(StoreError):
    """The answer is not one of the Prometheus HTTP API. ``status`` is that of HTTP, 0 where it does not matter."""

    status: int = 0


class StoreQueryError(StoreError):
    """The store understood the request and refuses it.

    ``error_type`` is the API's ``errorType``, such as ``bad_data`` or ``timeout``.
    """

    error_type: str = ""


class StoreBudgetError(StoreError):
    """The number of requests that may be made is reached."""


class OutputError(AdvisorError):
    """What was made cannot be written where it should go."""

    exit_code = 3


class NothingToAnalyseError(AdvisorError):
    """The input was read, but holds no sample of a controller-runtime operator, or no KubeRay operator's Deployment."""

    exit_code = 4


class SettingsError(AdvisorError):
    """Settings contradict each other, or one of them cannot be."""

    exit_code = 2


class UnknownNameError(AdvisorError):
    """A finding code, metric or setting of that name does not exist."""

    exit_code = 2


def nearest(name: str, known: Collection[str], otherwise: str | None = None) -> str:
    """A hint on what somebody may have meant by an unknown name; without one, ``otherwise`` or all that are known."""
    # Of many names one is always a little like it: where there is another hint, only a close one is shown.
    close = get_close_matches(name, known, n=1, cutoff=0.5 if otherwise is None else 0.6)
    if close:
        return f"did you mean {close[0]}?"
    return f"known are {', '.join(known)}" if otherwise is None else otherwise
