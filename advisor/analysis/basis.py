"""What a what-if rests on, taken down by an analysis while it has the data, so that it can be asked later without them.

Nothing is run for it: an analysis takes hardly longer. Calibration is left to whoever asks.
"""

from typing import TYPE_CHECKING, Final

import msgspec

from advisor.analysis.loading import Loaded, Progress, ignore_progress
from advisor.analysis.points import measured_at, measured_beside, point_of
from advisor.analysis.ratesseen import RatesSeen, rates_seen, settings_of_rates
from advisor.errors import InputError
from advisor.model.signal import Window
from advisor.model.whatif import MeasuredValue
from advisor.twin.parameters import OperatorSettings
from advisor.twin.point import OperatingPoint

if TYPE_CHECKING:
    from advisor.analysis.situations import Situation

__all__ = ["Basis", "basis_of", "read_basis", "situation_of", "write_basis"]

_FORM: Final = 1


class Basis(msgspec.Struct, frozen=True, kw_only=True):
    """A load that was seen, with settings and figures: exactly one of ``point`` and ``rates`` is there.

    Attributes:
        name: of the operator.
        window: of the load.
        point: the load object by object.
        rates: rates and means, where no single object was seen.
        beside: what was measured that is no part of the point.
        form: of this document; one that a later program writes otherwise is not read.
    """

    name: str
    window: Window
    point: OperatingPoint | None
    rates: RatesSeen | None
    beside: tuple[MeasuredValue, ...]
    form: int = _FORM

    @property
    def settings(self) -> OperatorSettings:
        """Those that were in force."""
        if self.point is not None:
            return self.point.settings
        assert self.rates is not None  # noqa: S101 - one of the two is there
        return settings_of_rates(self.rates.signals)


_BASIS: Final = msgspec.json.Decoder(Basis)


def basis_of(name: str, loaded: Loaded) -> Basis:
    """What a what-if of an operator can rest on.

    Raises:
        NothingToAnalyseError: no load was seen, or figures that one needs are not known; the message names them.
    """
    if loaded.info.object_changes:
        found = point_of(name, loaded)
        signals = loaded.observed.signals(found.window)
        return Basis(name=name, window=found.window, point=found.point, rates=None, beside=measured_beside(signals))
    seen = rates_seen(name, loaded)
    beside = () if seen.is_told else measured_beside(seen.signals)
    return Basis(name=name, window=seen.window, point=None, rates=seen, beside=beside)


def situation_of(basis: Basis, progress: Progress = ignore_progress) -> "Situation":
    """The load in a calibrated world, as `situations.of_inputs` makes it of the data themselves.

    Raises:
        NothingToAnalyseError: figures that a load needs are not known.
    """
    # Imported here: an analysis, which has a process of its own each time, runs nothing of the twin.
    from advisor.analysis.ratesload import point_of_rates  # noqa: PLC0415
    from advisor.analysis.situations import of_points  # noqa: PLC0415

    point, notes = basis.point, tuple[str, ...]()
    if point is None:
        assert basis.rates is not None  # noqa: S101 - one of the two is there
        progress("making a load of rates and means")
        made = point_of_rates(basis.name, basis.rates)
        point, notes = made.loaded.point, (made.note,)
    return of_points((point,), (*measured_at(point), *basis.beside), notes, progress)


def write_basis(basis: Basis) -> bytes:
    """A basis as a document."""
    return msgspec.json.encode(basis)


def read_basis(document: bytes) -> Basis:
    """The basis of a document.

    Raises:
        InputError: it is none, or of another version of the program.
    """
    try:
        found = _BASIS.decode(document)
    except msgspec.MsgspecError as error:
        raise InputError(f"is no basis of a what-if: {error}", where="history") from error
    if found.form != _FORM:
        raise InputError("the basis of a what-if is of another version", where="history")
    return found
