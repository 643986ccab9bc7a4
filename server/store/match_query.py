"""The conditions of a query for finished matches, in SQL."""

from collections.abc import Iterator

from sqlalchemy import ColumnElement, LargeBinary, and_, func, or_

from server.store import tables as t
from server.store.match_filter import DRAWN_PREFIXES, WON_PREFIXES, MatchFilter

_COLUMNS = t.matches.c


def finished_before(key: tuple[int, str]) -> ColumnElement[bool]:
    """Whether a match finished before the one with this (finished_ms, match)."""
    c, (at_ms, match) = _COLUMNS, key
    return or_(c.finished_ms < at_ms, and_(c.finished_ms == at_ms, c.id < match))


def finished_after(key: tuple[int, str]) -> ColumnElement[bool]:
    """Whether a match finished after the one with this (finished_ms, match)."""
    c, (at_ms, match) = _COLUMNS, key
    return or_(c.finished_ms > at_ms, and_(c.finished_ms == at_ms, c.id > match))


def accepted(wanted: MatchFilter) -> Iterator[ColumnElement[bool]]:
    """The conditions that a match must meet for the filter to accept it."""
    c = _COLUMNS
    yield c.plies >= wanted.min_plies
    if wanted.max_plies is not None:
        yield c.plies <= wanted.max_plies
    if wanted.player is not None:
        yield or_(c.first == wanted.player, c.second == wanted.player)
    if wanted.game is not None:
        yield c.game == wanted.game
    if wanted.since_ms is not None:
        yield c.finished_ms >= wanted.since_ms
    if wanted.until_ms is not None:
        yield c.finished_ms < wanted.until_ms
    if wanted.result is not None:
        yield _has_result(wanted)


def _has_result(wanted: MatchFilter) -> ColumnElement[bool]:
    if wanted.result == "drawn":
        return or_(*map(_begins_with, DRAWN_PREFIXES))
    if wanted.result in ("first", "second"):
        return _begins_with(WON_PREFIXES[wanted.result == "second"])
    seats = (_COLUMNS.first, _COLUMNS.second)
    return or_(
        *(
            and_(seats[seat] == (wanted.player or ""), _begins_with(prefix))
            for seat, prefix in wanted.won_by(wanted.result == "won")
        )
    )


def _begins_with(prefix: bytes) -> ColumnElement[bool]:
    """Whether the stored result of a match begins with `prefix`."""
    return func.substr(_COLUMNS.over, 1, len(prefix), type_=LargeBinary) == prefix
