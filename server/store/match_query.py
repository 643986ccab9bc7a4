"""The queries for a page of finished matches, in SQL.

The first query finds how far the second one may look. Both use the same index: of the player, of
the game, or of all public matches. The conditions on other columns are written so that no index can
serve them, because the rows of another index have no limit.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    LargeBinary,
    Select,
    and_,
    case,
    false,
    func,
    or_,
    select,
    union_all,
)
from sqlalchemy.sql.base import ReadOnlyColumnCollection
from sqlalchemy.sql.selectable import SelectBase

from server.store import tables as t
from server.store.match_filter import NO_RESULT, OVER_PREFIXES, Key, MatchFilter
from server.time_controls import UNTIMED

_COLUMNS = t.matches.c


def _begins_with(prefix: bytes) -> ColumnElement[bool]:
    """Whether the stored result of a match begins with `prefix`."""
    return func.substr(_COLUMNS.over, 1, len(prefix), type_=LargeBinary) == prefix


#: The winner of a finished match. That of a match of an older program follows from its result.
winner_column: ColumnElement[int] = func.coalesce(
    _COLUMNS.winner,
    case(*((_begins_with(prefix), winner) for prefix, winner in OVER_PREFIXES), else_=NO_RESULT),
)


class MatchScan:
    """The queries for the page `before` a match, or `after` one, with the next newer matches."""

    def __init__(self, wanted: MatchFilter, before: Key | None, after: Key | None) -> None:
        c = _COLUMNS
        self._wanted = wanted
        self._is_newer = after is not None
        self._times = [c.finished_ms.is_not(None), *_dates(wanted)]
        self._is_beyond_key: list[ColumnElement[bool]] = []
        if after is not None:
            at_ms, match = after
            self._times.append(c.finished_ms >= at_ms)
            self._is_beyond_key.append(or_(c.finished_ms > at_ms, c.id > match))
        elif before is not None:
            at_ms, match = before
            self._times.append(c.finished_ms <= at_ms)
            self._is_beyond_key.append(or_(c.finished_ms < at_ms, c.id < match))

    def ends(self, scan_limit: int) -> SelectBase:
        """The query for the times of the first matches beyond the limit, one for each index.

        It reads the index alone. It may count matches that finished at the time of the key.
        """
        finished_ms = _COLUMNS.finished_ms
        order = finished_ms if self._is_newer else finished_ms.desc()
        parts = [
            select(finished_ms).where(condition, *self._times)
            .order_by(order).limit(1).offset(scan_limit).subquery()
            for condition in _indexed(self._wanted)
        ]  # fmt: skip
        return union_all(*map(select, parts))

    def rows(
        self, columns: Sequence[ColumnElement[Any]], end_ms: int | None, limit: int
    ) -> SelectBase:
        """The query for the matches up to those that finished at `end_ms`."""
        parts = [
            self._rows_of(index, columns, end_ms, limit) for index in _indexed(self._wanted)
        ]  # fmt: skip
        if len(parts) == 1:
            return parts[0]
        first, second = parts
        second = second.where(func.coalesce(_COLUMNS.first, "") != self._wanted.player)
        both = union_all(*(select(part.subquery()) for part in (first, second)))
        return both.order_by(*self._order(both.exported_columns)).limit(limit)

    def _rows_of(
        self,
        index: ColumnElement[bool],
        columns: Sequence[ColumnElement[Any]],
        end_ms: int | None,
        limit: int,
    ) -> Select[Any]:
        """The query for the matches that one index has."""
        finished_ms = _COLUMNS.finished_ms
        conditions = [index, *self._times, *self._is_beyond_key, *_accepted(self._wanted)]
        if end_ms is not None:
            conditions.append(finished_ms < end_ms if self._is_newer else finished_ms > end_ms)
        return select(*columns).where(*conditions).order_by(*self._order(_COLUMNS)).limit(limit)

    def _order(self, columns: ReadOnlyColumnCollection[str, Any]) -> list[ColumnElement[Any]]:
        """The order of the scan."""
        keys = [columns.finished_ms, columns.id]
        return keys if self._is_newer else [key.desc() for key in keys]


def _indexed(wanted: MatchFilter) -> list[ColumnElement[bool]]:
    """The conditions on the first column of an index; a match of the list meets one of them."""
    c = _COLUMNS
    if wanted.player is not None:
        return [c.first == wanted.player, c.second == wanted.player]
    return [c.public.is_(True) if wanted.game is None else c.game == wanted.game]


def _dates(wanted: MatchFilter) -> Iterator[ColumnElement[bool]]:
    if wanted.since_ms is not None:
        yield _COLUMNS.finished_ms >= wanted.since_ms
    if wanted.until_ms is not None:
        yield _COLUMNS.finished_ms < wanted.until_ms


def _accepted(wanted: MatchFilter) -> Iterator[ColumnElement[bool]]:
    """The conditions besides player and dates. No index can serve them."""
    c = _COLUMNS
    if wanted.player is None or wanted.viewer is None:
        yield func.coalesce(c.public, false())
    elif wanted.viewer != wanted.player:
        seats = [func.coalesce(column, "") for column in (c.first, c.second)]
        yield or_(func.coalesce(c.public, false()), *(seat == wanted.viewer for seat in seats))
    yield c.plies >= wanted.min_plies
    if wanted.max_plies is not None:
        yield c.plies <= wanted.max_plies
    if wanted.game is not None:
        yield func.coalesce(c.game, "") == wanted.game
    if wanted.speed is not None:
        yield func.coalesce(c.speed, UNTIMED) == wanted.speed
    if wanted.result is not None:
        yield _has_result(wanted)


def _has_result(wanted: MatchFilter) -> ColumnElement[bool]:
    winner = wanted.wanted_winner()
    if winner is not None:
        return winner_column == winner
    seats = [func.coalesce(column, "") for column in (_COLUMNS.first, _COLUMNS.second)]
    return or_(
        *(
            and_(seats[seat] == (wanted.player or ""), winner_column == winner)
            for seat, winner in enumerate(wanted.winners_by_seat())
        )
    )
