"""The AI's searches for the moves of a match over HTTP: the reports, and the same in words."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence

import msgspec
from aiohttp import web
from msgspec.structs import replace

from engine.game import Game, GameError, GameFault, Position
from server.events import Configured, Created, Occupant, Started, parse_event_body
from server.ids import MatchId
from server.ports import Ports
from server.protocol.assessments import Assessment
from server.protocol.wording import StoredThought, Wording, choice_note, with_mean
from server.rooms.permissions import help_while_running
from server.rooms.refusals import HELP_BETWEEN_PEOPLE
from server.rooms.thinking import AFTER, reason_while_running, search_seed
from server.store.base import StoredMatch, Thought
from server.web.senders import guest_of

#: Capacity of the cache of assessments, each about 500 bytes.
CACHED_ASSESSMENTS = 10_000
#: Capacity of the cache of the rooms' rules for help, each about 700 bytes.
CACHED_RULES = 1000
#: Events of a log that are read at once.
LOG_PAGE = 500
#: What the body of each later event has that gives help with positions or takes it away.
HELP_FIELD = b'"help"'
#: Plies that are replayed before the event loop may serve other requests.
REPLAY_BATCH = 20

_encode = msgspec.json.Encoder().encode
_decode_thought = msgspec.json.Decoder(StoredThought).decode
_decode_seats = msgspec.json.Decoder(tuple[Occupant, ...]).decode


class Thoughts:
    """Reads the AI's searches for those who may see them, and puts them into words."""

    def __init__(self, ports: Ports) -> None:
        self._ports = ports
        #: The assessments of finished matches as JSON, by match and ply, the least recently used
        #: first.
        self._assessments: OrderedDict[tuple[MatchId, int], bytes] = OrderedDict()
        #: How the room of each of these running matches was created, with the help that it gave
        #: when the match started. The oldest match comes first.
        self._created: OrderedDict[MatchId, Created] = OrderedDict()

    async def reason_to_withhold(self, request: web.Request, match: StoredMatch) -> str | None:
        """Why the sender of a request may not see the searches, in a sentence; None if they may.

        While only spectators may see them, a request that does not name a guest is refused, too.
        """
        if match.last_v is not None:
            return None
        setting = await self._setting(match)
        if reason_while_running(setting, is_player=True) is None:
            return None
        return reason_while_running(setting, await self._may_be_player(request, match))

    async def reason_for_no_help(self, match: StoredMatch) -> str | None:
        """Why nobody may have a position of a match searched, in a sentence; None if they may.

        It goes by what the log says: the room may be open on another node.
        """
        if match.last_v is not None:
            return None
        created = self._created.get(match.match) or await self._read_created(match)
        if created is None:
            return HELP_BETWEEN_PEOPLE.message
        self._created[match.match] = created
        while len(self._created) > CACHED_RULES:
            self._created.popitem(last=False)
        refusal = help_while_running(
            _decode_seats(match.seats), rated=created.rated, one_screen=created.one_screen,
            has_help=created.help,
        )  # fmt: skip
        return None if refusal is None else refusal.message

    async def _read_created(self, match: StoredMatch) -> Created | None:
        """How the match's room was created, with the help with positions that it gave when the
        match started: that stays so until its end. None if this version cannot read it.
        """
        created: Created | None = None
        v = 0
        while v < match.first_v:
            limit = min(LOG_PAGE, match.first_v - v)
            entries = await self._ports.store.logs.events(match.room, v, limit)
            if not entries:
                break
            for entry in entries:
                if created is None or HELP_FIELD in entry.body:  # or words of people
                    event = parse_event_body(entry.body)
                    if isinstance(event, Created):
                        created = event
                    elif created is None:
                        return None
                    elif isinstance(event, Configured) and event.help is not None:
                        created = replace(created, help=event.help)
            v = entries[-1].v
        return created

    async def reports(self, match: StoredMatch, versions: Sequence[int]) -> dict[str, msgspec.Raw]:
        """The report of the search for each move of an AI, by ply.

        `versions` are those of the match's moves: the store keeps the reports of the moves that
        were taken back, too.
        """
        thoughts = await self._thoughts(match, versions)
        return {str(thought.ply): msgspec.Raw(thought.body) for thought in thoughts}

    async def assessments(
        self,
        match: StoredMatch,
        game: Game,
        moves: Sequence[str],
        versions: Sequence[int],
        first: int,
    ) -> dict[str, msgspec.Raw]:
        """The searches for the moves from ply `first` on in words, by ply.

        `versions` are those of the moves, up to the last one that is wanted. One is made in each
        iteration of the event loop. It stops where the rules fail.
        """
        stored = {
            thought.ply: thought
            for thought in await self._thoughts(match, versions)
            if thought.ply >= first
        }
        is_finished = match.last_v is not None
        made: dict[int, bytes] = {}
        for ply in stored if is_finished else ():
            body = self._assessments.get((match.match, ply))
            if body is not None:
                made[ply] = body
        if missing := stored.keys() - made.keys():
            made |= await self._assess(match, game, moves, [stored[ply] for ply in sorted(missing)])
        if is_finished:
            self._keep(match.match, made)
        return {str(ply): msgspec.Raw(made[ply]) for ply in sorted(made)}

    async def _thoughts(self, match: StoredMatch, versions: Sequence[int]) -> list[Thought]:
        """The stored thoughts about the moves with these versions, in the order of their plies."""
        stored = await self._ports.store.projections.thoughts(match.match)
        by_move = {(thought.ply, thought.v): thought for thought in stored}
        return [by_move[key] for key in enumerate(versions) if key in by_move]

    async def _assess(
        self, match: StoredMatch, game: Game, moves: Sequence[str], thoughts: Sequence[Thought]
    ) -> dict[int, bytes]:
        """The assessments of these searches, which are in the order of their plies."""
        made: dict[int, bytes] = {}
        seats = _decode_seats(match.seats)
        try:
            position, ply = game.position(match.start, msgspec.json.decode(match.options)), 0
            for thought in thoughts:
                while ply < thought.ply:
                    position, ply = position.replay(moves[ply]), ply + 1
                    if ply % REPLAY_BATCH == 0:
                        await asyncio.sleep(0)
                assessment = _assess(match, seats, position, thought)
                if assessment is not None:
                    made[ply] = _encode(assessment)
                await asyncio.sleep(0)
        except (GameError, GameFault):  # the rules have changed since
            pass
        return made

    def _keep(self, match: MatchId, made: dict[int, bytes]) -> None:
        for ply, body in made.items():
            self._assessments[match, ply] = body
            self._assessments.move_to_end((match, ply))
        while len(self._assessments) > CACHED_ASSESSMENTS:
            self._assessments.popitem(last=False)

    async def _setting(self, match: StoredMatch) -> str:
        """The match's setting of who may see the searches; the strictest if unreadable."""
        entries = await self._ports.store.logs.events(match.room, match.first_v - 1, 1)
        event = parse_event_body(entries[0].body) if entries else None
        return event.thinking if isinstance(event, Started) else AFTER

    async def _may_be_player(self, request: web.Request, match: StoredMatch) -> bool:
        """Whether the sender holds a seat of the match, or is unknown."""
        guest = await guest_of(request, self._ports)
        seats = _decode_seats(match.seats)
        return guest is None or guest.id in [seat.identity for seat in seats]


def _assess(
    match: StoredMatch, seats: Sequence[Occupant], position: Position, thought: Thought
) -> Assessment | None:
    """The search for a move in words; None for a body that is not a report."""
    try:
        report = _decode_thought(thought.body)
    except msgspec.DecodeError:
        return None
    turn = position.turn
    level = seats[turn].level if turn < len(seats) and not report.warming else None
    report = with_mean(report, seats[turn].persona if turn < len(seats) else None)
    seed = search_seed(match.match, thought.ply)
    note = choice_note(position.game, level, seed, position.digest(), report, report.move)
    return Wording(position, thought.ply).assessment(report, note, report.move)
