"""Questions and results for the tests of chat commands, without a server and engines."""

import itertools
from collections.abc import Sequence

from engine.null_move import null_move
from engine.rules.registry import load_game
from engine.search.job import Info, Result, RootMove
from server.bot.api import Ask, Search
from server.commands import Create, Move
from server.events import RoomEvent
from server.ids import IdentityId, RoomId
from server.rooms import rules
from server.rooms.model import Actor, Moment, Room
from server.rooms.permissions import viewer_of
from server.settings import Settings

#: The person who asks, and who plays both sides.
ASKER = Actor(IdentityId("asker"), "Ada")
#: The time of the sample room, in ms since 1970.
SAMPLE_MS = 1_700_000_000_000


def sample_ask(
    game_id: str, moves: Sequence[str] = (), words: Sequence[str] = (), v: int = 0
) -> Ask:
    """Returns a question of a person who plays both sides of a match, after these moves.

    Raises UnknownGame, and CommandRejected for a move that is not legal.
    """
    room = _sample_room(game_id)
    moment = Moment(ASKER, SAMPLE_MS, SAMPLE_MS, lambda: "sample", Settings(), load_game)
    for ply, move in enumerate(moves):
        room = _fold(room, rules.decide(room, Move(f"m{ply}", ply, move), moment))
    return Ask(room, viewer_of(room, ASKER.identity), tuple(words), v or room.v)


def sample_result(search: Search) -> Result:
    """Returns a made-up result for a search: the first legal move is the best, with an even score.

    The job must have moves that are legal. Raises GameError for others, and NoNullMove.
    """
    job = search.job
    position = load_game(job.game).position(job.start, job.options)
    for token in job.moves:
        position = position.replay(token)
    if job.null_move:
        position = null_move(position)
    best, *others = position.tokens()
    moves = RootMove(best, 0), *(RootMove(token, 0, "upper") for token in others)
    return Result(best, Info(1, 0, job.limit.nodes or 1, 1, 1, (best,), moves))


def _sample_room(game_id: str) -> Room:
    ids = map(str, itertools.count())
    create = Create("create", game_id, one_screen=True)
    first, *events = rules.create(ASKER, create, load_game(game_id), lambda: next(ids))
    return _fold(rules.initial_room(RoomId("sample"), first, SAMPLE_MS, load_game), events)


def _fold(room: Room, events: Sequence[RoomEvent]) -> Room:
    for event in events:
        room = rules.evolve(room, event, SAMPLE_MS, load_game)
    return room
