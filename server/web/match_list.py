"""The query for the list of matches: its filters, and the cursors of its pages."""

from http import HTTPStatus
from typing import cast, get_args

from aiohttp import web
from msgspec import Struct

from server.codes import Code
from server.store.base import MatchPage, ProjectionStore, StoredMatch
from server.store.match_filter import Key, MatchFilter, ResultFilter
from server.time_controls import Speed
from server.web.answers import ApiError, query_number

#: Maximum length of an id in a filter, in characters.
MAX_FILTER = 100
#: Maximum number of plies in a filter.
MAX_PLIES = 100_000
#: The latest time in a filter, in seconds since 1970: the year 5138.
MAX_SECONDS = 10**11 - 1
#: The results in a filter.
RESULTS = get_args(ResultFilter)
#: The classes of clocks in a filter.
SPEEDS = get_args(Speed)
#: The results that need a player.
OWN_RESULTS = ("won", "lost")


def parse_filter(request: web.Request) -> MatchFilter:
    """The filter of a request for the list. Raises ApiError for a malformed value."""
    query = request.query
    player, result = _text(query.get("player")), query.get("result") or None
    if result is not None and result not in RESULTS:
        raise _malformed(f"result is one of {', '.join(RESULTS)}")
    if result in OWN_RESULTS and player is None:
        raise _malformed(f"the result {result} is that of a player: name one with player")
    return MatchFilter(
        player=player,
        game=_text(query.get("game")),
        result=cast(ResultFilter | None, result),
        speed=_parse_speed(query.get("speed")),
        min_plies=query_number(request, "min_plies", 1, 1, MAX_PLIES),
        max_plies=_number(request, "max_plies", MAX_PLIES),
        since_ms=_seconds(request, "since"),
        until_ms=_seconds(request, "until"),
    )


def _parse_speed(text: str | None) -> Speed | None:
    if text and text not in SPEEDS:
        raise _malformed(f"speed is one of {', '.join(SPEEDS)}")
    return cast(Speed, text) if text else None


class Cursors(Struct, frozen=True):
    """The cursors of a page: of the older matches and of the newer ones, None without any."""

    older: str | None
    newer: str | None


async def read_page(
    store: ProjectionStore, limit: int, wanted: MatchFilter, before: Key | None, after: Key | None
) -> tuple[list[StoredMatch], Cursors]:
    """Returns a page of the list, newest first, with its cursors.

    A page after a match that is not full is the newest page, whole, unless there are too many
    matches to look at. A page that is not full for that reason has a cursor all the same.
    """
    page = await store.matches(limit, None if after else before, wanted, after=after)
    is_newest = after is not None and page.rest is None and len(page.rows) < limit
    if is_newest:
        before, after, page = None, None, await store.matches(limit, None, wanted)
    has_more = page.rest is not None or len(page.rows) == limit
    if after is not None:
        older = _cursor_of(page.rows[-1]) if page.rows else _format((after[0] + 1, ""))
        return page.rows, Cursors(older, _further(page, 0))
    newer = None
    if before is not None:
        newer = _cursor_of(page.rows[0]) if page.rows else _format((before[0], ""))
    return page.rows, Cursors(_further(page, -1) if has_more else None, newer)


def _further(page: MatchPage, edge: int) -> str:
    """The cursor of the matches beyond a page, which has at its edge the match with this index."""
    return _cursor_of(page.rows[edge]) if page.rest is None else _format(page.rest)


def _cursor_of(match: StoredMatch) -> str:
    """The cursor of a page that begins after this match, in either direction."""
    return _format((match.finished_ms or 0, match.match))


def _format(key: Key) -> str:
    return f"{key[0]}-{key[1]}"


def parse_cursor(request: web.Request, name: str) -> Key | None:
    """The cursor in a parameter of a request; None without one. Raises ApiError."""
    text = request.query.get(name)
    if not text:
        return None
    at_ms, dash, match = text.partition("-")
    if not (at_ms.isascii() and at_ms.isdigit() and len(at_ms) < 16 and dash):
        raise _malformed(f"{name} is the `next` or the `previous` of another page")
    return int(at_ms), match


def _text(text: str | None) -> str | None:
    """The id in a filter; None for no filter."""
    if text is not None and not (len(text) <= MAX_FILTER and text.isprintable()):
        raise _malformed("a filter is the id of a player or game")
    return text or None


def _number(request: web.Request, name: str, maximum: int) -> int | None:
    return None if name not in request.query else query_number(request, name, 0, 0, maximum)


def _seconds(request: web.Request, name: str) -> int | None:
    """A time in a filter, in ms; the parameter has it in seconds since 1970."""
    seconds = _number(request, name, MAX_SECONDS)
    return None if seconds is None else 1000 * seconds


def _malformed(message: str) -> ApiError:
    return ApiError(HTTPStatus.BAD_REQUEST, Code.MESSAGE_MALFORMED, message)
