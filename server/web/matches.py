"""The HTTP API for matches: the list of finished matches, a match with its moves, its views."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from http import HTTPStatus
from typing import Any

import msgspec
import structlog
from aiohttp import web
from msgspec.structs import replace

from engine.game import Game, GameError, GameFault
from engine.rules.numbering import length_text
from server.codes import Code
from server.events import Moved, RoomEvent, TookBack, parse_event_body
from server.ids import MatchId
from server.limits.by_address import LimitExceeded, RateLimit
from server.ports import Ports
from server.protocol import messages as wire
from server.protocol.views import format_played
from server.rooms import notation
from server.rooms.clock import Clock
from server.rooms.clock_log import ClockReader
from server.rooms.record import moves_of
from server.store.base import StoredMatch
from server.time_controls import UNTIMED
from server.web.answers import (
    ORIGIN,
    ApiError,
    json_answer,
    query_number,
    raw_answer,
    rules_failed,
    too_many_requests,
)
from server.web.games import format_entries
from server.web.match_list import parse_cursor, parse_filter, read_page
from server.web.replays import Replays
from server.web.senders import guest_of, room_for
from server.web.thoughts import Thoughts

log = structlog.get_logger()

#: Maximum number of matches or views in one response.
PAGE = 100
#: Maximum number of plies whose assessments are in one response.
ASSESSED_PLIES = 40
#: Capacity of the cache of finished matches, in moves. The cache saves reading the room's log for
#: each page of a replay.
CACHED_MOVES = 200_000
#: Log entries per read from the store, which the event loop parses without a pause.
LOG_PAGE = 250
#: Moves of an old log that get their notation before the event loop may serve other requests.
NOTATION_BATCH = 20
#: Number of start positions whose first seat is cached.
CACHED_STARTS = 1000
#: Cache-Control of a response that never changes.
IMMUTABLE = "public, max-age=31536000, immutable"

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.decode

#: The moves of a match, as clients receive them.
Moves = tuple[wire.Played, ...]


class Record(msgspec.Struct, frozen=True):
    """The moves of a match that were not taken back, the versions of their events, and the time
    that each move took, in ms.

    In a match with a clock that is the time which the clock counted, `left_ms` are the times that
    the movers had after their moves, and `clock` is the clock after the last event.
    """

    moves: Moves
    versions: tuple[int, ...]
    spent_ms: tuple[int, ...]
    left_ms: tuple[int | None, ...] = ()
    clock: Clock | None = None


class Matches:
    """The handlers, each documented in docs/reference/protocol.md."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        self._replays = Replays()
        self._thoughts = Thoughts(ports)
        settings = ports.settings
        self._rate = RateLimit(
            "pages of replays", settings.limit_replays_burst, settings.limit_replays_per_minute
        )
        #: The records of finished matches, the least recently used match first.
        self._finished: OrderedDict[MatchId, Record] = OrderedDict()
        self._cached_moves = 0

    def routes(self) -> list[web.RouteDef]:
        """The routes of the handlers."""
        return [
            web.get("/api/matches", self.matches),
            web.get("/api/rooms/{room}/matches", self.room_matches),
            web.get("/api/matches/{match}", self.match),
            web.get("/api/matches/{match}/views", self.views),
            web.get("/api/matches/{match}/assessments", self.assessments),
        ]

    async def matches(self, request: web.Request) -> web.Response:
        """Lists finished public matches with at least one move, newest first. With a player, those
        of unlisted rooms that the sender has played are in the list too.

        A page has at most `?limit=` matches, and fewer where the server would have to look at too
        many others; then its `next` or `previous` goes on all the same. `?before=` takes the `next`
        of another page, for older matches, and `?after=` its `previous`, for newer ones. The
        filters are `?player=`, an identity; `?game=`; `?result=`: `first` or `second` for the seat
        that won, `drawn`, and with a player `won` or `lost`; `?speed=`, the class of the clock:
        `bullet`, `blitz`, `rapid`, `classical` or `untimed`; `?min_plies=` and `?max_plies=`;
        `?since=` and `?until=`, in seconds since 1970.

        `clock` is the text of the time control, null for none. The `over` of a match with a clock
        has `clocks_ms`, what both sides had left.
        """
        limit = query_number(request, "limit", 30, 1, PAGE)
        wanted = parse_filter(request)
        if wanted.player is not None:
            guest = await guest_of(request, self._ports)
            wanted = replace(wanted, viewer=None if guest is None else guest.id)
        before, after = parse_cursor(request, "before"), parse_cursor(request, "after")
        store = self._ports.store.projections
        rows, cursors = await read_page(store, limit, wanted, before, after)
        return json_answer(
            {
                "matches": [self.entry(row, row.plies or 0) for row in rows],
                "next": cursors.older,
                "previous": cursors.newer,
            }
        )

    async def room_matches(self, request: web.Request) -> web.Response:
        """Lists the last matches of a room, newest first, at most PAGE of them.

        Its `matches` have entries as in `GET /api/matches`; a match that is running has no `over`.
        Who knows the room's id may follow the room and sees the same.
        """
        room = request.match_info["room"][:64]
        rows = await self._ports.store.projections.room_matches(room, PAGE)
        return json_answer({"matches": [self.entry(row, row.plies or 0) for row in rows]})

    async def match(self, request: web.Request) -> web.Response:
        """Answers with a match, its moves, the time that each took and the AI's analyses. `formats`
        are those of its exports, the usual one first. In a match with a clock `spent_ms` is the
        time that the clock counted, and `left_ms` has for each move what its player then had left.

        The `room` of an unlisted match is there for its players only; `public` is there for those
        of public rooms, which other pages may show. If the sender may not see the analyses while
        the match is running, `withheld` says why.
        """
        match = await self._find(request.match_info["match"])
        record = await self.record(match)
        moves = record.moves
        withheld = await self._thoughts.reason_to_withhold(request, match)
        thoughts = {}
        if withheld is None:
            thoughts = await self._thoughts.reports(match, record.versions)
        room = await room_for(request, self._ports, match)
        entry = self.entry(match, len(moves)) | {"room": room}
        try:
            view = self._ports.find_game(match.game).board(_decode(match.options))
        except Exception as error:
            # The game is missing or broken; the moves are readable without it.
            log.warning(
                "match without its game", match=match.match, game=match.game, error=str(error)
            )
            view = None
        body = {
            **entry, "start": match.start, "rules": match.rules, "moves": moves, "view": view,
            "spent_ms": record.spent_ms, "thoughts": thoughts,
            **({} if match.clock is None else {"left_ms": record.left_ms}),
            "formats": format_entries(match.game),
            **({} if withheld is None else {"withheld": withheld}),
            **({"public": True} if match.public else {}),
        }  # fmt: skip
        return json_answer(body)

    async def views(self, request: web.Request) -> web.Response:
        """Answers with the views from ply `?from=` to ply `?to=`, at most PAGE of them.

        Those of a finished match never change; moves of a running one may be taken back.
        """
        match = await self._find(request.match_info["match"])
        moves = (await self.record(match)).moves
        first = query_number(request, "from", 0, 0, len(moves))
        last = min(
            query_number(request, "to", len(moves), first, 2**31), len(moves), first + PAGE - 1
        )
        page = await self._render_views(request, match, moves, first, last)
        is_whole_range = request.query.get("to") is not None and last == int(request.query["to"])
        is_final = is_whole_range and match.last_v is not None
        return raw_answer(b'{"views":[' + page + b"]}", IMMUTABLE if is_final else "no-cache")

    async def assessments(self, request: web.Request) -> web.Response:
        """Answers with the AI's searches in words, for the moves from ply `?from=` to ply `?to=`.

        It answers for at most ASSESSED_PLIES plies, with those at which an AI moved, and with none
        to a sender who may not see them.
        """
        match = await self._find(request.match_info["match"])
        record = await self.record(match)
        end = len(record.moves)
        first = query_number(request, "from", 0, 0, end)
        last = min(query_number(request, "to", end, first, 2**31), first + ASSESSED_PLIES - 1)
        withheld = await self._thoughts.reason_to_withhold(request, match)
        if withheld is not None:
            return json_answer({"assessments": {}, "withheld": withheld})
        try:
            self._rate.take(request[ORIGIN].address, self._ports.uptime_ms() / 1000)
            game = self._ports.find_game(match.game)
        except LimitExceeded as limit:
            raise too_many_requests(limit) from limit
        except Exception as error:  # the game is missing or broken
            raise _game_changed(error) from error
        tokens = [played.move for played in record.moves]
        made = await self._thoughts.assessments(
            match, game, tokens, record.versions[: last + 1], first
        )
        return json_answer({"assessments": made})

    async def find_searchable(
        self, request: web.Request, match_id: str
    ) -> tuple[StoredMatch, list[str]]:
        """A match with the tokens of its moves, for a search of its positions.

        Raises ApiError if the sender may not see searches of it yet, and while two people play it
        without help.
        """
        match = await self._find(match_id)
        withheld = await self._thoughts.reason_to_withhold(request, match)
        withheld = withheld or await self._thoughts.reason_for_no_help(match)
        if withheld is not None:
            raise ApiError(HTTPStatus.FORBIDDEN, Code.TRACE_WITHHELD, withheld)
        return match, [played.move for played in (await self.record(match)).moves]

    async def reason_for_no_help(self, match: StoredMatch) -> str | None:
        """Why nobody may have help with the positions of a match, in a sentence; None if they may.

        So it is while two people play it without help.
        """
        return await self._thoughts.reason_for_no_help(match)

    async def find_with_moves(self, match_id: str) -> tuple[StoredMatch, list[str]]:
        """A match with the tokens of its moves. Raises ApiError if there is no such match."""
        match = await self._find(match_id)
        return match, [played.move for played in (await self.record(match)).moves]

    async def _render_views(
        self, request: web.Request, match: StoredMatch, moves: Moves, first: int, last: int
    ) -> bytes:
        address = request[ORIGIN].address
        try:
            start = self._ports.find_game(match.game).position(match.start, _decode(match.options))
            return await self._replays.page(
                match.match, start, [played.move for played in moves], first, last,
                charge=lambda: self._rate.take(address, self._ports.uptime_ms() / 1000),
                has_left=lambda: request.transport is None,
            )  # fmt: skip
        except LimitExceeded as limit:
            raise too_many_requests(limit) from limit
        except ConnectionError:
            raise
        except Exception as error:
            raise _game_changed(error) from error

    async def _find(self, match_id: str) -> StoredMatch:
        match = await self._ports.store.projections.match(MatchId(match_id[:64]))
        if match is None:
            raise ApiError(HTTPStatus.NOT_FOUND, Code.MATCH_UNKNOWN, "there is no such match")
        return match

    async def record(self, match: StoredMatch) -> Record:
        """The record of a match, from the cache if it is finished."""
        cached = self._finished.get(match.match)
        if cached is not None:
            self._finished.move_to_end(match.match)
            return cached
        record = await self.read_record(match)
        if match.last_v is not None and match.match not in self._finished:
            self._finished[match.match] = record
            self._cached_moves += len(record.moves) + 1
            while self._cached_moves > CACHED_MOVES:
                self._cached_moves -= len(self._finished.popitem(last=False)[1].moves) + 1
        return record

    async def read_record(
        self, match: StoredMatch, on_event: Callable[[RoomEvent, int], None] | None = None
    ) -> Record:
        """The record of a match, from its room's log.

        `on_event` is called with each event from the match's start on, and its time in ms.
        """
        events: list[tuple[int, RoomEvent]] = []
        spent_ms: dict[int, int] = {}
        v, turn_began_ms = match.first_v - 1, match.started_ms
        reader = ClockReader(match.match)
        while page := await self._ports.store.logs.events(match.room, v, LOG_PAGE):
            for entry in page:
                event = parse_event_body(entry.body)
                reader.read(event, entry.at_ms)
                if on_event is not None:
                    on_event(event, entry.at_ms)
                if isinstance(event, Moved | TookBack):
                    events.append((entry.v, event))
                    spent_ms[entry.v] = max(0, entry.at_ms - turn_began_ms)
                    turn_began_ms = entry.at_ms
                v = entry.v
            if match.last_v is not None and v >= match.last_v:
                break
        recorded = moves_of(events, match.match)
        moves = await self._with_notation(match, [move.event for move in recorded])
        versions = tuple(move.v for move in recorded)
        counted_ms = [
            spent_ms[move.v] if move.event.spent_ms is None else move.event.spent_ms
            for move in recorded
        ]
        return Record(
            moves, versions, tuple(counted_ms),
            tuple([move.event.clock_ms for move in recorded]),
            reader.clock,
        )  # fmt: skip

    async def _with_notation(self, match: StoredMatch, moves: list[Moved]) -> Moves:
        """The moves with their numbers and notation, which old logs lack."""
        try:
            game = self._ports.find_game(match.game)
            is_incomplete = game.rules.notation is not None and any(
                move.text is None for move in moves
            )
            position = game.position(match.start, _decode(match.options)) if is_incomplete else None
        except Exception:  # the game is missing or broken
            return tuple(format_played(notation.played_move(move, None, None)) for move in moves)
        played = []
        for ply, move in enumerate(moves, 1):
            if position is not None:
                try:
                    position = position.replay(move.move)
                except (GameError, GameFault):  # the rules have changed since
                    position = None
                if ply % NOTATION_BATCH == 0:
                    await asyncio.sleep(0)
            played.append(format_played(notation.played_move(move, game, position)))
        return tuple(played)

    def title(self, game_id: str) -> str:
        """The title of a game, or its id if this server does not have it."""
        try:
            return self._ports.find_game(game_id).title
        except Exception:  # the game is missing or broken
            return game_id

    def entry(self, match: StoredMatch, plies: int) -> dict[str, Any]:
        """The entry of a match in the list of matches."""
        try:
            game = self._ports.find_game(match.game)
            title, length, options_text = (
                game.title,
                length_text(game, plies, _first_seat(game, match.start, match.options)),
                game.options_text(_decode(match.options)),
            )
        except Exception:  # the game is missing or broken
            title, length, options_text = match.game, length_text(None, plies), ""
        return {
            "match": match.match, "room": match.room, "game": match.game, "title": title,
            "number": match.number, "options": msgspec.Raw(match.options),
            "options_text": options_text,
            "seats": msgspec.Raw(match.seats),
            "over": msgspec.Raw(match.over) if match.over else None,
            "plies": plies, "length": length,
            "clock": match.clock, "speed": match.speed or UNTIMED,
            "started_ms": match.started_ms, "finished_ms": match.finished_ms,
        }  # fmt: skip


def _game_changed(error: Exception) -> ApiError:
    """The refusal for a match whose game is missing, broken or has changed."""
    message = "this server no longer has the rules of this match"
    return rules_failed(error, message, Code.GAME_CHANGED)


@lru_cache(CACHED_STARTS)
def _first_seat(game: Game, start: str, options: bytes) -> int:
    return notation.first_seat(game, start, _decode(options))
