"""Changes of settings: noted when a report shows them, measured by later ones, and read for pages and the API.

Everything about a change is in the store, so that it goes on where it was after the service was started anew.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Final, TypeVar

import msgspec

from advisor.analysis.changes import ChangeRules, basis_of, is_settled, measure, state_of
from advisor.model.change import ChangeBasis, ChangeMeasurement, ChangePrediction, ChangeState
from advisor.model.fleet import FleetVerdict
from advisor.model.report import Report
from advisor.store.errors import StoreReadError
from advisor.store.records import ChangeRow, ReportRow
from advisor.store.store import Store
from advisor.web.state import decoded

__all__ = ["Change", "ChangeLog", "Move", "changes_of"]

_LOG: Final = logging.getLogger(__name__)
_AT_ONCE: Final = 5
"""Settings that there are: as many rows may be one change."""
_Read = TypeVar("_Read")
_PREDICTION: Final = msgspec.json.Decoder(ChangePrediction)
_BASIS: Final = msgspec.json.Decoder(ChangeBasis)
_MEASUREMENT: Final = msgspec.json.Decoder(ChangeMeasurement)


@dataclass(frozen=True, slots=True)
class Move:
    """One setting of a change, from what to what."""

    setting: str
    before: float | None
    after: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Settings that were seen to change together.

    Attributes:
        id: of its first row.
        time: when it was seen, in Unix seconds; it was made since the report before.
        moves: what was set.
        predicted: what the report before predicted; None where that report could not be read.
        measured: what was measured after it; None as long as nothing was.
        state: what is known of it so far.
        following: when the next change was seen; None where there is none.
    """

    id: int
    time: float
    moves: tuple[Move, ...]
    predicted: ChangePrediction | None
    measured: ChangeMeasurement | None
    state: ChangeState
    following: float | None


class ChangeLog:
    """Notes changes, and measures what they did.

    Args:
        store: where they are kept.
        rules: when what follows a change is taken for its effect; may be set anew.
    """

    def __init__(self, store: Store, rules: ChangeRules) -> None:
        self._store = store
        self.rules = rules

    def follow(
        self, operator: str, time: float, number: int, report: Report, before: tuple[ReportRow, FleetVerdict]
    ) -> None:
        """Take a report that was just kept.

        Args:
            operator: whose it is.
            time: Unix time of the analysis.
            number: its id.
            report: the report.
            before: the report before it, and what this one comes to.

        Raises:
            StoreWriteError: it was not kept.
        """
        last, verdict = before
        moves = list(_moves(last.verdict, verdict))
        if moves:
            self._store.add_changes(operator, time, moves, self._predicted(last, report))
        else:
            self._measure(operator, time, number, report)

    def _predicted(self, last: ReportRow, report: Report) -> bytes | None:
        """What the report before says of settings as they are now; None where it cannot be read."""
        try:
            document = self._store.document(last.id)
            before = None if document is None else decoded(document)
        except (StoreReadError, msgspec.DecodeError) as error:
            _LOG.warning("%s: what was predicted of a change cannot be told: %s", last.operator, error)
            return None
        if before is None:
            return None
        return msgspec.json.encode(basis_of(before, last.id, last.time, report.settings))

    def _measure(self, operator: str, time: float, number: int, report: Report) -> None:
        """Hold a report against what was before the last change, as long as that is not measured."""
        since = time - self.rules.watch_seconds
        rows = next(_together(self._store.changes(operator, since=since, limit=_AT_ONCE)), [])
        if not rows:
            return
        change = rows[0]
        kept, basis = _read(_MEASUREMENT, change.measured), _read(_BASIS, change.predicted)
        if basis is None or (kept is not None and is_settled(kept.comparison)):
            return
        found = measure(basis.before, report, change.time, self.rules)
        if found is not None and (kept is None or is_settled(found)):
            measured = ChangeMeasurement(report=number, time=time, comparison=found)
            self._store.set_outcome(change.id, None, msgspec.json.encode(measured))


def _read(decoder: "msgspec.json.Decoder[_Read]", document: bytes | None) -> _Read | None:
    """A document; None where there is none, or one of a version that this one does not know."""
    try:
        return None if document is None else decoder.decode(document)
    except msgspec.DecodeError:
        return None


def _moves(before: FleetVerdict, after: FleetVerdict) -> Iterator[tuple[str, float, float]]:
    """What was set otherwise since the report before; a value that is not known is no change."""
    known = dict(before.knobs())
    for setting, knob in after.knobs():
        old = known[setting].current if setting in known else None
        if old is not None and knob.current is not None and old != knob.current:
            yield setting, old, knob.current


def _together(rows: Sequence[ChangeRow]) -> Iterator[list[ChangeRow]]:
    """Rows that are one change to people, as they were seen at the same time; each in the order of its settings."""
    for _, group in groupby(rows, key=lambda row: row.time):
        yield list(group)[::-1]


def changes_of(
    store: Store, operator: str, now: float, rules: ChangeRules, *, before_id: int | None = None, limit: int = 50
) -> list[Change]:
    """Changes of an operator, the last one first.

    Args:
        store: where they are.
        operator: whose.
        now: Unix time.
        rules: how long is waited for a measurement.
        before_id: only those before the change of that id, as for the next page.
        limit: how many at most.
    """
    rows = store.changes(operator, before_id=before_id, limit=_AT_ONCE * limit)
    groups = list(_together(rows))[:limit]
    following = _following(store, operator, before_id)
    times = [following, *(rows[0].time for rows in groups)]
    return [_change(rows, later, now, rules) for rows, (later, _) in zip(groups, pairwise(times), strict=True)]


def _following(store: Store, operator: str, before_id: int | None) -> float | None:
    """The time of the change with an id; None where there is no id."""
    if before_id is None:
        return None
    later = store.changes(operator, limit=1, before_id=before_id + 1)
    return later[0].time if later and later[0].id == before_id else None


def _change(rows: Sequence[ChangeRow], following: float | None, now: float, rules: ChangeRules) -> Change:
    first = rows[0]
    measured = _read(_MEASUREMENT, first.measured)
    return Change(
        id=first.id,
        time=first.time,
        moves=tuple(Move(row.setting, row.before, row.after) for row in rows),
        predicted=_read(_PREDICTION, first.predicted),
        measured=measured,
        state=state_of(None if measured is None else measured.comparison, first.time, following, now, rules),
        following=following,
    )
