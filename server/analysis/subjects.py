"""Reads matches for the analysis, and says why one cannot be analysed."""

import asyncio
from collections.abc import Sequence

import msgspec

from engine.game import Game, GameError, GameFault, Position
from server.analysis.positions import CannotAnalyse, Subject, changed_rules
from server.events import Moved, RoomEvent, TookBack, parse_event_body
from server.ports import Ports
from server.rooms.record import RecordedMove, moves_of
from server.store.base import LogStore, StoredMatch

#: Log entries per read from the store, which the event loop parses without a pause.
LOG_PAGE = 250
#: Plies that are replayed before the event loop may serve other requests.
REPLAY_BATCH = 20


def check_match(ports: Ports, match: StoredMatch) -> Game:
    """The game of a match that may be analysed. Raises CannotAnalyse for any other match."""
    if match.last_v is None:
        raise CannotAnalyse("The match is still running: it can be analysed when it is over.")
    try:
        game = ports.find_game(match.game)
    except Exception as error:  # the game is missing or broken
        raise CannotAnalyse("This server does not have the game of this match.") from error
    if game.rules.SEARCH == "teach":
        raise CannotAnalyse(f"{game.title} has no search that could analyse a match.")
    if not match.plies:
        raise CannotAnalyse("No move was played in this match.")
    return game


async def read_subject(ports: Ports, match: StoredMatch) -> Subject:
    """The match with its positions.

    Raises CannotAnalyse if `check_match` does, or if the rules lead to other positions than those
    in the log.
    """
    game = check_match(ports, match)
    recorded = await read_moves(ports.store.logs, match)
    options: dict[str, str] = msgspec.json.decode(match.options)
    events = [move.event for move in recorded]
    positions = await _replay(game, match.start, options, events)
    return Subject(
        game, options, match.start, tuple(event.move for event in events), tuple(positions)
    )


async def read_moves(logs: LogStore, match: StoredMatch) -> list[RecordedMove]:
    """The moves of a match that were not taken back, from its room's log."""
    events: list[tuple[int, RoomEvent]] = []
    v = match.first_v
    while page := await logs.events(match.room, v, LOG_PAGE):
        for entry in page:
            event = parse_event_body(entry.body)
            if isinstance(event, Moved | TookBack):
                events.append((entry.v, event))
            v = entry.v
        if match.last_v is not None and v >= match.last_v:
            break
    return moves_of(events, match.match)


async def _replay(
    game: Game, start: str, options: dict[str, str], events: Sequence[Moved]
) -> list[Position]:
    """The positions of a match. Raises CannotAnalyse if one differs from the log."""
    try:
        positions = [game.position(start, options)]
        for ply, event in enumerate(events, 1):
            positions.append(positions[-1].replay(event.move))
            if event.digest != positions[-1].digest():
                raise changed_rules(game.title)
            if ply % REPLAY_BATCH == 0:
                await asyncio.sleep(0)
    except (GameError, GameFault) as error:
        raise changed_rules(game.title) from error
    return positions
