"""The rules of a room: which events a command makes.

`decide` turns a command into events, or rejects it. The modules `moves`, `offers`, `seats` and
`chat` have the rules, each in a table `RULES`. `server.rooms.evolve` applies events to a room; this
module re-exports its functions.
"""

from collections.abc import Callable
from typing import assert_never

from engine.game import Game, Position
from engine.view import SEATS
from server.codes import Code
from server.commands import AiSeat, Command, Configure, Create, Hint, MySeat, OpenSeat, Rename
from server.events import (
    CLOCK,
    ONE_SCREEN,
    OWN_NAMES,
    RATED,
    START,
    Configured,
    Created,
    Occupant,
    Required,
    RoomEvent,
)
from server.rooms import chat, full, gone, moves, offers, permissions, seats, thinking
from server.rooms.clock import first_turn_limit_ms
from server.rooms.evolve import evolve as evolve
from server.rooms.evolve import initial_room as initial_room
from server.rooms.matches import check_control, start_event
from server.rooms.model import Actor, ActorKind, CommandRejected, Moment, Room, Rule
from server.rooms.names import clean_name
from server.rooms.permissions import viewer_of
from server.rooms.seats import seat_events, wished_occupant
from server.rooms.starts import check_start
from server.time_controls import format_control, parse_control


def create(actor: Actor, command: Create, game: Game, new_id: Callable[[], str]) -> list[RoomEvent]:
    """Returns the first events of a new room.

    Raises CommandRejected for invalid options, seats or start positions.
    """
    start = check_start(game, command.options, command.start)
    wishes = _seats_on_one_screen(command) if command.one_screen else command.seats
    if not command.one_screen and sum(isinstance(wish, MySeat) for wish in wishes) > 1:
        raise CommandRejected(Code.SEAT_ALREADY, "a player may take one seat only")
    created = _created(actor, command, game, start)
    events: list[RoomEvent] = [created]
    events += _requirements(created)
    if any(isinstance(wish, MySeat) and wish.name is not None for wish in wishes):
        if not command.one_screen:
            raise CommandRejected(
                Code.NAME_REFUSED, "only on one screen has a seat a name of its own"
            )
        # Programs that do not define these names would change them with the creator's name.
        events.append(Required(OWN_NAMES))
    # An older node would play a room with a clock without it.
    if created.clock is not None:
        events.append(Required(CLOCK))
    # A field of `created` would be ignored by nodes of an older version, which would then show the
    # thinking. To them an event of its own makes the room `room.newer`.
    if command.thinking != thinking.ALL:
        events.append(Configured(command.thinking))
    holders: list[Occupant | None] = [None] * SEATS
    for number, seat_wish in enumerate(wishes):
        match seat_wish:
            case MySeat(name=name):
                holders[number] = (
                    Occupant(actor.identity, actor.name)
                    if name is None
                    else Occupant(actor.identity, clean_name(name), own_name=True)
                )
            case AiSeat():
                holders[number] = wished_occupant(game, start.options, seat_wish, holders)
            case OpenSeat():
                continue
            case _:
                assert_never(seat_wish)
        events += seat_events(number, holders[number])  # type: ignore[arg-type]
    occupants = [seat for seat in holders if seat is not None]
    if len(occupants) == SEATS:
        control = None if created.clock is None else parse_control(created.clock)
        has_ai = any(occupant.kind == "ai" for occupant in occupants)
        first_ms = first_turn_limit_ms(created.visibility, created.one_screen, has_ai)
        events.append(
            start_event(start, new_id(), 1, occupants, command.thinking, control, first_ms)
        )
    return events


def _seats_on_one_screen(command: Create) -> tuple[MySeat, ...]:
    """The seats of a room for one screen: the creator's, with the names that they have."""
    return tuple(wish if isinstance(wish, MySeat) else MySeat() for wish in command.seats)


def _created(actor: Actor, command: Create, game: Game, start: Position) -> Created:
    """Returns the first event. The game's own start is not stored, even if its text was given."""
    text = None
    if command.start is not None and start != game.start(command.options):
        text = start.text()
    control = None if command.clock is None else check_control(command.clock)
    return Created(
        game.id, dict(start.options), command.visibility, actor.identity,
        text, command.one_screen, command.takeback, help=command.help,
        clock=None if control is None else format_control(control),
    )  # fmt: skip


def _requirements(created: Created) -> list[Required]:
    """The capabilities without which a program would misread the room."""
    uses = (
        (START, created.start is not None),
        (ONE_SCREEN, created.one_screen),
        (RATED, created.rated),
    )
    return [Required(what) for what, is_used in uses if is_used]


def configure(room: Room, command: Configure, moment: Moment) -> list[RoomEvent]:
    permissions.check(permissions.configure(room, viewer_of(room, moment.actor.identity)))
    if command.clock is None:
        return [Configured(command.thinking, command.help)]
    control = check_control(command.clock)
    configured = Configured(command.thinking, command.help, format_control(control))
    is_first = control is not None and not room.requires_clock
    return [configured, Required(CLOCK)] if is_first else [configured]


def hint(room: Room, command: Hint, moment: Moment) -> list[RoomEvent]:
    """Returns no events: the bot answers the asker alone. Raises CommandRejected if the viewer may
    not have the hint.
    """
    permissions.check(permissions.hint(room, viewer_of(room, moment.actor.identity)))
    ply = permissions.require_running_match(room).ply
    if command.ply != ply:
        raise CommandRejected(
            Code.MOVE_STALE, f"the position is another one: {ply} plies are played"
        )
    return []


#: The rule of each command.
RULES: dict[type[Command], Rule] = {
    **moves.RULES,
    **offers.RULES,
    **seats.RULES,
    **gone.RULES,
    **chat.RULES,
    Hint: hint,
    Configure: configure,
}


def decide(room: Room, command: Command, moment: Moment) -> list[RoomEvent]:
    """Returns the events that a command makes; none for a `Tick` when nothing is due.

    A full room refuses the commands of people except those that end its match. It accepts those of
    AI seats, of the bot and of the server, which are finite in number without the others, except
    new names: a person can have any number of them.

    Raises CommandRejected when the command is refused, and GameFault when the game's rules fail.
    """
    if room.frozen is not None:
        permissions.check(permissions.refusal_if_newer(room))
    if room.is_full and (moment.actor.kind is ActorKind.PERSON or type(command) is Rename):
        permissions.check(full.refusal_if_full(room, type(command)))
    if moment.actor.kind is ActorKind.PERSON:
        permissions.check(permissions.refusal_after_flag(room, type(command), moment.received_ms))
    rule = RULES.get(type(command))
    if rule is None:
        raise CommandRejected(
            Code.MESSAGE_UNKNOWN,
            f"{type(command).__name__} is not a command that changes a room",
        )
    return rule(room, command, moment)
