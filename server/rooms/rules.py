"""The rules of a room: which events a command makes.

`decide` turns a command into events, or rejects it. The modules `moves`, `offers`, `seats` and
`chat` have the rules, each in a table `RULES`. `server.rooms.evolve` applies events to a room; this
module re-exports its functions.
"""

from collections.abc import Callable
from typing import assert_never

from engine.game import Game, OptionError
from engine.view import SEATS
from server.codes import Code
from server.rooms import chat, moves, offers, permissions, seats
from server.rooms.commands import AiSeat, Command, Create, MySeat, OpenSeat
from server.rooms.events import Created, Occupant, RoomEvent
from server.rooms.evolve import evolve as evolve
from server.rooms.evolve import initial_room as initial_room
from server.rooms.matches import start_event
from server.rooms.model import Actor, CommandRejected, Moment, Room, Rule
from server.rooms.seats import seat_events, wished_occupant


def create(actor: Actor, command: Create, game: Game, new_id: Callable[[], str]) -> list[RoomEvent]:
    """Returns the first events of a new room.

    Raises CommandRejected for invalid options or seats.
    """
    try:
        start = game.start(command.options)
    except OptionError as error:
        raise CommandRejected(Code.OPTION_UNKNOWN, str(error)) from error
    if sum(isinstance(seat, MySeat) for seat in command.seats) > 1:
        raise CommandRejected(Code.SEAT_ALREADY, "a player may take one seat only")
    events: list[RoomEvent] = [
        Created(game.id, dict(start.options), command.visibility, actor.identity)
    ]
    holders: list[Occupant | None] = [None] * SEATS
    for number, seat_wish in enumerate(command.seats):
        match seat_wish:
            case MySeat():
                holders[number] = Occupant(actor.identity, actor.name)
            case AiSeat():
                holders[number] = wished_occupant(game, start.options, seat_wish, holders)
            case OpenSeat():
                continue
            case _:
                assert_never(seat_wish)
        events += seat_events(number, holders[number])  # type: ignore[arg-type]
    occupants = [seat for seat in holders if seat is not None]
    if len(occupants) == SEATS:
        events.append(start_event(start, new_id(), 1, occupants))
    return events


#: The rule of each command.
RULES: dict[type[Command], Rule] = {**moves.RULES, **offers.RULES, **seats.RULES, **chat.RULES}


def decide(room: Room, command: Command, moment: Moment) -> list[RoomEvent]:
    """Returns the events that a command makes; none for a `Tick` when nothing is due.

    Raises CommandRejected when the command is refused, and GameFault when the game's rules fail.
    """
    if room.frozen is not None:
        permissions.check(permissions.refusal_if_newer(room))
    rule = RULES.get(type(command))
    if rule is None:
        raise CommandRejected(
            Code.MESSAGE_UNKNOWN,
            f"{type(command).__name__} is not a command that changes a room",
        )
    return rule(room, command, moment)
