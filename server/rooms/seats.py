"""The rules for taking and leaving seats."""

from collections.abc import Mapping, Sequence

from engine.ends import has_result
from engine.game import Game, GameFault
from engine.rules.errors import GameHung
from engine.search.job import Persona
from engine.strategies.contract import DEFAULT_DEPTH
from engine.strategies.names import FIXED_DEPTHS, player_name
from engine.strategies.registry import strategy_names
from engine.view import SEATS
from server.codes import Code
from server.commands import AddAi, AiSeat, Bar, Command, RemoveAi, Rename, Sit, Stand
from server.events import (
    STRATEGIES,
    Barred,
    Occupant,
    Renamed,
    Required,
    RoomEvent,
    SeatLeft,
    SeatTaken,
)
from server.ids import IdentityId
from server.rooms import permissions
from server.rooms.matches import end_match, start_match
from server.rooms.model import AI_IDENTITY, ActorKind, CommandRejected, Moment, Room, Rule
from server.rooms.permissions import check, game_of, own_seat, viewer_of

#: The strategy of an AI that goes on in a game without levels.
DEFAULT_STRATEGY = "alphabeta"


def sit(room: Room, command: Sit, moment: Moment) -> list[RoomEvent]:
    check(permissions.sit(room, viewer_of(room, moment.actor.identity), command.seat))
    occupant = Occupant(moment.actor.identity, moment.actor.name)
    return _take_seat(room, command.seat, occupant, moment)


def stand(room: Room, command: Stand, moment: Moment) -> list[RoomEvent]:
    check(permissions.stand(room, viewer_of(room, moment.actor.identity)))
    return [SeatLeft(own_seat(room, moment.actor))]


def bar(room: Room, command: Bar, moment: Moment) -> list[RoomEvent]:
    """Returns the events of freeing a person's seat. A running match ends without a result.

    A program that does not define `barred` would let the person sit again: to it the event makes
    the room `room.newer`.
    """
    viewer = viewer_of(room, moment.actor.identity)
    check(permissions.bar(room, viewer, command.identity))
    seat = room.seat_of(IdentityId(command.identity))
    occupant = None if seat is None else room.seats[seat]
    assert seat is not None, "a newcomer has a seat"
    assert occupant is not None, "a newcomer has a seat"
    events: list[RoomEvent] = []
    if room.running_match is not None:
        reason = "the host keeps the seat for someone else"
        events.append(end_match(room.running_match, None, "abort", reason, moment.received_ms))
    return [*events, SeatLeft(seat), Barred(command.identity, occupant.name)]


def add_ai(room: Room, command: AddAi, moment: Moment) -> list[RoomEvent]:
    check(permissions.add_ai(room, viewer_of(room, moment.actor.identity), command.seat))
    occupant = wished_occupant(game_of(room), room.options, command, room.seats)
    return _take_seat(room, command.seat, occupant, moment)


def remove_ai(room: Room, command: RemoveAi, moment: Moment) -> list[RoomEvent]:
    check(permissions.remove_ai(room, viewer_of(room, moment.actor.identity), command.seat))
    return [SeatLeft(command.seat)]


def rename(room: Room, command: Rename, moment: Moment) -> list[RoomEvent]:
    """Returns the event of another name; none if the identity has no seat, or its seat shows it."""
    if moment.actor.kind is not ActorKind.SERVER:
        raise CommandRejected(Code.SEAT_NONE, "only the server may send this command")
    if room.player_name(IdentityId(command.identity)) in (None, command.name):
        return []
    return [Renamed(command.identity, command.name)]


def _take_seat(room: Room, seat: int, occupant: Occupant, moment: Moment) -> list[RoomEvent]:
    """Returns the events of taking a seat, and of starting the match if no seat is free then.

    A person who comes after a match with a result, to somebody's free seat, starts nothing: both
    agree on the next match first.
    """
    game = game_of(room)
    seats = [*room.seats[:seat], occupant, *room.seats[seat + 1 :]]
    events = seat_events(seat, occupant)
    occupants = [holder for holder in seats if holder is not None]
    last = None if room.match is None else room.match.over
    had_result = last is not None and has_result(last.winner, last.how)
    waits = occupant.kind != "ai" and had_result
    if len(occupants) == SEATS and not waits:
        events.append(start_match(room, game, occupants, moment))
    return events


def seat_events(seat: int, occupant: Occupant) -> list[RoomEvent]:
    """Returns the events of taking a seat.

    Programs that do not define strategies would take one for an AI without a limit, so the log says
    that the room requires them.
    """
    taken = SeatTaken(seat, occupant)
    return [taken] if occupant.strategy is None else [Required(STRATEGIES), taken]


def wished_occupant(
    game: Game,
    options: Mapping[str, str],
    wish: AiSeat | AddAi,
    seats: Sequence[Occupant | None],
) -> Occupant:
    """The occupant of an AI seat, which has a level, a persona or a strategy.

    `seats` are those of the room. Raises CommandRejected.
    """
    if wish.strategy is None:
        if wish.depth is not None or wish.evaluator is not None:
            raise CommandRejected(
                Code.STRATEGY_UNKNOWN, "only a strategy has a depth and an evaluator"
            )
        return ai_occupant(game, wish.level, wish.persona)
    if wish.level is not None or wish.persona is not None:
        raise CommandRejected(
            Code.LEVEL_UNKNOWN, "an AI takes a seat at a level, as a persona or by a strategy"
        )
    return _strategy_occupant(game, options, wish.strategy, wish, seats)


def ai_occupant(game: Game, level: int | None, persona: Persona | None) -> Occupant:
    """The occupant of an AI seat that has either a level or a persona."""
    if game.rules.SEARCH == "teach":
        raise CommandRejected(
            Code.LEVEL_UNKNOWN, f"{game.title} has no levels: its AI seats play strategies"
        )
    if persona is not None and level is None:
        return Occupant(AI_IDENTITY, f"AI {persona}", "ai", persona=persona)
    if level is None or persona is not None:
        raise CommandRejected(
            Code.LEVEL_UNKNOWN, "an AI takes a seat at a level, as a persona or by a strategy"
        )
    if level > game.levels:
        raise CommandRejected(Code.LEVEL_UNKNOWN, f"{game.title} has levels 1 to {game.levels}")
    return Occupant(AI_IDENTITY, f"AI level {level}", "ai", level)


def _strategy_occupant(
    game: Game,
    options: Mapping[str, str],
    name: str,
    wish: AiSeat | AddAi,
    seats: Sequence[Occupant | None],
) -> Occupant:
    """The occupant of a strategy's seat, with its defaults filled in."""
    # Importing the teaching search takes 20 ms, which most servers need not spend.
    from engine.strategies.evaluation import check_evaluator, default_evaluator
    from engine.teach.errors import TeachError

    if name not in strategy_names():
        raise CommandRejected(
            Code.STRATEGY_UNKNOWN,
            f"there is no strategy {name}; there are: {', '.join(strategy_names())}",
        )
    evaluator = default_evaluator(game) if wish.evaluator is None else wish.evaluator
    try:
        check_evaluator(name, game.start(options), evaluator)
    except GameHung:
        raise
    except (TeachError, GameFault) as error:
        raise CommandRejected(Code.STRATEGY_UNKNOWN, str(error)) from error
    depth = FIXED_DEPTHS.get(name, wish.depth or DEFAULT_DEPTH) or None
    number = 1 + any(seat is not None and seat.name.startswith("CP #1 ") for seat in seats)
    return Occupant(
        AI_IDENTITY, player_name(name, depth, number), "ai",
        strategy=name, depth=depth, evaluator=evaluator,
    )  # fmt: skip


#: The rules of this module.
RULES: dict[type[Command], Rule] = {
    Sit: sit,
    Stand: stand,
    Bar: bar,
    AddAi: add_ai,
    RemoveAi: remove_ai,
    Rename: rename,
}
