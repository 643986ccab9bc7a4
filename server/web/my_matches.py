"""The HTTP API for the matches of the person who asks."""

from collections import OrderedDict
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

import msgspec
from aiohttp import web

from server.codes import Code
from server.ids import IdentityId, MatchId
from server.ports import Ports
from server.protocol import messages as wire
from server.protocol.views import clock_state
from server.store.base import DAY_MS, StoredMatch
from server.web.answers import ApiError, json_answer
from server.web.matches import Matches, Record
from server.web.senders import guest_of

#: Maximum number of running matches in the answer.
MAX_RUNNING = 20
#: Maximum number of finished matches in the answer.
MAX_FINISHED = 3
#: Maximum number of rooms in the answer in which the person waits for a player.
MAX_WAITING = 10
#: Time since which a room must have had a follower to be in the answer, in ms.
WAITING_MS = 7 * DAY_MS
#: Number of rooms of a person that are read to find those that wait.
READ_ROOMS = 50
#: Capacity of the cache of the seats to move, in matches.
CACHED_TURNS = 5000

_decode_summary = msgspec.json.Decoder(wire.RoomSummary).decode
_decode_options = msgspec.json.decode


class MyMatches:
    """The handler, documented in docs/reference/protocol.md."""

    def __init__(self, ports: Ports, matches: Matches) -> None:
        self._ports = ports
        self._matches = matches
        self._turns = Turns(ports, matches)

    def routes(self) -> list[web.RouteDef]:
        """The route of the handler."""
        return [web.get("/api/me/matches", self.my_matches)]

    async def my_matches(self, request: web.Request) -> web.Response:
        """Answers with the matches of the guest of the token or the cookie, public or not.

        `running` and `finished` have entries as in `GET /api/matches`, latest first; in `running`,
        `turn` is the seat to move, null if the server no longer has the rules, and `times` the
        clock as in a snapshot, null without one. `waiting` has the rooms in which the guest waits
        for a player. A request without a guest gets a 401.
        """
        identity = await self._identity(request)
        projections = self._ports.store.projections
        matches = await projections.player_matches(identity, MAX_RUNNING, MAX_FINISHED)
        running = [match for match in matches if match.finished_ms is None]
        turns = await self._turns.of(running)
        entry = self._matches.entry
        body = {
            "running": [entry(match, 0) | turns[match.match].fields() for match in running],
            "finished": [entry(match, match.plies or 0) for match in matches[len(running) :]],
            "waiting": await self._waiting(identity),
        }
        return json_answer(body)

    async def _identity(self, request: web.Request) -> IdentityId:
        """The guest of a request. Raises ApiError and StoreError."""
        guest = await guest_of(request, self._ports)
        if guest is None:
            raise ApiError(HTTPStatus.UNAUTHORIZED, Code.TOKEN_UNKNOWN, "only a guest has matches")
        return guest.id

    async def _waiting(self, identity: IdentityId) -> list[dict[str, Any]]:
        """The rooms in which an identity that created them waits for a player."""
        since_ms = self._ports.now_ms() - WAITING_MS
        rows = await self._ports.store.projections.hosted_rooms(identity, since_ms, READ_ROOMS)
        summaries = [_decode_summary(row.summary) for row in rows if row.summary != b"{}"]
        return [
            msgspec.to_builtins(summary)
            for summary in summaries
            if summary.state == "open"
            and any(seat is not None and seat.identity == identity for seat in summary.seats)
        ][:MAX_WAITING]


class Turn(msgspec.Struct, frozen=True):
    """The seat to move in a running match, None where the rules cannot replay the moves, and the
    match's clock, if it has one.
    """

    seat: int | None
    times: wire.ClockState | None

    def fields(self) -> dict[str, Any]:
        """The fields of the match's entry."""
        return {"turn": self.seat, "times": self.times}


class Turns:
    """Finds the seats to move in running matches, and their clocks, from the logs of their rooms.

    It reads a log only after the room has changed.
    """

    def __init__(self, ports: Ports, matches: Matches) -> None:
        self._ports = ports
        self._matches = matches
        #: The head of the room and its turn, by match; the least recently read first.
        self._cached: OrderedDict[MatchId, tuple[int, Turn]] = OrderedDict()

    async def of(self, matches: Sequence[StoredMatch]) -> dict[MatchId, Turn]:
        """The turns of running matches."""
        if not matches:
            return {}
        heads = await self._ports.store.logs.heads([match.room for match in matches])
        return {match.match: await self._turn(match, heads.get(match.room, 0)) for match in matches}

    async def _turn(self, match: StoredMatch, head: int) -> Turn:
        cached = self._cached.pop(match.match, None)
        if cached is None or cached[0] != head:
            cached = head, await self._compute(match)
        self._cached[match.match] = cached
        while len(self._cached) > CACHED_TURNS:
            self._cached.popitem(last=False)
        return cached[1]

    async def _compute(self, match: StoredMatch) -> Turn:
        record = await self._matches.record(match)
        times = None if record.clock is None else clock_state(record.clock, None)
        return Turn(self._seat_to_move(match, record), times)

    def _seat_to_move(self, match: StoredMatch, record: Record) -> int | None:
        moves = record.moves
        try:
            game = self._ports.find_game(match.game)
            position = game.position(match.start, _decode_options(match.options))
            if not game.rules.EXTRA_TURNS:
                return (position.turn + len(moves)) % 2
            for played in moves:
                position = position.replay(played.move)
            return position.turn
        except Exception:  # the game is missing, broken or has changed
            return None
