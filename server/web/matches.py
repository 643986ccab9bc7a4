"""The HTTP API for matches: the list of finished ones, a match with its moves, and its views."""

import asyncio
from collections import OrderedDict
from functools import lru_cache
from http import HTTPStatus
from typing import Any

import msgspec
import structlog
from aiohttp import web

from engine.game import Game, GameError, GameFault
from engine.rules.numbering import length_text
from server.limits.by_address import LimitExceeded, Rates
from server.ports import Ports
from server.protocol import messages as wire
from server.protocol.codec import parse_event_body
from server.protocol.codes import Code
from server.rooms import notation
from server.store.base import StoredMatch
from server.web.answers import ORIGIN, ApiError, json_answer, number, raw_answer, too_many
from server.web.replays import Replays

log = structlog.get_logger()

#: Most matches or views in one answer.
PAGE = 100
#: Moves of finished matches in the cache, which saves reading the room's log for each page of a
#: replay.
KEPT_MOVES = 200_000
#: Log entries per read; they are parsed without a pause.
LOG_PAGE = 250
#: Moves of an old log that receive their notation before other requests are served.
AT_ONCE = 20
#: Start positions whose first seat is cached.
STARTS = 1000
#: Cache-Control of an answer that never changes.
IMMUTABLE = "public, max-age=31536000, immutable"

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.decode

Moves = tuple[wire.Played, ...]


class Matches:
    """The handlers, each documented in docs/reference/protocol.md."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._replays = Replays()
        settings = ports.settings
        self._rate = Rates(
            "pages of replays", settings.limit_replays_burst, settings.limit_replays_per_minute
        )
        self._finished: OrderedDict[str, Moves] = OrderedDict()
        self._kept_moves = 0

    def routes(self) -> list[web.RouteDef]:
        """The routes of the handlers."""
        return [
            web.get("/api/matches", self.matches),
            web.get("/api/matches/{match}", self.match),
            web.get("/api/matches/{match}/views", self.views),
        ]

    async def matches(self, request: web.Request) -> web.Response:
        """Finished public matches, newest first: at most `?limit=` of them, after the `next` cursor
        of the previous page in `?before=`.
        """
        limit = number(request, "limit", 30, 1, PAGE)
        before = request.query.get("before")
        found = await self._ports.store.matches(limit, _parse_cursor(before) if before else None)
        following = _format_cursor(found[-1]) if len(found) == limit else None
        return json_answer(
            {"matches": [self._entry(one, one.plies or 0) for one in found], "next": following}
        )

    async def match(self, request: web.Request) -> web.Response:
        """One match with its moves and the AI's thoughts."""
        found = await self._find(request)
        moves = await self._moves(found)
        thoughts = await self._ports.store.thoughts(found.match)
        entry = self._entry(found, len(moves))
        try:
            view = self._ports.find_game(found.game).board(_decode(found.options))
        except Exception as error:
            # The game is gone or broken; the moves are readable without it.
            log.warning(
                "match without its game", match=found.match, game=found.game, error=str(error)
            )
            view = None
        body = {
            **entry, "start": found.start, "rules": found.rules, "moves": moves, "view": view,
            "thoughts": {str(one.ply): msgspec.Raw(one.body) for one in thoughts},
        }  # fmt: skip
        return json_answer(body)

    async def views(self, request: web.Request) -> web.Response:
        """The views from ply `?from=` to ply `?to=`; immutable once those plies are played."""
        found = await self._find(request)
        moves = await self._moves(found)
        first = number(request, "from", 0, 0, len(moves))
        last = min(number(request, "to", len(moves), first, 2**31), len(moves), first + PAGE - 1)
        page = await self._draw(request, found, moves, first, last)
        complete = request.query.get("to") is not None and last == int(request.query["to"])
        return raw_answer(b'{"views":[' + page + b"]}", IMMUTABLE if complete else "no-cache")

    async def _draw(
        self, request: web.Request, found: StoredMatch, moves: Moves, first: int, last: int
    ) -> bytes:
        address = request[ORIGIN].address
        try:
            start = self._ports.find_game(found.game).position(found.start, _decode(found.options))
            return await self._replays.page(
                found.match, start, [one.move for one in moves], first, last,
                charge=lambda: self._rate.take(address, self._ports.now_ms() / 1000),
                gone=lambda: request.transport is None,
            )  # fmt: skip
        except LimitExceeded as limit:
            raise too_many(limit) from limit
        except ConnectionError:
            raise
        except Exception as error:
            raise ApiError(
                HTTPStatus.CONFLICT,
                Code.GAME_CHANGED,
                "the rules of this match are not here any more",
            ) from error

    async def _find(self, request: web.Request) -> StoredMatch:
        found = await self._ports.store.match(request.match_info["match"][:64])
        if found is None:
            raise ApiError(HTTPStatus.NOT_FOUND, Code.MATCH_UNKNOWN, "there is no such match")
        return found

    async def _moves(self, found: StoredMatch) -> Moves:
        """The moves of a match; those of finished matches are cached."""
        kept = self._finished.get(found.match)
        if kept is not None:
            self._finished.move_to_end(found.match)
            return kept
        moves = await self._read_moves(found)
        if found.last_v is not None and found.match not in self._finished:
            self._finished[found.match] = moves
            self._kept_moves += len(moves) + 1
            while self._kept_moves > KEPT_MOVES:
                self._kept_moves -= len(self._finished.popitem(last=False)[1]) + 1
        return moves

    async def _read_moves(self, found: StoredMatch) -> Moves:
        """Reads a match's moves from its room's log."""
        moves: list[wire.Moved] = []
        v = found.first_v
        while page := await self._ports.store.events(found.room, v, LOG_PAGE):
            for entry in page:
                event = parse_event_body(entry.body)
                if isinstance(event, wire.Moved) and event.match == found.match:
                    moves.append(event)
                v = entry.v
            if found.last_v is not None and v >= found.last_v:
                break
        return await self._with_notation(found, moves)

    async def _with_notation(self, found: StoredMatch, moves: list[wire.Moved]) -> Moves:
        """Adds numbers and notation to the moves, which old logs do not hold."""
        try:
            game = self._ports.find_game(found.game)
            lacks = game.rules.notation is not None and any(move.text is None for move in moves)
            position = game.position(found.start, _decode(found.options)) if lacks else None
        except Exception:  # a game that is gone still has its matches
            return tuple(notation.played(move, None, None) for move in moves)
        played = []
        for ply, move in enumerate(moves, 1):
            if position is not None:
                try:
                    position = position.replay(move.move)
                except (GameError, GameFault):  # the rules have changed since
                    position = None
                if ply % AT_ONCE == 0:
                    await asyncio.sleep(0)
            played.append(notation.played(move, game, position))
        return tuple(played)

    def _entry(self, found: StoredMatch, plies: int) -> dict[str, Any]:
        try:
            game = self._ports.find_game(found.game)
            title, length = (
                game.title,
                length_text(game, plies, _first_seat(game, found.start, found.options)),
            )
        except Exception:  # a game that is gone still has its matches
            title, length = found.game, length_text(None, plies)
        return {
            "match": found.match, "room": found.room, "game": found.game, "title": title,
            "number": found.number, "options": msgspec.Raw(found.options),
            "seats": msgspec.Raw(found.seats),
            "over": msgspec.Raw(found.over) if found.over else None,
            "plies": plies, "length": length,
            "started_ms": found.started_ms, "finished_ms": found.finished_ms,
        }  # fmt: skip


@lru_cache(STARTS)
def _first_seat(game: Game, start: str, options: bytes) -> int:
    return notation.first_seat(game, start, _decode(options))


def _format_cursor(match: StoredMatch) -> str:
    return f"{match.finished_ms}-{match.match}"


def _parse_cursor(text: str) -> tuple[int, str]:
    at_ms, _, match = text.partition("-")
    if not (at_ms.isascii() and at_ms.isdigit() and len(at_ms) < 16 and match):
        raise ApiError(
            HTTPStatus.BAD_REQUEST, Code.MESSAGE_MALFORMED, "before is the next of the page before"
        )
    return int(at_ms), match
