"""The HTTP API for the matches of the person who asks."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import msgspec
from aiohttp import web
from msgspec.structs import replace

from engine.game import Game
from engine.rules.errors import UnknownGame
from server.codes import Code
from server.events import Created, Occupant, RoomEvent
from server.ids import IdentityId, MatchId, RoomId
from server.ports import Ports
from server.protocol import messages as wire
from server.protocol import notifications
from server.protocol.views import clock_state
from server.rooms import rules
from server.store.base import DAY_MS, StoredMatch
from server.web.answers import ApiError, json_answer
from server.web.matches import Matches, Record
from server.web.senders import guest_of

#: Maximum number of running matches in the answer.
MAX_RUNNING = 20
#: Maximum number of finished matches in the answer.
MAX_FINISHED = 3
#: Number of finished matches that are read to find the rooms of the last hours.
READ_FINISHED = 20
#: Maximum number of rooms in the answer between two matches.
MAX_ROOMS = 5
#: Time since which a match must have ended for its room to be in the answer, in ms.
ROOM_MS = 12 * 60 * 60_000
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


class Turn(msgspec.Struct, frozen=True):
    """The seat to move in a running match, None where the rules cannot replay the moves, the
    match's clock, if it has one, and what waits for each of its people.
    """

    seat: int | None
    times: wire.ClockState | None
    waiting: dict[str, wire.Notification]

    def fields(self) -> dict[str, Any]:
        """The fields of the match's entry."""
        return {"turn": self.seat, "times": self.times}


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
        for a player. `rooms` has those of the last hours between two matches in which the guest and
        another person still sit, and `notifications` what waits for the guest, as on the socket. A
        request without a guest gets a 401.
        """
        identity = await self._identity(request)
        projections = self._ports.store.projections
        matches = await projections.player_matches(identity, MAX_RUNNING, READ_FINISHED)
        running = [match for match in matches if match.finished_ms is None]
        finished = matches[len(running) :]
        rooms = await self._rooms(identity, finished)
        turns = await self._turns.of(running)
        entry = self._matches.entry
        body = {
            "running": [entry(match, 0) | turns[match.match].fields() for match in running],
            "finished": [entry(match, match.plies or 0) for match in finished[:MAX_FINISHED]],
            "waiting": await self._waiting(identity),
            "rooms": [msgspec.to_builtins(room) for room in rooms],
            "notifications": self._notifications(identity, rooms, running, turns),
        }
        return json_answer(body)

    async def _identity(self, request: web.Request) -> IdentityId:
        """The guest of a request. Raises ApiError and StoreError."""
        guest = await guest_of(request, self._ports)
        if guest is None:
            raise ApiError(HTTPStatus.UNAUTHORIZED, Code.TOKEN_UNKNOWN, "only a guest has matches")
        return guest.id

    async def _rooms(
        self, identity: IdentityId, finished: Sequence[StoredMatch]
    ) -> list[wire.RoomSummary]:
        """The rooms of these matches in which an identity and another person sit between two
        matches, the last one first.
        """
        since_ms = self._ports.now_ms() - ROOM_MS
        ids = dict.fromkeys(each.room for each in finished if (each.finished_ms or 0) >= since_ms)
        rows = await self._ports.store.projections.entries(list(ids))
        by_id = {row.room: _decode_summary(row.summary) for row in rows if row.summary != b"{}"}
        rooms = [by_id[room] for room in ids if room in by_id]
        return [
            room
            for room in rooms
            if room.state == "finished" and _people(room.seats) > {str(identity)}
        ][:MAX_ROOMS]

    def _notifications(
        self,
        identity: IdentityId,
        rooms: Sequence[wire.RoomSummary],
        running: Sequence[StoredMatch],
        turns: Mapping[MatchId, Turn],
    ) -> list[dict[str, Any]]:
        """What waits for an identity: the opponents' offers of a next match, then what waits in its
        running matches.
        """
        offers = [
            notifications.of_entry(room, seat)
            for room in rooms
            for seat, each in enumerate(room.seats)
            if each is not None and each.identity == identity
        ]
        waiting = [
            *offers,
            *[turns[each.match].waiting.get(str(identity)) for each in running],
        ]
        return [
            {"room": each.room, "what": each.what, "text": each.text}
            for each in waiting
            if each is not None and each.what
        ]

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


def _people(seats: Sequence[Occupant | None]) -> set[str]:
    """The identities of the people on the seats."""
    return {each.identity for each in seats if each is not None and each.kind != "ai"}


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
        room = RunningRoom(match, self._matches.title(match.game))
        record = await self._matches.read_record(match, room.read)
        times = None if record.clock is None else clock_state(record.clock, None)
        seat = self._seat_to_move(match, record)
        return Turn(seat, times, room.waiting(seat))

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


class RunningRoom:
    """The room of a running match as far as its log says since the match's start: who sits there,
    and which offers are open. It needs no rules: nothing is replayed.
    """

    def __init__(self, match: StoredMatch, title: str) -> None:
        self._match = match.match
        self._title = title
        created = Created(match.game, _decode_options(match.options), "unlisted", "")
        self._room = rules.initial_room(RoomId(match.room), created, match.started_ms, _no_game)

    def read(self, event: RoomEvent, at_ms: int) -> None:
        """Reads the next event."""
        self._room = rules.evolve(self._room, event, at_ms, _no_game)

    def waiting(self, turn: int | None) -> dict[str, wire.Notification]:
        """What waits for each person while `turn` is to move, as on the socket."""
        match = self._room.running_match
        if match is None or match.id != self._match:  # it has ended meanwhile
            return {}
        nobody = -1
        room = replace(self._room, match=replace(match, turn=nobody if turn is None else turn))
        return {
            identity: notifications.of_room(room, identity, title=self._title)
            for identity in _people(room.seats)
        }


def _no_game(game_id: str) -> Game:
    raise UnknownGame(f"{game_id} is not wanted")
